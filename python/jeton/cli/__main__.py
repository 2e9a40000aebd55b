"""Entry point of ``python -m jeton.cli``."""

import sys

from jeton.cli import main

if __name__ == "__main__":
    sys.exit(main())

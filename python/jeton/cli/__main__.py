"""``python -m jeton.cli``: the command line without its script."""

import sys

from jeton.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""Writes the compiled character maps of ``jeton.training.character_maps``.

Run ``python tools/character_maps.py`` after each change of the maps' rules or of the compiler. The script needs the
built extension.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from jeton import _core
from jeton.training import character_maps


def main() -> None:
    """Compiles the rules of each character map and replaces its file."""
    folder = Path(character_maps.__file__).parent
    for name in character_maps.NAMES:
        (folder / f"{name}.zlib").write_bytes(zlib.compress(_core.character_map(name, []), 9))


if __name__ == "__main__":
    main()

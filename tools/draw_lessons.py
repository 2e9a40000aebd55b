#!/usr/bin/env python3
"""Draws the pictures of the lessons in docs/pictures/lessons/: ``python tools/draw_lessons.py``.

A test compares the files with what this makes. Needs the installed package only.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from lesson_pictures import FOLDER, pictures


def main() -> None:
    """Writes all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, svg in pictures():
        (FOLDER / name).write_text(svg, encoding="utf-8")
    print(f"{len(list(FOLDER.glob('*.svg')))} pictures in {FOLDER}")


if __name__ == "__main__":
    main()

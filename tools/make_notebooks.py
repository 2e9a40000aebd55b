#!/usr/bin/env python3
"""Makes a Jupyter notebook of each lesson in each language.

    python tools/make_notebooks.py [LESSON]... [--into FOLDER]

It runs the examples, and fails if an example does not give what its lesson says. The site offers the notebooks next to
the pages of the lessons; they are not in the repository. Needs only the installed package.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from site_pages.notebooks import write

from jeton.reference.check import find, statement
from jeton.reference.contents import lessons

ROOT = Path(__file__).parent.parent
LESSONS = ROOT / "python" / "jeton" / "reference"


def main() -> None:
    """Writes the notebooks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="such as step04_train; default: all")
    parser.add_argument("--into", type=Path, default=ROOT / "target" / "notebooks", metavar="FOLDER")
    options = parser.parse_args()
    names = options.lessons or [lesson.name for _, members in lessons() for lesson in members]
    for language in ("en", "zh"):
        folder = options.into / language
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            step = find(name)
            exercise = statement(step, language) if step else ""
            text = write(LESSONS / f"{name}.py", language, exercise)
            (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    print(f"{2 * len(names)} notebooks in {options.into}")


if __name__ == "__main__":
    main()

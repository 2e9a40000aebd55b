"""Pages of the lessons: the docstring of a step and its code in English, the step's Chinese text with the same code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Lesson(NamedTuple):
    """A step in one language."""

    path: str  # "lessons/en/step01_levels.md"
    title: str
    text: str


def lessons(folder: Path) -> Iterator[Lesson]:
    """All steps, in both languages."""
    for step in sorted(folder.glob("step*.py")):
        source = step.read_text(encoding="utf-8")
        tree = ast.parse(source)
        opening = tree.body[0]
        summary, _, rest = (ast.get_docstring(tree) or "").partition("\n\n")
        code = "\n".join(source.splitlines()[opening.end_lineno :]).strip()
        text = f"# {summary.rstrip('.')}\n\n{blocks(rest)}\n\n## Code\n\n```python\n{code}\n```\n"
        yield Lesson(f"lessons/en/{step.stem}.md", summary.rstrip("."), text)
        chinese = step.with_suffix(".zh.md").read_text(encoding="utf-8")
        title = chinese.partition("\n")[0].removeprefix("# ")
        yield Lesson(f"lessons/zh/{step.stem}.md", title, f"{chinese.rstrip()}\n\n## 代码\n\n```python\n{code}\n```\n")


def introduction(folder: Path) -> str:
    """The page before the lessons."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    summary, _, rest = text.partition("\n\n")
    steps = sorted(folder.glob("step*.py"))
    links = [
        f"{i}. [{step.stem[7:]}](en/{step.stem}.md) · [中文](zh/{step.stem}.md)" for i, step in enumerate(steps, 1)
    ]
    return f"# Lessons\n\n{summary}\n\n{rest}\n\n" + "\n".join(links) + "\n"


def blocks(text: str) -> str:
    """Puts examples into blocks of code."""
    return re.sub(r"(?m)^(>>> (?:.+\n?)+)", lambda match: f"```python\n{match[1].rstrip()}\n```\n", text)

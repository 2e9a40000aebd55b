"""Pages of the lessons: the docstring of a step and its code in English, the step's Chinese text with the same code.

Each begins with the picture of its step, which `tools/draw_lessons.py` draws; its alternative text is its title.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .examples import fenced_examples


class Lesson(NamedTuple):
    """A step in one language."""

    path: str  # "lessons/en/step01_levels.md"
    title: str  # for the navigation, which shows it as HTML
    text: str
    picture: str  # "step01_levels.en.svg"


def lessons(folder: Path, pictures: Path) -> Iterator[Lesson]:
    """All steps, in both languages."""
    for step in sorted(folder.glob("step*.py")):
        source = step.read_text(encoding="utf-8")
        tree = ast.parse(source)
        opening = tree.body[0]
        summary, _, rest = (ast.get_docstring(tree) or "").partition("\n\n")
        code = "\n".join(source.splitlines()[opening.end_lineno :]).strip()
        chinese = step.with_suffix(".zh.md").read_text(encoding="utf-8")
        heading, _, body = chinese.partition("\n")
        for language, title, prose, section in (
            ("en", summary.rstrip("."), fenced_examples(rest), "Code"),
            ("zh", heading.removeprefix("# "), body.strip(), "代码"),
        ):
            picture = f"{step.stem}.{language}.svg"
            text = f"# {title}\n\n{figure(pictures / picture)}\n\n{prose}\n\n## {section}\n\n```python\n{code}\n```\n"
            text = in_chinese(text) if language == "zh" else text
            plain = html.escape(title.replace("`", ""))
            yield Lesson(f"lessons/{language}/{step.stem}.md", plain, text, picture)


def in_chinese(text: str) -> str:
    """Markdown that is marked as Chinese, for screen readers and fonts: the language of the site is English."""
    return f'<div lang="zh-Hans" markdown="1">\n\n{text.rstrip()}\n\n</div>\n'


def figure(picture: Path) -> str:
    """The picture of a lesson, for a page in `lessons/en` or `lessons/zh`."""
    title = re.search(r"<title>(.*?)</title>", picture.read_text(encoding="utf-8"))
    if title is None:
        raise ValueError(f"{picture} has no title")
    alternative = html.escape(html.unescape(title[1]))
    return f'<img src="../../pictures/lessons/{picture.name}" alt="{alternative}">'


def introduction(folder: Path) -> str:
    """The page before the lessons."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    summary, _, rest = text.partition("\n\n")
    steps = sorted(folder.glob("step*.py"))
    links = [
        f"{i}. [{step.stem[7:]}](en/{step.stem}.md) · [中文](zh/{step.stem}.md)" for i, step in enumerate(steps, 1)
    ]
    return f"# Lessons\n\n{summary}\n\n{rest}\n\n" + "\n".join(links) + "\n"

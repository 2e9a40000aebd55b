"""Lists the lessons in the order of reading, for `__main__`, the site and the tests; finds the reader's language.

Lessons are numbered in the order in which they were written, which is not the order of reading. Titles come from the
lessons: the first line of a docstring in English, the heading of the page in Chinese. Numbers without a file are left
out.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["GROUPS", "Group", "Lesson", "language", "lessons"]

FOLDER = Path(__file__).resolve().parent


class Group(NamedTuple):
    """Group of lessons that belong together."""

    english: str
    chinese: str
    numbers: tuple[int, ...]  # numbers of the lessons, in the order of reading


GROUPS = (
    Group("BPE, from bytes to ids", "BPE：从字节到 ID", (1, 2, 3, 4, 5, 6, 7)),
    Group("Splitting the text first", "预切分", (8, 14)),
    Group("One class, and GPT-4", "写成一个类，复现 GPT-4", (13, 15)),
    Group("The same, fast", "更快的算法", (16, 17)),
    Group("Other algorithms and alphabets", "其他算法与字母表", (10, 9, 18, 19, 20, 21)),
    Group("Using a tokenizer", "应用", (11, 12, 22, 23)),
    Group("Errata", "勘误", (24,)),
)


class Lesson(NamedTuple):
    """Lesson with its titles."""

    number: int
    name: str  # "step04_train"
    english: str  # "Training: count, merge, repeat"
    chinese: str

    def title(self, language: str) -> str:
        """Return the title in a language, "en" or "zh".

        Examples:
            >>> Lesson(4, "step04_train", "Training", "训练").title("zh")
            '训练'
        """
        return self.chinese if language == "zh" else self.english


def lessons(folder: Path = FOLDER) -> list[tuple[Group, list[Lesson]]]:
    """Return the lessons of a folder in the order of reading. Files whose number is in no group form a last group.

    Examples:
        >>> [lesson.name for _, found in lessons() for lesson in found][:3]
        ['step01_levels', 'step02_pairs', 'step03_merge']
    """
    files = {int(path.stem[4:6]): path for path in sorted(folder.glob("step*.py"))}
    rest = sorted(files.keys() - {number for group in GROUPS for number in group.numbers})
    groups = (*GROUPS, Group("More", "其他", tuple(rest)))
    found = [(group, [read(files[number]) for number in group.numbers if number in files]) for group in groups]
    return [(group, members) for group, members in found if members]


def read(path: Path) -> Lesson:
    """Read the titles of a lesson.

    Examples:
        >>> read(FOLDER / "step04_train.py").english
        'Training: count, merge, repeat'
    """
    summary = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]
    english = summary.partition(". ")[2].rstrip(".")
    chinese = path.with_suffix(".zh.md")
    heading = chinese.read_text("utf-8").partition("\n")[0] if chinese.exists() else ""
    return Lesson(int(path.stem[4:6]), path.stem, english, heading.partition("步")[2].strip() or english)


def language() -> str:
    """Return "zh" or "en", by the first of `JETON_LANG`, `LC_ALL`, `LC_MESSAGES` and `LANG` that is set.

    Examples:
        >>> os.environ["JETON_LANG"] = "zh_CN.UTF-8"
        >>> language()
        'zh'
        >>> del os.environ["JETON_LANG"]
    """
    names = ("JETON_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    value = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return "zh" if re.split(r"[_.@-]", value)[0].lower() == "zh" else "en"

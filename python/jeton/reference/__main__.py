"""Lists the lessons in the order of reading, in the language of the reader: ``python -m jeton.reference``.

The first of the variables `JETON_LANG`, `LC_ALL`, `LC_MESSAGES` and `LANG` that is set selects the language.
"""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # run as a file: `python __main__.py`
    __import__("running")

from .contents import language, lessons
from .running import unless_closed

TEXTS = {
    "en": (
        "A tokenizer from nothing: lessons in plain Python, in the order of reading.",
        "Files:    {folder}",
        "Read:     stepNN_name.py",
        "Run:      python {example}.py, or python -m jeton.reference.{example}",
        "Exercise: python -m jeton.reference.check {step}             shows it",
        "          python -m jeton.reference.check {step} my_file.py  checks your answer",
    ),
    "zh": (
        "从零写一个分词器：纯 Python 教程，按阅读顺序排列。",
        "文件：{folder}",
        "阅读：stepNN_name.zh.md（正文），stepNN_name.py（代码）",
        "运行：python {example}.py 或 python -m jeton.reference.{example}",
        "练习：python -m jeton.reference.check {step}             查看题目",
        "      python -m jeton.reference.check {step} my_file.py  检查答案",
    ),
}


def main() -> int:
    """Print the list of lessons; return the exit status."""
    reader = language()
    first, *rest = TEXTS[reader]
    print(first)
    for group, members in lessons():
        print(f"\n{group.chinese if reader == 'zh' else group.english}")
        for lesson in members:
            print(f"  {lesson.name:<20}  {lesson.title(reader).replace('`', '')}")
    print()
    for line in rest:
        print(line.format(folder=Path(__file__).resolve().parent, example="step04_train", step="step04"))
    return 0


if __name__ == "__main__":
    sys.exit(unless_closed(main))

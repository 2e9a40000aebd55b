"""Exercises of step 1: levels.

**1.** Close the lesson and write `levels(text)` again. It returns three lists: the UTF-8 bytes of the text as numbers,
its characters (code points), and its words, which white space separates.

>>> [list(level) for level in levels("小 cat")]
[[229, 176, 143, 32, 99, 97, 116], ['小', ' ', 'c', 'a', 't'], ['小', 'cat']]

**2.** Write `utf8(code_point)`, which returns the UTF-8 bytes of a code point as a list of numbers. Compute them; do
not call `encode`. The table of UTF-8, where each x is a bit of the code point:

    up to U+007F     0xxxxxxx
    up to U+07FF     110xxxxx 10xxxxxx
    up to U+FFFF     1110xxxx 10xxxxxx 10xxxxxx
    up to U+10FFFF   11110xxx 10xxxxxx 10xxxxxx 10xxxxxx

>>> utf8(ord("小"))
[229, 176, 143]
"""

from __future__ import annotations

from collections.abc import Iterator

from ..step01_levels import levels
from . import Case, Task

WORDS = ("`text.split()` without an argument splits at any white space", "不带参数的 `text.split()` 按任意空白切分")
CHARACTERS = ("a character is a code point, as in `list(text)`", "这里的字符指码点，即 `list(text)` 的元素")
EDGES = (
    "look at the borders of the table: U+007F, U+07FF and U+FFFF still belong to the shorter form",
    "注意表中的边界：U+007F、U+07FF、U+FFFF 仍属于较短的形式",
)


def level_cases() -> Iterator[Case]:
    """Yield texts, with their bytes, characters and words."""
    for text, hint in (
        ("", WORDS),
        ("cat", WORDS),
        ("小 cat", CHARACTERS),
        (" two\t tabs\n", WORDS),
        ("今天的天气很好", WORDS),
        ("👨‍👩‍👧 é e\u0301", CHARACTERS),
    ):
        yield Case((text,), tuple(levels(text)), hint)


def utf8_cases() -> Iterator[Case]:
    """Yield code points: the last and the first of each length in UTF-8, and some between them."""
    borders = (0, 0x41, 0x7F, 0x80, 0xE9, 0x7FF, 0x800, 0x5C0F, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x20BB7, 0x10FFFF)
    for code in (*borders, *range(0x100, 0xD000, 997)):
        yield Case((code,), list(chr(code).encode("utf-8")), EDGES if code in borders else ("", ""))


TASKS = (
    Task("levels", level_cases, WORDS),
    Task(
        "utf8",
        utf8_cases,
        (
            "`code_point >> 6` drops the last six bits, `code_point & 0x3F` keeps them; 0x80 is 10000000",
            "`code_point >> 6` 去掉低六位，`code_point & 0x3F` 保留低六位；0x80 即二进制 10000000",
        ),
    ),
)

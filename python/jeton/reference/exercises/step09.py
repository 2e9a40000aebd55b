"""Exercises of step 9: characters.

**1.** Close the lesson and write `to_ids(text, strings, unk=None)` again, where `strings` is a dictionary from id to
the UTF-8 bytes of one character. An unknown character becomes `unk`, or raises a `ValueError` if `unk` is None.

>>> to_ids("abba", {0: b"b", 1: b"a"})
[1, 0, 0, 1]

**2.** *Byte fallback*, as in SentencePiece: an unknown character becomes the tokens of its UTF-8 bytes. Write
`with_fallback(text, strings, first)`, where `first` is the id of byte 0, `first + 1` that of byte 1, and so on.

>>> with_fallback("a小", {0: b"a"}, first=10)
[0, 239, 186, 153]
"""

from __future__ import annotations

from collections.abc import Iterator

from ..step09_characters import to_ids
from . import Case, Raises, Task

STRINGS = {5: "天".encode(), 7: b"a", 6: "气".encode()}
ID_OF = ("turn the dictionary around first: from bytes to id", "先把字典反转：从字节到 ID")
ZERO = ("0 is an id, and `if unk:` takes it for None", "0 也是 ID，`if unk:` 会把它当作 None")


def looking_up() -> Iterator[Case]:
    """Yield texts of known and unknown characters."""
    yield Case(("", STRINGS), [])
    yield Case(("天气a", STRINGS), [5, 6, 7])
    yield Case(("天晴", STRINGS, 99), [5, 99])
    yield Case(("天晴", STRINGS, 0), to_ids("天晴", STRINGS, 0), ZERO)
    yield Case(("天晴", STRINGS), Raises(ValueError), ("晴 is not in the alphabet", "字母表中没有“晴”"))


def falling_back() -> Iterator[Case]:
    """Yield texts with unknown characters of one to four bytes."""
    for text in ("", "天a", "b", "é天", "晴气", "𠮷a", "👍👍"):
        id_of = {spelling.decode(): id for id, spelling in STRINGS.items()}
        expected = []
        for character in text:
            expected += [id_of[character]] if character in id_of else [100 + byte for byte in character.encode()]
        yield Case((text, STRINGS, 100), expected)


TASKS = (
    Task("to_ids", looking_up, ID_OF),
    Task(
        "with_fallback",
        falling_back,
        (
            "one unknown character gives one to four ids: add a list, not one id",
            "一个未知字符对应一到四个 ID：要加入一个列表，而不是一个 ID",
        ),
    ),
)

"""Exercise of step 23: capitals and spaces.

To a model, `egg`, ` egg`, `Egg` and ` EGG` are different tokens, if they are tokens at all. Write
`variants(word, tokens)`: the tokens of the list (bytes) that spell the word, in any capitals, with one space in front
or without. Tokens that are not UTF-8 spell nothing.

>>> variants("egg", [b"egg", b" Egg", b"eggs", b"  egg", bytes([255]), b"EGG"])
[b'egg', b' Egg', b'EGG']
"""

from __future__ import annotations

from collections.abc import Iterator

from . import Case, Task

SPACE = ("take away one space at most, and only in front", "最多去掉一个空格，而且只在开头")
UTF8 = (
    "a token may be a part of a character: decoding it raises a UnicodeDecodeError",
    "词元可能只是字符的一部分：解码时会引发 UnicodeDecodeError",
)


def cases() -> Iterator[Case]:
    """Words and lists of tokens."""
    yield Case(("egg", []), [])
    yield Case(("egg", [b"egg", b" Egg", b"eggs", b"EGG"]), [b"egg", b" Egg", b"EGG"], SPACE)
    yield Case(("egg", [b"  egg", b"egg ", b"\tegg", b" egg"]), [b" egg"], SPACE)
    yield Case(
        ("小", ["小".encode()[:2], "小".encode(), " 小".encode(), b"\xff"]), ["小".encode(), " 小".encode()], UTF8
    )
    yield Case(("ÉTÉ", ["été".encode(), " Été".encode(), b"ete"]), ["été".encode(), " Été".encode()])


TASKS = (Task("variants", cases, SPACE),)

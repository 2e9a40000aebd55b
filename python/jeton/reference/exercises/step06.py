"""Exercises of step 6: decoding.

**1.** Close the lesson and write `decode(ids, spelling, errors="replace")` again, where `spelling` is a dictionary from
id to bytes. Bytes that are not UTF-8 become U+FFFD, or raise an error if `errors` is "strict"; an unknown id raises a
`KeyError`.

>>> decode([256, 97, 0xFF], {256: "小".encode(), 97: b"a", 0xFF: bytes([255])})
'小a�'

**2.** A model gives one id after another, and the user wants to see text as early as possible, but no half characters.
Write `stream(ids, spelling)`. It returns a list: for each id, the text that becomes complete with it; at the end, one
more item, U+FFFD for bytes that are left over, or else an empty string.

>>> stream([0xE5, 0xB0, 0x8F, 97, 0xE5], {id: bytes([id]) for id in range(256)})
['', '', '小', 'a', '', '�']
"""

from __future__ import annotations

import codecs
import random
from collections.abc import Iterator

from ..step01_levels import BYTES
from ..step06_decode import decode
from . import Case, Raises, Task

SPELLING = {**{id: BYTES[id] for id in (32, 97, 98, 0x80, 0xB0, 0xE5, 0xF0, 0xFF)}, 256: "小".encode()[:2], 257: b"ab"}
JOIN = (
    "join the bytes of all tokens first, and read them as UTF-8 once",
    "先把所有词元的字节连接起来，再作为 UTF-8 一次解码",
)


def decoding() -> Iterator[Case]:
    """Yield lists of ids, of which some spell whole characters and others only parts of characters."""
    yield Case(([], SPELLING), "")
    yield Case(([97, 257, 32], SPELLING), "aab ")
    yield Case(([256, 0x80], SPELLING), decode([256, 0x80], SPELLING), JOIN)
    yield Case(
        ([0xFF, 97], SPELLING), "\ufffda", ('`bytes.decode("utf-8", "replace")`', '`bytes.decode("utf-8", "replace")`')
    )
    yield Case(([97, 0xFF], SPELLING, "strict"), Raises(UnicodeDecodeError), ("pass `errors` on", "把 `errors` 传下去"))
    yield Case(([97, 999], SPELLING), Raises(KeyError), ("999 has no spelling", "999 没有对应的字节"))
    rng = random.Random(6)
    for _ in range(30):
        ids = rng.choices(list(SPELLING), k=rng.randrange(9))
        yield Case((ids, SPELLING), decode(ids, SPELLING), JOIN)


def streaming() -> Iterator[Case]:
    """Yield lists of ids, with the text that each id completes."""
    rng = random.Random(66)
    for ids in ([], [97], [256, 0x8F], [256], *(rng.choices(list(SPELLING), k=rng.randrange(9)) for _ in range(40))):
        reader = codecs.getincrementaldecoder("utf-8")("replace")
        spelling = SPELLING | {0x8F: b"\x8f"}
        yield Case((ids, spelling), [*(reader.decode(spelling[id]) for id in ids), reader.decode(b"", final=True)])


TASKS = (
    Task("decode", decoding, JOIN),
    Task(
        "stream",
        streaming,
        (
            "Python has a decoder that keeps half characters: codecs.getincrementaldecoder",
            "Python 自带能保留半个字符的解码器：codecs.getincrementaldecoder",
        ),
    ),
)

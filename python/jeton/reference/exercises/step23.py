"""Exercises of step 23: the tokens of a text, capitals and spaces.

**1.** To answer questions about tokens, look at the tokens first. Write `tokens(vocab, text)`, where `vocab` has the
attributes `rank_of` (a dictionary from bytes to rank), `pattern` (the name of a pattern of step 8) and `special` (not
used here).
It returns a string: the tokens with `|` between them, three spaces, and the ids with a space between them. Bytes that
are not UTF-8 are shown as U+FFFD. You may use `split` of step 8 and `encode_by_rank` of step 5.

>>> tokens(SMALL, "an Egg")
'a|n| |E|g|g   97 110 32 69 103 103'

**2.** To a model, `egg`, ` egg`, `Egg` and ` EGG` are different tokens, if they are tokens at all. Write
`variants(word, tokens)`: the tokens of the list (bytes) that spell the word in upper, lower or mixed case, with or
without one space in front. Skip tokens that are not UTF-8.

>>> variants("egg", [b"egg", b" Egg", b"eggs", b"  egg", bytes([255]), b"EGG"])
[b'egg', b' Egg', b'EGG']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..step01_levels import BYTES
from ..step03_merge import vocabulary
from ..step04_train import train_bytes
from ..step05_encode import encode_by_rank
from ..step08_split import split
from . import Case, Task


class Vocabulary(NamedTuple):
    """Vocabulary that maps the bytes of tokens to their ranks."""

    name: str
    rank_of: Mapping[bytes, int]
    pattern: str
    special: Mapping[str, int]


def trained(text: str, vocab_size: int) -> Vocabulary:
    """Train a vocabulary on a text."""
    spelling = vocabulary(BYTES, train_bytes(text, vocab_size, split=lambda doc: split(doc, "gpt2")))
    return Vocabulary("small", {token: id for id, token in spelling.items()}, "gpt2", {})


SMALL = trained("", 256)
SPLIT = (
    "split the text by the pattern first, encode each pretoken, then look the ids up in the dictionary turned around",
    "先按模式切分文本，逐个片段编码，再反转字典，由 ID 查词元",
)
SPACE = ("take away one space at most, and only in front", "最多去掉一个空格，而且只在开头")
UTF8 = (
    "a token may be a part of a character: decoding it raises a UnicodeDecodeError",
    "词元可能只是字符的一部分：解码时会引发 UnicodeDecodeError",
)


def cases() -> Iterator[Case]:
    """Yield words and lists of tokens."""
    yield Case(("egg", []), [])
    yield Case(("egg", [b"egg", b" Egg", b"eggs", b"EGG"]), [b"egg", b" Egg", b"EGG"], SPACE)
    yield Case(("egg", [b"  egg", b"egg ", b"\tegg", b" egg"]), [b" egg"], SPACE)
    yield Case(
        ("小", ["小".encode()[:2], "小".encode(), " 小".encode(), b"\xff"]), ["小".encode(), " 小".encode()], UTF8
    )
    yield Case(("ÉTÉ", ["été".encode(), " Été".encode(), b"ete"]), ["été".encode(), " Été".encode()])


def showing() -> Iterator[Case]:
    """Yield texts, each with one of two vocabularies."""
    broken = (
        'a token may be a part of a character: decode with errors="replace"',
        '词元可能只是字符的一部分：解码时用 errors="replace"',
    )
    for vocab in (SMALL, trained("an egg, the eggs, an old egg 今天的天气", 270)):
        spelling = {id: token for token, id in vocab.rank_of.items()}
        for text in ("", "an Egg", "the eggs  are old", "今天 egg"):
            ids = [id for part in split(text, vocab.pattern) for id in encode_by_rank(part.encode(), vocab.rank_of)]
            shown = "|".join(spelling[id].decode("utf-8", "replace") for id in ids)
            yield Case((vocab, text), f"{shown}   {' '.join(map(str, ids))}", broken if "今" in text else SPLIT)


TASKS = (Task("tokens", showing, SPLIT), Task("variants", cases, SPACE))

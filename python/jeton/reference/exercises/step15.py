"""Exercises of step 15: a rank file, and the merges that it does not hold.

**1.** Write `read_ranks(file)` for the bytes of a rank file: a line for each token, its bytes in base64, a space and
its rank. It returns a dictionary from bytes to rank.

>>> read_ranks(b"IQ== 0\\nIg== 1\\n")
{b'!': 0, b'"': 1}

**2.** The file has tokens with their ranks, but no merges. The merges can be recovered: encode the bytes of a token
with only the tokens of lower rank; two parts are left. Write `halves(token, ranks)`, which returns the list of these
parts. A single byte has one part.

>>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5}
>>> halves(b"abc", ranks), halves(b"a", ranks)
([b'a', b'bc'], [b'a'])
"""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from itertools import pairwise

from . import Case, Task

LOWEST = (
    "in each round join the two neighbors whose joined bytes have the lowest rank, the leftmost of equals; "
    "only ranks below that of the token count",
    "每一轮合并拼接后 rank 最小的两个相邻部分，相同则取最左边的；只能用 rank 小于该词元的词元",
)


def by_definition(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """Encode the bytes of a token as if the vocabulary had only single bytes and the tokens of lower rank."""
    known = {part: rank for part, rank in ranks.items() if rank < ranks[token]}
    parts = [bytes([byte]) for byte in token]
    while found := [(known[a + b], at) for at, (a, b) in enumerate(pairwise(parts)) if a + b in known]:
        _, at = min(found)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def cases() -> Iterator[Case]:
    """Yield tokens of small vocabularies, in which each token is a single byte or a merge of two other tokens."""
    example = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5}
    for token in (b"a", b"bc", b"abc"):
        yield Case((token, example), by_definition(token, example))
    rng = random.Random(15)
    for _ in range(20):
        ranks = {b"a": 0, b"b": 1}
        while len(ranks) < 12:
            token = rng.choice(list(ranks)) + rng.choice(list(ranks))
            if token not in ranks and len(by_definition(token, {**ranks, token: len(ranks)})) == 2:
                ranks[token] = len(ranks)
        for token in list(ranks)[6:]:
            yield Case((token, ranks), by_definition(token, ranks))


def files() -> Iterator[Case]:
    """Yield rank files."""
    for tokens in (
        [],
        [b"!", b'"'],
        [bytes([byte]) for byte in range(256)],
        [b" the", b"\n\n", "小".encode(), b" = 1"],
    ):
        ranks = {token: 7 * rank + 1 for rank, token in enumerate(tokens)}
        lines = [base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()]
        yield Case((b"".join(lines),), ranks)


TASKS = (
    Task(
        "read_ranks",
        files,
        (
            "`file.splitlines()`, and `base64.b64decode` from the standard library",
            "`file.splitlines()`，以及标准库的 `base64.b64decode`",
        ),
    ),
    Task("halves", cases, LOWEST),
)

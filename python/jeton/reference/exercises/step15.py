"""Exercise of step 15: merges from ranks.

A file of tiktoken holds tokens with their ranks, and no merges. They can be recovered: encode the bytes of a token with
the tokens of lower rank only; two parts are left. Write `parts(token, ranks)`, where `ranks` is a dictionary from bytes
to rank: the pair of parts, or None for a single byte.

>>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5}
>>> parts(b"abc", ranks), parts(b"a", ranks)
((b'a', b'bc'), None)
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

from . import Case, Task

LOWEST = (
    "in each round join the two neighbors whose joined bytes have the lowest rank, the leftmost of equals; "
    "only ranks below that of the token count",
    "每一轮合并 rank 最小的两个相邻部分，相同则取最左；只使用 rank 小于该词元的词元",
)


def by_definition(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, ...] | None:
    """Encode with the tokens of lower rank."""
    if len(token) == 1:
        return None
    known = {part: rank for part, rank in ranks.items() if rank < ranks[token]}
    parts = [bytes([byte]) for byte in token]
    while found := [(known[a + b], at) for at, (a, b) in enumerate(pairwise(parts)) if a + b in known]:
        _, at = min(found)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return tuple(parts)


def cases() -> Iterator[Case]:
    """Tokens of small vocabularies, whose tokens are all made of two others."""
    example = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5}
    for token in (b"a", b"bc", b"abc"):
        yield Case((token, example), by_definition(token, example))
    rng = random.Random(15)
    for _ in range(20):
        ranks = {b"a": 0, b"b": 1}
        while len(ranks) < 12:
            token = rng.choice(list(ranks)) + rng.choice(list(ranks))
            if token not in ranks and len(by_definition(token, {**ranks, token: len(ranks)}) or ()) == 2:
                ranks[token] = len(ranks)
        for token in list(ranks)[6:]:
            yield Case((token, ranks), by_definition(token, ranks))


TASKS = (Task("parts", cases, LOWEST),)

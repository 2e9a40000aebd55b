"""Exercise of step 18: the BPE of SentencePiece.

Write `encode(text, pieces)`. Begin with the characters. Join the two neighbors whose joined text is in `pieces` and has
the highest score; of equal scores, the leftmost. Repeat until no two neighbors can be joined. `pieces` is a
dictionary from text to a `Piece` of the lesson, whose `kind` is "normal" here. Characters stay even if they are not
pieces.

>>> from jeton.reference.step18_sentencepiece import Piece  # not needed for the answer
>>> encode("abcd", {"ab": Piece(-2.0), "bc": Piece(-1.0), "bcd": Piece(-3.0)})
['a', 'bcd']
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from . import Case, Task


class Piece(NamedTuple):
    """Piece of a model: its score, and its kind."""

    score: float
    kind: str = "normal"


def model(scores: dict[str, float]) -> dict[str, Piece]:
    """Return pieces with these scores."""
    return {text: Piece(score) for text, score in scores.items()}


SCORE = (
    "the highest score, that is, the one nearest to zero of negative ones; after each join look at all neighbors again",
    "取得分最高的，即负数中最接近零的；每次合并后重新查看所有相邻符号",
)


def by_definition(symbols: list[str], scores: dict[str, float]) -> list[str]:
    """Join the two neighbors with the best score, repeatedly, until no two can be joined."""
    found = [(scores[a + b], -at) for at, (a, b) in enumerate(pairwise(symbols)) if a + b in scores]
    if not found:
        return symbols
    at = -max(found)[1]
    return by_definition([*symbols[:at], symbols[at] + symbols[at + 1], *symbols[at + 2 :]], scores)


def cases() -> Iterator[Case]:
    """Yield texts with SentencePiece's mark `▁`, and random texts."""
    equal = ("of equal scores the leftmost is joined first", "得分相同时，先合并最左边的")
    yield Case(("", model({})), [])
    yield Case(("x", model({"x": -1.0})), ["x"])
    yield Case(("abcd", model({"ab": -2.0, "bc": -1.0, "bcd": -3.0})), ["a", "bcd"], SCORE)
    yield Case(("aaa", model({"aa": -1.0})), ["aa", "a"], equal)
    yield Case(("▁low▁lower", model({"lo": 0.0, "low": -1.0, "▁low": -2.0, "er": -3.0})), ["▁low", "▁low", "er"], SCORE)
    rng = random.Random(18)
    for _ in range(40):
        scores = {"".join(rng.choices("ab▁", k=rng.randrange(2, 5))): -float(rng.randrange(6)) for _ in range(12)}
        text = "".join(rng.choices("ab▁", k=rng.randrange(12)))
        yield Case((text, model(scores)), by_definition(list(text), scores), equal)


TASKS = (Task("encode", cases, SCORE),)

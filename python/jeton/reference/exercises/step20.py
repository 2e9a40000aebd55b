"""Exercise of step 20: Viterbi.

A Unigram model gives each piece a score, its natural log-probability, and a segmentation the sum of the scores of its
pieces. Write `best(word, scores)`: the segmentation with the highest score, as `(pieces, score)`, or None if there is
none. Trying all segmentations takes forever for long words, and a case has one of 300 letters.

>>> best("unhug", {"u": -2.0, "n": -2.5, "h": -3.0, "g": -2.2, "un": -2.25, "hug": -1.75, "ug": -2.1})
(['un', 'hug'], -4.0)
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from . import Case, Task

VITERBI = (
    "for each position keep the best segmentation of the text up to it; it is the best one of an earlier position plus "
    "one piece",
    "对每个位置保存到此为止的最佳切分：它等于某个更早位置的最佳切分再加一个 piece",
)
GREEDY = ("the longest piece is not always a part of the best segmentation", "最佳切分不一定包含最长的 piece")


def segmentations(word: str, scores: dict[str, float]) -> Iterator[tuple[list[str], float]]:
    """All of them."""
    if not word:
        yield [], 0.0
    for length in range(1, len(word) + 1):
        if word[:length] in scores:
            for pieces, score in segmentations(word[length:], scores):
                yield [word[:length], *pieces], scores[word[:length]] + score


def cases() -> Iterator[Case]:
    """Words of few letters, against all segmentations, and a long word."""
    yield Case(
        ("", {"a": -1.0}),
        ([], 0.0),
        ("the empty word has the empty segmentation, of score 0", "空词的切分为空，得分为 0"),
    )
    yield Case(("ab", {"a": -1.0}), None, ("b has no piece: None", "b 没有对应的 piece：返回 None"))
    yield Case(("abc", {"ab": -5.0, "a": -1.0, "b": -1.0, "c": -1.0}), (["a", "b", "c"], -3.0), GREEDY)
    rng = random.Random(20)
    for _ in range(40):
        spelled = ["".join(rng.choices("ab", k=rng.randrange(1, 4))) for _ in range(8)]
        scores = {piece: -rng.uniform(0.5, 4.0) for piece in spelled}
        word = "".join(rng.choices("ab", k=rng.randrange(1, 10)))
        ranked = sorted(segmentations(word, scores), key=lambda found: -found[1])
        if len(ranked) < 2 or ranked[0][1] - ranked[1][1] > 1e-6:  # no two best ones
            yield Case((word, scores), ranked[0] if ranked else None, GREEDY)
    yield Case(("ab" * 150, {"a": -1.0, "b": -1.0, "ab": -1.5}), (["ab"] * 150, -225.0), VITERBI)


TASKS = (Task("best", cases, VITERBI),)

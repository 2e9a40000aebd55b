"""Exercise of step 20: Viterbi.

In a Unigram model, each piece has a score, its natural log-probability. The score of a segmentation is the sum of the
scores of its pieces. Write `viterbi(text, scores)`, which returns the segmentation with the highest score, as `(score,
pieces)`. Every character of the text is a piece. Do not try all segmentations, which takes forever for long texts: one
case has a text of 300 letters.

>>> viterbi("unhug", {"u": -2.0, "n": -2.5, "h": -3.0, "g": -2.2, "un": -2.25, "hug": -1.75, "ug": -2.1})
(-4.0, ['un', 'hug'])
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from . import Case, Task

VITERBI = (
    "for each position keep the best segmentation of the text up to it; it is the best one of an earlier position plus "
    "one piece",
    "对每个位置保存到此为止的最佳切分：它等于某个更早位置的最佳切分再加一个子词",
)
GREEDY = ("the longest piece is not always a part of the best segmentation", "最佳切分不一定包含最长的子词")


def segmentations(text: str, scores: dict[str, float]) -> Iterator[tuple[float, list[str]]]:
    """Yield all segmentations of a text, with their scores."""
    if not text:
        yield 0.0, []
    for length in range(1, len(text) + 1):
        if text[:length] in scores:
            for score, pieces in segmentations(text[length:], scores):
                yield scores[text[:length]] + score, [text[:length], *pieces]


def cases() -> Iterator[Case]:
    """Yield texts of few letters, with the best of all their segmentations, and a long text."""
    empty = ("the empty text has the empty segmentation, of score 0", "空文本的切分为空，得分为 0")
    yield Case(("", {"a": -1.0}), (0.0, []), empty)
    yield Case(("abc", {"ab": -5.0, "a": -1.0, "b": -1.0, "c": -1.0}), (-3.0, ["a", "b", "c"]), GREEDY)
    rng = random.Random(20)
    for _ in range(60):
        spelled = ["a", "b", *("".join(rng.choices("ab", k=rng.randrange(2, 4))) for _ in range(6))]
        scores = {piece: -rng.uniform(0.5, 4.0) for piece in spelled}
        text = "".join(rng.choices("ab", k=rng.randrange(1, 10)))
        ranked = sorted(segmentations(text, scores), reverse=True)
        if len(ranked) < 2 or ranked[0][0] - ranked[1][0] > 1e-6:  # skips texts whose two best scores are equal
            yield Case((text, scores), ranked[0], GREEDY)
    yield Case(("ab" * 150, {"a": -1.0, "b": -1.0, "ab": -1.5}), (-225.0, ["ab"] * 150), VITERBI)


TASKS = (Task("viterbi", cases, VITERBI),)

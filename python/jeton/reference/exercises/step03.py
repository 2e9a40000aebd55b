"""Exercises of step 3: merging.

**1.** Close the lesson and write `merge(ids, pair, new)` again. It returns a new list, in which `new` replaces `pair`
from left to right, without overlap.

>>> merge([5, 6, 6, 7, 9, 1], (6, 7), 99)
[5, 6, 99, 9, 1]

**2.** Merging loses nothing. Write `unmerge(ids, merges)`, which replaces each id that came from a merge by its two
parts, until no such id is left. `merges` is a list of `(left, right, new)` in the order of training.

>>> unmerge([258, 97], [(97, 98, 256), (256, 99, 257), (257, 256, 258)])
[97, 98, 99, 97, 98, 97]
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..step03_merge import merge
from . import Case, Task

LEFT = (
    "compare at each position from the left; after a match go on two places further, else one; keep the last id",
    "从左起逐个位置比较；匹配后前进两位，否则前进一位；不要漏掉最后一个 ID",
)


def merging() -> Iterator[Case]:
    """Yield lists of ids, each with a pair to merge."""
    end = ("the last id has no right neighbor", "最后一个 ID 没有右邻")
    again = ("the new id is not looked at again", "新 ID 不再参与本轮合并")
    yield Case(([5, 6, 6, 7, 9, 1], (6, 7), 99), [5, 6, 99, 9, 1])
    yield Case(([], (1, 2), 3), [], ("an empty list stays empty", "空列表仍为空"))
    yield Case(([1], (1, 1), 3), [1], end)
    yield Case(([1, 1, 1], (1, 1), 3), [3, 1], LEFT)
    yield Case(([1, 1, 1, 1], (1, 1), 3), [3, 3], LEFT)
    yield Case(([1, 1, 1], (1, 1), 1), [1, 1], again)
    yield Case(([1, 2], (2, 1), 3), [1, 2], ("(1, 2) and (2, 1) are different pairs", "(1, 2) 与 (2, 1) 不是同一对"))
    rng = random.Random(3)
    for _ in range(20):
        ids = rng.choices(range(2), k=rng.randrange(2, 12))
        yield Case((ids, (0, 1), 9), merge(ids, (0, 1), 9))


def unmerging() -> Iterator[Case]:
    """Yield merged lists of ids, with the lists before merging."""
    rng = random.Random(33)
    yield Case(([], []), [])
    yield Case(([97], [(97, 98, 256)]), [97])
    for _ in range(20):
        start = ids = rng.choices((97, 98), k=rng.randrange(1, 16))
        merges = []
        for new in range(256, 262):
            left, right = rng.choice((97, 98, *range(256, new))), rng.choice((97, 98))
            ids = merge(ids, (left, right), new)
            merges.append((left, right, new))
        yield Case((ids, merges), start)


TASKS = (
    Task("merge", merging, LEFT),
    Task(
        "unmerge",
        unmerging,
        (
            "take the merges in reverse order: a later one may have used the id of an earlier one",
            "按相反的顺序拆开：后面的合并可能用到前面的合并产生的 ID",
        ),
    ),
)

"""Exercise of step 17: fast training.

Which pairs change their count when a pair is merged? Only those next to an occurrence. Write
`changes(ids, pair, new)`: a dictionary from pair to the difference of its count after merging `pair` into `new`, from
left to right, without overlap. Pairs whose count stays as it was are left out.

>>> sorted(changes([1, 2, 3], (2, 3), 9).items())  # (1, 2) and (2, 3) are gone, (1, 9) is new
[((1, 2), -1), ((1, 9), 1), ((2, 3), -1)]
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from . import Case, Task


def merged(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """The list after the merge."""
    result: list[int] = []
    for id in ids:
        if result and (result[-1], id) == pair and pair[0] != new:
            result[-1] = new
        else:
            result.append(id)
    return result


def cases() -> Iterator[Case]:
    """Lists in which occurrences touch and overlap, counted before and after."""
    touch = (
        "in 1 2 1 2 the right neighbor of the first pair is itself a part of a pair: afterwards it is (9, 9)",
        "在 1 2 1 2 中，前一对的右邻本身也属于一对：合并之后是 (9, 9)",
    )
    overlap = ("in 1 1 1 only one pair is replaced", "在 1 1 1 中只替换一处")
    rng = random.Random(17)
    fixed = [([], ("", "")), ([1, 2, 3], ("", "")), ([1, 2, 1, 2], touch), ([1, 2, 1, 2, 1], touch)]
    runs = [([1] * length, overlap) for length in range(2, 7)]
    rest = [(rng.choices((1, 2, 3), k=rng.randrange(12)), ("", "")) for _ in range(40)]
    for ids, hint in (*fixed, *runs, *rest):
        for pair in ((1, 2), (1, 1)):
            before, after = Counter(pairwise(ids)), Counter(pairwise(merged(ids, pair, 9)))
            keys = {key: after[key] - before[key] for key in (*before, *after)}
            yield Case((ids, pair, 9), {key: value for key, value in keys.items() if value}, hint)


TASKS = (
    Task(
        "changes",
        cases,
        (
            "for a first answer count all pairs before and after, and subtract; then find out which ones you can skip",
            "可以先统计合并前后的所有相邻对并相减，再想想哪些不必统计",
        ),
    ),
)

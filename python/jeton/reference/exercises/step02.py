"""Exercises of step 2: pairs.

**1.** Close the lesson and write `count_pairs(sequences, weights=None)` again. It returns a dictionary from pair to
count, in order of first appearance; a sequence of weight 3 counts three times.

>>> count_pairs([[1, 2, 3, 1, 2], [1, 2]], [1, 3])
{(1, 2): 5, (2, 3): 1, (3, 1): 1}

**2.** The list `[7, 7, 7]` holds the pair (7, 7) twice, but merging can replace it only once. Write
`replaceable(ids, pair)`. It returns how many times merging replaces the pair, if it goes through the list from left to
right and uses each position for one replacement at most.

>>> replaceable([7, 7, 7], (7, 7)), replaceable([1, 2, 3, 1, 2], (1, 2))
(1, 2)
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..step02_pairs import count_pairs
from . import Case, Task

ORDER = (
    "a dictionary keeps the order in which its keys came: add a pair when you see it first",
    "字典按加入的顺序保存键：第一次遇到一个相邻对，就把它加入字典",
)


def counting() -> Iterator[Case]:
    """Yield sequences, with weights and without."""
    overlap = ("`[1, 1, 1]` holds the pair (1, 1) twice", "`[1, 1, 1]` 中 (1, 1) 出现两次")
    weights = ("multiply by the weight of the sequence", "要乘以该序列的权重")
    borders = ("no pair goes from one sequence to the next", "相邻对不能跨越两个序列")
    yield Case(([[1, 2, 3, 1, 2]],), [((1, 2), 2), ((2, 3), 1), ((3, 1), 1)], ORDER)
    yield Case(([],), [])
    yield Case(([[7], []],), [], ("a sequence of one id has no pair", "只有一个 ID 的序列没有相邻对"))
    yield Case(([[1, 1, 1]],), [((1, 1), 2)], overlap)
    yield Case(([[1, 2], [3, 4]],), [((1, 2), 1), ((3, 4), 1)], borders)
    yield Case(([[1, 2], [2, 1], [1, 2]], [5, 1, 2]), [((1, 2), 7), ((2, 1), 1)], weights)
    rng = random.Random(2)
    for _ in range(20):
        sequences = [rng.choices(range(4), k=rng.randrange(8)) for _ in range(3)]
        yield Case((sequences, [1, 2, 3]), list(count_pairs(sequences, [1, 2, 3]).items()), ORDER)


def replacing() -> Iterator[Case]:
    """Yield random lists of ids, and lists that repeat a single id (in these, neighboring pairs overlap)."""
    rng = random.Random(22)
    runs = [[7] * length for length in range(6)]
    for ids in (*runs, *(rng.choices((7, 8), k=rng.randrange(12)) for _ in range(20))):
        for pair in ((7, 7), (7, 8)):
            yield Case((ids, pair), "".join(map(str, ids)).count(f"{pair[0]}{pair[1]}"))


TASKS = (
    Task("count_pairs", counting, ORDER, lambda function, *arguments: list(function(*arguments).items())),
    Task(
        "replaceable",
        replacing,
        (
            "walk with an index; after a replacement go on two places further",
            "用下标遍历；替换一处之后，下标前进两位",
        ),
    ),
)

"""Exercises of step 17: fast training.

**1.** Which pairs change their count when a pair is merged? Only pairs that touch an occurrence. Write `changes(ids,
pair, new)`. It merges `pair` into `new`, from left to right, without overlap, and returns a dictionary from each pair
to the change of its count. Pairs whose count is unchanged are left out.

>>> sorted(changes([1, 2, 3], (2, 3), 9).items())  # (1, 2) and (2, 3) are gone, (1, 9) is new
[((1, 2), -1), ((1, 9), 1), ((2, 3), -1)]

**2.** Write `train_fast(sequences, weights, strings, num_merges)`, with the arguments and the result of `train` of step
4: `weights` is a list or None, the first new id is the highest of `strings` plus one, and of pairs with equal counts,
the one that occurs first in the current corpus is merged. Do not count all pairs again after each merge: the last case
has 20,000 words and 300 merges, and a limit of ten seconds.

>>> [tuple(merge) for merge in train_fast([[1, 2, 3, 1, 2]], None, {1: b"a", 2: b"b", 3: b"c"}, 1)]
[(1, 2, 4, 2)]
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..step04_train import train
from . import Case, Task

LARGE = "20,000 words, 300 merges: the last three merges"  # shown in place of the arguments
LAST = [(17, 2, 317, 53), (8, 19, 318, 53), (8, 2, 319, 53)]
SLOW = (
    "keep for each pair its count and its places; after a merge, look only at the places of the pair",
    "为每个相邻对保存频次和出现位置；合并之后，只处理被合并的对出现的位置",
)


def merged(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Return the list after the merge."""
    result: list[int] = []
    for id in ids:
        if result and (result[-1], id) == pair and pair[0] != new:
            result[-1] = new
        else:
            result.append(id)
    return result


def cases() -> Iterator[Case]:
    """Yield lists in which occurrences of the merged pair touch or overlap, and random lists.

    The expected changes are the counts of pairs after the merge minus those before it.
    """
    touch = (
        "in 1 2 1 2 the right neighbor of the first pair is itself a part of a pair: afterwards it is (9, 9)",
        "在 1 2 1 2 中，第一对右边的符号也属于要合并的一对，所以合并之后得到 (9, 9)",
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


def words(seed: int, number: int) -> list[list[int]]:
    """Return random words of the letters a to t, a few of which are frequent."""
    rng = random.Random(seed)
    return [[int(20 * rng.random() ** 2) for _ in range(rng.randrange(4, 14))] for _ in range(number)]


def training() -> Iterator[Case]:
    """Yield small corpora, and a large corpus, of which only the last merges are compared."""
    strings = {id: bytes([97 + id]) for id in range(20)}
    weight = ("a pair counts as often as its word: the weight", "相邻对的频次要乘以词的权重")
    tie = (
        "of equal counts, the pair whose first occurrence is first in the corpus as it is after the merges so far",
        "频次相同时，取当前语料中最先出现的一对；当前语料已经做过前面的合并",
    )
    for seed in range(25):
        sequences = words(seed, seed % 7)
        weights = [1 + (seed * number) % 5 for number in range(len(sequences))] if seed % 2 else None
        merges = [tuple(merge) for merge in train(sequences, weights, strings, 12)]
        yield Case((sequences, weights, strings, 12), merges, weight if weights else tie)
    yield Case((LARGE,), LAST, SLOW)


def learned(function: Any, *arguments: Any) -> list[tuple[int, ...]]:
    """Return the merges that a function learns; for the large corpus, only the last three."""
    if arguments == (LARGE,):
        strings = {id: bytes([97 + id]) for id in range(20)}
        return [tuple(merge) for merge in function(words(17, 20_000), None, strings, 300)][-3:]
    return [tuple(merge) for merge in function(*arguments)]


TASKS = (
    Task(
        "changes",
        cases,
        (
            "for a first answer count all pairs before and after, and subtract; then find out which ones you can skip",
            "可以先统计合并前后的所有相邻对并相减，再想想哪些不必统计",
        ),
    ),
    Task("train_fast", training, SLOW, learned),
)

"""Exercise of step 16: fast encoding.

`encode` of step 5 reads all ids again for each merge. Write `encode_fast(ids, ranks)`, which takes the same
arguments and returns the same result, but in a time about proportional to the length of the list. The last cases have
50,000 ids and many different merges, and a limit of ten seconds. `ranks` is a dictionary from `(left, right)` to
`(rank, new)`.

>>> encode_fast(list(b"ababa"), {(97, 98): (0, 256)})
[256, 256, 97]
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator

from . import Case, Task

Ranks = dict[tuple[int, int], tuple[int, int]]
STALE = (
    "an entry of the heap is stale if one of its two symbols has changed since: compare before you merge",
    "堆中的条目可能已经过期，因为其中一个符号后来变了；合并之前先核对",
)
SPEED = (
    "keep the symbols in a linked list (arrays `previous` and `next`), and the pairs in a heap by (rank, position)",
    "用链表（数组 `previous` 和 `next`）保存符号，用堆按 (rank, 位置) 保存相邻对",
)


def oracle(ids: list[int], ranks: Ranks) -> list[int]:
    """Compute the expected result: encode with a heap of positions, the lowest rank first."""
    symbols: list[int | None] = list(ids)
    after = list(range(1, len(ids) + 1))
    before = list(range(-1, len(ids) - 1))
    heap: list[tuple[int, int, int, int]] = []

    def push(left: int, right: int) -> None:
        if left >= 0 and right < len(ids):
            pair = symbols[left], symbols[right]
            if pair in ranks:
                heapq.heappush(heap, (ranks[pair][0], left, *pair))

    for at in range(len(ids) - 1):
        push(at, at + 1)
    while heap:
        _, at, left, right = heapq.heappop(heap)
        end = after[at]
        if symbols[at] != left or end >= len(ids) or symbols[end] != right:
            continue
        symbols[at], symbols[end] = ranks[left, right][1], None
        after[at] = after[end]
        if after[at] < len(ids):
            before[after[at]] = at
        push(before[at], at)
        push(at, after[at])
    return [symbol for symbol in symbols if symbol is not None]


def random_ranks(rng: random.Random, letters: range, size: int) -> Ranks:
    """Return random merges, in which each symbol of a pair is a letter or the result of an earlier merge."""
    ranks: Ranks = {}
    known = list(letters)
    while len(ranks) < size:
        pair = rng.choice(known), rng.choice(known)
        if pair not in ranks:
            ranks[pair] = len(ranks), 256 + len(ranks)
            known.append(255 + len(ranks))
    return ranks


def cases() -> Iterator[Case]:
    """Yield short lists with overlaps, and long lists."""
    yield Case(([], {}), [])
    yield Case(([97] * 5, {(97, 97): (0, 256)}), [256, 256, 97], STALE)
    rng = random.Random(16)
    for _ in range(40):
        ranks = random_ranks(rng, range(97, 99), rng.randrange(1, 12))
        ids = rng.choices((97, 98), k=rng.randrange(20))
        yield Case((ids, ranks), oracle(ids, ranks), STALE)
    for _ in range(2):
        ranks = random_ranks(rng, range(97, 123), 20_000)
        ids = rng.choices(range(97, 123), k=50_000)
        yield Case((ids, ranks), oracle(ids, ranks), SPEED)


TASKS = (Task("encode_fast", cases, SPEED),)

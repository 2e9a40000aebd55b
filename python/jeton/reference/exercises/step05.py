"""Exercises of step 5: encoding.

**1.** Close the lesson and write `encode(ids, ranks)` again, where `ranks` is a dictionary from `(left, right)` to
`(rank, new)`. It merges until nothing can be merged, the lowest rank first.

>>> encode(list(b"ababa"), {(97, 98): (0, 256)})
[256, 256, 97]

**2.** Encoding can never give some tokens, because an earlier merge uses up their parts. Write `unreachable(merges)`
for a list of `(left, right, new)`. For each id `new`, encode the bytes of its token; if the result is not `[new]`, the
id is unreachable. Return the unreachable ids in ascending order. All ids below 256 are bytes.

>>> unreachable([(97, 98, 256), (98, 99, 257), (97, 257, 258)])  # ab, bc, a + bc
[258]
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..step01_levels import BYTES
from ..step03_merge import Merge, vocabulary
from ..step05_encode import encode, ranks
from . import Case, Task

Three = tuple[int, int, int]


def random_merges(rng: random.Random) -> list[Three]:
    """Return random merges of a, b and earlier results, each pair once."""
    merges: list[Three] = []
    for _ in range(rng.randrange(1, 9)):
        known = [97, 98, *range(256, 256 + len(merges))]
        pair = rng.choice(known), rng.choice(known)
        if pair not in [merge[:2] for merge in merges]:
            merges.append((*pair, 256 + len(merges)))
    return merges


def encoding() -> Iterator[Case]:
    """Yield short lists of ids with a few merges, then random lists with random merges."""
    rank = (
        "take the pair with the lowest rank, not the first pair that has a merge, and not the longest token",
        "要取 rank 最小的相邻对，而不是最先遇到的一对，也不是最长的词元",
    )
    yield Case(([], {}), [], ("an empty list has nothing to merge", "空列表没有可以合并的对"))
    yield Case(([97], {(97, 97): (0, 256)}), [97])
    yield Case(([97, 98, 99], {(98, 99): (0, 256), (97, 98): (1, 257)}), [97, 256], rank)
    yield Case(([97, 97, 97], {(97, 97): (0, 256)}), [256, 97])
    rng = random.Random(5)
    for _ in range(30):
        table = {(left, right): (rank, new) for rank, (left, right, new) in enumerate(random_merges(rng))}
        ids = rng.choices((97, 98), k=rng.randrange(14))
        yield Case((ids, table), encode(ids, table), rank)


def reaching() -> Iterator[Case]:
    """Yield lists of merges, with their unreachable tokens."""
    rng = random.Random(55)
    yield Case(([],), [])
    for _ in range(40):
        merges = [Merge(*merge) for merge in random_merges(rng)]
        spelling = vocabulary(BYTES, merges)
        lost = [new for _, _, new, _ in merges if encode(list(spelling[new]), ranks(merges)) != [new]]
        yield Case(([tuple(merge)[:3] for merge in merges],), lost)


TASKS = (
    Task(
        "encode",
        encoding,
        (
            "after each merge look at all pairs again: the new id has made new ones",
            "每次合并之后重新查看所有相邻对：新 ID 会产生新的相邻对",
        ),
    ),
    Task(
        "unreachable",
        reaching,
        (
            "spell each new id in bytes (its two parts joined), encode these bytes with all merges, and compare; being "
            "a part of no other token does not make a token unreachable",
            "把每个新 ID 还原为字节（左右相连），用全部合并编码，再比较；没有用于别的合并的词元，编码也可能得到",
        ),
    ),
)

"""Exercise of step 22: joining vocabularies.

Write `join(tokens, others)` for two vocabularies as lists, in which the place of a token is its id. It returns the
joined list and, for each id of `others`, the id in it. The ids of the first list stay as they are; tokens of the second
that the first lacks follow in their order.

>>> join([b"a", b"b", b"ab"], [b"b", b"c", b"ab", b"bc"])
([b'a', b'b', b'ab', b'c', b'bc'], [1, 3, 2, 4])
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from . import Case, Task

STAY = (
    "a model has rows for the old ids: append, and do not sort",
    "模型的嵌入表按原有 ID 排列：只能追加，不能重新排序",
)


def cases() -> Iterator[Case]:
    """Lists of tokens, without a token twice in one list."""
    rng = random.Random(22)
    known = [bytes(rng.choices(b"abc", k=length)) for length in (1, 2, 2, 3, 3, 4, 4, 5)]
    fixed: list[tuple[list[bytes], list[bytes]]] = [
        ([], []),
        ([b"a"], []),
        ([], [b"a"]),
        ([b"a"], [b"a"]),
        ([b"b"], [b"c", b"a"]),
    ]
    mixed = [tuple(rng.sample(sorted(set(known)), k=4) for _ in range(2)) for _ in range(20)]
    for tokens, others in (*fixed, *mixed):
        joined = [*tokens, *(token for token in others if token not in tokens)]
        yield Case((tokens, others), (joined, [joined.index(token) for token in others]))


TASKS = (Task("join", cases, STAY),)

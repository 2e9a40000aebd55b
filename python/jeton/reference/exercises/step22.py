"""Exercises of step 22: words as tokens, and joining vocabularies.

**1.** Write `add_words(merges, words)`, which appends merges until each word is one token: encode the word with all
merges; while it has more than one token, append a merge of its first two tokens, with the next free id. `merges` are
`Merge`s of step 3; the first merge has the id 256. You may use `encode` of step 5.

>>> [merge[:3] for merge in add_words([Merge(97, 98, 256)], ["abba"])]
[(97, 98, 256), (256, 98, 257), (257, 97, 258)]

**2.** Write `join(tokens, others)` for two vocabularies as lists, in which the index of a token is its id. It returns
the joined list and, for each id of `others`, the new id in the joined list. The ids of the first list are unchanged.
In the joined list, the tokens that only the second list contains come after the first list, in their old order.

>>> join([b"a", b"b", b"ab"], [b"b", b"c", b"ab", b"bc"])
([b'a', b'b', b'ab', b'c', b'bc'], [1, 3, 2, 4])
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..step03_merge import Merge
from ..step05_encode import encode, ranks
from . import Case, Task

STAY = (
    "a model has rows for the old ids: append, and do not sort",
    "模型的嵌入表按原有 ID 排列：只能追加，不能重新排序",
)


def cases() -> Iterator[Case]:
    """Yield pairs of lists of distinct tokens."""
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


def adding() -> Iterator[Case]:
    """Yield words, some of which already are tokens, or become tokens by a merge for another word."""
    again = (
        "encode again after each merge: it may also have joined later parts, as `ab` in `abab`",
        "每加入一次合并都要重新编码：新的合并可能也合并了后面的部分，如 `abab` 中的 `ab`",
    )
    start = [Merge(97, 98, 256)]
    rng = random.Random(222)
    texts = ["".join(rng.choices("ab", k=rng.randrange(1, 9))) for _ in range(12)]
    lists = [
        [],
        ["a"],
        ["ab"],
        ["abba"],
        ["abab"],
        ["abab", "ababab"],
        ["小"],
        ["小", "大"],
        *([one] for one in texts),
        texts,
    ]
    for words in lists:
        merges = list(start)
        for word in words:
            while len(ids := encode(list(word.encode()), ranks(merges))) > 1:
                merges.append(Merge(ids[0], ids[1], 256 + len(merges)))
        yield Case((start, words), [tuple(merge)[:3] for merge in merges], again)


TASKS = (
    Task(
        "add_words",
        adding,
        ("the id of a new merge is 256 plus the number of merges before it", "新合并的 ID 为 256 加上此前的合并次数"),
        lambda function, *arguments: [tuple(merge)[:3] for merge in function(*arguments)],
    ),
    Task("join", cases, STAY),
)

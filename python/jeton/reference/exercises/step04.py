"""Exercises of step 4: training.

**1.** Close the lesson and write `train_bytes(text, vocab_size)` again. It starts from the UTF-8 bytes of the text,
and returns the merges as `(left, right, new, count)`. Ids of new tokens begin at 256. If several pairs have the highest
count, the pair that occurs first is merged. Training ends early when no pair is left.

>>> [tuple(merge) for merge in train_bytes("abab", 300)]
[(97, 98, 256, 2), (256, 256, 257, 1)]

**2.** How often does the tie rule decide? Write `tied(text, num_merges)`: train as in 1, and return for each round how
many pairs have the highest count. If this number is 1, all tie rules agree.

>>> tied("abcababcaabc", 4)
[1, 1, 4, 3]
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..step02_pairs import count_pairs, most_frequent
from ..step03_merge import merge
from ..step04_train import train_bytes
from . import Case, Task

TEXTS = (
    "",
    "a",
    "abab",
    "aaaa",
    "abcababcaabc",
    "old older fast faster fastest best better yes desk mess",
    "今天的天气很好",
)


def random_texts() -> Iterator[str]:
    """Yield short texts of few letters, in which many pairs have equal counts."""
    rng = random.Random(4)
    for _ in range(20):
        yield "".join(rng.choices("ab c", k=rng.randrange(2, 30)))


def training() -> Iterator[Case]:
    """Yield texts, and the merges that the lesson learns from them."""
    overlap = (
        "`aaaa` holds the pair (a, a) three times; merging replaces two of them, from left to right",
        "`aaaa` 中 (a, a) 出现三次；合并时从左到右、不重叠，只替换两处",
    )
    for text in (*TEXTS, *random_texts()):
        expected = [tuple(merge) for merge in train_bytes(text, 270)]
        yield Case((text, 270), expected, overlap if text == "aaaa" else ("", ""))


def ties() -> Iterator[Case]:
    """Yield texts with their answers: how many pairs have the highest count before each of the first six merges."""
    for text in (*TEXTS, *random_texts()):
        ids, found = list(text.encode()), []
        for new in range(256, 262):
            if counts := count_pairs([ids]):
                found.append(list(counts.values()).count(max(counts.values())))
                ids = merge(ids, most_frequent(counts), new)
        yield Case((text, 6), found)


TASKS = (
    Task(
        "train_bytes",
        training,
        (
            "in each round count all pairs anew, take the first one with the highest count, and replace it everywhere",
            "每一轮都重新统计所有相邻对，取频次最高且最先出现的一对，并在全文替换",
        ),
        lambda function, *arguments: [tuple(merge) for merge in function(*arguments)],
    ),
    Task(
        "tied",
        ties,
        (
            "count the pairs before each merge; stop when there is none",
            "每次合并之前统计相邻对的频次；没有相邻对时停止",
        ),
    ),
)

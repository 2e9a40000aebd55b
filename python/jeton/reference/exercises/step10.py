"""Exercises of step 10: words.

**1.** Close the lesson and write `longest_first(word, tokens)` again: put the end mark `</w>` behind the word, take the
longest token that occurs anywhere in it, then the next longest in what is left, and so on. Each run of letters that no
token covers becomes one `</u>`. The mark counts as one letter. Of tokens of equal length, the one that is listed first
is taken first.

>>> longest_first("lowest", ["low", "est</w>", "e", "s", "t"])
['low', 'est</w>']
>>> longest_first("newer", ["e", "r", "</w>"])
['</u>', 'e', '</u>', 'e', 'r', '</w>']

**2.** Training on words needs the counts of pairs over the whole corpus. Write `weighted_pairs(words)` for a dictionary
from word to count: the counts of all pairs of letters, with the mark `</w>` as the last letter of each word.

>>> weighted_pairs({"low": 5, "lo": 2})
{('l', 'o'): 7, ('o', 'w'): 5, ('w', '</w>'): 5, ('o', '</w>'): 2}
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

from ..step10_words import longest_first
from . import Case, Task

RUN = (
    "several letters in a row that no token covers are one </u> together, and none of them may get lost",
    "连续几个字符没有词元覆盖时，合为一个 </u>，一个字符也不能丢",
)
DROP = ("no letter may get lost: what no token covers becomes </u>", "任何字符都不能丢：没有词元覆盖的部分变为 </u>")
LENGTH = (
    "the longest token anywhere, not the longest one at the start; `</w>` counts as one letter",
    "取整个词中最长的词元，而不只是从词的开头找；`</w>` 按一个字符计",
)
DOT = ("compare as text, not as a regular expression: `.` is a letter", "按普通文本比较，不要当作正则：`.` 也是字符")


def greedy() -> Iterator[Case]:
    """Yield words and lists of tokens."""
    for word, tokens, hint in (
        ("lowest", ["low", "est</w>", "e", "s", "t"], LENGTH),
        ("newer", ["e", "r", "</w>"], DROP),
        ("xay", [], RUN),
        ("aaaab", ["a", "aaa", "b"], LENGTH),
        ("abcd", ["ab", "bcd"], LENGTH),
        ("abc", ["ab", "bc"], ("of equal length the one listed first goes first", "长度相同时，列在前面的优先")),
        ("axb", ["a.b"], DOT),
        ("a.b", ["a.b", "</w>"], DOT),
    ):
        yield Case((word, tokens), longest_first(word, tokens), hint)
    rng = random.Random(10)
    for _ in range(20):
        tokens = ["".join(rng.choices("abc", k=rng.randrange(1, 4))) + rng.choice(["", "</w>"]) for _ in range(5)]
        word = "".join(rng.choices("abc", k=rng.randrange(1, 9)))
        yield Case((word, tokens), longest_first(word, tokens), LENGTH)


def weighing() -> Iterator[Case]:
    """Yield corpora as words with counts. The expected result is counted in a list with `count` copies of each word."""
    rng = random.Random(100)
    corpora = [{"".join(rng.choices("ab", k=rng.randrange(1, 5))): rng.randrange(1, 9) for _ in range(4)}]
    for words in ({}, {"a": 1}, {"low": 5, "lower": 2, "newest": 6, "widest": 3}, {"aaa": 2}, *corpora):
        counts: dict[tuple[str, str], int] = {}
        for letters in ([*word, "</w>"] for word, count in words.items() for _ in range(count)):
            for pair in pairwise(letters):
                counts[pair] = counts.get(pair, 0) + 1
        yield Case((words,), counts)


TASKS = (
    Task("longest_first", greedy, LENGTH),
    Task(
        "weighted_pairs",
        weighing,
        (
            "add the count of the word for each pair in it, also for the pair of the last letter and the mark",
            "词中的每个相邻对都加上该词的词频，包括最后一个字符与词尾标记组成的一对",
        ),
    ),
)

"""Exercises of step 8: pretokens.

**1.** Close the lesson and write `split(text, pattern)` again, for the pattern "gpt2" and ASCII texts. The
alternatives, in this order: the endings 's 't 're 've 'm 'll 'd; an optional space and letters; an optional space and
digits; an optional space and other characters that are not white space; white space without its last character, if
something follows; white space.

>>> split("don't  stop 123!", "gpt2")
['don', "'t", ' ', ' stop', ' 123', '!']

**2.** GPT-4 splits `1234567` from the left, into 123|456|7. Numbers align better if they are split from the right, as
people write them. Write `groups(digits)`.

>>> groups("1234567"), groups("100")
(['1', '234', '567'], ['100'])
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..step08_split import split
from . import Case, Task

ORDER = (
    "an engine tries the alternatives in their order at each position, and takes the first that fits",
    "正则引擎在每个位置按顺序尝试各分支，取第一个能匹配的",
)


def splitting() -> Iterator[Case]:
    """Yield ASCII texts, with their pretokens."""
    space = (
        r"`\s+(?!\S)` leaves the last space of a run to the next word",
        r"`\s+(?!\S)` 把一串空白的最后一个留给后面的词",
    )
    endings = ("the endings come first, and are lower case", "缩写词尾排在最前，且只匹配小写")
    for text, hint in (
        ("", ORDER),
        ("How's the weather in 2026? It's 9.11 degrees!!", endings),
        ("I'LL don't", endings),
        ("a  b   c", space),
        ("end  ", space),
        ("\n\nif x:\n    return", space),
        ("_x$1a", ORDER),
    ):
        yield Case((text, "gpt2"), split(text, "gpt2"), hint)
    rng = random.Random(8)
    for _ in range(30):
        text = "".join(rng.choices("aB1 \n'st!", k=rng.randrange(12)))
        yield Case((text, "gpt2"), split(text, "gpt2"))


def grouping() -> Iterator[Case]:
    """Yield strings of digits, with their groups."""
    for digits in ("", "7", "12", "123", "1234", "0012", "123456", "1234567", "9" * 30):
        start = len(digits) % 3
        expected = [digits[:start]] * bool(start) + [digits[at : at + 3] for at in range(start, len(digits), 3)]
        yield Case((digits,), expected)


TASKS = (
    Task("split", splitting, ORDER),
    Task(
        "groups",
        grouping,
        (
            "the first group has len(digits) % 3 digits, unless that is 0; zeros at the start are digits too",
            "第一组有 len(digits) % 3 位，若为 0 则没有这一组；开头的 0 也是数字",
        ),
    ),
)

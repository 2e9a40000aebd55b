"""Exercises of step 11: compression.

**1.** Close the lesson and write `measure(text, ids)` again. It returns the number of bytes of the text in UTF-8, the
number of its characters, and the number of ids.

>>> tuple(measure("小 cat", [1, 2, 3]))
(7, 5, 3)

**2.** The loss of a model is given per token, so it cannot compare models with different tokenizers: with fewer tokens,
each has more loss. *Bits per byte* can be compared. Write `bits_per_byte(loss, num_tokens, text)`, where `loss` is the
mean loss per token in nats (natural logarithm).

>>> round(bits_per_byte(2.0, 100, "x" * 400), 4)
0.7213
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from . import Case, Task

UTF8 = ("count the bytes of `text.encode()`", "字节数是 `text.encode()` 的长度")


def measuring() -> Iterator[Case]:
    """Yield texts and lists of ids."""
    for text, ids, expected in (
        ("", [], (0, 0, 0)),
        ("cat", [1], (3, 3, 1)),
        ("小 cat", [1, 2, 3], (7, 5, 3)),
        ("👨‍👩‍👧", [9] * 4, (18, 5, 4)),
    ):
        yield Case((text, ids), expected)


def comparing() -> Iterator[Case]:
    """Yield cases that consist of a loss, a number of tokens and a text."""
    for loss, num_tokens, text in (
        (2.0, 100, "x" * 400),
        (math.log(2), 8, "12345678"),
        (3.1, 7, "今天的天气"),
        (0.0, 5, "a"),
    ):
        yield Case((loss, num_tokens, text), loss * num_tokens / math.log(2) / len(text.encode()))


TASKS = (
    Task("measure", measuring, UTF8),
    Task(
        "bits_per_byte",
        comparing,
        (
            "nats of the whole text = loss × tokens; one bit is ln 2 nats; divide by bytes, not by characters",
            "整个文本的奈特数 = 损失 × 词元数；1 比特 = ln 2 奈特；除以字节数，而不是字符数",
        ),
    ),
)

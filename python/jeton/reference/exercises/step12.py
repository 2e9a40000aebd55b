"""Exercises of step 12: embeddings. Plain Python is enough: a table is a list of rows, a row a list of numbers.

**1.** Write `check(ids, rows)` again. It raises an `IndexError` if an id of a batch (a list of lists) has no row.

>>> check([[0, 9]], rows=10)

**2.** A lookup is a product: a *one-hot* row times the table. A one-hot row has a single 1; all its other numbers are
0. Write `one_hot_lookup(ids, table)`, which makes the one-hot rows and multiplies them by the table. The result must be
the rows of the ids.

>>> one_hot_lookup([2, 0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
[[5.0, 6.0], [1.0, 2.0]]

**3.** Training changes each row that was looked up: the row moves by `-rate` times its gradient. Write `step(table,
ids, gradients, rate)` for a list of ids with one gradient (a row) for each id. It returns a new table. The gradients of
an id that occurs twice add up.

>>> step([[1.0, 1.0], [2.0, 2.0]], [0, 0], [[1.0, 0.0], [1.0, 2.0]], 0.5)
[[0.0, 0.0], [2.0, 2.0]]
"""

from __future__ import annotations

from collections.abc import Iterator

from . import Case, Raises, Task

TABLE = [[1.0, 2.0, 0.5], [3.0, 4.0, -1.0], [5.0, 6.0, 0.0]]
NEGATIVE = (
    "-1 has no row, though Python would take the last one",
    "-1 没有对应的行，尽管 Python 会取最后一行",
)
TWICE = (
    "an id that occurs twice moves twice, and the table of the caller stays as it was",
    "出现两次的 ID 要更新两次；调用者的表应当保持不变",
)


def checking() -> Iterator[Case]:
    """Yield batches with and without an id that is too high."""
    yield Case(([[0, 9]], 10), None)
    yield Case(([], 0), None)
    yield Case(([[0], [10]], 10), Raises(IndexError), ("10 rows have the ids 0 to 9", "10 行对应的 ID 为 0 到 9"))
    yield Case(([[0, -1]], 10), Raises(IndexError), NEGATIVE)


def looking_up() -> Iterator[Case]:
    """Yield ids for a table of three rows."""
    for ids in ([], [0], [2, 0], [1, 1, 2]):
        yield Case((ids, TABLE), [TABLE[id] for id in ids])


def stepping() -> Iterator[Case]:
    """Yield steps with no gradient, with a gradient of one row, and with two gradients of the same row."""
    yield Case((TABLE, [], [], 0.1), TABLE, TWICE)
    yield Case((TABLE, [1], [[1.0, -2.0, 0.0]], 0.1), [TABLE[0], [2.9, 4.2, -1.0], TABLE[2]])
    yield Case((TABLE, [2], [[0.0, 0.0, 0.0]], 5.0), TABLE)
    yield Case((TABLE, [0, 0], [[1.0] * 3, [2.0] * 3], 1.0), [[-2.0, -1.0, -2.5], *TABLE[1:]], TWICE)


TASKS = (
    Task("check", checking, NEGATIVE),
    Task(
        "one_hot_lookup",
        looking_up,
        (
            "number j of the product is the sum over all rows i of one_hot[i] * table[i][j]",
            "乘积的第 j 个数，是所有行 i 的 one_hot[i] * table[i][j] 之和",
        ),
    ),
    Task("step", stepping, TWICE),
)

"""Answers to the second and the third exercise of step 12."""

Rows = list[list[float]]


def one_hot_lookup(ids: list[int], table: Rows) -> Rows:
    """Multiply one-hot rows by the table."""
    ones = [[float(row == id) for row in range(len(table))] for id in ids]
    return [
        [sum(one * row[j] for one, row in zip(hot, table, strict=True)) for j in range(len(table[0]))] for hot in ones
    ]


def step(table: Rows, ids: list[int], gradients: Rows, rate: float) -> Rows:
    """Apply one step of gradient descent to a copy of the table."""
    new = [list(row) for row in table]
    for id, gradient in zip(ids, gradients, strict=True):
        new[id] = [value - rate * slope for value, slope in zip(new[id], gradient, strict=True)]
    return new

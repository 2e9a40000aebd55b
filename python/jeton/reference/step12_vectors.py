"""Step 12. From ids to vectors: the embedding table.

An id is a name, not a quantity: token 300 is not three times token 100. So a model first looks the id up in a table
with one row for each id, and computes with the row, a list of some hundreds or thousands of numbers. The table is
called the *embedding*, and the lookup is nothing but indexing:

>>> table = embedding(rows=10, columns=32)
>>> vectors = table.lookup([[0, 1, 2]])
>>> tuple(vectors.shape)
(1, 3, 32)
>>> bool((vectors[0, 2] == table.table[2]).all())
True

One text of three ids, each with its 32 numbers: `[1, 3, 32]`. Shapes like this are read from the left: how many texts
in the batch, how many ids in each, how many numbers for each id.

**How the rows come to mean something.** They begin as random numbers. When the model has made its prediction, each
number it used gets a *gradient*: in which direction, and how strongly, it should change for the prediction to be
better. Through a lookup the gradient goes straight back to the rows that were looked up, and all others get zero:

>>> table.backward([[0, 1, 2]])
>>> [row for row in range(10) if bool((table.gradient()[row] != 0).any())]
[0, 1, 2]

Here every number of the result had the gradient 1. An id that occurs twice collects it twice:

>>> table = embedding(rows=10, columns=4)
>>> table.backward([[5, 5, 7]])
>>> [float(table.gradient()[row][0]) for row in (5, 6, 7)]
[2.0, 0.0, 1.0]

This has two consequences for tokenizers. The table needs as many rows as the *highest id plus one*, even if the ids
have gaps: an id past the end is an error. And a token that never occurs in the corpus keeps its random initial row, so
the model may behave unpredictably when a user types it. A rare token is not much better.

PyTorch computes the gradients by itself, and it is used if it is installed. Otherwise NumPy does the lookup, and one
line of calculus below computes the gradient. Left out: the model. Next: step13_tokenizer.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

Batch = Sequence[Sequence[int]]  # texts of equal length, each a list of ids


class Embedding(Protocol):
    """A table of rows, one for each id, with a gradient of the same shape."""

    table: Any  # float32[rows, columns]

    def lookup(self, ids: Batch) -> Any:
        """Return the rows of `ids`, of shape [texts, ids in each, columns]."""

    def backward(self, ids: Batch) -> None:
        """Look `ids` up and add the gradient of the sum of the result to the gradient of the table."""

    def gradient(self) -> Any:
        """Return the gradient collected so far, of the shape of the table."""


class NumpyEmbedding:
    """The table as a NumPy array; its gradient written out by hand."""

    def __init__(self, rows: int, columns: int, seed: int = 0) -> None:
        """Fill the table with random numbers."""
        self._numpy = import_module("numpy")
        self.table = self._numpy.random.default_rng(seed).standard_normal((rows, columns), dtype="float32")
        self._gradient = self._numpy.zeros_like(self.table)

    def lookup(self, ids: Batch) -> Any:
        """Return the rows of `ids`."""
        check(ids, len(self.table))
        return self.table[self._numpy.asarray(ids, dtype="int64")]

    def backward(self, ids: Batch) -> None:
        """Add 1 to the gradient of each number that was looked up, once for every time."""
        ones = self._numpy.ones_like(self.lookup(ids))
        # add.at and not `gradient[ids] += ones`, which counts an id that occurs twice only once
        self._numpy.add.at(self._gradient, self._numpy.asarray(ids, dtype="int64"), ones)

    def gradient(self) -> Any:
        """Return the gradient collected so far."""
        return self._gradient


class TorchEmbedding:
    """The table as a PyTorch tensor; PyTorch finds the gradient."""

    def __init__(self, rows: int, columns: int, seed: int = 0) -> None:
        """Fill the table with random numbers."""
        self._torch = import_module("torch")
        generator = self._torch.Generator().manual_seed(seed)
        self.table = self._torch.randn(rows, columns, generator=generator).requires_grad_()

    def lookup(self, ids: Batch) -> Any:
        """Return the rows of `ids`, as a tensor that remembers where it came from."""
        check(ids, len(self.table))
        return self.table[self._torch.tensor(ids, dtype=self._torch.int64)]

    def backward(self, ids: Batch) -> None:
        """Let PyTorch carry the gradient of the sum back to the table."""
        self.lookup(ids).sum().backward()

    def gradient(self) -> Any:
        """Return the gradient collected so far."""
        return self._torch.zeros_like(self.table) if self.table.grad is None else self.table.grad


def check(ids: Batch, rows: int) -> None:
    """Refuse an id that has no row, also a negative one, which Python would count from the end.

    Raises:
        IndexError: If there is such an id.

    Examples:
        >>> check([[0, 9]], rows=10)
        >>> check([[0, -1]], rows=10)
        Traceback (most recent call last):
            ...
        IndexError: id -1 has no row: the table has rows 0 to 9
    """
    for text in ids:
        for id in text:
            if not 0 <= id < rows:
                raise IndexError(f"id {id} has no row: the table has rows 0 to {rows - 1}")


def embedding(rows: int, columns: int, *, library: str | None = None, seed: int = 0) -> Embedding:
    """Make a table of random numbers.

    Args:
        rows: The vocabulary size: the highest id plus one.
        columns: The numbers in each row.
        library: "torch" or "numpy"; when None, the first of them that is installed.
        seed: The same seed gives the same table again (with the same library).

    Raises:
        ImportError: If the library is not installed; the message says how to install it.
        ValueError: If the library is another one.

    Examples:
        >>> tuple(embedding(10, 32).lookup([[0, 1, 2], [3, 4, 5]]).shape)
        (2, 3, 32)
    """
    kinds: dict[str, type[TorchEmbedding | NumpyEmbedding]] = {"torch": TorchEmbedding, "numpy": NumpyEmbedding}
    if library is not None and library not in kinds:
        raise ValueError(f"library is {library!r}, expected 'torch' or 'numpy'")
    for name in [library] if library else kinds:
        if find_spec(name):
            return kinds[name](rows, columns, seed)
    wanted = library or "numpy"
    raise ImportError(f"this lesson needs {library or 'PyTorch or NumPy'}: run `pip install {wanted}`")


def main() -> None:
    """Look three ids up and show where the gradient arrives."""
    table = embedding(10, 32)
    print("with", type(table).__name__)
    print("ids [[0, 1, 2]] become vectors of shape", list(table.lookup([[0, 1, 2]]).shape))
    table.backward([[0, 1, 2]])
    for row in range(10):
        print(f"row {row}: sum of the gradient {float(table.gradient()[row].sum()):>4}")


if __name__ == "__main__":
    main()

r"""Step 12. From ids to vectors: the embedding table.

    python step12_vectors.py               also without Jeton
    python -m jeton.reference.step12_vectors

An id is a name, not a quantity: token 300 is not three times token 100. So a model first looks the id up in a table
with one row for each id, and computes with the row, a list of some hundreds or thousands of numbers. The table is
called the *embedding*, and the lookup is indexing:

>>> table = Embedding(rows=10, columns=32)
>>> vectors = table.lookup([[0, 1, 2]])
>>> shape(vectors)
[1, 3, 32]
>>> vectors[0][2] == table.weight[2]
True

One text of three ids, each with its 32 numbers, has the shape `[1, 3, 32]`. Read a shape from the left: number of texts
in the batch, number of ids in each text, number of values for each id.

**The lookup is a matrix product.** Write an id as a *one-hot* vector: a 1 at the position of the id, and zeros
elsewhere. One-hot vectors times the table give the rows of the ids:

>>> small = Embedding(weight=[[1, 2], [3, 4], [5, 6], [7, 8]])
>>> ids = [1, 1, 3]
>>> hot = [one_hot(id, rows=4) for id in ids]
>>> hot
[[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
>>> times(hot, small.weight)
[[3, 4], [3, 4], [7, 8]]
>>> small.lookup([ids])
[[[3, 4], [3, 4], [7, 8]]]

So an embedding is a linear layer without bias. Indexing gives the same numbers and skips the multiplications by zero:
with the 100,277 rows of GPT-4's vocabulary, a product would read the whole table for each id.

**The gradient.** When the model has made its prediction, each number that it used gets a *gradient*, which says in
which direction, and how strongly, the loss changes with this number. The gradient of a product is the transposed first
matrix times the gradient of the result. With one-hot vectors this product is an addition: each row of the table gets
the sum of the gradients from all places where the row was looked up, and all other rows get zero. Let every number of
the result have the gradient 1; id 1 occurs twice:

>>> ones = [[1, 1], [1, 1], [1, 1]]
>>> small.backward([ids], [ones])
>>> small.gradient
[[0, 0], [2, 2], [0, 0], [1, 1]]
>>> times(transposed(hot), ones)
[[0, 0], [2, 2], [0, 0], [1, 1]]

This has two consequences for tokenizers. The table needs as many rows as the *highest id plus one*, even if the ids
have gaps. And a token that never occurs in the corpus of the model keeps its random initial row, so the model may
behave unpredictably when a user types it (step 23 shows one). The row of a rare token is not much better.

**One step of SGD.** Stochastic gradient descent subtracts the gradient from the table, multiplied by the *learning
rate*. As a loss we take half the sum of the squares of all vectors, so the gradient of a vector is the vector itself.
Rate 0.5 then halves row 3. Row 1 was looked up twice, so its gradient is twice as large, and it becomes 0. Rows 0 and 2
were not looked up and stay:

>>> step = in_python(small.weight, [ids], rate=0.5)
>>> step.loss, step.gradient
(81.5, [[0, 0], [6, 8], [0, 0], [7, 8]])
>>> step.weight
[[1.0, 2.0], [0.0, 0.0], [5.0, 6.0], [3.5, 4.0]]
>>> in_python(step.weight, [ids], rate=0.5).loss
14.125

**In PyTorch** the table is `torch.nn.Embedding(rows, columns)`, a module. Its `weight` is a `torch.nn.Parameter`: a
tensor that gets gradients and that the module registers, so the optimizer finds it in `parameters()`, it is saved with
`state_dict()`, and it moves to the GPU with the module. If your own module stores a plain tensor instead, lookups work,
but the table is never trained, without any error. `in_torch` does the step above with `nn.Embedding` and with a
`Parameter`, both trained by `torch.optim.SGD`; `in_numpy` does it with NumPy's arrays. If the libraries are installed,
they give the same numbers:

>>> all(run(small.weight, [ids], rate=0.5) == step for library, run in LIBRARIES.items() if find_spec(library))
True

**With Jeton.** A tokenizer says how many rows the table needs, and gives the ids. `vocab_size` is the highest id plus
one, special tokens included. Here 256 bytes, 14 merges and `end`, the special token 270, need 271 rows, and the ids are
263, 265 and 270:

    tok = jeton.train(
        [corpus], vocab_size=271, level="byte", pattern="none", tie_break="first", special_tokens=[end], progress=False
    )
    table = Embedding(rows=tok.vocab_size, columns=4)
    vectors = table.lookup([tok.encode("oldest" + end, special="all")])

    $ jeton train words.txt -o words.json --vocab-size 271 --level byte --pattern none --tie-break first \
          --special-token '<|endoftext|>' --quiet
    $ jeton encode -t words.json --special all 'oldest<|endoftext|>'

Left out: the model. Next: step22_extending.py.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run as a file: `python step12_vectors.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step04_train import train_bytes
from .step05_encode import encode, ranks

Matrix = list[list[float]]  # rows of equal length
Batch = Sequence[Sequence[int]]  # texts of equal length, each a list of ids


def one_hot(id: int, rows: int) -> list[float]:
    """Write an id as a vector: 1 at its position, otherwise 0.

    Examples:
        >>> one_hot(2, rows=4)
        [0, 0, 1, 0]
    """
    return [int(row == id) for row in range(rows)]


def times(left: Matrix, right: Matrix) -> Matrix:
    """Multiply two matrices.

    Examples:
        >>> times([[1, 2]], [[3, 4], [5, 6]])
        [[13, 16]]
    """
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in transposed(right)] for row in left]


def transposed(matrix: Matrix) -> Matrix:
    """Swap rows and columns.

    Examples:
        >>> transposed([[1, 2, 3], [4, 5, 6]])
        [[1, 4], [2, 5], [3, 6]]
    """
    return [list(column) for column in zip(*matrix, strict=True)]


def shape(values: Any) -> list[int]:
    """Return the lengths of nested lists, from the outermost to the innermost.

    Examples:
        >>> shape([[[1, 2], [3, 4], [5, 6]]]), shape(7)
        ([1, 3, 2], [])
    """
    return [len(values), *shape(values[0])] if isinstance(values, list) else []


def check(ids: Batch, rows: int) -> None:
    """Check that each id has a row. A negative id has none, although Python would count it from the end.

    Raises:
        IndexError: If an id has no row.

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


class Embedding:
    """Table with one row for each id, and the gradient of the table.

    Examples:
        >>> Embedding(weight=[[1, 2], [3, 4]]).lookup([[1, 0]])
        [[[3, 4], [1, 2]]]
    """

    def __init__(self, rows: int = 0, columns: int = 0, *, weight: Matrix | None = None, seed: int = 0) -> None:
        """Fill the table with random numbers, or with those of `weight`."""
        normal = random.Random(seed).gauss  # noqa: S311  # repeatable numbers, no secret
        self.weight = weight or [[normal(0, 1) for _ in range(columns)] for _ in range(rows)]
        self.gradient: Matrix = [[0] * len(row) for row in self.weight]

    def lookup(self, ids: Batch) -> list[Matrix]:
        """Return the table's rows for `ids`, as nested lists of the shape [texts, ids in each text, columns]."""
        check(ids, len(self.weight))
        return [[self.weight[id] for id in text] for text in ids]

    def backward(self, ids: Batch, gradients: Sequence[Matrix]) -> None:
        """Add the gradient of each looked-up vector to the table's gradient, in the row of the vector's id."""
        for text, vectors in zip(ids, gradients, strict=True):
            for id, vector in zip(text, vectors, strict=True):
                self.gradient[id] = [a + b for a, b in zip(self.gradient[id], vector, strict=True)]


class Step(NamedTuple):
    """A step of SGD: the loss before it, the gradient of the table, and the table after it."""

    loss: float
    gradient: Matrix
    weight: Matrix


def in_python(weight: Matrix, ids: Batch, rate: float) -> Step:
    """Take one step of SGD in plain Python; the loss is half the sum of the squares of all numbers that are looked up.

    Examples:
        >>> in_python([[4], [2]], [[1, 1]], rate=0.25)
        Step(loss=4.0, gradient=[[0], [4]], weight=[[4.0], [1.0]])
    """
    table = Embedding(weight=weight)
    vectors = table.lookup(ids)
    loss = 0.5 * sum(number**2 for text in vectors for vector in text for number in vector)
    table.backward(ids, vectors)  # the derivative of x²/2 is x
    after = [[x - rate * g for x, g in zip(*rows, strict=True)] for rows in zip(weight, table.gradient, strict=True)]
    return Step(loss, table.gradient, after)


def in_numpy(weight: Matrix, ids: Batch, rate: float) -> Step:
    """Take the step of `in_python` with NumPy.

    Examples:
        >>> in_numpy([[4], [2]], [[1, 1]], rate=0.25) if find_spec("numpy") else None  # doctest: +SKIP
        Step(loss=4.0, gradient=[[0.0], [4.0]], weight=[[4.0], [1.0]])
    """
    numpy: Any = import_module("numpy")
    table, index = numpy.array(weight, dtype="float32"), numpy.array(ids)
    vectors = table[index]
    gradient = numpy.zeros_like(table)
    numpy.add.at(gradient, index, vectors)  # `gradient[index] += vectors` would add only one vector for each id
    return Step(float((vectors**2).sum() / 2), gradient.tolist(), (table - rate * gradient).tolist())


def in_torch(weight: Matrix, ids: Batch, rate: float) -> Step:
    """Take the step of `in_python` with PyTorch: with `nn.Embedding` and with our module; the results must agree.

    Examples:
        >>> in_torch([[4], [2]], [[1, 1]], rate=0.25) if find_spec("torch") else None  # doctest: +SKIP
        Step(loss=4.0, gradient=[[0.0], [4.0]], weight=[[4.0], [1.0]])
    """
    torch: Any = import_module("torch")

    class OurEmbedding(torch.nn.Module):  # type: ignore[misc]  # the type checker does not know the base class
        def __init__(self, start: Any) -> None:
            super().__init__()
            self.plain = start.clone()  # a tensor, not a parameter
            self.weight = torch.nn.Parameter(start.clone())

        def forward(self, index: Any) -> Any:
            return self.weight[index]  # the lookup of `nn.Embedding`

    start, index = torch.tensor(weight, dtype=torch.float32), torch.tensor(ids)
    ready_made = torch.nn.Embedding(*start.shape)
    ready_made.load_state_dict({"weight": start})
    steps = []
    for table in (ready_made, OurEmbedding(start)):
        assert [name for name, _ in table.named_parameters()] == list(table.state_dict()) == ["weight"]
        optimizer = torch.optim.SGD(table.parameters(), lr=rate)
        loss = (table(index) ** 2).sum() / 2
        loss.backward()
        optimizer.step()
        steps.append(Step(loss.item(), table.weight.grad.tolist(), table.weight.tolist()))
    assert steps[0] == steps[1]
    return steps[0]


LIBRARIES = {"numpy": in_numpy, "torch": in_torch}


def main() -> None:
    """Look three ids up, take a step of SGD, and compare it with the libraries that are installed."""
    weight: Matrix = [[1, 2], [3, 4], [5, 6], [7, 8]]
    ids = [[1, 1, 3]]
    print("ids [[0, 1, 2]] become vectors of shape", shape(Embedding(10, 32).lookup([[0, 1, 2]])))
    print("one-hot:", [one_hot(id, 4) for id in ids[0]])
    print("  times the table:", times([one_hot(id, 4) for id in ids[0]], weight))
    step = in_python(weight, ids, rate=0.5)
    print(f"loss {step.loss}, gradient {step.gradient}")
    print(f"table after one step of SGD: {step.weight}, loss {in_python(step.weight, ids, rate=0.5).loss}")
    for library, run in LIBRARIES.items():
        if find_spec(library):
            assert run(weight, ids, rate=0.5) == step
            print(f"{library} {import_module(library).__version__}: the same loss, gradient and table")
        else:
            print(f"{library} is not installed, so it was not compared: pip install {library}")


def beside_jeton() -> None:
    """Encode a text with Jeton, and look up its ids in a table with `tok.vocab_size` rows."""
    import jeton

    corpus, end = "old older fast faster fastest best better yes desk mess", "<|endoftext|>"
    merges = train_bytes(corpus, 270, tie_break="first")
    ids = [*encode(list(b"oldest"), ranks(merges)), 270]
    tok = jeton.train(
        [corpus], vocab_size=271, level="byte", pattern="none", tie_break="first", special_tokens=[end], progress=False
    )
    table = Embedding(rows=tok.vocab_size, columns=4)
    vectors = table.lookup([tok.encode("oldest" + end, special="all")])
    assert tok.vocab_size == 256 + len(merges) + 1 == 271
    assert vectors == table.lookup([ids])
    print(f"jeton: {tok.vocab_size} rows, ids {ids}, vectors of shape {shape(vectors)}")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("words.txt").write_text(corpus, encoding="utf-8")
        jeton_command(
            "jeton train words.txt -o words.json --vocab-size 271 --level byte --pattern none --tie-break first"
            " --special-token '<|endoftext|>' --quiet"
        )
        printed = jeton_command("jeton encode -t words.json --special all 'oldest<|endoftext|>'")
    assert [int(id) for id in printed.split()] == ids


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

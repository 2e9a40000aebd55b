"""Tasks: consecutive pieces of files, in the order of the inputs, of about the same number of bytes.

Rows of JSON, text with ``documents="line"`` and Parquet are split at any byte: a line belongs to the piece in which it
begins, a row group to the piece that has its middle. Every other file is one piece, and small ones share a task. The
tasks follow from names, sizes and options alone, so they are computed on every host, and no data is read.

Invariant: the pieces of all tasks, in order, have each byte of each file once. Documents and their order therefore do
not depend on the size of a task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..corpus.paths import file_name
from ..corpus.source_reader import is_rows
from ..util.compression import split_suffix

__all__ = [
    "DONE",
    "SPOOL",
    "InputFile",
    "Piece",
    "Stage",
    "Task",
    "bucket_tasks",
    "cut_tasks",
    "expected_bytes",
    "is_divisible",
]

DONE, SPOOL = "done", "spool"  # folders of completions; the latter also of outputs
EXPANSION = 4  # assumed ratio of compression, to group compressed files


class InputFile(NamedTuple):
    """A file of the corpus: its absolute path or URL, its size in bytes, and its version (mtime or ETag)."""

    path: str
    size: int
    version: str


class Piece(NamedTuple):
    """A range of an input.

    Attributes:
        input: number of the input.
        start: first byte.
        end: one past the last byte; None: the whole file, which is not divisible.
    """

    input: int
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A unit of work, which becomes one shard.

    Attributes:
        number: its number, from 0.
        pieces: ranges of its inputs, in order.
        num_bytes: size of its pieces, before decompression.
    """

    number: int
    pieces: tuple[Piece, ...]
    num_bytes: int


class Stage(NamedTuple):
    """Tasks that run after all of an earlier stage.

    Attributes:
        name: ``"shards"``; of a shuffle ``"spool"``, then ``"shuffle"``.
        folder: folder of the completions.
        tasks: its tasks, by number.
    """

    name: str
    folder: str
    tasks: tuple[Task, ...]

    @property
    def outputs(self) -> str:
        """Folder of the outputs, in that of the shards."""
        return SPOOL if self.folder == SPOOL else ""


def expected_bytes(file: InputFile) -> int:
    """Estimated size of an input after decompression."""
    return file.size * (EXPANSION if split_suffix(file_name(file.path))[1] else 1)


def bucket_tasks(num_bytes: int, number: int) -> Iterator[Task]:
    """Yields the tasks of a second stage: equal shares of the bytes of all inputs.

    Examples:
        >>> [task.num_bytes for task in bucket_tasks(10, 3)]
        [3, 3, 4]
    """
    for bucket in range(number):
        yield Task(bucket, (), num_bytes * (bucket + 1) // number - num_bytes * bucket // number)


def is_divisible(path: str, documents: str, encoding: str, names_lines: bool = False) -> bool:
    """True if a file can be split between tasks; not by lines if the format names lines.

    Examples:
        >>> is_divisible("a.jsonl", "file", "utf-8"), is_divisible("a.jsonl.gz", "file", "utf-8")
        (True, False)
        >>> is_divisible("a.txt", "file", "utf-8"), is_divisible("a.txt", "line", "utf-8")
        (False, True)
    """
    name, suffix = split_suffix(file_name(path))
    if suffix:
        return False
    if name.lower().endswith(".parquet"):
        return True
    return encoding == "utf-8" and not names_lines and (is_rows(path) or documents == "line")


def cut_tasks(inputs: Sequence[InputFile], divisible: Sequence[bool], task_bytes: int) -> Iterator[Task]:
    """Yields the tasks of inputs; no task has a file twice, because line numbers are counted by file.

    Examples:
        >>> files = [InputFile("a.jsonl", 25, ""), InputFile("b.txt", 3, ""), InputFile("c.txt", 4, "")]
        >>> for task in cut_tasks(files, [True, False, False], 10):
        ...     print(task.num_bytes, [tuple(piece) for piece in task.pieces])
        10 [(0, 0, 10)]
        10 [(0, 10, 20)]
        8 [(0, 20, 25), (1, 0, None)]
        4 [(2, 0, None)]
    """
    held: list[Piece] = []
    names: set[str] = set()  # of their files
    number = cost = num_bytes = 0
    for index, file in enumerate(inputs):
        start = 0
        while True:
            if divisible[index]:
                end = min(file.size, start + max(task_bytes - cost, 1))
                piece, size = Piece(index, start, end), end - start
                expected = size
            else:
                piece, size = Piece(index), file.size
                expected = expected_bytes(file)
            if held and (cost + expected > task_bytes or file.path in names):
                yield Task(number, tuple(held), num_bytes)
                number, held, names, cost, num_bytes = number + 1, [], set(), 0, 0
                continue
            held.append(piece)
            names.add(file.path)
            cost, num_bytes = cost + expected, num_bytes + size
            if cost >= task_bytes:
                yield Task(number, tuple(held), num_bytes)
                number, held, names, cost, num_bytes = number + 1, [], set(), 0, 0
            start += size
            if not divisible[index] or start >= file.size:
                break
    if held:
        yield Task(number, tuple(held), num_bytes)

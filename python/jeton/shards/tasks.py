"""Tasks: consecutive pieces of files, in the order of the inputs, of about the same number of bytes.

JSON Lines, text with ``documents="line"`` and Parquet can be split at any byte: a line belongs to the piece in which it
begins, and a row group belongs to the piece that contains the row group's middle byte. Every other file is one piece,
and small files share a task. The tasks depend only on names, sizes and options, so every host can compute them without
reading data.

Invariant: the pieces of all tasks, in order, cover each byte of each file exactly once. Therefore, documents and their
order do not depend on the size of a task.

A corpus can grow: files that are added at its end change only the last task. A file that has changed keeps the split
points of its earlier size (`InputFile.cut`), so that the tasks of later files stay the same.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..corpus.kinds import InputType, is_divisible_kind, kind_of
from ..corpus.paths import file_name
from ..util.compression import split_suffix

__all__ = [
    "DONE",
    "SPOOL",
    "Generation",
    "InputFile",
    "Piece",
    "Stage",
    "Task",
    "bucket_tasks",
    "cut_tasks",
    "expected_bytes",
    "is_divisible",
]

DONE, SPOOL = "done", "spool"  # folders of the files that mark tasks as done; `SPOOL` also has outputs
UNREADABLE = "unreadable: "
EXPANSION = 4  # assumed compression ratio, for grouping compressed files into tasks


class InputFile(NamedTuple):
    """A file of the corpus.

    Attributes:
        path: absolute path or URL of the file.
        size: size in bytes.
        version: a value that changes with the content: modification time or ETag. If the file could not be read
            during planning: `UNREADABLE` and a reason; ``errors="skip"`` skips the file.
        cut: the size for which the split points were chosen, if the file has since grown or shrunk; None otherwise. The
            last piece has the bytes beyond this size.
    """

    path: str
    size: int
    version: str
    cut: int | None = None

    @property
    def cut_size(self) -> int:
        """Size that determines the split points."""
        return self.size if self.cut is None else self.cut

    @property
    def is_readable(self) -> bool:
        """True if the file could be read during planning."""
        return not self.version.startswith(UNREADABLE)

    def changed_to(self, now: InputFile, task_bytes: int) -> InputFile:
        """Returns the changed file. It keeps its split points if its size changed by at most `task_bytes`.

        Examples:
            >>> InputFile("a.jsonl", 25, "1").changed_to(InputFile("a.jsonl", 30, "2"), 10)
            InputFile(path='a.jsonl', size=30, version='2', cut=25)
            >>> InputFile("a.jsonl", 25, "1").changed_to(InputFile("a.jsonl", 90, "2"), 10)
            InputFile(path='a.jsonl', size=90, version='2', cut=None)
        """
        keeps = now.size != self.cut_size and abs(now.size - self.cut_size) <= task_bytes
        return now._replace(cut=self.cut_size if keeps else None)


class Piece(NamedTuple):
    """A range of an input.

    Attributes:
        input: number of the input.
        start: first byte.
        end: one past the last byte; None: the whole file, because it cannot be split.
    """

    input: int
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Unit of work; its output is one shard.

    Attributes:
        number: number of the task, from 0.
        pieces: ranges of the inputs, in order.
        num_bytes: total size of the pieces, before decompression.
    """

    number: int
    pieces: tuple[Piece, ...]
    num_bytes: int


class Stage(NamedTuple):
    """Tasks that run after all tasks of the earlier stage.

    Attributes:
        name: ``"shards"``; in a shuffle ``"spool"``, then ``"shuffle"``.
        folder: folder of the completion files of the tasks: `DONE` or `SPOOL`.
        tasks: tasks of the stage, by number.
    """

    name: str
    folder: str
    tasks: tuple[Task, ...]

    @property
    def outputs(self) -> str:
        """Name of the subfolder for the outputs of the tasks; empty if they are in the folder of shards itself."""
        return SPOOL if self.folder == SPOOL else ""


class Generation(NamedTuple):
    """Inputs that are shuffled together: the inputs of the first plan, or the inputs of one later addition.

    Attributes:
        tasks: numbers of the tasks that read the inputs.
        buckets: numbers of the shards that contain the documents of the inputs.
        num_bytes: size of the inputs.
    """

    tasks: range
    buckets: range
    num_bytes: int


def expected_bytes(file: InputFile) -> int:
    """Estimates the size of an input after decompression, which determines how inputs are grouped into tasks."""
    return file.cut_size * (EXPANSION if split_suffix(file_name(file.path))[1] else 1)


def bucket_tasks(buckets: range, num_bytes: int) -> Iterator[Task]:
    """Yields the tasks of a shuffle's second stage. Their sizes are equal shares of `num_bytes` (size of the inputs).

    Examples:
        >>> [(task.number, task.num_bytes) for task in bucket_tasks(range(5, 8), 10)]
        [(5, 3), (6, 3), (7, 4)]
    """
    number = len(buckets)
    for index, bucket in enumerate(buckets):
        yield Task(bucket, (), num_bytes * (index + 1) // number - num_bytes * index // number)


def is_divisible(
    path: str, documents: str, encoding: str, names_lines: bool = False, input_type: InputType = "auto"
) -> bool:
    """True if a file can be split between tasks. If line numbers are stored (`names_lines`), files of lines stay whole.

    A ``.json`` file cannot be split: whether it has one record per line is known only from its content, and planning
    does not read inputs.

    Examples:
        >>> is_divisible("a.jsonl", "file", "utf-8"), is_divisible("a.jsonl.gz", "file", "utf-8")
        (True, False)
        >>> is_divisible("a.txt", "file", "utf-8"), is_divisible("a.txt", "line", "utf-8")
        (False, True)
        >>> is_divisible("a.json", "file", "utf-8"), is_divisible("a.json", "file", "utf-8", input_type="jsonl")
        (False, True)
    """
    if split_suffix(file_name(path))[1]:
        return False
    kind = kind_of(path, input_type)
    by_line = documents == "line"
    return is_divisible_kind(kind, by_line) and (kind == "parquet" or (encoding == "utf-8" and not names_lines))


def cut_tasks(
    inputs: Sequence[InputFile], divisible: Sequence[bool], task_bytes: int, breaks: Container[int] = ()
) -> Iterator[Task]:
    """Divides inputs into tasks. No task has two pieces of a file, because a task counts lines by file.

    Args:
        inputs: the files.
        divisible: True for each file that can be split.
        task_bytes: bytes of a task.
        breaks: numbers of inputs that must begin a new task.

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
    names: set[str] = set()  # names of the files in the current task
    number = cost = num_bytes = 0
    for index, file in enumerate(inputs):
        start, end_of_cuts = 0, file.cut_size
        while True:
            if divisible[index]:
                end = min(end_of_cuts, start + max(task_bytes - cost, 1))
                # If a file has grown since its split points were chosen, its last piece gets the additional bytes. If
                # it has shrunk, some of its pieces can be empty.
                stop = file.size if end >= end_of_cuts else min(end, file.size)
                piece, expected = Piece(index, min(start, file.size), stop), end - start
                size = stop - piece.start
            else:
                piece, size, end = Piece(index), file.size, end_of_cuts
                expected = expected_bytes(file)
            if held and (cost + expected > task_bytes or file.path in names or (start == 0 and index in breaks)):
                yield Task(number, tuple(held), num_bytes)
                number, held, names, cost, num_bytes = number + 1, [], set(), 0, 0
                continue
            held.append(piece)
            names.add(file.path)
            cost, num_bytes = cost + expected, num_bytes + size
            if cost >= task_bytes:
                yield Task(number, tuple(held), num_bytes)
                number, held, names, cost, num_bytes = number + 1, [], set(), 0, 0
            start = end
            if not divisible[index] or start >= end_of_cuts:
                break
    if held:
        yield Task(number, tuple(held), num_bytes)

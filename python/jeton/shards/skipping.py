"""Records skipped because of ``errors="skip"``: files that list them, limits, and the check that documents remain.

    rejects/00003.jsonl    records that a task skipped; lines are numbered from the start of its range
    rejects.jsonl          skipped records of all tasks, written by `merge`; lines are numbered by file

A record is ``{"file": …, "line": …, "kind": …, "reason": …}``. ``line`` is a line or the row of a table, or null if a
whole file was skipped.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from ..corpus import Batch
from ..errors import ShardError, keyword
from ..util.arguments import wrong
from .conversations import REFUSED
from .folder import AGAIN, REJECTS, ShardFolder
from .outputs import OutputFile, OutputFiles
from .plan import Plan
from .tasks import Task

__all__ = ["Rejects", "SkipLimit", "Tally", "check_any_left", "read_rejects", "split_place"]

WITHOUT_FIELD = "file without the field"  # kind of skipped record in `SourceReader`; the rows of the file are not read
MAX_REASON = 1000  # characters of a reason
MAX_DIGITS = 18  # digits of a line number
MAX_FILES = 100  # maximum number of files that a completion lists because all their records were skipped


def split_place(place: str) -> tuple[str, int | None]:
    """Splits a place into file and line number; None without a number.

    Examples:
        >>> split_place("rows.jsonl:12"), split_place("a.txt")
        (('rows.jsonl', 12), ('a.txt', None))
    """
    file, colon, number = place.rpartition(":")
    is_number = colon and number.isdecimal() and len(number) <= MAX_DIGITS
    return (file, int(number)) if is_number else (place, None)


class Rejects:
    """Skipped records of a task: written as JSON Lines, and counted by file."""

    def __init__(self, folder: ShardFolder, files: OutputFiles, plan: Plan, task: Task) -> None:
        """`files`: output files in the folder `REJECTS`. A file is opened when the first record is added."""
        self._folder, self._files, self._plan, self._task = folder, files, plan, task
        self._file: OutputFile | None = None
        self._names = {plan.inputs[piece.input].path for piece in task.pieces}
        self._documents, self._skipped = Counter[str](), Counter[str]()

    def add(self, kind: str, place: str, reason: str) -> None:
        """Writes a skipped record."""
        if self._file is None:
            self._folder.create(REJECTS)
            self._file = self._files.open(rejects_name(self._task.number))
        file, line = (place, None) if place in self._names else split_place(place)
        row = {"file": file, "line": line, "kind": kind, "reason": reason[:MAX_REASON]}
        self._file.write((json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
        if line is not None or kind == WITHOUT_FIELD:  # an unreadable file does not count as a record
            self._skipped[file] += 1
        if kind == REFUSED:  # the conversation was already counted as a document
            self._documents[file] -= 1

    def count(self, batch: Batch) -> None:
        """Counts the documents of a batch."""
        for chunk in batch.chunks:
            self._documents[chunk.name] += len(chunk.texts)

    def records(self, left_out: Mapping[str, int]) -> dict[str, list[int]]:
        """Returns path -> [documents, skipped records] for files that tasks share, or that have only skipped records.

        `left_out`: file -> number of documents that were read, but are outside the hash range of the plan.
        """
        found: dict[str, list[int]] = {}
        for piece in self._task.pieces:
            file = self._plan.inputs[piece.input]
            documents = self._documents[file.path] + left_out.get(file.path, 0)
            skipped = self._skipped[file.path]
            is_part = piece.end is not None and (piece.start, piece.end) != (0, file.size)
            if (is_part and (documents or skipped)) or (skipped and not documents and len(found) < MAX_FILES):
                found[file.path] = [documents, skipped]
        return found


def rejects_name(task: int) -> str:
    """Returns the name of a task's file in the folder `REJECTS`."""
    return f"{task:05}.jsonl"


def read_rejects(folder: ShardFolder, facts: Mapping[str, Any], before: Mapping[str, int]) -> Iterator[bytes]:
    """Yields the lines of a task's file of rejects, with line numbers relative to the start of each input.

    Args:
        folder: the folder.
        facts: completion of the task.
        before: file -> number of lines before the task's range of this file.

    Raises:
        ShardError: the file is missing or damaged.
    """
    for name, expected in facts["rejects"].items():
        path = f"{REJECTS}/{name}"
        try:
            data = folder.read_bytes(path)
        except FileNotFoundError:
            data = b""
        if hashlib.sha256(data).hexdigest() != expected["sha256"]:
            where = folder.storage.location(path)
            message = f"{where} is missing or damaged; {AGAIN}"
            raise ShardError(message, path=where)
        for line in data.splitlines(keepends=True):
            row = json.loads(line)
            shift = before.get(row["file"], 0)
            if row["line"] is not None and shift:
                row["line"] += shift
                line = (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
            yield line


class Tally(NamedTuple):
    """Number of skipped records, and number of documents.

    Documents without tokens and documents outside the hash range are counted, too.

    Examples:
        >>> Tally(3, 97).plus({"documents": 10, "empty": 1, "skipped": {"not UTF-8": [2, []]}})
        Tally(skipped=5, documents=108)
    """

    skipped: int = 0
    documents: int = 0

    def plus(self, facts: Mapping[str, Any]) -> Tally:
        """Returns the sum of this tally and the records of a completion."""
        skipped = sum(count for count, _ in facts.get("skipped", {}).values())
        documents = sum(facts.get(name, 0) for name in ("documents", "empty", "left_out"))
        return Tally(self.skipped + skipped, self.documents + documents)


@dataclass(frozen=True)
class SkipLimit:
    """Limit on the number of skipped records: a number, or a share of all records.

    Examples:
        >>> SkipLimit.of("0.5%").share, SkipLimit.of(100).count, SkipLimit.of("100%").allows_all
        (Fraction(1, 200), 100, True)
    """

    count: int | None = None
    share: Fraction | None = None
    text: object = None

    @classmethod
    def of(cls, value: object) -> SkipLimit:
        """Reads the limit from an argument; None means no limit.

        Raises:
            ConfigError: the argument is neither a number nor a percentage.
        """
        if value is None:
            return cls()
        if type(value) is int and value >= 0:
            return cls(count=value, text=value)
        if isinstance(value, str) and len(value) <= MAX_DIGITS:
            if value.isascii() and value.isdecimal():
                return cls(count=int(value), text=value)
            number = value.removesuffix("%")
            if number != value and number.replace(".", "", 1).isdecimal() and number.isascii():
                share = Fraction(number) / 100
                if share <= 1:
                    return cls(share=share, text=value)
        raise wrong("max_skipped", value, "a number of records or a percentage up to '100%'")

    @property
    def allows_all(self) -> bool:
        """True if the limit is 100%. With any other limit, skipping every record of an input is an error."""
        return self.share == 1

    def check(self, tally: Tally, folder: str, part: Fraction = Fraction(1)) -> None:
        """Checks the number of skipped records.

        Args:
            tally: records so far.
            folder: the folder, for the message.
            part: share of the input that has been read, from which the total number of records is extrapolated. A run
                stops as soon as the records skipped so far exceed the limit for this total, without reading the rest.

        Raises:
            ShardError: too many records are skipped.
        """
        expected = (tally.skipped + tally.documents) / part if part else Fraction(0)
        is_over = (self.count is not None and tally.skipped > self.count) or (
            self.share is not None and bool(expected) and tally.skipped > self.share * expected
        )
        if is_over:
            number, total, most = tally.skipped, tally.skipped + tally.documents, keyword("max_skipped", self.text)
            message = f"{folder}: {number:,} of {total:,} records are skipped, more than {most}"
            hint = "complete tasks stay complete; repair the inputs, or pass a higher limit"
            raise ShardError(f"{message}; {hint}", path=folder)


def check_any_left(records: Mapping[str, list[int]], tally: Tally, kinds: list[str], folder: str) -> None:
    """Checks that at least one document is left, in the corpus and in each input.

    Args:
        records: input -> number of documents and of skipped records; inputs with documents can be left out.
        tally: records of all inputs.
        kinds: the kinds of errors, for the message.
        folder: the folder, for the message.

    Raises:
        ShardError: all records of the corpus or of an input are skipped.
    """
    empty = [(file, skipped) for file, (documents, skipped) in records.items() if skipped and documents <= 0]
    if tally.skipped and not tally.documents:
        what = f"all {tally.skipped:,} records of the corpus are skipped ({', '.join(kinds)})"
    elif empty:
        file, skipped = empty[0]
        more = f", and all of {len(empty) - 1:,} more inputs" if len(empty) > 1 else ""
        what = f"all {skipped:,} records of {file} are skipped{more} ({', '.join(kinds)})"
    else:
        return
    hint = f"check {keyword('field')} and the format, or pass {keyword('max_skipped', '100%')} to accept it"
    raise ShardError(f"{folder}: {what}; {hint}", path=folder)

"""Reads the documents that begin in a range of a file's bytes, so that several tasks can share one file.

A line belongs to the range in which the line begins. Therefore a file can be split into consecutive ranges at any
bytes: each line is in exactly one range. A row group of Parquet belongs to the range that contains the middle byte of
the row group.

Line numbers are relative to the range, because the lines before the range are not read. If a message must contain a
line number of the file, `lines_before` reads and counts these lines.

Cost: outside of the range, only two parts of the file are read: the byte before the range, and the rest of the line
that crosses the end of the range.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from ..util.lazy import cached_property
from .paths import open_path

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["FileRange", "LineRange", "timed"]

READ_BYTES = 1 << 18


@dataclass(frozen=True)
class FileRange:
    """A range of a file, in bytes.

    Attributes:
        file: a file of a listing.
        start: first byte.
        end: one past the last byte; None if the whole file is read, which is possible for every kind of file.

    Examples:
        >>> FileRange("rows.jsonl", 0, 1 << 28).is_whole, FileRange("rows.jsonl.gz").is_whole
        (False, True)
    """

    file: str
    start: int = 0
    end: int | None = None

    @property
    def is_whole(self) -> bool:
        """True if the range is the whole file, of any size."""
        return self.end is None

    @cached_property
    def lines_before(self) -> int:
        """Counts the lines that end before the first line of this range; reads the file up to that line."""
        return count_lines(self.file, self.start)


def count_lines(file: str, end: int) -> int:
    """Counts the lines that begin before byte `end` of a file.

    If a range starts at byte `end`, these are the lines before the first line of the range.
    """
    if end == 0:
        return 0
    lines = 1
    with open_path(file) as raw:
        left = end - 1
        while left and (data := raw.read(min(left, READ_BYTES))):
            lines += data.count(b"\n")
            left -= len(data)
    return lines


class LineRange:
    """Stream of the lines that begin in a range of a seekable stream.

    Attributes:
        start: offset of the first line.

    Examples:
        >>> LineRange(io.BytesIO(b"one\\ntwo\\nthree"), 2, 5).read(100)
        b'two\\n'
    """

    def __init__(self, raw: BinaryIO, start: int, end: int) -> None:
        self._raw, self._end = raw, end
        self._held = b""  # bytes that have been read, but not yet returned
        self._position = start  # offset of the next byte to return
        if start:
            self._skip(start)
        elif end <= 0:
            self._end = -1
        self.start = self._position

    def read(self, size: int) -> bytes:
        """Reads up to `size` bytes; empty at the end of the range."""
        if self._end < 0:
            return b""
        data = self._held[:size] or self._raw.read(size)
        self._held = self._held[size:]
        # The last line is the line that contains byte end - 1.
        last = data.find(b"\n", max(self._end - 1 - self._position, 0))
        if last >= 0:
            data, self._end = data[: last + 1], -1
        self._position += len(data)
        return data

    def _skip(self, start: int) -> None:
        """Skips the line that contains byte start - 1, because this line begins in an earlier range."""
        self._raw.seek(start - 1)
        self._position = start - 1
        while data := self._raw.read(READ_BYTES):
            found = data.find(b"\n")
            if found >= 0:
                self._position += found + 1
                self._held = data[found + 1 :]
                break
            self._position += len(data)
        if not data or self._position >= self._end:
            self._end = -1


def timed(raw: BinaryIO, report: Callable[[float], object]) -> io.BufferedReader:
    """Returns a buffered stream that reports the seconds spent reading from `raw`.

    Examples:
        >>> seconds = []
        >>> timed(io.BytesIO(b"text"), seconds.append).read(), len(seconds) > 0
        (b'text', True)
    """
    return io.BufferedReader(_Timed(raw, report), READ_BYTES)


class _Timed(io.RawIOBase):
    def __init__(self, raw: BinaryIO, report: Callable[[float], object]) -> None:
        self._raw, self._report = raw, report

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._raw.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: WriteableBuffer) -> int:
        began = time.perf_counter()
        target = memoryview(buffer).cast("B")
        read: int = self._raw.readinto(target)  # type: ignore[attr-defined]
        self._report(time.perf_counter() - began)
        return read

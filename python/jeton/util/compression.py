"""Streaming decompression of gzip, bzip2, xz and Zstandard files, selected by suffix.

Every error of a decompression library becomes a `FormatError` that names the file. A truncated file is an error, never
a shorter text. Every read is bounded: it decompresses the bytes that it returns and at most one more block (900 KB for
bzip2, 128 KiB for Zstandard). A file that expands more than `MAX_EXPANSION`-fold is refused as a decompression bomb,
unless the caller allows it.

Cost: the decompressor's window in memory; nothing is written to disk.

Left out: archives (.zip, .tar), which contain files instead of one text; and compression.

Source: RFC 8878, for the frames of Zstandard.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..errors import FormatError, keyword
from ..util.optional import import_optional

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["MAX_EXPANSION", "decompressed", "position", "split_suffix"]

# Text compresses 3- to 6-fold, tables and logs up to 60-fold. gzip's maximum is 1,032-fold; the other formats reach
# 10,000-fold and more.
MAX_EXPANSION = 100
# The limit does not apply up to this many decompressed bytes, since small files that repeat one line are harmless.
HARMLESS = 4 << 20
# Number of bytes decompressed at a time.
BUFFER_BYTES = 1 << 18


def split_suffix(name: str) -> tuple[str, str]:
    """Splits the compression suffix off a file name; the suffix is empty for an uncompressed file.

    Examples:
        >>> split_suffix("rows.jsonl.gz"), split_suffix("notes.txt")
        (('rows.jsonl', '.gz'), ('notes.txt', ''))
    """
    for suffix in _OPENERS:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)], suffix
    return name, ""


def position(raw: BinaryIO) -> int:
    """Returns the read position of a file, in bytes; 0 for a pipe, which has no position.

    Examples:
        >>> import io
        >>> position(io.BytesIO(b"text"))
        0
    """
    return raw.tell() if raw.seekable() else 0


@contextmanager
def decompressed(raw: io.BufferedReader, name: str, *, max_expansion: int | None = MAX_EXPANSION) -> Iterator[BinaryIO]:
    """Yields a stream of the decompressed bytes of an open file; the suffix of its name selects the format.

    Args:
        raw: the compressed file; its ``tell()`` still returns the position in the compressed data.
        name: name of the file, for its suffix and for errors.
        max_expansion: maximum ratio of decompressed to compressed size, beyond the first 4 MiB; None: no limit.

    Raises:
        FormatError: raised inside the block if the data is truncated, corrupt, or expands more than `max_expansion`.
        MissingDependencyError: the suffix is ``.zst``, and the package ``zstandard`` is not installed.

    Examples:
        >>> import gzip, io
        >>> raw = io.BufferedReader(io.BytesIO(gzip.compress(b"text")))
        >>> with decompressed(raw, "a.gz") as stream:
        ...     stream.read()
        b'text'
    """
    _, suffix = split_suffix(name)
    if not suffix:
        yield raw
        return
    label, opener = _OPENERS[suffix]
    try:
        if not raw.peek(1):  # an empty file is not valid in any of the four formats, but Python's gzip accepts it
            raise EOFError
        counted = _Counted(raw)
        with (
            opener(cast(BinaryIO, counted)) as stream,
            io.BufferedReader(_Bounded(stream, counted, name, label, max_expansion), BUFFER_BYTES) as bounded,
        ):
            yield bounded
    except EOFError:
        message = f"{name}: the {label} data ends too early; the file is truncated"
        raise FormatError(message, format=label, place=f"byte {position(raw)}") from None
    except (OSError, zlib.error, lzma.LZMAError, _CorruptError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a real I/O error; if gzip or bz2 raises an OSError for bad data, it has no errno
        message = f"{name}: corrupt {label} data ({error})"
        raise FormatError(message, format=label, place=f"byte {position(raw)}") from None


class _CorruptError(Exception):
    """Corrupt Zstandard data."""


class _Counted:
    """Wrapper of a compressed file that counts the bytes read, since a pipe has no position."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.num_bytes = 0

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self.num_bytes += len(data)
        return data


class _Bounded(io.RawIOBase):
    """Decompressed stream that raises an error when the expansion exceeds its limit."""

    def __init__(
        self, stream: BinaryIO, compressed: _Counted, name: str, label: str, max_expansion: int | None
    ) -> None:
        self._stream = cast(Any, stream)  # the streams of all four formats have `readinto`
        self._compressed, self._name, self._label, self._max_expansion = compressed, name, label, max_expansion
        self._num_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        num_bytes = int(self._stream.readinto(buffer))
        self._num_bytes += num_bytes
        most = self._max_expansion
        if most is not None and self._num_bytes > max(HARMLESS, most * self._compressed.num_bytes):
            message = (
                f"{self._name}: {self._compressed.num_bytes:,} bytes of {self._label} data expand to more than "
                f"{self._num_bytes:,}, over {most} times as many; if that is expected, raise "
                f"{keyword('max_expansion')} (None for any size), or decompress the file first"
            )
            raise FormatError(message, format=self._label, place=f"byte {self._compressed.num_bytes}")
        return num_bytes


class _ZstdReader(io.RawIOBase):
    """Zstandard file as a raw stream, decompressed block by block.

    The package's ``stream_reader`` reports no error for a truncated frame, and its ``decompressobj`` does not bound the
    output for a given input. This class therefore parses the block headers and passes blocks to the package one by one;
    each decompresses to at most 128 KiB.
    """

    def __init__(self, raw: BinaryIO) -> None:
        zstandard = import_optional("zstandard", "reading .zst", "data")
        self._raw = raw
        self._error = zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._plain = memoryview(b"")
        self._units = self._decompress()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        while not self._plain:
            plain = next(self._units, None)
            if plain is None:
                return 0
            self._plain = memoryview(plain)
        taken = min(len(target), len(self._plain))
        target[:taken] = self._plain[:taken]
        self._plain = self._plain[taken:]
        return taken

    def _decompress(self) -> Iterator[bytes]:
        """Yields the decompressed bytes of each block of each frame; rejects a file that ends within a frame."""
        while magic := self._raw.read(4):
            if len(magic) < 4:
                raise EOFError
            try:
                if magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:
                    self._skip(int.from_bytes(self._read(4), "little"))
                else:
                    yield from self._frame(magic)
            except self._error as error:
                raise _CorruptError(str(error)) from None

    def _frame(self, magic: bytes) -> Iterator[bytes]:
        # Frame_Header_Descriptor: sizes of the following fields, and the checksum flag.
        descriptor = self._read(1)
        is_single, has_checksum = descriptor[0] >> 5 & 1, descriptor[0] >> 2 & 1
        sizes = (not is_single, (0, 1, 2, 4)[descriptor[0] & 3], (is_single, 2, 4, 8)[descriptor[0] >> 6])
        frame = self._new_frame()
        yield frame.decompress(magic + descriptor + self._read(sum(sizes)))
        is_last = 0
        while not is_last:
            header = self._read(3)  # 1 bit of Last_Block, 2 of Block_Type, 21 of Block_Size
            is_last, kind, size = header[0] & 1, header[0] >> 1 & 3, int.from_bytes(header, "little") >> 3
            if kind == 3 or size > 1 << 17:
                raise _CorruptError("invalid block type or size")
            yield frame.decompress(header + self._read(1 if kind == 1 else size))
        if has_checksum:
            yield frame.decompress(self._read(4))
        if not frame.eof:
            raise _CorruptError("data after the last block of a frame")

    def _read(self, size: int) -> bytes:
        data = self._raw.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def _skip(self, size: int) -> None:
        while size > 0:
            size -= len(self._read(min(size, BUFFER_BYTES)))


def _open_gzip(raw: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb"))


def _open_bzip2(raw: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, bz2.BZ2File(raw))


def _open_xz(raw: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, lzma.LZMAFile(raw))


def _open_zstd(raw: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, _ZstdReader(raw))


# suffix -> (format name, opener)
_OPENERS: dict[str, tuple[str, Callable[[BinaryIO], BinaryIO]]] = {
    ".gz": ("gzip", _open_gzip),
    ".bz2": ("bzip2", _open_bzip2),
    ".xz": ("xz", _open_xz),
    ".zst": ("zstd", _open_zstd),
}

"""Reading compressed files: gzip, bzip2, xz and Zstandard, known by suffix, opened as one stream of plain bytes.

Whatever a library raises for damaged data becomes one `FormatError` that names the file; a file that ends too early
is an error and never a shorter text. Cost: the decompressor's window in memory, and nothing is written to disk.

Left out: archives (.zip, .tar), which hold files and not a text, and writing.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from .errors import FormatError, MissingDependencyError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["decompressed", "position", "split_suffix"]

# How many compressed bytes are handed to Zstandard at a time: its own recommended input size is 128 KiB.
_ZSTD_BLOCK = 1 << 17


def split_suffix(name: str) -> tuple[str, str]:
    """Takes the suffix of a compression off a file's name; the suffix is empty when the file is not compressed.

    Examples:
        >>> split_suffix("rows.jsonl.gz"), split_suffix("notes.txt")
        (('rows.jsonl', '.gz'), ('notes.txt', ''))
    """
    for suffix in _OPENERS:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)], suffix
    return name, ""


def position(raw: BinaryIO) -> int:
    """How far a file has been read, in bytes; 0 for a pipe, which does not say.

    Examples:
        >>> import io
        >>> position(io.BytesIO(b"text"))
        0
    """
    return raw.tell() if raw.seekable() else 0


@contextmanager
def decompressed(raw: io.BufferedReader, name: str) -> Iterator[BinaryIO]:
    """The plain bytes of an open file, whose name says how it is compressed.

    Args:
        raw: the file as it lies on disk; its ``tell()`` goes on saying how much of the disk file has been read.
        name: its name, for the suffix and for the error.

    Raises:
        FormatError: inside the block, when the data is truncated or corrupt.
        MissingDependencyError: for ``.zst`` without the package ``zstandard``.

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
        if not raw.peek(1):  # gzip reads an empty file as an empty text; none of the four formats has an empty form
            raise EOFError
        with opener(raw) as stream:
            yield stream
    except EOFError:
        message = f"{name}: the {label} data ends too early; the file is truncated"
        raise FormatError(message, format=label, place=f"byte {position(raw)}") from None
    except (OSError, zlib.error, lzma.LZMAError, _CorruptError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's own error, not the data's: gzip and bz2 raise OSError without a number for bad data
        message = f"{name}: not sound {label} data ({error})"
        raise FormatError(message, format=label, place=f"byte {position(raw)}") from None


class _CorruptError(Exception):
    """Zstandard data that cannot be read."""


class _ZstdReader(io.RawIOBase):
    """A Zstandard file as a raw stream, frame after frame.

    zstandard's own ``stream_reader`` ends quietly where a frame is cut off; the object for one frame says whether its
    frame is complete, so this class counts frames itself.
    """

    def __init__(self, raw: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            message = "reading .zst needs the package zstandard: pip install 'jeton[data]'"
            raise MissingDependencyError(message, extra="data") from None
        self._raw = raw
        self._error = zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new_frame()
        self._started = False  # whether the frame has seen a byte: a file may end only between frames
        self._compressed = b""
        self._plain = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        while not self._plain and self._advance():
            pass
        taken = min(len(target), len(self._plain))
        target[:taken] = self._plain[:taken]
        self._plain = self._plain[taken:]
        return taken

    def _advance(self) -> bool:
        """Decompresses one more block; false at the end of the file."""
        self._compressed = self._compressed or self._raw.read(_ZSTD_BLOCK)
        if not self._compressed:
            if self._started:
                raise EOFError
            return False
        try:
            self._plain = self._frame.decompress(self._compressed)
        except self._error as error:
            raise _CorruptError(str(error)) from None
        self._started, self._compressed = True, b""
        if self._frame.eof:
            self._compressed, self._frame, self._started = self._frame.unused_data, self._new_frame(), False
        return True


def _open_gzip(raw: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb"))


def _open_bzip2(raw: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, bz2.BZ2File(raw))


def _open_xz(raw: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, lzma.LZMAFile(raw))


def _open_zstd(raw: BinaryIO) -> BinaryIO:
    return io.BufferedReader(_ZstdReader(raw), 1 << 20)


# suffix -> (the format's name, how to open it)
_OPENERS: dict[str, tuple[str, Callable[[BinaryIO], BinaryIO]]] = {
    ".gz": ("gzip", _open_gzip),
    ".bz2": ("bzip2", _open_bzip2),
    ".xz": ("xz", _open_xz),
    ".zst": ("zstd", _open_zstd),
}

"""Reading compressed files: gzip, bzip2, xz and Zstandard, known by suffix, opened as one stream of plain bytes.

Whatever a library raises for damaged data becomes one `FormatError` that names the file; a file that ends too early
is an error and never a shorter text. Every read is bounded: it decompresses what it returns and at most one block more
(900 KB for bzip2, 128 KiB for Zstandard). A file that expands more than `MAX_EXPANSION`-fold is refused, unless the
caller allows it: a bomb of some kilobytes that holds gigabytes, which no text does.

Cost: the decompressor's window in memory, and nothing is written to disk.

Left out: archives (.zip, .tar), which hold files and not a text, and writing.

Source: Zstandard's frames are those of RFC 8878.
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

from .errors import FormatError, MissingDependencyError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["MAX_EXPANSION", "decompressed", "position", "split_suffix"]

# Text compresses 3- to 6-fold, tables and logs up to 60-fold. gzip's bound is 1,032, the others' 10,000 and more.
MAX_EXPANSION = 100
# So many bytes may come of any file: small ones of one repeated line are harmless.
HARMLESS = 4 << 20
# What is decompressed at a time.
BUFFER_BYTES = 1 << 18


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
def decompressed(raw: io.BufferedReader, name: str, *, max_expansion: int | None = MAX_EXPANSION) -> Iterator[BinaryIO]:
    """The plain bytes of an open file, whose name says how it is compressed.

    Args:
        raw: the file as it lies on disk; its ``tell()`` goes on saying how much of the disk file has been read.
        name: its name, for the suffix and for the error.
        max_expansion: how many times its size the text may have, beyond the first 4 MiB; None allows any size.

    Raises:
        FormatError: inside the block, when the data is truncated or corrupt, or expands more than that.
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
            raise  # the disk's own error, not the data's: gzip and bz2 raise OSError without a number for bad data
        message = f"{name}: not sound {label} data ({error})"
        raise FormatError(message, format=label, place=f"byte {position(raw)}") from None


class _CorruptError(Exception):
    """Zstandard data that cannot be read."""


class _Counted:
    """A compressed file, and how much of it was read. A pipe does not say it itself."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.num_bytes = 0

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self.num_bytes += len(data)
        return data


class _Bounded(io.RawIOBase):
    """Plain bytes that end in an error where they become too many for what was read of the compressed file."""

    def __init__(
        self, stream: BinaryIO, compressed: _Counted, name: str, label: str, max_expansion: int | None
    ) -> None:
        self._stream = cast(Any, stream)  # all four have `readinto`
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
                f"{self._num_bytes:,}, over {most} times as many; if that is right, raise max_expansion= "
                "(None for any size), or decompress the file first"
            )
            raise FormatError(message, format=self._label, place=f"byte {self._compressed.num_bytes}")
        return num_bytes


class _ZstdReader(io.RawIOBase):
    """A Zstandard file as a raw stream, block after block.

    The package's own ``stream_reader`` ends quietly where a frame is cut off, and its ``decompressobj`` has no bound
    for what comes of a piece of input. So this class finds the blocks itself, which decompress to at most 128 KiB, and
    hands them over one by one.
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
        """The plain bytes of each block of each frame; a file may end only between frames."""
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
        # Frame_Header_Descriptor: sizes of the fields, which follow it, and whether there is a checksum.
        descriptor = self._read(1)
        is_single, has_checksum = descriptor[0] >> 5 & 1, descriptor[0] >> 2 & 1
        sizes = (not is_single, (0, 1, 2, 4)[descriptor[0] & 3], (is_single, 2, 4, 8)[descriptor[0] >> 6])
        frame = self._new_frame()
        yield frame.decompress(magic + descriptor + self._read(sum(sizes)))
        is_last = 0
        while not is_last:
            header = self._read(3)  # Last_Block, 2 bits of Block_Type, 21 of Block_Size
            is_last, kind, size = header[0] & 1, header[0] >> 1 & 3, int.from_bytes(header, "little") >> 3
            if kind == 3 or size > 1 << 17:
                raise _CorruptError("a block of a type or size that there is not")
            yield frame.decompress(header + self._read(1 if kind == 1 else size))
        if has_checksum:
            yield frame.decompress(self._read(4))
        if not frame.eof:
            raise _CorruptError("a frame that goes on after its last block")

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


# suffix -> (the format's name, how to open it)
_OPENERS: dict[str, tuple[str, Callable[[BinaryIO], BinaryIO]]] = {
    ".gz": ("gzip", _open_gzip),
    ".bz2": ("bzip2", _open_bzip2),
    ".xz": ("xz", _open_xz),
    ".zst": ("zstd", _open_zstd),
}

"""Reads byte streams as documents: one document per stream, or one per line.

A document is held in memory, so its size is limited: a file to half of the available memory, a line to 256 MiB. A
file's size is checked before reading, if it is known, and while reading. Text in another encoding than UTF-8 is
transcoded while it is read (`transcoded`).

Cost: a whole file is read into one buffer that grows in place. The core splits blocks of 1 MiB into lines.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from .._core import TextColumn, count_line_ends
from ..errors import ConfigError, FormatError, InvalidTextError, keyword, named
from ..util.machine import available
from .error_policy import HINT, ErrorHandler

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "LineBlock",
    "LinePlace",
    "check_encoding",
    "check_size",
    "decoded",
    "line_blocks",
    "max_file_bytes",
    "read_whole",
    "split_lines",
    "transcoded",
]

# Bytes per read; decompressing this many bytes takes about a millisecond.
READ_BYTES = 1 << 18
# Size of a block of lines: large enough that the overhead per block is negligible, small enough for the CPU cache.
BLOCK_BYTES = 1 << 20
# Maximum bytes of a line. If a line is longer, the file is not in a line-based format.
LONGEST_LINE = 1 << 28


class LineBlock(NamedTuple):
    """Consecutive complete lines.

    Attributes:
        data: bytes of the lines, with line ends; the last line of a stream can lack its line end.
        first: number of the first line, from 1.
        num_ends: number of line ends.
        offset: start of the lines in the file, in bytes.
        lines_before: function that returns the number of lines before the stream; 0 unless the stream is a range of a
            file (see `ranges`).
    """

    data: bytes
    first: int
    num_ends: int
    offset: int
    lines_before: Callable[[], int] = int


class LinePlace:
    """Source of a line, ``"rows.jsonl:12"``.

    If only a range of the file is read, the lines before the range are counted when the source is shown, not earlier.

    Examples:
        >>> str(LinePlace("rows.jsonl", 12, lambda: 100))
        'rows.jsonl:112'
    """

    __slots__ = ("_before", "_name", "_number")

    def __init__(self, name: str, number: int, before: Callable[[], int]) -> None:
        self._name, self._number, self._before = name, number, before

    def __str__(self) -> str:
        return f"{self._name}:{self._number + self._before()}"


def check_size(num_bytes: int, name: str, most: int) -> None:
    """Checks the size of a document.

    Raises:
        FormatError: the document has more than `most` bytes.
    """
    if num_bytes > most:
        limits = f"the limit is half of this machine's memory for a file, {LONGEST_LINE:,} bytes for a line; "
        line = named('documents="line"')
        advice = f"{limits if most != LONGEST_LINE else ''}pass {line}, or split the document"
        message = f"{name}: one document has more than {most:,} bytes; {advice}"
        raise FormatError(message, format="text", place=f"byte {most}")


def max_file_bytes() -> int:
    """Returns the maximum number of bytes of a file that is one document."""
    return available() // 2


def read_whole(stream: BinaryIO, name: str, check_canceled: Callable[[], None], most: int) -> bytes:
    """Reads a whole stream of up to `most` bytes. After each read, calls `check_canceled`, which can raise an error.

    Raises:
        FormatError: as `check_size`.
    """
    # io.BytesIO grows in place and returns its buffer without a copy. In contrast, the read() of a stream joins a list
    # of parts, which takes twice the memory and, for a large file, delays the reaction to Ctrl-C.
    whole = io.BytesIO()
    while data := _as_bytes(_read_some(stream, READ_BYTES), name):
        whole.write(data)
        check_size(whole.tell(), name, most)
        check_canceled()
    return whole.getvalue()


def line_blocks(
    stream: BinaryIO, name: str, offset: int = 0, lines_before: Callable[[], int] = int
) -> Iterator[LineBlock]:
    """Yields blocks of complete lines. If reading fails, yields the complete lines read so far, then raises the error.

    Args:
        stream: the stream.
        name: name of the stream, for errors.
        offset, lines_before: position of the stream in its file, as in `LineBlock`.
    """
    held: list[bytes] = []
    size, first = 0, 1
    failed: Exception | None = None
    while failed is None:
        try:
            data = _as_bytes(_read_some(stream, READ_BYTES), name)
            end = data.rfind(b"\n") + 1
            if not end and size + len(data) > LONGEST_LINE:
                check_size(size + len(data), f"{name}:{first + lines_before()}", LONGEST_LINE)
        except Exception as error:
            data, failed, end = b"", error, 0
        size += len(data)
        if data and (size < BLOCK_BYTES or not end):
            held.append(data)
            continue
        whole = b"".join((*held, memoryview(data)[:end]))
        if failed is not None:
            whole = whole[: whole.rfind(b"\n") + 1]
        if whole:
            num_ends = count_line_ends(whole)
            yield LineBlock(whole, first, num_ends, offset, lines_before)
            first += num_ends
        held = [data[end:]] if end < len(data) else []
        size, offset = len(data) - end, offset + len(whole)
        if not data:
            break
    if failed is not None:
        raise failed


def split_lines(lines: LineBlock, name: str, handler: ErrorHandler) -> tuple[TextColumn, range | list[int]]:
    """Returns the lines as documents (line ends removed), together with the line numbers."""
    texts = TextColumn.from_lines(lines.data)
    if texts is None:
        return _valid_lines(lines, name, handler)
    return texts, range(lines.first, lines.first + len(texts))


def _valid_lines(lines: LineBlock, name: str, handler: ErrorHandler) -> tuple[TextColumn, list[int]]:
    """Slow path for a block that is not UTF-8: returns the valid and repaired lines, and their numbers."""
    kept, numbers, offset = [], [], lines.offset
    texts = lines.data.split(b"\n")
    if lines.data.endswith(b"\n"):
        texts.pop()
    for number, text in enumerate(texts, start=lines.first):
        place = LinePlace(name, number, lines.lines_before)
        checked = handler.check(text, place, file=name, offset=offset)
        offset += len(text) + 1
        if checked is not None:
            kept.append(checked.removesuffix(b"\r"))
            numbers.append(number)
    return TextColumn(kept), numbers


def check_encoding(encoding: str) -> str:
    """Returns the canonical name of an encoding, such as ``"utf-8"`` for all aliases of UTF-8.

    Raises:
        ConfigError: Python has no text encoding with this name.
    """
    try:
        "".encode(encoding)  # rejects codecs that are not text encodings, such as "zlib"
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):  # UnicodeError is a ValueError
        message = (
            f'{keyword("encoding", encoding)} is not a text encoding of Python, such as "utf-8", "gb18030" or '
            '"shift_jis"'
        )
        raise ConfigError(message) from None


def transcoded(stream: BinaryIO, encoding: str, name: str, handler: ErrorHandler) -> BinaryIO:
    """Transcodes a stream to UTF-8.

    Under the policy ``"strict"``, bytes that are invalid in the encoding raise an error here, where their position is
    known. Under other policies, invalid bytes become 0xFF, which is not UTF-8, and `ErrorHandler` handles them.
    """
    return cast(
        BinaryIO, io.BufferedReader(_Transcoded(stream, encoding, name, handler.policy == "strict"), READ_BYTES)
    )


class _Transcoded(io.RawIOBase):
    def __init__(self, stream: BinaryIO, encoding: str, name: str, is_strict: bool) -> None:
        self._stream, self._encoding, self._name = stream, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)("strict" if is_strict else "jeton.invalid")
        self._offset = 0  # offset of the next byte to read
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        is_last = False
        while not self._plain and not is_last:
            data = _as_bytes(_read_some(self._stream, READ_BYTES), self._name)
            is_last = not data
            self._plain = memoryview(self._decode(data, is_last))
        taken = min(len(target), len(self._plain))
        target[:taken] = self._plain[:taken]
        self._plain = self._plain[taken:]
        return taken

    def _decode(self, data: bytes, is_last: bool) -> bytes:
        held = self._decoder.getstate()[0]  # buffered first bytes of an incomplete character
        try:
            text = self._decoder.decode(data, is_last)
        except UnicodeDecodeError as error:
            place = self._offset - len(held) + error.start
            raise invalid(self._encoding, self._name, place, error) from None
        except UnicodeError:  # raised by the decoders of UTF-16 and UTF-32 if the text begins without a byte order mark
            either = (keyword("encoding", f"{self._encoding}-{order}") for order in ("le", "be"))
            message = (
                f"{self._name}: a text in {self._encoding} must begin with a byte order mark; without one, pass "
                f"{' or '.join(either)}"
            )
            raise InvalidTextError(message, position=0, source=self._name) from None
        self._offset += len(data)
        return text.encode("utf-8", "surrogateescape")


def decoded(data: bytes, encoding: str, name: str, handler: ErrorHandler) -> bytes:
    """Transcodes one document to UTF-8; handles errors in the same way as `transcoded`."""
    try:
        text = data.decode(encoding, "strict" if handler.policy == "strict" else "jeton.invalid")
    except UnicodeDecodeError as error:
        raise invalid(encoding, name, error.start, error) from None
    return text.encode("utf-8", "surrogateescape")


def invalid(encoding: str, name: str, place: int, error: UnicodeDecodeError) -> InvalidTextError:
    """Builds the error for bytes that are invalid in an encoding."""
    byte = error.object[error.start]
    message = (
        f"{name}: byte {place} (0x{byte:02x}) is not valid {encoding}; pass the right {keyword('encoding')}, {HINT}"
    )
    return InvalidTextError(message, position=place, source=name)


codecs.register_error("jeton.invalid", lambda error: ("\udcff", cast(UnicodeDecodeError, error).end))


def _read_some(stream: BinaryIO, size: int) -> object:
    """Reads up to `size` bytes; if the stream has ``read1``, returns available bytes without waiting for more."""
    read1 = getattr(stream, "read1", None)
    return read1(size) if read1 is not None else stream.read(size)


def _as_bytes(data: object, name: str) -> bytes:
    """Checks that a stream returned bytes."""
    if isinstance(data, bytes):
        return data
    hint = "open it in binary mode, or pass sys.stdin.buffer"
    message = f"the stream {name} returns {type(data).__name__}: expected bytes; {hint}"
    raise ConfigError(message, option="corpus")

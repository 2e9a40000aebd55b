"""Bytes → one document, or one a line: streams of plain bytes, read in large blocks.

A document is in memory as a whole, so there is a bound for it: for a file half of the memory of the machine, which is
checked while it is read, and before, where its size is known; for a line 256 MiB.

Text in another encoding than UTF-8 is transcoded while it is read (`transcoded`), so that nothing behind it knows.

A whole file is read into one object that grows in place; lines are taken out of blocks of some megabytes, so that what
is done for each of them is one step of a loop in C.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from .._core import find_invalid_utf8
from ..errors import ConfigError, FormatError, InvalidTextError
from ..machine import available
from .error_policy import HINT, ErrorHandler

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "LineBlock",
    "check_encoding",
    "check_size",
    "decoded",
    "line_blocks",
    "lines_of",
    "most_of_file",
    "read_whole",
    "transcoded",
]

# Bytes that a stream is asked for at a time: a decompressor makes as many in a millisecond.
READ_BYTES = 1 << 18
# Blocks of lines: large enough that a block costs nothing beside its lines, small enough to stay in a cache.
BLOCK_BYTES = 1 << 22
# The most bytes of a line, a document or a row of JSON: a file without line ends is in no format that has lines.
LONGEST_LINE = 1 << 28


class LineBlock(NamedTuple):
    """Whole lines that follow each other.

    Attributes:
        data: their bytes, with line ends; the last line of a stream may have none.
        first: the number of the first, from 1.
        offset: where they begin in the stream, in bytes.
    """

    data: bytes
    first: int
    offset: int


def check_size(num_bytes: int, name: str, most: int) -> None:
    """Refuses a document of more than `most` bytes.

    Raises:
        FormatError: it has more.
    """
    if num_bytes > most:
        message = (
            f"{name}: one document has more than {most:,} bytes; a file may have half of the memory of this machine, a "
            f'line {LONGEST_LINE:,} bytes: pass documents="line", or split the document'
        )
        raise FormatError(message, format="text", place=f"byte {most}")


def most_of_file() -> int:
    """The bytes that a file may have as one document."""
    return available() // 2


def read_whole(stream: BinaryIO, name: str, look: Callable[[], None]) -> bytes:
    """All of a stream in one object. `look` is called between two reads, and ends the reading by an exception.

    Raises:
        FormatError: as `check_size`.
    """
    # io.BytesIO grows in place and hands its buffer on; the streams' own read() joins a list of parts, which takes
    # twice the memory, and of a large file takes longer than Ctrl-C may.
    whole, most = io.BytesIO(), most_of_file()
    while data := _as_bytes(_read_some(stream), name):
        whole.write(data)
        check_size(whole.tell(), name, most)
        look()
    return whole.getvalue()


def line_blocks(stream: BinaryIO, name: str) -> Iterator[LineBlock]:
    """Blocks of whole lines. Where reading fails, the whole lines before that place come first, then the error."""
    held: list[bytes] = []
    size, first, offset = 0, 1, 0
    failed: Exception | None = None
    while failed is None:
        try:
            data = _as_bytes(_read_some(stream), name)
            if b"\n" not in data:
                check_size(size + len(data), f"{name}:{first}", LONGEST_LINE)
        except Exception as error:
            data, failed = b"", error
        held.append(data)
        size += len(data)
        if data and (size < BLOCK_BYTES or b"\n" not in data):
            continue
        block = b"".join(held)
        whole = block if not data and failed is None else block[: block.rfind(b"\n") + 1]
        if whole:
            yield LineBlock(whole, first, offset)
            first += whole.count(b"\n")
        held = [block[len(whole) :]] if len(whole) < len(block) else []
        size, offset = len(block) - len(whole), offset + len(whole)
        if not data:
            break
    if failed is not None:
        raise failed


def lines_of(lines: LineBlock, name: str, handler: ErrorHandler) -> tuple[list[bytes], range | list[int]]:
    """The lines that are documents, without their ends, and their numbers."""
    data = lines.data
    texts = data.split(b"\n")
    if data.endswith(b"\n"):
        texts.pop()
    numbers: range | list[int] = range(lines.first, lines.first + len(texts))
    if not is_utf8(data):
        texts, numbers = _sound(lines, texts, name, handler)
    if b"\r" in data:
        texts = [text.removesuffix(b"\r") for text in texts]
    return texts, numbers


def is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8."""
    return data.isascii() or find_invalid_utf8(data) is None


def _sound(lines: LineBlock, texts: list[bytes], name: str, handler: ErrorHandler) -> tuple[list[bytes], list[int]]:
    kept, numbers, offset = [], [], lines.offset
    for number, text in enumerate(texts, start=lines.first):
        checked = handler.check(text, f"{name}:{number}", file=name, offset=offset)
        offset += len(text) + 1
        if checked is not None:
            kept.append(checked)
            numbers.append(number)
    return kept, numbers


def check_encoding(encoding: str) -> str:
    """The encoding's own name, ``"utf-8"`` for all spellings of it.

    Raises:
        ConfigError: Python knows no text encoding of this name.
    """
    try:
        "".encode(encoding)  # codecs.lookup also knows what is no text encoding, as "zlib"
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):  # UnicodeError is a ValueError
        message = f'encoding={encoding!r} is no text encoding that Python knows, as "utf-8", "gb18030" or "shift_jis"'
        raise ConfigError(message, option="encoding") from None


def transcoded(stream: BinaryIO, encoding: str, name: str, handler: ErrorHandler) -> BinaryIO:
    """A stream in another encoding as UTF-8.

    Bytes that are not of the encoding become 0xFF, which is not UTF-8, so that `ErrorHandler` decides what is done about
    them. Where they are an error, it is raised here, where their place is known.
    """
    return cast(
        BinaryIO, io.BufferedReader(_Transcoded(stream, encoding, name, handler.policy == "strict"), READ_BYTES)
    )


class _Transcoded(io.RawIOBase):
    def __init__(self, stream: BinaryIO, encoding: str, name: str, is_strict: bool) -> None:
        self._stream, self._encoding, self._name = stream, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)("strict" if is_strict else "jeton.invalid")
        self._offset = 0  # of the next byte that is read
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        is_last = False
        while not self._plain and not is_last:
            data = _as_bytes(_read_some(self._stream), self._name)
            is_last = not data
            self._plain = memoryview(self._decode(data, is_last))
        taken = min(len(target), len(self._plain))
        target[:taken] = self._plain[:taken]
        self._plain = self._plain[taken:]
        return taken

    def _decode(self, data: bytes, is_last: bool) -> bytes:
        held = self._decoder.getstate()[0]  # the first bytes of a character that is not whole yet
        try:
            text = self._decoder.decode(data, is_last)
        except UnicodeDecodeError as error:
            place = self._offset - len(held) + error.start
            raise invalid(self._encoding, self._name, place, error) from None
        self._offset += len(data)
        return text.encode("utf-8", "surrogateescape")


def decoded(data: bytes, encoding: str, name: str, handler: ErrorHandler) -> bytes:
    """One document in another encoding as UTF-8; as `transcoded`."""
    try:
        text = data.decode(encoding, "strict" if handler.policy == "strict" else "jeton.invalid")
    except UnicodeDecodeError as error:
        raise invalid(encoding, name, error.start, error) from None
    return text.encode("utf-8", "surrogateescape")


def invalid(encoding: str, name: str, place: int, error: UnicodeDecodeError) -> InvalidTextError:
    """The error for bytes that are not of an encoding."""
    byte = error.object[error.start]
    message = f"{name}: byte {place} (0x{byte:02x}) is not valid {encoding}; pass the right encoding=, {HINT}"
    return InvalidTextError(message, position=place, source=name)


codecs.register_error("jeton.invalid", lambda error: ("\udcff", cast(UnicodeDecodeError, error).end))


def _read_some(stream: BinaryIO) -> object:
    """Some bytes: what is there at once, where a stream can say it."""
    read1 = getattr(stream, "read1", None)
    return read1(READ_BYTES) if read1 is not None else stream.read(READ_BYTES)


def _as_bytes(data: object, name: str) -> bytes:
    """What a stream gave, if it is a binary stream."""
    if isinstance(data, bytes):
        return data
    hint = "open it in binary mode, or pass sys.stdin.buffer"
    message = f"the stream {name} gives {type(data).__name__}: expected bytes; {hint}"
    raise ConfigError(message, option="corpus")

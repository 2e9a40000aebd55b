"""Bytes → one document, or one a line: streams of plain bytes, read in large blocks.

A whole file is read into one object that grows in place; lines are taken out of blocks of some megabytes, so that what
is done for each of them is one step of a loop in C.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from .._core import find_invalid_utf8
from ..errors import ConfigError
from .faults import Faults

__all__ = ["Lines", "line_blocks", "lines_of", "read_whole"]

# Bytes that a stream is asked for at a time: a decompressor makes as many in a millisecond.
READ_BYTES = 1 << 18
# Blocks of lines: large enough that a block costs nothing beside its lines, small enough to stay in a cache.
BLOCK_BYTES = 1 << 22


class Lines(NamedTuple):
    """Whole lines that follow each other.

    Attributes:
        data: their bytes, with line ends; the last line of a stream may have none.
        first: the number of the first, from 1.
        offset: where they begin in the stream, in bytes.
    """

    data: bytes
    first: int
    offset: int


def read_whole(stream: BinaryIO, name: str, look: Callable[[], None]) -> bytes:
    """All of a stream in one object. `look` is called between two reads, and ends the reading by an exception."""
    # io.BytesIO grows in place and hands its buffer on; the streams' own read() joins a list of parts, which takes
    # twice the memory, and of a large file takes longer than Ctrl-C may.
    whole = io.BytesIO()
    while data := _as_bytes(_read_some(stream), name):
        whole.write(data)
        look()
    return whole.getvalue()


def line_blocks(stream: BinaryIO, name: str) -> Iterator[Lines]:
    """Blocks of whole lines. Where reading fails, the whole lines before that place come first, then the error."""
    held: list[bytes] = []
    size, first, offset = 0, 1, 0
    failed: Exception | None = None
    while failed is None:
        try:
            data = _as_bytes(_read_some(stream), name)
        except Exception as error:
            data, failed = b"", error
        held.append(data)
        size += len(data)
        if data and (size < BLOCK_BYTES or b"\n" not in data):
            continue
        block = b"".join(held)
        whole = block if not data and failed is None else block[: block.rfind(b"\n") + 1]
        if whole:
            yield Lines(whole, first, offset)
            first += whole.count(b"\n")
        held = [block[len(whole) :]] if len(whole) < len(block) else []
        size, offset = len(block) - len(whole), offset + len(whole)
        if not data:
            break
    if failed is not None:
        raise failed


def lines_of(lines: Lines, name: str, faults: Faults) -> tuple[list[bytes], range | list[int]]:
    """The lines that are documents, without their ends, and their numbers."""
    data = lines.data
    texts = data.split(b"\n")
    if data.endswith(b"\n"):
        texts.pop()
    numbers: range | list[int] = range(lines.first, lines.first + len(texts))
    if not is_utf8(data):
        texts, numbers = _sound(lines, texts, name, faults)
    if b"\r" in data:
        texts = [text.removesuffix(b"\r") for text in texts]
    return texts, numbers


def is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8."""
    return data.isascii() or find_invalid_utf8(data) is None


def _sound(lines: Lines, texts: list[bytes], name: str, faults: Faults) -> tuple[list[bytes], list[int]]:
    kept, numbers, offset = [], [], lines.offset
    for number, text in enumerate(texts, start=lines.first):
        checked = faults.check(text, f"{name}:{number}", file=name, offset=offset)
        offset += len(text) + 1
        if checked is not None:
            kept.append(checked)
            numbers.append(number)
    return kept, numbers


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

"""The container GGUF: a header, metadata of keys and values, then tensors, whose data is never parsed.

A file is read from its beginning, up to the end of its metadata. `write_file` writes a file without tensors, or a copy
with other values of some keys; the bytes of all other keys and of tensors do not change. Versions 2 and 3 in
little-endian byte order are supported; version 1, big-endian files and arrays of arrays are refused, as in llama.cpp on
little-endian machines.

Source: ggml-org/ggml docs/gguf.md (layout, types).
"""

from __future__ import annotations

import array
import os
import shutil
import struct
import sys

from ..errors import FormatError, UnsupportedFeatureError
from ..util.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, BinaryIO

__all__ = ["MAGIC", "Header", "read_header", "write_file"]

MAGIC = b"GGUF"
# Maximum size of the metadata in bytes. All known tokenizers have less metadata: Gemma 4, with 262,144 tokens, has
# 15 MB.
MAX_BYTES = 1 << 28
_MAX_KEY = 1 << 16  # ggml's limit on the bytes of a key
_MAX_DIMENSIONS = 4  # ggml's limit on the dimensions of a tensor
_CHUNK = 1 << 20
_ALIGNMENT = 32  # bytes: alignment of the tensors' data, unless `general.alignment` sets it

_UINT32, _BOOL, _STRING, _ARRAY = 4, 7, 8, 9
# type of a number in the file -> its letter in `struct` and `array`
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}


@record(frozen=True)
class Header:
    """Everything before the tensors' data.

    Attributes:
        version: version of the format.
        values: key -> value, for the wanted keys. Strings are `bytes`, because the format does not check them; arrays
            are lists of bytes, or an `array.array` of numbers.
        spans: key -> byte range of the key and its value in the file, for all keys, in the file's order.
        num_tensors: number of tensors.
        tensors: name -> dimensions, the fastest-varying first; empty if the list was not requested.
        end: offset after the metadata, or after the list of tensors if the list was requested.
    """

    version: int
    values: Mapping[str, Any]
    spans: Mapping[bytes, tuple[int, int]]
    num_tensors: int
    tensors: Mapping[bytes, tuple[int, ...]]
    end: int


def read_header(path: str | os.PathLike[str], wanted: Callable[[str], bool], *, tensors: bool = False) -> Header:
    """Reads the metadata of a file.

    Args:
        path: the file.
        wanted: selects the keys whose values are kept.
        tensors: read the list of tensors, too.

    Raises:
        FormatError: the file is not GGUF, truncated, or contradictory; the error has the byte offset.
        UnsupportedFeatureError: the version or byte order is not supported.
    """
    with open(path, "rb") as file:
        return _Reader(file, os.fstat(file.fileno()).st_size).header(wanted, tensors=tensors)


class _Reader:
    """Reads values one after the other. All bytes up to the current position stay in memory."""

    def __init__(self, file: BinaryIO, num_bytes: int) -> None:
        self._file = file
        self._num_bytes = num_bytes
        self._data = b""
        self._at = 0

    def header(self, wanted: Callable[[str], bool], *, tensors: bool) -> Header:
        if self._take(4) != MAGIC:
            raise self._error("not a GGUF file")
        version = self._number("I")
        if version & 0xFFFF == 0:
            raise UnsupportedFeatureError(
                "big-endian GGUF files are not supported", place="byte 4", feature="big-endian"
            )
        if version not in (2, 3):
            raise UnsupportedFeatureError(
                f"version {version} of GGUF is not supported; versions: 2, 3", place="byte 4", feature="version"
            )
        num_tensors, num_pairs = self._number("Q"), self._number("Q")
        values: dict[str, Any] = {}
        spans: dict[bytes, tuple[int, int]] = {}
        for _ in range(self._checked(num_pairs, 8 + 4 + 1)):
            start = self._at
            key = self._string(_MAX_KEY)
            if key in spans:
                raise self._error(f"the key {key!r:.60} is given twice")
            name = key.decode("utf-8", "backslashreplace")
            value = self._value(self._number("I"))
            spans[key] = start, self._at
            if wanted(name):
                values[name] = value
        listed = self._tensors(num_tensors) if tensors else {}
        return Header(version, values, spans, num_tensors, listed, self._at)

    def _tensors(self, count: int) -> dict[bytes, tuple[int, ...]]:
        """Reads names and dimensions; types and offsets are skipped."""
        listed = {}
        for _ in range(self._checked(count, 8 + 4 + 4 + 8)):
            name, num_dimensions = self._string(_MAX_KEY), self._number("I")
            if not 0 < num_dimensions <= _MAX_DIMENSIONS:
                raise self._error(f"a tensor of {num_dimensions} dimensions")
            listed[name] = tuple(self._number("Q") for _ in range(num_dimensions))
            self._take(4 + 8)
        return listed

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._take(self._number("Q"))
        if kind != _ARRAY:
            value = self._number(self._letter(kind))
            return bool(value) if kind == _BOOL else value
        of, count = self._number("I"), self._number("Q")
        if of == _ARRAY:
            raise UnsupportedFeatureError(
                "arrays of arrays are not supported", place=f"byte {self._at}", feature="arrays of arrays"
            )
        if of == _STRING:
            return self._strings(self._checked(count, 8))
        values = array.array(self._letter(of))
        size = struct.calcsize("<" + values.typecode)
        values.frombytes(self._take(self._checked(count, size) * size))
        if sys.byteorder == "big":
            values.byteswap()
        return values

    def _letter(self, kind: int) -> str:
        if kind not in _NUMBERS:
            raise self._error(f"a value of the unknown type {kind}")
        return _NUMBERS[kind]

    def _strings(self, count: int) -> list[bytes]:
        """Reads an array of strings. One loop without calls is used, so that a million strings take half a second."""
        strings: list[bytes] = []
        size_at = struct.Struct("<Q").unpack_from
        at, known = self._at, len(self._data)
        for _ in range(count):
            if at + 8 > known:
                known = self._fill(at + 8)
            (size,) = size_at(self._data, at)
            start = at + 8
            at = start + size
            if at > known:
                known = self._fill(at)
            strings.append(self._data[start:at])
        self._at = at
        return strings

    def _string(self, limit: int) -> bytes:
        size = self._number("Q")
        if not 0 < size < limit:
            raise self._error(f"a name of {size} bytes")
        return self._take(size)

    def _checked(self, count: int, size: int) -> int:
        """Checks that the rest of the file can contain `count` items of at least `size` bytes; returns `count`.

        This is done before memory is reserved for the items.
        """
        if count * size > self._num_bytes - self._at:
            raise self._error(f"a list of {count} items exceeds the rest of the file, which is cut off or damaged")
        return count

    def _number(self, letter: str) -> Any:
        return struct.unpack("<" + letter, self._take(struct.calcsize("<" + letter)))[0]

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            self._fill(end)
        data = self._data[self._at : end]
        self._at = end
        return data

    def _fill(self, end: int) -> int:
        """Reads the file at least up to `end`; returns the number of bytes that are now in memory.

        Each call at least doubles this number, unless the file ends earlier.
        """
        if end > self._num_bytes:
            raise self._error("the file ends in the middle of a value")
        if end > MAX_BYTES:
            raise self._error(f"metadata of more than {MAX_BYTES} bytes")
        self._data += self._file.read(max(end - len(self._data), len(self._data), _CHUNK))
        if end > len(self._data):  # the file was truncated while it was read
            raise self._error("the file ends in the middle of a value")
        return len(self._data)

    def _error(self, message: str) -> FormatError:
        return FormatError(message, place=f"byte {self._at}")


def write_file(
    file: BinaryIO, changes: Mapping[str, Any], source: tuple[str | os.PathLike[str], Header] | None = None
) -> None:
    """Writes a file without tensors, or a copy of another file with changed values.

    Args:
        file: the new file.
        changes: key -> value, as in `Header.values`; integers are written as uint32. None removes a key. New keys are
            written after the source's keys; a key that the source has keeps its position.
        source: the file to copy, and its header with the list of tensors.

    Raises:
        FormatError: the tensors of the source are not aligned as its metadata states, or the source was truncated.
    """
    if source is None:
        file.write(_header(3, 0, [_pair(key, value) for key, value in changes.items()]))
        return
    path, header = source
    with open(path, "rb") as old:
        head = old.read(header.end)
        num_bytes = os.fstat(old.fileno()).st_size
        left = dict(changes)
        pairs, end = [], 4 + 4 + 8 + 8
        for key, (start, end) in header.spans.items():
            name = key.decode("utf-8", "backslashreplace")
            pairs.append(_pair(name, left.pop(name)) if name in left else head[start:end])
        pairs += [_pair(name, value) for name, value in left.items()]
        written = _header(header.version, header.num_tensors, pairs) + head[end:]
        file.write(written)
        alignment = header.values.get("general.alignment", _ALIGNMENT)
        if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
            raise FormatError("not a power of two", place="general.alignment")
        data = header.end + -header.end % alignment
        if data >= num_bytes:  # no tensors
            return
        file.write(bytes(-len(written) % alignment))
        old.seek(data)
        shutil.copyfileobj(old, file, _CHUNK)


def _header(version: int, num_tensors: int, pairs: list[bytes]) -> bytes:
    pairs = [pair for pair in pairs if pair]
    return MAGIC + struct.pack("<IQQ", version, num_tensors, len(pairs)) + b"".join(pairs)


def _pair(key: str, value: Any) -> bytes:
    """Encodes a key with its value; returns no bytes if the value is None."""
    if value is None:
        return b""
    name = key.encode()
    return struct.pack("<Q", len(name)) + name + _spelled(value)


def _spelled(value: Any) -> bytes:
    """Encodes a value, preceded by its type."""
    if isinstance(value, bool):
        return struct.pack("<IB", _BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", _UINT32, value)
    if isinstance(value, bytes):
        return struct.pack("<IQ", _STRING, len(value)) + value
    if isinstance(value, list):
        size = struct.Struct("<Q").pack
        strings = b"".join(part for string in value for part in (size(len(string)), string))
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + strings
    kind = next(kind for kind, letter in _NUMBERS.items() if letter == value.typecode)
    numbers = array.array(value.typecode, value)
    if sys.byteorder == "big":
        numbers.byteswap()
    return struct.pack("<IIQ", _ARRAY, kind, len(value)) + numbers.tobytes()

"""Reads and writes files of safetensors in blocks.

The format is a length, a JSON header and the tensors' bytes. The safetensors package is not used, because it writes all
tensors at once from memory, and NumPy has no bfloat16. The core reads the header, and refuses the same files as the
package does.

Left out: conversion of tensors that are not floating point; these are only copied. Source: huggingface/safetensors,
README.md, "Format".
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import FormatError, UnsupportedFeatureError
from ..util.atomic import write_atomically

__all__ = ["SafetensorsFile", "Tensor", "from_float", "to_float", "write_file"]

MAX_HEADER = 100_000_000  # maximum bytes of the header, as in safetensors
BLOCK = 16 << 20  # number of bytes copied at once
ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}


@dataclass(frozen=True)
class Tensor:
    """A tensor of a file: type, shape, and the range of its bytes after the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class SafetensorsFile:
    """A safetensors file that is open for reading. Leaving its ``with`` statement closes it.

    Attributes:
        tensors: name -> tensor, in the order of their bytes.
        metadata: the ``__metadata__`` of the header, or None.

    Raises:
        FormatError: the file is not a safetensors file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._file = open(path, "rb")  # noqa: SIM115 - closed by `__exit__`
        try:
            size = os.fstat(self._file.fileno()).st_size
            if size < 8:
                raise self._wrong("it has fewer than 8 bytes")
            length: int = struct.unpack("<Q", self._file.read(8))[0]
            self._data = 8 + length
            if length > MAX_HEADER:
                raise self._wrong(f"its header has {length} bytes; the maximum is {MAX_HEADER}")
            if self._data > size:
                raise self._wrong("its header is longer than the file")
            try:
                metadata, tensors = _core.read_safetensors_header(self._file.read(length), size - self._data)
            except FormatError as error:
                raise self._wrong(str(error)) from None
            self.metadata: Mapping[str, str] | None = metadata
            self.tensors = {tensor[0]: Tensor(*tensor) for tensor in tensors}
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except BaseException:
            self._file.close()
            raise

    def _wrong(self, why: str) -> FormatError:
        return FormatError(f"{self.path}: not a file of safetensors: {why}", format="safetensors")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._map.close()
        self._file.close()

    def blocks(self, tensor: Tensor) -> Iterator[bytes]:
        """Yields the bytes of a tensor, in blocks."""
        for start in range(self._data + tensor.start, self._data + tensor.end, BLOCK):
            yield self._map[start : min(start + BLOCK, self._data + tensor.end)]

    def rows(self, tensor: Tensor, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Returns the rows `ids` of a tensor, as uint8[len(ids), bytes of a row]."""
        width = (tensor.end - tensor.start) // max(tensor.shape[0], 1)
        all_rows = np.frombuffer(self._map, np.uint8, tensor.end - tensor.start, self._data + tensor.start)
        found: NDArray[np.uint8] = all_rows.reshape(tensor.shape[0], width)[ids]
        del all_rows  # the map cannot be closed while a view of it exists
        return found


def write_file(
    path: str | os.PathLike[str],
    tensors: Iterable[tuple[str, str, tuple[int, ...], int, Iterable[bytes]]],
    metadata: Mapping[str, str] | None,
) -> None:
    """Writes a file atomically. Each tensor is given as name, type, shape, number of bytes, and blocks of bytes."""
    listed = list(tensors)
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    at = 0
    for name, dtype, shape, size, _ in listed:
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    spelled = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    spelled += b" " * (-len(spelled) % 8)
    if len(spelled) > MAX_HEADER:
        raise FormatError(
            f"{os.fspath(path)}: the header would have {len(spelled)} bytes, over the maximum of {MAX_HEADER}"
        )
    with write_atomically(path, streams=True) as file:
        file.write(struct.pack("<Q", len(spelled)) + spelled)
        for _, _, _, _, blocks in listed:
            for block in blocks:
                file.write(block)


def to_float(rows: NDArray[np.uint8], dtype: str) -> NDArray[np.float64]:
    """Converts rows of bytes to rows of values.

    Raises:
        UnsupportedFeatureError: the type is not floating point.

    Examples:
        >>> to_float(np.array([[0x80, 0x3F]], np.uint8), "BF16")
        array([[1.]])
    """
    if dtype == "BF16":
        return (rows.view("<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype not in ITEM_BYTES:
        raise UnsupportedFeatureError(f"embeddings of type {dtype} are not supported", feature=dtype)
    return rows.view(f"<f{ITEM_BYTES[dtype]}").astype(np.float64)


def from_float(values: NDArray[np.float64], dtype: str) -> NDArray[np.uint8]:
    """Converts rows of values to rows of bytes, rounded to nearest, ties to even.

    Examples:
        >>> from_float(np.array([[1.0]]), "BF16").tolist()
        [[128, 63]]
    """
    if dtype == "BF16":
        bits = values.astype(np.float32).view(np.uint32)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
        return np.ascontiguousarray(rounded).view(np.uint8)
    return np.ascontiguousarray(values.astype(f"<f{ITEM_BYTES[dtype]}")).view(np.uint8)

"""Megatron's indexed dataset: ``.bin`` has ids back to back, ``.idx`` the index. Each document is one sequence.

In a packed shard, each row is one sequence, and ``.documents``, Jeton's own file, has the ends of documents (uint64).
The format cannot store a loss mask.

    .idx    9 bytes MMIDIDX\\0\\0, u64 version 1, u8 dtype code, u64 S = sequences, u64 D = documents + 1
            i32[S] lengths in tokens; i64[S] byte offsets in .bin; i64[D] sequences before each document, then S

Source: NVIDIA/Megatron-LM, megatron/core/datasets/indexed_dataset.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ShardError
from ..outputs import OutputFile, OutputFiles
from .base import BLOCK, Documents, Int64, Layout, Places, ShardFacts, ShardWriter, Spool, as_bytes, mapped

__all__ = ["Megatron"]

MAGIC = b"MMIDIDX\x00\x00"
HEADER = struct.Struct("<QBQQ")
HEAD_BYTES = len(MAGIC) + HEADER.size
CODES = {"int32": 4, "uint16": 8}  # Megatron has no uint32
MAX_UINT16_VOCAB = 65500  # as in Megatron's `optimal_dtype`


class Megatron(Layout):
    """``format="megatron"``."""

    name, dtypes, suffix = "megatron", ("uint16", "int32"), ".bin"
    can_mask = False

    def auto(self, vocab_size: int) -> str:
        """Returns uint16 if `vocab_size` is below 65,500, else int32.

        Megatron's `optimal_dtype` does the same, and programs call it to infer the type of ids.
        """
        return "uint16" if vocab_size < MAX_UINT16_VOCAB else "int32"

    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """See `Layout`."""
        return _Writer(files, stem, facts)

    def read(self, folder: Path, stem: str, facts: ShardFacts) -> Documents:
        """See `Layout`."""
        tokens = mapped(folder / f"{stem}.bin", facts.dtype)
        index = folder / f"{stem}.idx"
        with index.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if len(head) < HEAD_BYTES or not head.startswith(MAGIC):
            raise ShardError(f"{index}: not an index of Megatron", path=str(index))
        version, code, sequences, boundaries = HEADER.unpack(head[len(MAGIC) :])
        if (version, code, boundaries) != (1, CODES[facts.dtype.name], sequences + 1):
            message = f"{index}: version {version}, type {code}, {sequences:,} sequences, {boundaries - 1:,} documents"
            raise ShardError(f"{message}; expected version 1, type {CODES[facts.dtype.name]}", path=str(index))
        starts = mapped(index, "<i8", HEAD_BYTES + 4 * sequences, sequences)
        if facts.row_length is None:
            return _Sequences(tokens, starts, index)
        if sequences * facts.row_length != len(tokens):
            message = f"{index}: {sequences:,} rows of {facts.row_length:,} ids, and {len(tokens):,} ids"
            raise ShardError(message, path=str(index))
        return _Rows(tokens, mapped(folder / f"{stem}.documents", "<u8"), starts, index)


class _Sequences(Documents):
    """Documents whose boundaries are the byte offsets in an index."""

    def __init__(self, tokens: NDArray[Any], starts: Int64, index: Path) -> None:
        self._starts, self._size, self._index = starts, tokens.itemsize, index
        super().__init__(index, tokens, starts)

    def _span(self, number: int) -> tuple[int, int]:
        """See `Documents`."""
        starts, size = self._starts, self._size
        end = int(starts[number + 1]) // size if number + 1 < len(starts) else len(self.tokens)
        return int(starts[number]) // size, end

    def _spans(self, numbers: Int64) -> tuple[Int64, Int64]:
        """See `Documents`."""
        starts, last = self._starts, len(self._starts) - 1
        ends = np.where(numbers < last, starts[np.minimum(numbers + 1, last)] // self._size, len(self.tokens))
        return starts[numbers] // self._size, ends

    def _bounds(self) -> tuple[Int64, int]:
        """See `Documents`."""
        return self._starts, self._size

    def _end_blocks(self) -> Iterator[Int64]:
        """See `Documents`."""
        for at in range(0, len(self._starts), BLOCK):
            block = self._starts[at + 1 : at + BLOCK + 1] // self._size
            yield np.append(block, len(self.tokens)) if at + BLOCK >= len(self._starts) else block

    def check(self, name: str) -> None:
        """See `Documents`."""
        if len(self._starts) and int(self._starts[0]) != 0:
            raise ShardError(f"{name}: its first document does not begin at 0", path=name)
        if any((self._starts[at : at + BLOCK] % self._size).any() for at in range(0, len(self._starts), BLOCK)):
            raise ShardError(f"{name}: offsets of documents are not multiples of {self._size} bytes", path=name)
        super().check(name)
        _check_index(self._index, self.lengths(), self._starts, self._size)


class _Rows(Documents):
    """Documents of a packed shard. In a packed shard, each sequence of the index is one row."""

    def __init__(self, tokens: NDArray[Any], ends: NDArray[Any], starts: Int64, index: Path) -> None:
        super().__init__(index, tokens, ends)
        self._starts, self._index = starts, index

    def check(self, name: str) -> None:
        """See `Documents`."""
        super().check(name)
        rows = len(self._starts)
        length = len(self.tokens) // max(rows, 1)
        lengths = (np.full(min(BLOCK, rows - at), length, np.int64) for at in range(0, rows, BLOCK))
        _check_index(self._index, lengths, self._starts, self.tokens.itemsize)


def _check_index(index: Path, expected: Iterable[Int64], starts: Int64, size: int) -> None:
    """Checks the three arrays of an index; Megatron reads all of them.

    The lengths must equal `expected`, the byte offsets must follow from them, and each document must be one sequence.

    Raises:
        ShardError: the index differs.
    """
    number, at, total = len(starts), 0, 0
    lengths = mapped(index, "<i4", HEAD_BYTES, number)
    boundaries = mapped(index, "<i8", HEAD_BYTES + 12 * number, number + 1)
    for block in expected:
        span = slice(at, at + len(block))
        ends = np.cumsum(block) + total
        if not (np.array_equal(lengths[span], block) and np.array_equal(starts[span], (ends - block) * size)):
            raise ShardError(f"{index}: its lengths and offsets of sequences contradict each other", path=str(index))
        at, total = at + len(block), int(ends[-1])
    blocks = range(0, number + 1, BLOCK)
    if not all(np.array_equal(boundaries[at : at + BLOCK], _numbers(at, number + 1)) for at in blocks):
        raise ShardError(f"{index}: its documents are not one sequence each", path=str(index))


class _Writer(ShardWriter):
    def __init__(self, files: OutputFiles, stem: str, facts: ShardFacts) -> None:
        self._tokens, self._index = files.open(f"{stem}.bin"), files.open(f"{stem}.idx")
        self._lengths, self._dtype, self._row_length = Spool(), facts.dtype, facts.row_length
        self._ends = files.open(f"{stem}.documents") if facts.row_length else None
        self._num_tokens = self._num_documents = 0

    def add(
        self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None = None
    ) -> None:
        """See `ShardWriter`."""
        self._tokens.write(as_bytes(ids))
        self._num_tokens += len(ids)
        if self._ends is None:
            self._lengths.add(lengths)
        elif len(lengths):
            ends = np.cumsum(lengths) + self._num_documents
            self._ends.write(as_bytes(ends.astype("<u8")))
            self._num_documents = int(ends[-1])

    def finish(self) -> None:
        """See `ShardWriter`."""
        if self._row_length:
            rows = self._num_tokens // self._row_length
            for start in range(0, rows, BLOCK):
                self._lengths.add(np.full(min(BLOCK, rows - start), self._row_length, np.int64))
        _write_index(self._index, self._lengths, self._dtype)

    def close(self) -> None:
        """See `ShardWriter`."""
        self._lengths.close()


def _write_index(file: OutputFile, lengths: Spool, dtype: np.dtype[Any]) -> None:
    number = len(lengths)
    file.write(MAGIC + HEADER.pack(1, CODES[dtype.name], number, number + 1))
    _write(file, (block.astype("<i4") for block in lengths.blocks()))
    total = 0
    for block in lengths.blocks():
        ends = np.cumsum(block) + total
        file.write(as_bytes((ends - block) * dtype.itemsize))
        total = int(ends[-1])
    starts = range(0, number + 1, BLOCK)
    _write(file, map(_numbers, starts, repeat(number + 1)))


def _numbers(start: int, end: int) -> Int64:
    return np.arange(start, min(start + BLOCK, end), dtype="<i8")


def _write(file: OutputFile, blocks: Iterable[NDArray[Any]]) -> None:
    for block in blocks:
        file.write(as_bytes(block))

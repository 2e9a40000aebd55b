"""Megatron's indexed dataset: ``.bin`` with ids back to back, ``.idx`` with the index; one sequence per document.

    .idx    9 bytes MMIDIDX\\0\\0, u64 version 1, u8 dtype code, u64 sequences S, u64 documents + 1 D
            i32[S] lengths in tokens; i64[S] byte offsets in .bin; i64[D] sequences before each document, and S

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
from .base import BLOCK, Documents, Int64, Layout, Places, ShardFacts, ShardWriter, Spool, as_bytes, copy_tokens, mapped

__all__ = ["Megatron"]

MAGIC = b"MMIDIDX\x00\x00"
HEADER = struct.Struct("<QBQQ")
CODES = {"int32": 4, "uint16": 8}  # there is no uint32
MAX_UINT16_VOCAB = 65500  # `optimal_dtype`


class Megatron(Layout):
    """``format="megatron"``."""

    name, dtypes, suffix = "megatron", ("uint16", "int32"), ".bin"

    def auto(self, vocab_size: int) -> str:
        """uint16 below 65,500 ids, as `optimal_dtype`: programs that derive the type from the vocabulary agree."""
        return "uint16" if vocab_size < MAX_UINT16_VOCAB else "int32"

    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """See `Layout`."""
        return _Writer(files, stem, facts)

    def read(self, folder: Path, stem: str, facts: ShardFacts) -> Documents:
        """See `Layout`."""
        tokens = mapped(folder / f"{stem}.bin", facts.dtype)
        index = folder / f"{stem}.idx"
        with index.open("rb") as file:
            head = file.read(len(MAGIC) + HEADER.size)
        if len(head) < len(MAGIC) + HEADER.size or not head.startswith(MAGIC):
            raise ShardError(f"{index}: not an index of Megatron", path=str(index))
        version, code, sequences, boundaries = HEADER.unpack(head[len(MAGIC) :])
        if (version, code, boundaries) != (1, CODES[facts.dtype.name], sequences + 1):
            message = f"{index}: version {version}, type {code}, {sequences:,} sequences, {boundaries - 1:,} documents"
            raise ShardError(f"{message}; expected version 1, type {CODES[facts.dtype.name]}", path=str(index))
        starts = mapped(index, "<i8", len(head) + 4 * sequences, sequences)
        return _Sequences(tokens, starts)

    def join(self, files: OutputFiles, stem: str, shards: Iterable[Documents], facts: ShardFacts) -> None:
        """See `Layout`."""
        tokens = files.open(f"{stem}.bin")
        lengths = Spool()
        try:
            for shard in shards:
                copy_tokens(tokens, shard.tokens)
                for block in shard.lengths():
                    lengths.add(block)
            _write_index(files.open(f"{stem}.idx"), lengths, facts.dtype)
        finally:
            lengths.close()


class _Sequences(Documents):
    """Documents by the byte offsets of an index."""

    def __init__(self, tokens: NDArray[Any], starts: Int64) -> None:
        super().__init__(tokens, starts)
        self._starts, self._size = starts, tokens.itemsize

    def __getitem__(self, index: int) -> NDArray[Any]:
        starts, size = self._starts, self._size
        end = int(starts[index + 1]) // size if index + 1 < len(starts) else len(self.tokens)
        return self.tokens[int(starts[index]) // size : end]

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


class _Writer(ShardWriter):
    def __init__(self, files: OutputFiles, stem: str, facts: ShardFacts) -> None:
        self._tokens, self._index = files.open(f"{stem}.bin"), files.open(f"{stem}.idx")
        self._lengths, self._dtype = Spool(), facts.dtype

    def add(self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places]) -> None:
        """See `ShardWriter`."""
        self._tokens.write(as_bytes(ids))
        self._lengths.add(lengths)

    def finish(self) -> None:
        """See `ShardWriter`."""
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

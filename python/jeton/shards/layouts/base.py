"""Interface of the layouts, and shared classes: `Spool` stores document lengths, `Documents` reads a shard's documents.

A writer receives the ids of consecutive documents in the type of the file. The memory that it uses does not grow with
the shard, because lengths of documents are spooled to disk. In a packed shard, ids form rows of one length, and
*document* means a piece of a document within a row, or the padding at the end of a row.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError, ShardError, UnsupportedFeatureError, keyword
from ..outputs import OutputFiles

__all__ = [
    "Documents",
    "Int64",
    "Layout",
    "Places",
    "ShardFacts",
    "ShardWriter",
    "Spool",
    "as_bytes",
    "mapped",
    "positions",
    "shard_facts",
]

Int64 = NDArray[np.int64]
SPOOL_BYTES = 8 << 20
BLOCK = 1 << 20  # items of a spool that are read at a time


class Places(NamedTuple):
    """Sources of consecutive documents.

    Attributes:
        file: the file of all documents, or a list with the file of each.
        numbers: line or row of each document, from 1; None if each document is a whole file. A number 0 also means a
            whole file.
        num_documents: number of the documents.
        fields: the kept fields of each document's record, as JSON; None if no fields are kept, or there are no records.
    """

    file: str | Sequence[str]
    numbers: Sequence[int] | None
    num_documents: int
    fields: Sequence[bytes] | None = None


class ShardFacts(NamedTuple):
    """Facts that a layout writes into the files of a shard, or compares with the files.

    Attributes:
        dtype: type of the ids.
        tokenizer: fingerprint of the tokenizer.
        tokens, documents: totals of the shard; 0 while it is written.
        row_length: ids of a row; None if the shard is not packed.
        has_mask: True if there is a loss mask.
    """

    dtype: np.dtype[Any]
    tokenizer: str
    tokens: int = 0
    documents: int = 0
    row_length: int | None = None
    has_mask: bool = False


def shard_facts(
    dtype: str | None, tokenizer: str | None, row_length: int | None = None, has_mask: bool = False
) -> ShardFacts:
    """Returns the facts of a shard that is opened or written."""
    dtypes = np.dtype(dtype).newbyteorder("<")
    return ShardFacts(dtypes, tokenizer or "", row_length=row_length, has_mask=has_mask)


class Spool:
    """List of int64 values. Up to 8 MiB are held in memory, more in a temporary file.

    Examples:
        >>> spool = Spool()
        >>> spool.add(np.array([3, 1], np.int64))
        >>> [block.tolist() for block in spool.blocks()], len(spool)
        ([[3, 1]], 2)
        >>> spool.close()
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115
        self._length = 0

    def add(self, values: Int64) -> None:
        """Appends values."""
        self._file.write(as_bytes(values.astype("<i8", copy=False)))
        self._length += len(values)

    def __len__(self) -> int:
        return self._length

    def blocks(self) -> Iterator[Int64]:
        """Yields all values, in order, in blocks."""
        self._file.seek(0)
        while data := self._file.read(8 * BLOCK):
            yield np.frombuffer(data, "<i8")

    def close(self) -> None:
        """Closes the temporary file, which removes it."""
        self._file.close()


def as_bytes(values: NDArray[Any]) -> memoryview:
    """Returns a view of the bytes of an array. The array must be little-endian."""
    return memoryview(np.ascontiguousarray(values).data).cast("B") if values.size else memoryview(b"")


def mapped(path: Path, dtype: str | np.dtype[Any], offset: int = 0, count: int = -1) -> NDArray[Any]:
    """Maps a file into memory as a read-only array.

    Raises:
        ShardError: the file is too short for `count` items after `offset` bytes.
    """
    dtype = np.dtype(dtype)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size - offset
        if count < 0 <= size:
            count, rest = divmod(size, dtype.itemsize)
            if rest:
                raise ShardError(f"{path}: its size is not a multiple of {dtype.itemsize} bytes", path=str(path))
        if size < (needed := max(count, 0) * dtype.itemsize):
            raise ShardError(f"{path}: it is too short for {needed:,} bytes from byte {offset:,} on", path=str(path))
        if count == 0:
            return np.empty(0, dtype)
        # Not np.memmap: it takes five times as long to create and several times as long to index.
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(whole, dtype, count, offset)


def positions(lengths: Int64) -> NDArray[np.int32]:
    """Returns position ids: the index of each token within its document, from 0.

    Examples:
        >>> positions(np.array([3, 2])).tolist()
        [0, 1, 2, 0, 1]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return (np.arange(total) - np.repeat(ends - lengths, lengths)).astype(np.int32)


class Documents:
    """Documents of one shard.

    The constructor checks that the documents and the mask end where the ids do. The end of a document is checked when
    the document is accessed; `check` reads and checks the ends of all documents.

    Attributes:
        name: path of the shard, for errors.
        tokens: ids of all documents, memory-mapped.
        ends: uint64 or int64, one past the last id of each document.
        mask: uint8, 1 for each id that contributes to the loss; None without a loss mask.

    Raises:
        ShardError: the files contradict each other.
    """

    def __init__(
        self, name: str | Path, tokens: NDArray[Any], ends: NDArray[Any], mask: NDArray[np.uint8] | None = None
    ) -> None:
        self.name, self.tokens, self.ends, self.mask = str(name), tokens, ends, mask
        last = self._span(len(self) - 1)[1] if len(self) else 0
        if last != len(tokens):
            message = f"{name}: its documents have {last:,} tokens, but the file has {len(tokens):,}"
            raise ShardError(message, path=self.name)
        if mask is not None and len(mask) != len(tokens):
            message = f"{name}: its loss mask has {len(mask):,} values for {len(tokens):,} tokens"
            raise ShardError(message, path=self.name)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> NDArray[Any]:
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"document {index} is out of range: there are {len(self):,}, from 0")
        start, end = self._span(number)
        if not 0 <= start < end <= len(self.tokens):
            raise self.damaged(number)
        return self.tokens[start:end]

    def _span(self, number: int) -> tuple[int, int]:
        """Returns the start and end of a document."""
        ends = self.ends
        return int(ends[number - 1]) if number else 0, int(ends[number])

    def damaged(self, number: int) -> ShardError:
        """Returns the error for a document that ends at or before its start, or after the last id."""
        message = f"{self.name}: the ends of its documents are not ascending: document {number:,}"
        return ShardError(message, path=self.name)

    def spans(self, numbers: Int64) -> tuple[Int64, Int64]:
        """Returns the starts and ends of documents, after checking them against the ids.

        Raises:
            ShardError: a document is empty, or outside of the ids.
        """
        starts, ends = self._spans(numbers)
        wrong = np.flatnonzero((starts < 0) | (starts >= ends) | (ends > len(self.tokens)))
        if len(wrong):
            raise self.damaged(int(numbers[wrong[0]]))
        return starts, ends

    def _spans(self, numbers: Int64) -> tuple[Int64, Int64]:
        ends = self.ends
        starts = np.where(numbers > 0, ends[np.maximum(numbers, 1) - 1], 0)
        return starts.astype(np.int64), ends[numbers].astype(np.int64)

    def lengths_between(self, start: int, end: int, first: int, row: int) -> Int64:
        """Returns the lengths of the documents in a range of whole rows.

        Args:
            start: index of the first id of the range.
            end: one past the index of its last id.
            first: number of the document that begins at `start`.
            row: number of ids in a row.

        Raises:
            ShardError: ends of documents are not ascending, or a document extends into the next row.
        """
        # `end` is converted to the type of `ends`; otherwise the search would convert the whole array.
        last = int(np.searchsorted(self.ends, self.ends.dtype.type(end))) + 1
        ends = self.ends[first:last].astype(np.int64)
        lengths: Int64 = ends - np.append(start, ends[:-1])
        # The first test ensures that the ends ascend, so no two ends are equal. The second test compares the number of
        # ends at multiples of `row` with the number of rows. If the numbers are equal, a document ends at the end of
        # each row.
        if not len(ends) or ends[-1] != end or lengths.min() < 1 or lengths.max() > end - start:
            raise self.damaged(first)
        if np.count_nonzero(ends % row == 0) * row != end - start:
            raise ShardError(f"{self.name}: a document of it begins in one row and ends in another", path=self.name)
        return lengths

    def between(self, starts: Int64, ends: Int64) -> list[tuple[int, int]]:
        """Finds the boundaries of documents inside ranges of ids.

        Args:
            starts: index of the first id of each range.
            ends: one past the index of the last id of each range.

        Returns:
            For each range, a pair (first, last): `boundaries(first, last)` returns the boundaries inside the range.
            The caller must check that these boundaries are ascending and inside the range.

        Raises:
            ShardError: `last` is less than `first` for a range, so the ends of documents are damaged.
        """
        bounds, unit = self._bounds()
        found = bounds.searchsorted(np.concatenate([starts + 1, ends]) * unit).tolist()
        slices = list(zip(found[: len(starts)], found[len(starts) :], strict=True))
        for first, last in slices:
            if last < first:
                raise self.damaged(last)
        return slices

    def boundaries(self, first: int, last: int) -> Int64:
        """Returns the number of ids before each boundary, for the boundaries numbered from `first` to `last` - 1."""
        bounds, unit = self._bounds()
        return bounds[first:last] if unit == 1 else bounds[first:last] // unit

    def _bounds(self) -> tuple[Int64, int]:
        """Returns the boundaries of documents, ascending, and the size of an id.

        If the boundaries are counted in ids, the returned size is 1. If the boundaries are counted in bytes, the size
        is the number of bytes of an id.
        """
        return self.ends.view(np.int64), 1

    def firsts(self) -> Iterator[Int64]:
        """Yields the index of the first id of each document, in blocks. Requires that no document is empty."""
        before = 0
        for block in self._end_blocks():
            yield np.concatenate([[before], block[:-1]])
            before = int(block[-1])

    def lasts(self) -> Iterator[Int64]:
        """Yields the index of the last id of each document, in blocks."""
        for block in self._end_blocks():
            yield block - 1

    def lengths(self) -> Iterator[Int64]:
        """Yields the number of ids of each document, in blocks."""
        before = 0
        for block in self._end_blocks():
            yield np.diff(block, prepend=before)
            before = int(block[-1])

    def _end_blocks(self) -> Iterator[Int64]:
        """Yields the ends of documents, in blocks."""
        for start in range(0, len(self.ends), BLOCK):
            yield self.ends[start : start + BLOCK].astype(np.int64)

    def check(self, name: str) -> None:
        """Checks that the ends of all documents are ascending.

        Raises:
            ShardError: the ends are not ascending.
        """
        before = 0
        for block in self._end_blocks():
            # The ends are first compared with the number of ids. Damaged ends can be so large that their differences
            # would overflow.
            if block.min() <= before or block.max() > len(self.tokens) or (np.diff(block) <= 0).any():
                raise ShardError(f"{name}: the ends of its documents are not ascending", path=name)
            before = int(block[-1])


class ShardWriter(ABC):
    """Writer of one shard."""

    @abstractmethod
    def add(
        self,
        ids: NDArray[Any],
        lengths: Int64,
        places: Sequence[Places],
        mask: NDArray[np.uint8] | None = None,
    ) -> None:
        """Appends documents: their ids, in the type of the file; the number of ids of each document; and their sources.

        `mask` has a value for each id, if the shard has a loss mask. For a packed shard, the ids are whole rows.
        """

    @abstractmethod
    def finish(self) -> None:
        """Writes the end of the files, after the last document."""

    @property
    def totals(self) -> dict[str, Any]:
        """Entries that this writer adds to the completion file, after `finish`."""
        return {}

    def close(self) -> None:  # noqa: B027
        """Frees temporary files, if there are any."""


class Layout(ABC):
    """One format of shards.

    Attributes:
        name: as in ``format=``.
        dtypes: types of ids that the format supports.
        suffix: suffix of the file of ids.
        can_read: True if `jeton.shards.open` supports it.
        can_join: True if shards can be joined into one file.
        can_mask: True if shards can have a loss mask.
        masks_padding: True if packed shards always have a loss mask.
        has_sources: True if files of the format name the source of each document.
    """

    name: ClassVar[str]
    dtypes: ClassVar[tuple[str, ...]]
    suffix: ClassVar[str]
    can_read: ClassVar[bool] = True
    can_join: ClassVar[bool] = True
    can_mask: ClassVar[bool] = True
    masks_padding: ClassVar[bool] = False
    has_sources: ClassVar[bool] = False

    @abstractmethod
    def auto(self, vocab_size: int) -> str:
        """Returns the type of ids for ``dtype="auto"``."""

    @abstractmethod
    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """Opens the files of a new shard, and returns their writer."""

    @abstractmethod
    def read(self, folder: Path, stem: str, facts: ShardFacts) -> Documents:
        """Opens a shard, memory-mapped.

        Raises:
            ShardError: the files contradict each other or the facts.
        """

    def join(self, files: OutputFiles, stem: str, shards: Iterable[Documents], facts: ShardFacts) -> None:
        """Writes all shards as one shard, without reading a whole shard into memory.

        Raises:
            UnsupportedFeatureError: the format does not support joining.
        """
        if not self.can_join:
            message = f"joining shards of format {self.name!r} is not supported"
            raise UnsupportedFeatureError(message, format=self.name, feature="join")
        writer = self.writer(files, stem, facts)
        try:
            for shard in shards:
                for start in range(0, len(shard.tokens), BLOCK):
                    mask = None if shard.mask is None else shard.mask[start : start + BLOCK]
                    writer.add(shard.tokens[start : start + BLOCK], np.empty(0, np.int64), (), mask)
                for lengths in shard.lengths():
                    writer.add(shard.tokens[:0], lengths, ())
            writer.finish()
        finally:
            writer.close()

    def index(self, shards: Sequence[Mapping[str, Any]], facts: ShardFacts) -> dict[str, bytes]:
        """Returns the index files that libraries read: name -> content. `shards`: entries of the manifest."""
        return {}

    def check_installed(self) -> None:  # noqa: B027
        """Checks that the packages that the format needs are installed.

        Raises:
            MissingDependencyError: a package is not installed.
        """

    def dtype(self, asked: str, vocab_size: int) -> str:
        """Returns the type of ids, and checks that the highest possible id fits.

        Raises:
            ConfigError: the format does not support the type, or the type is too small for the vocabulary.
        """
        if asked == "auto":
            asked = self.auto(vocab_size)
        elif asked not in self.dtypes:
            names = ", ".join(("auto", *self.dtypes))
            raise ConfigError(f"{keyword('dtype', asked)} is not a type of the format {self.name}; types: {names}")
        highest = int(np.iinfo(asked).max)
        if vocab_size - 1 > highest:
            message = (
                f"{keyword('dtype', asked)} holds ids up to {highest:,}, but the tokenizer has ids up to "
                f"{vocab_size - 1:,}"
            )
            raise ConfigError(f"{message}; pass {keyword('dtype', 'auto')}")
        return asked

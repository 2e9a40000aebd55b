"""Collects the documents of a shard, then writes them in another order, or packed in rows.

``HeldDocuments`` receives documents as a `ShardWriter` does and keeps their ids in a temporary file, so that the memory
in use does not grow with their number. `Collected` has the start and length of each document, in the order of writing.
`write` packs the documents, gathers their ids in blocks, and writes the origin of each document or piece.

    shard-00000.origins    uint32[n, 3]: task, document, start

`document` is the index of the document in the task. `start` is the number of ids of the document before the piece; it
is 0 for a whole document.

Documents of a task are numbered from 0; documents without tokens have no number. Padding has the task 2³² - 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .._core import gather as copy_ranges
from ..errors import ShardError
from .layouts import Int64, Places, ShardWriter
from .layouts.base import as_bytes, mapped
from .metadata import metadata_of
from .outputs import OutputFiles
from .packing import PADDING, pack
from .plan import Plan
from .tasks import Task

__all__ = [
    "NO_TASK",
    "ORIGINS",
    "Collected",
    "Fields",
    "HeldDocuments",
    "PackedWriter",
    "Sources",
    "read_origins",
    "write",
]

ORIGINS = ".origins"
NO_TASK = (1 << 32) - 1
BLOCK = 1 << 20  # number of ids that are gathered at a time


class Sources(NamedTuple):
    """Sources of documents, as columns.

    Attributes:
        files: index of the input file of each document.
        numbers: line or row of each document; 0: the file is one document.
    """

    files: NDArray[np.uint32]
    numbers: NDArray[np.int64]


class Fields(NamedTuple):
    """Metadata of documents, as JSON.

    Attributes:
        data: uint8, the metadata of all documents, in any order.
        starts, lengths: range of `data` with the metadata of each document.
    """

    data: NDArray[np.uint8]
    starts: Int64
    lengths: Int64


@dataclass
class Collected:
    """Documents in the order of writing, as ranges of `ids`.

    Attributes:
        ids: ids of all documents, in any order. If the documents will be packed, a row of padding ids follows.
        mask: uint8, the loss mask of `ids`, or None.
        starts, lengths: for each document, the range of `ids` with the document's ids.
        tasks, indices: origin of each document: its task, and its number in the task.
        sources: sources of the documents, if the format has them.
        fields: metadata of the documents, if the plan keeps some.
    """

    ids: NDArray[Any]
    mask: NDArray[np.uint8] | None
    starts: Int64
    lengths: Int64
    tasks: NDArray[np.uint32]
    indices: NDArray[np.uint32]
    sources: Sources | None
    fields: Fields | None = None


class HeldDocuments:
    """Documents of a shard. Ids, mask and metadata are in temporary files; a document takes 12 bytes of memory.

    Examples:
        >>> import tempfile
        >>> held = HeldDocuments(np.dtype("<u2"), None, tempfile.TemporaryFile)
        >>> held.add(np.array([5, 6, 7], "<u2"), np.array([1, 2]), [], None)
        >>> held.collected(0, 9, 2).ids.tolist()
        [5, 6, 7, 9, 9]
        >>> held.close()
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        inputs: Mapping[str, int] | None,
        temporary: Callable[[], BinaryIO],
        keeps_fields: bool = False,
    ) -> None:
        """`inputs`: index of each input file, if the format has sources; `temporary`: makes a temporary file."""
        self._dtype, self._inputs = dtype, inputs
        self._ids, self._mask = temporary(), temporary()
        self._lengths: list[NDArray[np.uint32]] = []
        self._files: list[NDArray[np.uint32]] = []
        self._numbers: list[Int64] = []
        self._fields = temporary() if keeps_fields else None
        self._field_lengths: list[NDArray[np.uint32]] = []

    def add(self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None) -> None:
        """Appends documents; arguments as for `ShardWriter.add`."""
        self._ids.write(as_bytes(ids))
        if mask is not None:
            self._mask.write(as_bytes(mask))
        self._lengths.append(lengths.astype(np.uint32))
        if self._inputs is not None:
            for place in places:
                file = self._inputs[cast(str, place.file)]
                self._files.append(np.full(place.num_documents, file, np.uint32))
                numbers = np.zeros(place.num_documents, np.int64) if place.numbers is None else place.numbers
                self._numbers.append(np.asarray(numbers, np.int64))
        if self._fields is not None:
            for place in places:
                lines = metadata_of(place)
                self._fields.write(b"".join(lines))
                self._field_lengths.append(np.fromiter(map(len, lines), np.uint32, len(lines)))

    def collected(self, task: int, pad: int | None, row: int) -> Collected:
        """Returns all documents, in order.

        If `pad` is not None, the id `pad` is appended `row` times, with mask 0.
        """
        lengths = _joined(self._lengths, np.uint32).astype(np.int64)
        total = int(lengths.sum())
        num_padding = 0 if pad is None else row
        if pad is not None:
            self._ids.write(as_bytes(np.full(row, pad, self._dtype)))
        ids = _mapped(self._ids, self._dtype, total + num_padding)
        mask = None
        if self._mask.tell():
            self._mask.write(bytes(num_padding))
            mask = _mapped(self._mask, np.dtype(np.uint8), total + num_padding)
        sources = None
        if self._inputs is not None:
            sources = Sources(_joined(self._files, np.uint32), _joined(self._numbers, np.int64))
        fields = None
        if self._fields is not None:
            sizes = _joined(self._field_lengths, np.uint32).astype(np.int64)
            data = _mapped(self._fields, np.dtype(np.uint8), int(sizes.sum()))
            fields = Fields(data, np.cumsum(sizes) - sizes, sizes)
        number = len(lengths)
        return Collected(
            ids, mask, np.cumsum(lengths) - lengths, lengths,
            np.full(number, task, np.uint32), np.arange(number, dtype=np.uint32), sources, fields,
        )  # fmt: skip

    def close(self) -> None:
        """Closes the temporary files, which removes them."""
        self._ids.close()
        self._mask.close()
        if self._fields is not None:
            self._fields.close()


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)


def _mapped(file: BinaryIO, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    file.flush()
    return np.asarray(np.memmap(file, dtype, "r", 0, (count,))) if count else np.empty(0, dtype)


def gather(values: NDArray[Any], starts: Int64, lengths: Int64) -> NDArray[Any]:
    """Returns the items of several ranges of `values`, back to back, as one array.

    Examples:
        >>> gather(np.arange(10), np.array([7, 0]), np.array([2, 3])).tolist()
        [7, 8, 0, 1, 2]
    """
    if len(starts) == 1:
        return values[int(starts[0]) : int(starts[0] + lengths[0])]
    first, number = (as_bytes(column.astype("<i8", copy=False)) for column in (starts, lengths))
    return np.frombuffer(copy_ranges(as_bytes(values), first, number, values.itemsize), values.dtype)


def blocks(ends: Int64, limit: int) -> Iterator[slice]:
    """Yields consecutive ranges of items that have at most `limit` ids together; a larger item is a range of its own.

    Args:
        ends: for each item, the number of ids up to its end.
        limit: maximum number of ids of a range.

    Examples:
        >>> [(block.start, block.stop) for block in blocks(np.array([3, 4, 9, 10]), 5)]
        [(0, 2), (2, 3), (3, 4)]
    """
    first = before = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, before + limit, "right")))
        yield slice(first, last)
        first, before = last, int(ends[last - 1])


def write(
    documents: Collected,
    writer: ShardWriter,
    files: OutputFiles,
    stem: str,
    plan: Plan,
) -> dict[str, Any]:
    """Writes documents: packed in rows if the plan has packing, otherwise in the order of `documents`.

    The origins of the documents are written to a separate file.

    Returns:
        Entries for the completion (the file that records that the task is done): the totals of packing. If the
        documents are not packed, the result is empty.
    """
    origins, packing, inputs = files.open(stem + ORIGINS), plan.packing, [file.path for file in plan.inputs]
    result: dict[str, Any] = {}
    if packing is None:
        which, firsts, lengths = np.arange(len(documents.lengths)), np.zeros_like(documents.lengths), documents.lengths
        unit_ends = which + 1
    else:
        packed = pack(documents.lengths, packing)
        which, firsts, lengths, unit_ends = packed.documents, packed.firsts, packed.lengths, packed.row_ends
        counts = {"rows": len(unit_ends), "pieces": len(lengths), "cut": packed.cut}
        result = {"packing": {**counts, "padding": packed.padding, "dropped": packed.dropped}}
    piece_ends = np.cumsum(lengths)
    pad_start = len(documents.ids) - (packing["length"] if packing else 0)
    for units in blocks(piece_ends[unit_ends - 1], BLOCK):
        span = slice(int(unit_ends[units.start - 1]) if units.start else 0, int(unit_ends[units.stop - 1]))
        own, first, length = which[span], firsts[span], lengths[span]
        is_padding = own == PADDING
        starts = np.where(is_padding, pad_start, documents.starts[own] + first)
        ids = gather(documents.ids, starts, length)
        mask = None
        if documents.mask is not None:
            mask = gather(documents.mask, starts, length)
        elif plan.shard_facts.has_mask:
            mask = np.repeat(~is_padding, length).view(np.uint8)
        writer.add(ids, length, _places(documents, own, inputs), mask)
        columns = (np.where(is_padding, NO_TASK, documents.tasks[own]), np.where(is_padding, 0, documents.indices[own]))
        origins.write(as_bytes(np.column_stack([*columns, first]).astype("<u4")))
    return result


def _places(documents: Collected, own: Int64, inputs: Sequence[str]) -> list[Places]:
    """Returns the sources and the metadata of pieces (documents or parts of documents).

    `own` contains, for each piece, the index of the document to which the piece belongs.
    """
    sources, fields = documents.sources, documents.fields
    if sources is None and fields is None:
        return []
    is_padding = own == PADDING
    files: str | list[str] = ""
    numbers = kept = None
    if sources is not None:
        indices = np.where(is_padding, len(inputs), sources.files[own]).tolist()
        files = list(map([*inputs, "padding"].__getitem__, indices))
        numbers = np.where(is_padding, 0, sources.numbers[own]).tolist()
    if fields is not None:
        sizes = np.where(is_padding, 0, fields.lengths[own])
        data = gather(fields.data, np.where(is_padding, 0, fields.starts[own]), sizes).tobytes()
        ends = np.cumsum(sizes).tolist()
        kept = [data[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]
    return [Places(files, numbers, len(own), kept)]


def read_origins(folder: Path, stem: str) -> NDArray[np.uint32]:
    """Memory-maps the origins of a shard, uint32[n, 3]. The docstring of this module describes the columns."""
    path = folder / (stem + ORIGINS)
    found = mapped(path, "<u4")
    if len(found) % 3:
        raise ShardError(f"{path}: its size is not a multiple of 12 bytes", path=str(path))
    return found.reshape(-1, 3)


class PackedWriter(ShardWriter):
    """Collects the documents of a task; at the end, packs them into rows and writes the rows with another writer."""

    def __init__(self, writer: ShardWriter, files: OutputFiles, stem: str, plan: Plan, task: Task) -> None:
        self._writer, self._files, self._stem, self._plan, self._task = writer, files, stem, plan, task
        self._held = HeldDocuments(plan.shard_facts.dtype, plan.source_numbers, files.temporary, plan.keep is not None)
        self._totals: dict[str, Any] = {}

    @property
    def totals(self) -> dict[str, Any]:
        """See `ShardWriter`."""
        return self._totals

    def add(
        self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None = None
    ) -> None:
        """See `ShardWriter`."""
        self._held.add(ids, lengths, places, mask)

    def finish(self) -> None:
        """See `ShardWriter`."""
        packing = self._plan.packing or {}
        documents = self._held.collected(self._task.number, packing["pad"], packing["length"])
        self._totals = write(documents, self._writer, self._files, self._stem, self._plan)
        self._writer.finish()

    def close(self) -> None:
        """See `ShardWriter`."""
        self._held.close()
        self._writer.close()

"""Global shuffle in two stages: tasks spool their documents by bucket; then a task per bucket sorts it into a shard.

The key of a document is a 64-bit hash of seed, task, and index in the task. A bucket is a range of keys, and becomes
one shard. Therefore the sequence of all documents, from the first shard to the last, is sorted by key. This order is a
pseudorandom permutation of the corpus, and depends only on the plan. Inputs that are added to a folder form a new
generation: their documents are shuffled among themselves, in further shards.

    spool/00000.bin    documents of a task, in sections: one for each bucket
    spool/00000.json   completion of the task

A section of n documents begins with columns: uint32[n] indices of the documents in the task; uint32[n] numbers of ids;
in formats that store the source of each document, uint32[n] indices of input files and int64[n] numbers of lines or
rows; if metadata is kept, its uint32[n] sizes. Then the section has the ids, the loss mask, and the metadata. At the
end of the file, a table has an entry for each section: its offset, its number of ids, its number of documents, its
CRC-32, and the CRC-32 of the entry itself.

Memory: 16 bytes for each document of a task, then the ids of one bucket. Files: one per task. The second stage makes
tasks × buckets reads, of about task_bytes / buckets bytes each.

Source: the hash is SplitMix64 (Steele et al., Fast Splittable Pseudorandom Number Generators, 2014).
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ShardError, UnsupportedFeatureError, keyword
from .collecting import Collected, Fields, HeldDocuments, Sources, blocks, gather, write
from .folder import SPOOL, ShardFolder
from .layouts import Int64, Places, ShardWriter
from .layouts.base import as_bytes
from .metadata import shard_writer
from .outputs import OutputFile, OutputFiles
from .plan import Plan
from .tasks import DONE, Task

__all__ = ["SpoolWriter", "buckets_of", "document_keys", "run_bucket"]

BLOCK = 1 << 20  # ids that are written at a time
SECTION = np.dtype([("offset", "<u8"), ("tokens", "<u8"), ("documents", "<u4"), ("crc", "<u4")])
ENTRY_BYTES = SECTION.itemsize + 8  # size of an entry of the table: a `SECTION`, then its CRC-32 as uint64
MAX_DOCUMENTS = (1 << 32) - 2
UInt64 = NDArray[np.uint64]


def _mixed(values: UInt64) -> UInt64:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: UInt64 = values ^ (values >> np.uint64(31))
    return mixed


def document_keys(seed: int, tasks: NDArray[Any], indices: NDArray[Any]) -> UInt64:
    """Returns the sort keys of documents: hashes of the seed, the document's task, and its index in the task.

    Examples:
        >>> document_keys(7, np.array([0, 0, 1]), np.array([0, 1, 0])).tolist()
        [11241344834629033336, 7548029490970160968, 3098721570804658924]
    """
    step = np.uint64(0x9E3779B97F4A7C15)
    state = _mixed(np.full(1, seed, np.uint64) + step)
    state = _mixed(state + (tasks.astype(np.uint64) + np.uint64(1)) * step)
    return _mixed(state + (indices.astype(np.uint64) + np.uint64(1)) * step)


def buckets_of(keys: UInt64, number: int) -> NDArray[np.uint32]:
    """Returns the bucket number of each key. Buckets divide the range of keys into ranges of equal size."""
    return (((keys >> np.uint64(32)) * np.uint64(number)) >> np.uint64(32)).astype(np.uint32)


class SpoolWriter(ShardWriter):
    """Writes the documents of a task, grouped by bucket."""

    def __init__(self, files: OutputFiles, plan: Plan, task: Task) -> None:
        self._file, self._plan, self._task = files.open(spool_name(task.number)), plan, task
        self._held = HeldDocuments(plan.shard_facts.dtype, plan.source_numbers, files.temporary, plan.keep is not None)

    def add(
        self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None = None
    ) -> None:
        """See `ShardWriter`."""
        self._held.add(ids, lengths, places, mask)

    def finish(self) -> None:
        """See `ShardWriter`."""
        documents = self._held.collected(self._task.number, None, 0)
        if len(documents.lengths) > MAX_DOCUMENTS:
            message = f"a task with {len(documents.lengths):,} documents; pass smaller {keyword('task_bytes')}"
            raise UnsupportedFeatureError(message, format=self._plan.format, feature="shuffle")
        keys = document_keys(self._plan.shuffle or 0, documents.tasks, documents.indices)
        number = len(self._plan.generation_of(self._task.number, SPOOL).buckets)
        buckets = buckets_of(keys, number)
        order = np.argsort(buckets, kind="stable")
        counts = np.bincount(buckets, minlength=number)
        table = np.zeros(number, SECTION)
        ends = np.cumsum(counts).tolist()
        for bucket in np.flatnonzero(counts).tolist():
            own = order[ends[bucket] - counts[bucket] : ends[bucket]]
            table[bucket] = _write_section(self._file, documents, own)
        for entry in table.tolist():
            data = np.array(entry, SECTION).tobytes()
            self._file.write(data + zlib.crc32(data).to_bytes(ENTRY_BYTES - len(data), "little"))

    def close(self) -> None:
        """See `ShardWriter`."""
        self._held.close()


def spool_name(task: int) -> str:
    """Returns the name of a task's file in the folder `SPOOL`."""
    return f"{task:05}.bin"


def _write_section(file: OutputFile, documents: Collected, own: Int64) -> tuple[int, int, int, int]:
    """Writes documents as a section; returns the entry that the table needs for this section."""
    offset, crc = file.num_bytes, 0

    def put(values: NDArray[Any]) -> None:
        nonlocal crc
        data = as_bytes(values)
        crc = zlib.crc32(data, crc)
        file.write(data)

    starts, lengths = documents.starts[own], documents.lengths[own]
    put(documents.indices[own].astype("<u4"))
    put(lengths.astype("<u4"))
    if documents.sources is not None:
        put(documents.sources.files[own].astype("<u4"))
        put(documents.sources.numbers[own].astype("<i8"))
    columns = [(documents.ids, starts, lengths)]
    if documents.mask is not None:
        columns.append((documents.mask, starts, lengths))
    if documents.fields is not None:
        sizes = documents.fields.lengths[own]
        put(sizes.astype("<u4"))
        columns.append((documents.fields.data, documents.fields.starts[own], sizes))
    for values, first, number in columns:
        for block in blocks(np.cumsum(number), BLOCK):
            put(gather(values, first[block], number[block]))
    return offset, int(lengths.sum()), len(own), crc


def _entry(folder: ShardFolder, name: str, bucket: int, number: int) -> Any:
    """Reads the entry of a section from the table at the end of a file."""
    with folder.storage.open(name) as file:
        file.seek(max(file.seek(0, 2) - (number - bucket) * ENTRY_BYTES, 0))
        data = file.read(ENTRY_BYTES)
    entry, crc = data[: SECTION.itemsize], int.from_bytes(data[SECTION.itemsize :], "little")
    if len(data) < ENTRY_BYTES or crc != zlib.crc32(entry):
        raise _damaged(folder, name)
    return np.frombuffer(entry, SECTION)[0]


def _damaged(folder: ShardFolder, name: str) -> ShardError:
    path = folder.storage.location(name)
    return ShardError(f"{path}: damaged; remove it, and run the stage spool again", path=path)


def run_bucket(
    folder: ShardFolder,
    plan: Plan,
    task: Task,
    check: Callable[[], None] = lambda: None,
    report: Callable[[int], object] = lambda num_bytes: None,
) -> dict[str, Any]:
    """Runs a task of the second stage: sorts a bucket and writes its shard.

    Returns:
        The content of the completion file.

    Raises:
        ShardError: a file of the first stage is damaged.
        FileNotFoundError: a file of the first stage is missing.
        OSError: reading or writing failed.
    """
    began = time.perf_counter()
    try:
        documents = _read_bucket(folder, plan, task, check, report)
    except FileNotFoundError:
        # This is no error if another process has completed the bucket and `merge` has then removed the spooled files.
        if not folder.is_done(task.number):
            raise
        return next(folder.read_done([task.number], plan))
    read = time.perf_counter()
    stem = folder.stem(task.number)
    with folder.outputs() as files:
        writer = shard_writer(files, stem, plan)
        try:
            totals = write(documents, writer, files, stem, plan)
            writer.finish()
        finally:
            writer.close()
    seconds = {"gather": read - began, "write": time.perf_counter() - read - files.sync_s, "sync": files.sync_s}
    found = {
        "task": task.number,
        "identity": plan.identity(task.number),
        "documents": len(documents.lengths),
        "tokens": int(documents.lengths.sum()),
        **totals,
        "outputs": files.facts,
        "input_bytes": task.num_bytes,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
    }
    folder.write_done(task.number, found)
    return found


def _read_bucket(
    folder: ShardFolder, plan: Plan, task: Task, check: Callable[[], None], report: Callable[[int], object]
) -> Collected:
    """Reads the documents of a bucket, sorted by key."""
    generation, facts = plan.generation_of(task.number, DONE), plan.shard_facts
    bucket, number = task.number - generation.buckets.start, len(generation.buckets)
    own_tasks = plan.tasks[generation.tasks.start : generation.tasks.stop]
    names = [f"{SPOOL}/{spool_name(source.number)}" for source in own_tasks]
    entries = [_entry(folder, name, bucket, number) for name in names]
    num_documents = sum(int(entry["documents"]) for entry in entries)
    num_tokens = sum(int(entry["tokens"]) for entry in entries)
    row, pad = (plan.packing["length"], plan.packing["pad"]) if plan.packing else (0, None)
    num_padding = row if pad is not None else 0
    ids = np.empty(num_tokens + num_padding, facts.dtype)
    ids[num_tokens:] = pad or 0
    mask = np.zeros(num_tokens + num_padding, np.uint8) if plan.chat is not None else None
    tasks, indices, lengths, files = (np.empty(num_documents, np.uint32) for _ in range(4))
    numbers = np.empty(num_documents, np.int64)
    sizes = np.empty(num_documents, np.uint32) if plan.keep is not None else None
    fields: list[NDArray[np.uint8]] = []
    has_sources = plan.source_numbers is not None
    document = token = 0
    for source, name, entry in zip(own_tasks, names, entries, strict=True):
        check()
        own = slice(document, document := document + int(entry["documents"]))
        span = slice(token, token := token + int(entry["tokens"]))
        tasks[own] = source.number
        columns = [indices[own], lengths[own], *((files[own], numbers[own]) if has_sources else ())]
        columns += [] if sizes is None else [sizes[own]]
        columns += [ids[span]] if mask is None else [ids[span], mask[span]]
        if entry["documents"]:
            fields.append(_read_section(folder, name, entry, columns, None if sizes is None else sizes[own]))
        report(source.num_bytes // number)
    order = np.argsort(document_keys(plan.shuffle or 0, tasks, indices), kind="stable")
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    kept = None
    if sizes is not None:
        data = np.concatenate(fields) if fields else np.empty(0, np.uint8)
        kept = Fields(data, (np.cumsum(sizes, dtype=np.int64) - sizes)[order], sizes[order].astype(np.int64))
    return Collected(
        ids, mask, starts[order], lengths[order].astype(np.int64), tasks[order], indices[order],
        Sources(files[order], numbers[order]) if has_sources else None, kept,
    )  # fmt: skip


def _read_section(
    folder: ShardFolder, name: str, entry: Any, columns: list[NDArray[Any]], sizes: NDArray[np.uint32] | None
) -> NDArray[np.uint8]:
    """Reads a section into `columns`, and returns its metadata. `sizes`: the column with the sizes of the metadata."""
    crc = 0
    with folder.storage.open(name) as file:
        file.seek(int(entry["offset"]))
        for column in columns:
            view = as_bytes(column)  # a section has documents, so no column is empty
            if file.readinto(view) != len(view):  # type: ignore[attr-defined]
                raise _damaged(folder, name)
            crc = zlib.crc32(view, crc)
        data = np.empty(0, np.uint8)
        if sizes is not None:
            start = file.tell()
            left = file.seek(0, 2) - start
            file.seek(start)
            # If the sizes are damaged, their sum can be huge. `left` limits the memory that `read` allocates.
            read = file.read(min(left, int(sizes.sum(dtype=np.int64))))
            crc, data = zlib.crc32(read, crc), np.frombuffer(read, np.uint8)
    if crc != int(entry["crc"]):
        raise _damaged(folder, name)
    return data

"""Formats that are streamed from object storage: MDS of mosaicml-streaming, and the chunks of litdata.

    mds       .mds: head, configuration as JSON, samples        index.json
    litdata   .bin: head, ids back to back    (.documents)      index.json

The head of both is a uint32, the number N of samples or items, then uint32[N + 1]: the offset at which each begins, and
the end of the last one. Offsets of 32 bits limit a file to 4 GiB. `merge` writes ``index.json``, which lists the files
that have samples.

A sample of MDS has, in alphabetical order, the columns ``tokens``; ``loss_mask`` if there is a loss mask; and
``position_ids`` in packed shards. Without packing, a sample begins with the size of each column as uint32, and each
column begins with its shape: a byte (number of dimensions << 2 | log2 of the bytes of a dimension), and the dimension.
In packed shards, all samples have the same size, and neither sizes nor shapes are stored.

An item of litdata is a document, or a row in packed shards; `TokensLoader` cuts the ids of each file into blocks.
Packed shards also have a file ``.documents``, which only Jeton reads: it contains the ends of the documents (uint64).
The format cannot store a loss mask.

Source: mosaicml/streaming 0.13, base/format/mds; Lightning-AI/litData 0.2.76, streaming/writer.py and item_loader.py.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..._core import gather
from ...errors import ShardError, UnsupportedFeatureError, keyword
from ..outputs import OutputFile, OutputFiles
from .base import BLOCK, Documents, Int64, Layout, Places, ShardFacts, ShardWriter, Spool, as_bytes, mapped, positions

__all__ = ["LitData", "Mds"]

INDEX = "index.json"
MAX_BYTES = (1 << 32) - 1  # maximum size of a file in bytes, because offsets are uint32
MDS_VERSION = 2
TORCH_CODES = {"int32": 16, "uint16": 20}  # litdata's codes of PyTorch's types
# litdata's description of an item that is one tensor.
LEAF = '[1, {"type": null, "context": null, "children_spec": []}]'


class Mds(Layout):
    """``format="mds"``."""

    name, suffix = "mds", ".mds"
    dtypes = ("int32", "uint32", "uint16")
    can_read = False
    can_join = False  # joining is not needed, because readers open a folder of files
    masks_padding = True

    def auto(self, vocab_size: int) -> str:
        """Returns int32, which every version of PyTorch supports."""
        return "int32"

    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """See `Layout`."""
        return _MdsWriter(files, stem + self.suffix, facts)

    def read(self, folder: Path, stem: str, facts: ShardFacts) -> Documents:
        """Reads a shard into memory. It cannot be mapped, because its ids are not back to back in the file.

        Raises:
            ShardError: the file is damaged.
        """
        path = folder / (stem + self.suffix)
        config = json.dumps(_config(facts), sort_keys=True).encode()
        data, offsets = _read_head(path, len(config))
        head = int(offsets[0])
        if data[head - len(config) : head].tobytes() != config:
            raise ShardError(f"{path}: its configuration differs from that of the plan", path=str(path))
        parse = _read_documents if facts.row_length is None else _read_rows
        columns, lengths = parse(path, data, offsets, facts)
        mask = columns.get("loss_mask")
        if facts.row_length is not None:
            firsts = np.flatnonzero(columns["position_ids"] == 0)
            ends = np.append(firsts[1:], len(columns["tokens"])) if len(firsts) else firsts
            if not np.array_equal(positions(np.diff(ends, prepend=0)), columns["position_ids"]):
                raise ShardError(f"{path}: positions of its documents are not ascending", path=str(path))
        else:
            ends = np.cumsum(lengths)
        return Documents(path, columns["tokens"], ends, mask)

    def index(self, shards: Sequence[Mapping[str, Any]], facts: ShardFacts) -> dict[str, bytes]:
        """See `Layout`."""
        entries = []
        for name, file, shard in _filled(shards, self.suffix):
            raw = {"basename": name, "bytes": file["bytes"], "hashes": {"sha256": file["sha256"]}}
            samples = shard["documents"] if facts.row_length is None else shard["rows"]
            entries.append({**_config(facts), "raw_data": raw, "samples": samples, "zip_data": None})
        return {INDEX: json.dumps({"version": MDS_VERSION, "shards": entries}, sort_keys=True).encode()}


def _config(facts: ShardFacts) -> dict[str, Any]:
    """Returns the configuration that is stored in each MDS file."""
    types, row = _columns(facts), facts.row_length
    shape = "" if row is None else f":{row}"
    return {
        "version": MDS_VERSION,
        "format": "mds",
        "compression": None,
        "hashes": ["sha256"],
        "size_limit": None,
        "column_names": list(types),
        "column_encodings": [f"ndarray:{dtype.name}{shape}" for dtype in types.values()],
        "column_sizes": [None if row is None else row * dtype.itemsize for dtype in types.values()],
    }


def _columns(facts: ShardFacts) -> dict[str, np.dtype[Any]]:
    """Returns the columns of a sample, in order: name -> type."""
    types: dict[str, np.dtype[Any]] = {"loss_mask": np.dtype(np.uint8)} if facts.has_mask else {}
    if facts.row_length is not None:
        types["position_ids"] = np.dtype("<i4")
    return {**types, "tokens": facts.dtype}


def _filled(
    shards: Sequence[Mapping[str, Any]], suffix: str
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yields the name and facts of each file of ids; omits empty files, because the libraries reject them."""
    for shard in shards:
        if shard.get("rows", shard["documents"]):
            name = next(name for name in shard["files"] if name.endswith(suffix))
            yield name, shard["files"][name], shard


def _read_head(path: Path, gap: int = 0) -> tuple[NDArray[np.uint8], Int64]:
    """Reads a file; returns its bytes and the offsets of its samples. `gap`: bytes between head and first sample.

    Raises:
        ShardError: the offsets contradict the size of the file.
    """
    data = mapped(path, "u1")
    number = int(mapped(path, "<u4", 0, 1)[0])
    offsets = mapped(path, "<u4", 4, number + 1).astype(np.int64)
    if offsets[0] != 4 * (number + 2) + gap or offsets[-1] != len(data) or (np.diff(offsets) <= 0).any():
        raise ShardError(f"{path}: its offsets are not ascending from its head to its end", path=str(path))
    return data, offsets


def _read_rows(
    path: Path, data: NDArray[np.uint8], offsets: Int64, facts: ShardFacts
) -> tuple[dict[str, NDArray[Any]], Int64]:
    """Reads samples that all have the same size; returns their columns, and their lengths in ids."""
    types, row = _columns(facts), facts.row_length or 0
    sizes = [row * dtype.itemsize for dtype in types.values()]
    if (np.diff(offsets) != sum(sizes)).any():
        raise ShardError(f"{path}: its samples are not rows of {row:,} ids", path=str(path))
    body, at, columns = data[int(offsets[0]) :].reshape(-1, sum(sizes)), 0, {}
    for (name, dtype), size in zip(types.items(), sizes, strict=True):
        columns[name] = np.ascontiguousarray(body[:, at : at + size]).view(dtype).reshape(-1)
        at += size
    return columns, np.full(len(body), row, np.int64)


def _read_documents(
    path: Path, data: NDArray[np.uint8], offsets: Int64, facts: ShardFacts
) -> tuple[dict[str, NDArray[Any]], Int64]:
    """Reads samples of any size; returns their columns, and their lengths in ids."""
    types = _columns(facts)
    damaged = ShardError(f"{path}: a sample has other columns than the file", path=str(path))
    starts, widths = offsets[:-1], np.diff(offsets)
    head = 4 * len(types)
    if (widths < head + 2 * len(types)).any():
        raise damaged
    sizes = data[starts[:, None] + np.arange(head)].view("<u4").astype(np.int64)  # shape: samples, columns
    if (sizes.sum(1) + head != widths).any() or (sizes < 2).any():
        raise damaged
    at, columns, lengths = starts + head, {}, None
    for number, (name, dtype) in enumerate(types.items()):
        code, last = data[at], len(data) - 1
        dimension = 1 << (code & 3).astype(np.int64)  # number of bytes in which the length of the array is stored
        count = np.zeros(len(at), np.int64)
        for byte in range(4):
            values = data[np.minimum(at + 1 + byte, last)].astype(np.int64) << (8 * byte)
            count += np.where(byte < dimension, values, 0)
        size = sizes[:, number]
        own = count if lengths is None else lengths
        if (code >> 2 != 1).any() or (size != 1 + dimension + count * dtype.itemsize).any() or (own != count).any():
            raise damaged
        columns[name] = _copied(data, at + 1 + dimension, count * dtype.itemsize, dtype)
        at, lengths = at + size, count
    return columns, np.empty(0, np.int64) if lengths is None else lengths


def _copied(data: NDArray[np.uint8], starts: Int64, sizes: Int64, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Copies ranges of bytes back to back, and returns them as values of `dtype`."""
    return np.frombuffer(gather(as_bytes(data), as_bytes(starts), as_bytes(sizes), 1), dtype)


class _HeadedWriter(ShardWriter):
    """Writes a head with the offsets of all samples, then the samples; a temporary file holds them until `finish`."""

    def __init__(self, files: OutputFiles, name: str, format: str, config: bytes = b"") -> None:
        self._file, self._held = files.open(name), files.temporary()
        self._sizes, self._num_bytes, self._format, self._config = Spool(), 0, format, config

    def hold(self, data: Any, sizes: Int64) -> None:
        """Appends the bytes of samples to the temporary file."""
        self._held.write(data)
        self._sizes.add(sizes)
        self._num_bytes += int(sizes.sum())

    def finish(self) -> None:
        """See `ShardWriter`."""
        number = len(self._sizes)
        at = 4 * (number + 2) + len(self._config)
        if at + self._num_bytes > MAX_BYTES:
            message = f"{at + self._num_bytes:,} bytes, but a file of {self._format} must be smaller than 4 GiB"
            raise UnsupportedFeatureError(f"{message}; pass smaller {keyword('task_bytes')}", format=self._format)
        self._file.write(struct.pack("<2I", number, at))
        for block in self._sizes.blocks():
            ends = np.cumsum(block) + at
            self._file.write(as_bytes(ends.astype("<u4")))
            at = int(ends[-1])
        self._file.write(self._config)
        self._held.seek(0)
        shutil.copyfileobj(self._held, self._file, BLOCK)

    def close(self) -> None:
        """See `ShardWriter`."""
        self._held.close()
        self._sizes.close()


class _MdsWriter(_HeadedWriter):
    def __init__(self, files: OutputFiles, name: str, facts: ShardFacts) -> None:
        super().__init__(files, name, "mds", json.dumps(_config(facts), sort_keys=True).encode())
        self._types, self._row_length = _columns(facts), facts.row_length

    def add(
        self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None = None
    ) -> None:
        """See `ShardWriter`."""
        columns = {"tokens": ids, **({} if mask is None else {"loss_mask": mask})}
        if self._row_length is not None:
            columns["position_ids"] = positions(lengths)
            width = self._row_length
            rows = [columns[name].astype(dtype).reshape(-1, width).view("u1") for name, dtype in self._types.items()]
            joined = np.concatenate(rows, 1)
            self.hold(as_bytes(joined), np.full(len(joined), joined.shape[1], np.int64))
            return
        views = [(as_bytes(columns[name]), dtype.itemsize) for name, dtype in self._types.items()]
        sizes: list[int] = []
        parts: list[bytes | memoryview] = []
        start = 0
        for length in lengths.tolist():
            shape = _shape(length)
            widths = [len(shape) + length * size for _, size in views]
            parts.append(struct.pack(f"<{len(widths)}I", *widths))
            for view, size in views:
                parts += (shape, view[start * size : (start + length) * size])
            sizes.append(4 * len(widths) + sum(widths))
            start += length
        self.hold(b"".join(parts), np.array(sizes, np.int64))


def _shape(length: int) -> bytes:
    """Encodes the shape of an array of one dimension."""
    log = 0 if length < 1 << 8 else 1 if length < 1 << 16 else 2
    return bytes([1 << 2 | log]) + length.to_bytes(1 << log, "little")


class LitData(Layout):
    """``format="litdata"``, for `TokensLoader`."""

    name, suffix = "litdata", ".bin"
    dtypes = ("int32", "uint16")
    can_join = False  # not needed: readers open a folder of files
    can_mask = False

    def auto(self, vocab_size: int) -> str:
        """Returns int32, which every version of PyTorch supports."""
        return "int32"

    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """See `Layout`."""
        ends = files.open(f"{stem}.documents") if facts.row_length else None
        return _LitDataWriter(files, stem + self.suffix, facts, ends)

    def read(self, folder: Path, stem: str, facts: ShardFacts) -> Documents:
        """See `Layout`."""
        path = folder / (stem + self.suffix)
        data, offsets = _read_head(path)
        size, head = facts.dtype.itemsize, int(offsets[0])
        if ((offsets - head) % size).any():
            raise ShardError(f"{path}: its items are not of {size} bytes each", path=str(path))
        tokens = mapped(path, facts.dtype, head, (len(data) - head) // size)
        if facts.row_length is None:
            return Documents(path, tokens, (offsets[1:] - head) // size)
        if (np.diff(offsets) != facts.row_length * size).any():
            raise ShardError(f"{path}: its items are not rows of {facts.row_length:,} ids", path=str(path))
        return Documents(path, tokens, mapped(folder / f"{stem}.documents", "<u8"))

    def index(self, shards: Sequence[Mapping[str, Any]], facts: ShardFacts) -> dict[str, bytes]:
        """See `Layout`."""
        chunks = []
        content = hashlib.sha256()
        for name, file, shard in _filled(shards, self.suffix):
            items = shard["documents"] if facts.row_length is None else shard["rows"]
            ids = shard["tokens"] if facts.row_length is None else items * facts.row_length
            chunks.append({"chunk_bytes": file["bytes"], "chunk_size": items, "dim": ids, "filename": name})
            content.update(file["sha256"].encode())
        config = {
            "compression": None,
            "chunk_size": None,
            "chunk_bytes": max((chunk["chunk_bytes"] for chunk in chunks), default=0),
            "data_format": [f"no_header_tensor:{TORCH_CODES[facts.dtype.name]}"],
            "data_spec": LEAF,
            "encryption": None,
            "item_loader": "TokensLoader",
        }
        # litdata only tests whether `updated_at` equals the value in its cache, so a digest can replace the time.
        index = {"chunks": chunks, "config": config, "updated_at": content.hexdigest()[:16]}
        return {INDEX: json.dumps(index, sort_keys=True).encode()}


class _LitDataWriter(_HeadedWriter):
    def __init__(self, files: OutputFiles, name: str, facts: ShardFacts, ends: OutputFile | BinaryIO | None) -> None:
        super().__init__(files, name, "litdata")
        self._ends, self._row_length, self._size, self._num_tokens = ends, facts.row_length, facts.dtype.itemsize, 0

    def add(
        self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None = None
    ) -> None:
        """See `ShardWriter`."""
        items = lengths
        if self._row_length and self._ends is not None:
            items = np.full(len(ids) // self._row_length, self._row_length, np.int64)
            self._ends.write(as_bytes((np.cumsum(lengths) + self._num_tokens).astype("<u8")))
        self._num_tokens += len(ids)
        self.hold(as_bytes(ids), items * self._size)

"""Parquet and Arrow: column ``input_ids`` with a list of ids per document, and column ``loss_mask`` if there is a mask.

A packed shard has one list per row in each of three columns: ``input_ids``; ``position_ids``, which begin at 0 with
each document; and ``loss_mask``, which is 0 for padding.

A group of rows ends after a fixed number of ids or documents, not where a batch of the encoder ends, so that the bytes
do not depend on how the input was read. A group has less than 2^31 ids, so offsets fit in 32 bits. The Arrow file is a
stream of record batches, which `datasets.Dataset.from_file` memory-maps.

The bytes of a Parquet file also depend on the version of pyarrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import ShardError
from ...util.optional import import_optional
from ..outputs import OutputFiles
from .base import Documents, Int64, Layout, Places, ShardFacts, ShardWriter, positions

__all__ = ["Arrow", "Parquet"]

GROUP_TOKENS = 1 << 20
GROUP_DOCUMENTS = 1 << 16


class _Columns(Layout):
    """Base class of Parquet and Arrow."""

    dtypes = ("int32", "uint32", "uint16")
    can_read: ClassVar[bool] = False
    can_join: ClassVar[bool] = False  # not needed, because readers open a folder of files
    masks_padding: ClassVar[bool] = True

    def auto(self, vocab_size: int) -> str:
        """Returns int32, which every reader supports."""
        return "int32"

    def check_installed(self) -> None:
        """See `Layout`."""
        _pyarrow()

    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """See `Layout`."""
        return _Writer(files, stem + self.suffix, facts)

    def read(self, folder: Path, stem: str, facts: ShardFacts) -> Documents:
        """Reads a shard into memory. It cannot be mapped, because its lists are not back to back in the file.

        Raises:
            MissingDependencyError: pyarrow is not installed.
            ShardError: the file is damaged.
        """
        pa = _pyarrow()
        path = folder / (stem + self.suffix)
        try:
            return self._read(pa, path, facts)
        except (pa.ArrowException, KeyError, ValueError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an I/O error; for corrupt data, pyarrow raises an OSError without errno
            raise ShardError(f"{path}: it cannot be read ({error})", path=str(path)) from None

    def _read(self, pa: Any, path: Path, facts: ShardFacts) -> Documents:
        if self.suffix == ".parquet":
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as file:
                groups = list(file.iter_batches(GROUP_DOCUMENTS))
        else:
            with pa.OSFile(str(path)) as file:
                groups = list(pa.ipc.open_stream(file))
        types = {name: pa.list_(pa.from_numpy_dtype(dtype)) for name, dtype in _columns(facts).items()}
        for group in groups:
            if {field.name: field.type for field in group.schema} != types:
                raise ValueError(f"its columns are {group.schema.to_string()}")
            group.validate(full=True)  # validated before its buffers are read
            if any(column.null_count or column.values.null_count for column in group.columns):
                raise ValueError("it has nulls")
        ids = _values(groups, "input_ids", facts.dtype)
        mask = _values(groups, "loss_mask", np.dtype(np.uint8)) if facts.has_mask else None
        if facts.row_length is None:
            lengths = [np.asarray(group.column("input_ids").value_lengths()).astype(np.int64) for group in groups]
            return Documents(path, ids, np.cumsum(np.concatenate(lengths)) if lengths else np.empty(0, np.int64), mask)
        firsts = np.flatnonzero(_values(groups, "position_ids", np.dtype(np.int32)) == 0)
        return Documents(path, ids, np.append(firsts[1:], len(ids)) if len(ids) else firsts, mask)


class Parquet(_Columns):
    """``format="parquet"``."""

    name, suffix = "parquet", ".parquet"


class Arrow(_Columns):
    """``format="arrow"``."""

    name, suffix = "arrow", ".arrow"


def _columns(facts: ShardFacts) -> dict[str, np.dtype[Any]]:
    """Returns the columns of a file: name -> type of the items of its lists."""
    types = {"input_ids": facts.dtype}
    if facts.row_length is not None:
        types["position_ids"] = np.dtype(np.int32)
    if facts.has_mask:
        types["loss_mask"] = np.dtype(np.uint8)
    return types


def _values(groups: Sequence[Any], name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns the items of all lists of a column as one array."""
    values = [np.asarray(group.column(name).flatten()) for group in groups]
    return np.concatenate(values) if values else np.empty(0, dtype)


def _pyarrow() -> Any:
    import_optional("pyarrow.ipc", "the format parquet or arrow", "data")
    return import_optional("pyarrow", "the format parquet or arrow", "data")


class _Writer(ShardWriter):
    def __init__(self, files: OutputFiles, name: str, facts: ShardFacts) -> None:
        self._pa = pa = _pyarrow()
        types = _columns(facts)
        fields = [pa.field(column, pa.list_(pa.from_numpy_dtype(dtype))) for column, dtype in types.items()]
        self._schema, self._row_length = pa.schema(fields), facts.row_length
        self._file = files.open(name)
        self._held: dict[str, list[NDArray[Any]]] = {column: [] for column in types}
        self._lengths: list[Int64] = []
        self._held_ids = self._held_documents = 0
        if name.endswith(".parquet"):
            import pyarrow.parquet as pq

            made = pq.ParquetWriter(self._file, self._schema, compression="zstd", use_dictionary=False)
        else:
            made = pa.ipc.new_stream(self._file, self._schema)
        self._writer: Any = made

    def add(
        self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None = None
    ) -> None:
        """See `ShardWriter`."""
        columns = {"input_ids": ids}
        if self._row_length is not None:
            columns["position_ids"] = positions(lengths)
            lengths = np.full(len(ids) // self._row_length, self._row_length, np.int64)
        if mask is not None:
            columns["loss_mask"] = mask
        while len(lengths):
            ends = np.cumsum(lengths)
            # Adds documents to the group until the group has GROUP_TOKENS ids or more. The last document is added as a
            # whole. The group gets at most GROUP_DOCUMENTS documents.
            num = int(np.searchsorted(ends, GROUP_TOKENS - self._held_ids)) + 1
            num = min(num, len(lengths), GROUP_DOCUMENTS - self._held_documents)
            split = int(ends[num - 1])
            for name, held in self._held.items():
                held.append(columns[name][:split])
                columns[name] = columns[name][split:]
            self._lengths.append(lengths[:num])
            self._held_ids, self._held_documents = self._held_ids + split, self._held_documents + num
            lengths = lengths[num:]
            if self._held_ids >= GROUP_TOKENS or self._held_documents >= GROUP_DOCUMENTS:
                self._write_group()

    def finish(self) -> None:
        """See `ShardWriter`."""
        if self._lengths:
            self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        pa = self._pa
        offsets = np.zeros(self._held_documents + 1, np.int32)
        np.cumsum(np.concatenate(self._lengths), out=offsets[1:])
        columns = [
            pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(held))) for held in self._held.values()
        ]
        batch = pa.record_batch(columns, schema=self._schema)
        self._writer.write_batch(batch)  # in Parquet, each batch is written as one row group
        self._held = {name: [] for name in self._held}
        self._lengths, self._held_ids, self._held_documents = [], 0, 0

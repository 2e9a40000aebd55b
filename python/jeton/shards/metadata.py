"""Metadata of documents: the fields of their records that `keep=` names, stored in files beside the shards.

    shard-00000.metadata.jsonl    a line of JSON for each item of the shard (document or row), in the same order

For a document, the line is an object with the fields, as they are in the record. For a row of a packed shard, the line
is a list of such objects, one for each document or piece of a document, without padding. For a document of a text file,
the fields are the file and, with ``documents="line"``, the number of the line.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..corpus.kept_fields import place_json
from ..errors import ConfigError, ShardError, keyword
from .folder import ShardFolder
from .layouts import LAYOUTS, Int64, Places, ShardWriter
from .layouts.base import mapped
from .outputs import OutputFile, OutputFiles
from .plan import Plan

__all__ = ["METADATA", "Metadata", "line_ends", "metadata", "metadata_of", "shard_writer"]

METADATA = ".metadata.jsonl"
MOST_OPEN = 16  # maximum number of open shards; an open shard takes 8 bytes of memory for each line of its metadata
BLOCK = 1 << 24  # number of bytes that are searched for line ends at a time


def metadata_of(place: Places) -> Sequence[bytes]:
    """Returns the metadata of each document, as JSON: the fields that were kept, or the document's file and number.

    Examples:
        >>> metadata_of(Places("a.txt", None, 1)), metadata_of(Places("b.txt", [3, 4], 2))[1]
        ([b'{"file": "a.txt"}'], b'{"file": "b.txt", "number": 4}')
    """
    if place.fields is not None:
        return place.fields
    files = [place.file] * place.num_documents if isinstance(place.file, str) else place.file
    numbers = [None] * place.num_documents if place.numbers is None else place.numbers
    return list(map(place_json, files, numbers))


def shard_writer(files: OutputFiles, stem: str, plan: Plan) -> ShardWriter:
    """Returns the writer of a shard's format; if the plan keeps metadata, the writer also writes the metadata."""
    writer = LAYOUTS[plan.format].writer(files, stem, plan.shard_facts)
    if plan.keep is None:
        return writer
    return _MetadataWriter(writer, files.open(stem + METADATA), plan.shard_facts.row_length)


class _MetadataWriter(ShardWriter):
    """Writes the metadata of documents, or of rows, and passes the documents to another writer."""

    def __init__(self, writer: ShardWriter, file: OutputFile, row_length: int | None) -> None:
        self._writer, self._file, self._row_length = writer, file, row_length

    @property
    def totals(self) -> dict[str, Any]:
        """See `ShardWriter`."""
        return self._writer.totals

    def add(
        self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None = None
    ) -> None:
        """See `ShardWriter`."""
        self._writer.add(ids, lengths, places, mask)
        lines = [line for place in places for line in metadata_of(place)]
        if self._row_length is not None:
            rows = (np.cumsum(lengths) - 1) // self._row_length  # for each piece, the index of its row
            bounds = np.searchsorted(rows, np.arange(len(ids) // self._row_length + 1)).tolist()
            # The metadata of padding is an empty line, which is left out.
            lines = [b"[%b]" % b", ".join(filter(None, lines[a:b])) for a, b in pairwise(bounds)]
        if lines:
            self._file.write(b"\n".join(lines) + b"\n")

    def finish(self) -> None:
        """See `ShardWriter`."""
        self._writer.finish()

    def close(self) -> None:
        """See `ShardWriter`."""
        self._writer.close()


def line_ends(data: NDArray[np.uint8]) -> Int64:
    """Returns, for each line of a file, the index of the byte after its line break.

    Examples:
        >>> line_ends(np.frombuffer(b'{}\\n[1]\\n', np.uint8)).tolist()
        [3, 7]
    """
    found = [start + 1 + np.flatnonzero(data[start : start + BLOCK] == 10) for start in range(0, len(data), BLOCK)]
    return np.concatenate(found) if found else np.empty(0, np.int64)


class Metadata(Sequence[Any]):
    """Sequence of the metadata of documents (or of rows) in folders of shards; opened by `metadata`.

    Examples:
        >>> import jeton, json, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> rows = [{"id": 1, "text": "to be"}, {"id": 2, "text": "or not to be"}]
        >>> _ = (folder / "rows.jsonl").write_text("\\n".join(map(json.dumps, rows)))
        >>> options = {"keep": ["id"], "format": "parquet", "progress": False}
        >>> _ = jeton.shards.make(folder / "rows.jsonl", folder / "out", jeton.default(), **options)
        >>> [found["id"] for found in Metadata(folder / "out")]
        [1, 2]
    """

    def __init__(self, folder: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> None:
        folders = [folder] if isinstance(folder, str | os.PathLike) else list(folder)
        self._folders = [str(ShardFolder(one).path.absolute()) for one in folders]  # raises an error for a URL
        self._files: list[Path] = []  # metadata files of the shards of all folders
        items: list[int] = []
        for one in self._folders:
            manifest = ShardFolder(one).load_manifest()
            if "keep" not in manifest:
                message = f"{one}: its documents have no metadata; pass {keyword('keep')} to jeton.shards.plan"
                raise ConfigError(message, option="keep")
            unit = "rows" if "row_length" in manifest else "documents"
            items += [shard[unit] for shard in manifest["shards"]]
            stems = map(ShardFolder.stem, range(len(manifest["shards"])))
            self._files += [Path(one, stem + METADATA) for stem in stems]
        self._starts = list(accumulate(items, initial=0))
        self._open: OrderedDict[int, tuple[NDArray[np.uint8], Int64]] = OrderedDict()

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"document {index} is out of range: there are {len(self):,}, from 0")
        shard = bisect_right(self._starts, number) - 1
        data, ends = self._shard(shard)
        at = number - self._starts[shard]
        line = data[int(ends[at - 1]) if at else 0 : int(ends[at])].tobytes()
        try:
            return json.loads(line)
        except ValueError as error:
            raise self._damaged(shard, f"line {at + 1}: {error}") from None

    def _shard(self, number: int) -> tuple[NDArray[np.uint8], Int64]:
        """Returns the bytes of a shard's metadata file, and the ends of its lines."""
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        data = mapped(self._files[number], "u1")
        ends, expected = line_ends(data), self._starts[number + 1] - self._starts[number]
        if len(ends) != expected:
            raise self._damaged(number, f"it has {len(ends):,} lines, but the manifest says {expected:,} items")
        self._open[number] = data, ends
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return data, ends

    def _damaged(self, number: int, what: str) -> ShardError:
        path = str(self._files[number])
        return ShardError(f"{path}: {what}; copy it again, or run and merge again", path=path)

    def __reduce__(self) -> tuple[Any, ...]:
        return Metadata, (self._folders,)

    def __repr__(self) -> str:
        return f"Metadata({len(self):,} items of {', '.join(self._folders)})"


def metadata(folder: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Metadata:
    """Opens the metadata of the documents (or rows) of shards that were made with ``keep=``; all formats are supported.

    Args:
        folder: a folder, or several, as for `open`.

    Raises:
        ConfigError: the shards were made without `keep`.
        ShardError: the folder has no manifest.
        FormatError: the manifest is damaged, or of another version.
        UnsupportedFeatureError: the folder is at a URL: copy it first.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "rows.jsonl").write_text('{"url": "https://x.org", "text": "to be"}')
        >>> _ = jeton.shards.make(folder, folder.with_suffix(".out"), jeton.default(), keep=["url"], progress=False)
        >>> metadata(folder.with_suffix(".out"))[0]
        {'url': 'https://x.org'}
    """
    return Metadata(folder)

"""Shards of one or several folders, numbered, and memory-mapped on first use; finds the padding of their rows.

An *item* is a document or, in packed shards, a row. Shards are numbered consecutively over all folders. At most
`_most_open` shards stay open. Threads can share an `OpenShards`: if two threads open a shard at the same time, it is
opened twice, without harm.
"""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, FormatError, ShardError, UnsupportedFeatureError
from ..util.arguments import integer
from ..util.lazy import cached_property
from .collecting import NO_TASK, read_origins
from .folder import AGAIN, ShardFolder
from .layouts import COUNTS, LAYOUTS, Documents, Int64, Layout, ShardFacts, shard_facts

__all__ = ["OpenShard", "OpenShards"]


def _most_open() -> int:
    """Returns the maximum number of open shards: with up to 4 files each, they use at most half of the descriptors."""
    try:
        import resource
    except ImportError:  # on Windows
        return 128
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min(8192, max(16, limit // 8)) if limit != resource.RLIM_INFINITY else 8192


MOST_OPEN = _most_open()


class Folder(NamedTuple):
    """A folder of shards that has been merged.

    Attributes:
        path: absolute path of the folder.
        manifest: the content of ``manifest.json``.
        layout, facts: layout of its shards, and the facts that the layout needs to read them.
    """

    path: Path
    manifest: dict[str, Any]
    layout: Layout
    facts: ShardFacts

    @property
    def unit(self) -> str:
        """Name of the manifest's entry with the number of items: ``documents`` or ``rows``."""
        return "documents" if self.facts.row_length is None else "rows"

    def items(self) -> list[int]:
        """Returns the number of items of each shard."""
        return [shard[self.unit] for shard in self.manifest["shards"]]

    def tokens(self) -> list[int]:
        """Returns the number of ids of each shard, including padding."""
        length = self.facts.row_length
        return [shard["tokens"] if length is None else shard["rows"] * length for shard in self.manifest["shards"]]


class OpenShard:
    """A shard whose files are mapped.

    Attributes:
        documents: documents of the shard; in a packed shard, pieces of documents and padding.
    """

    def __init__(self, documents: Documents, folder: Folder, stem: str) -> None:
        self.documents, self._folder, self._stem = documents, folder, stem
        self._row_length, self._pad = folder.facts.row_length, folder.manifest.get("pad")

    @cached_property
    def _origins(self) -> NDArray[np.uint32]:
        origins = read_origins(self._folder.path, self._stem)
        if len(origins) != len(self.documents):
            message = f"{self.documents.name}: {len(self.documents):,} pieces, but {len(origins):,} origins of pieces"
            raise ShardError(f"{message}; run and merge again", path=self.documents.name)
        return origins

    def spans(self, items: Int64) -> tuple[Int64, Int64]:
        """Returns the starts and ends of items."""
        if self._row_length is None:
            return self.documents.spans(items)
        return items * self._row_length, (items + 1) * self._row_length

    def boundaries(self, start: int, end: int) -> Int64:
        """Returns the boundaries of documents inside a range of ids. The range must not be empty.

        Raises:
            ShardError: the boundaries are not ascending.
        """
        [(first, last)] = self.documents.between(np.array([start]), np.array([end]))
        found = self.documents.boundaries(first, last)
        if (np.diff(found, prepend=start, append=end) < 1).any():
            raise self.documents.damaged(first)
        return found

    def loss_mask(self, start: int, end: int) -> NDArray[np.uint8]:
        """Returns a copy of the loss mask of a range of ids; in a packed shard, the range must be whole rows."""
        if self.documents.mask is not None:
            return self.documents.mask[start:end].copy()
        mask = np.ones(end - start, np.uint8)
        if self.has_padding and self._row_length is not None:
            for row in range(start, end, self._row_length):
                row_end = row + self._row_length
                [(first, last)] = self.documents.between(np.array([row]), np.array([row_end]))
                padding = self.padding(row, row_end, first, last)
                mask[row_end - padding - start : row_end - start] = 0
        return mask

    @property
    def has_padding(self) -> bool:
        """True if rows can end in padding, and no stored loss mask shows where the padding is."""
        return self._pad is not None and self._row_length is not None and self.documents.mask is None

    def padding(self, start: int, end: int, first: int, last: int) -> int:
        """Returns the number of padding ids at the end of a row.

        Padding is the last piece of a row. Because a document can also end in the padding id, the file of origins
        tells whether that piece is padding. To save time, the file is only read for rows that end in the padding id.

        Args:
            start, end: range of the row's ids in the shard.
            first, last: range of the boundaries of documents inside the row, as returned by `Documents.between`.
        """
        if self.documents.tokens[end - 1] != self._pad or self._origins[last, 0] != NO_TASK:
            return 0
        return end - (int(self.documents.boundaries(last - 1, last)[0]) if last > first else start)


class OpenShards:
    """Shards of folders with a common tokenizer and row length.

    Attributes:
        folders: the folders.
        starts: number of items before each shard; the last entry is the number of all items.
        token_starts: number of ids before each shard; the last entry is the number of all ids.
        row_length: number of ids of a row; None if the shards are not packed.
    """

    def __init__(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        self.folders = tuple(map(_folder, paths))
        for other in self.folders[1:]:
            _check_compatible(self.folders[0], other)
        known: dict[Path, Folder] = {}
        for folder in self.folders:
            if known.setdefault(folder.path.resolve(), folder) is not folder:
                message = f"{folder.path} is given twice; jeton.shards.blend repeats the rows of a folder"
                raise ConfigError(message, option="folder")
        self.row_length = self.folders[0].facts.row_length
        # number of a shard -> its folder, and its number in this folder
        self._places = [(folder, at) for folder in self.folders for at in range(len(folder.manifest["shards"]))]
        self.starts = list(accumulate((count for folder in self.folders for count in folder.items()), initial=0))
        self.token_starts = list(accumulate((n for folder in self.folders for n in folder.tokens()), initial=0))
        self._bounds = np.array(self.token_starts)
        self._checked: set[int] = set()  # shards whose file sizes have been checked against the manifest
        self.is_open: OrderedDict[int, OpenShard] = OrderedDict()

    def __len__(self) -> int:
        return len(self._places)

    @property
    def has_mask(self) -> bool:
        """True if some items have a loss mask, because of conversations or of padding."""
        return self.row_length is not None or any(folder.facts.has_mask for folder in self.folders)

    def __getitem__(self, number: int) -> OpenShard:
        known = self.is_open.get(number)
        if known is not None:
            with contextlib.suppress(KeyError):  # raised if another thread has closed this shard
                self.is_open.move_to_end(number)
            return known
        folder, at = self._places[integer(number, "number", 0, len(self) - 1)]
        stem = ShardFolder.stem(at)
        if number not in self._checked:
            _check_sizes(folder, at)
            self._checked.add(number)
        documents = folder.layout.read(folder.path, stem, folder.facts)
        self._check(number, documents, folder.unit)
        self.is_open[number] = made = OpenShard(documents, folder, stem)
        if len(self.is_open) > MOST_OPEN:
            with contextlib.suppress(KeyError):  # raised if other threads have closed all shards
                self.is_open.popitem(last=False)
        return made

    def copy_rows(self, starts: Int64, rows: Int64, ids: NDArray[Any], mask: NDArray[np.uint8]) -> Int64:
        """Copies ranges of ids into rows of an array. A range can begin in one shard and end in another.

        Args:
            starts: start of each range, counted in ids from the beginning of the first shard.
            rows: row of `ids` that receives each range.
            ids: array of shape (rows, length); receives the ids.
            mask: array of the same shape, filled with ones; receives the loss mask.

        Returns:
            Starts of the documents, or of parts of documents, in the flattened rows, in any order. Each row begins with
            a start.

        Raises:
            ShardError: a shard is damaged.
        """
        flat_ids, flat_mask = ids.reshape(-1), mask.reshape(-1)
        shards, starts, lengths, places = self._pieces(starts, rows, ids.shape[1])
        columns = list(zip(starts.tolist(), lengths.tolist(), places.tolist(), strict=True))
        found: list[Int64] = []  # boundaries of documents inside each piece
        for first, last in pairwise([0, *(np.flatnonzero(shards[1:] != shards[:-1]) + 1).tolist(), len(shards)]):
            shard = self[int(shards[first])]
            documents, has_padding = shard.documents, shard.has_padding
            tokens, stored = documents.tokens, documents.mask
            begins = starts[first:last]
            slices = documents.between(begins, begins + lengths[first:last])
            for (start, length, place), span in zip(columns[first:last], slices, strict=True):
                end, target = start + length, slice(place, place + length)
                flat_ids[target] = tokens[start:end]
                found.append(documents.boundaries(*span))
                if stored is not None:
                    flat_mask[target] = stored[start:end]
                elif has_padding and (padding := shard.padding(start, end, *span)):
                    flat_mask[place + length - padding : place + length] = 0
        inner = np.concatenate(found)
        own = np.repeat(np.arange(len(found)), list(map(len, found)))
        made: Int64 = np.concatenate([places, inner + (places - starts)[own]])
        inside = inner - starts[own]
        wrong = (inside < 1) | (inside >= lengths[own])
        wrong[1:] |= (inside[1:] <= inside[:-1]) & (own[1:] == own[:-1])
        if wrong.any():
            raise self[int(shards[own[wrong.argmax()]])].documents.damaged(0)
        return made

    def _pieces(self, starts: Int64, rows: Int64, length: int) -> tuple[Int64, Int64, Int64, Int64]:
        """Cuts ranges of ids into pieces that are in one shard each, and sorts the pieces by shard.

        Returns:
            For each piece: its shard, its first id in the shard, its length, and its position in the flattened rows.
        """
        bounds = self._bounds
        left, places = np.full(len(starts), length), rows * length
        found = []
        while True:
            shards = np.searchsorted(bounds, starts, "right") - 1
            lengths = np.minimum(left, bounds[shards + 1] - starts)
            found.append((shards, starts - bounds[shards], lengths, places))
            more = lengths < left
            if not more.any():
                break
            starts, left, places = (starts + lengths)[more], (left - lengths)[more], (places + lengths)[more]
        columns = found[0] if len(found) == 1 else tuple(map(np.concatenate, zip(*found, strict=True)))
        order = np.argsort(columns[0], kind="stable")
        shards, starts, lengths, places = (column[order] for column in columns)
        return shards, starts, lengths, places

    def _check(self, number: int, found: Documents, unit: str) -> None:
        """Checks that a shard has as many items as the manifest says.

        Raises:
            ShardError: the numbers differ, for example after a run that was not merged.
        """
        expected = self.starts[number + 1] - self.starts[number]
        has = len(found) if self.row_length is None else len(found.tokens) / self.row_length
        tokens = self.token_starts[number + 1] - self.token_starts[number]
        if (has, len(found.tokens)) != (expected, tokens):
            message = (
                f"{found.name}: it has {has:,} {unit} with {len(found.tokens):,} tokens, but the manifest says "
                f"{expected:,} with {tokens:,}; merge again"
            )
            raise ShardError(message, path=found.name)


def _folder(place: str | os.PathLike[str]) -> Folder:
    """Reads the manifest of a folder.

    Raises:
        ShardError: there is no manifest.
        FormatError: the manifest is damaged, or of another version.
        UnsupportedFeatureError: a URL, or a format that is not memory-mapped.
    """
    folder = ShardFolder(place)
    path = folder.path.absolute()  # first, because it raises an error for a URL
    manifest = folder.load_manifest()
    format, dtype = manifest["format"], manifest["dtype"]
    if format == COUNTS or not LAYOUTS[format].can_read:
        message = f"{folder}: opening format {format!r} is not supported"
        hint = "use datasets or pyarrow, or streaming for mds"
        if format == COUNTS:
            hint = "load its .jtc files by jeton.Counts.load, or pass the folder to jeton.train"
        raise UnsupportedFeatureError(f"{message}; {hint}", format=format, feature="open")
    layout = LAYOUTS[format]
    if dtype not in layout.dtypes:
        message = f"{folder}: not a manifest of shards: dtype {dtype!r} for format {format!r}"
        raise FormatError(message, format="manifest")
    facts = shard_facts(dtype, manifest["tokenizer"], manifest.get("row_length"), "loss_mask" in manifest)
    return Folder(path, manifest, layout, facts)


def _check_compatible(one: Folder, other: Folder) -> None:
    """Checks that the shards of two folders can be read as one sequence.

    Raises:
        ConfigError: the folders differ in tokenizer, row length, padding, or tokens around documents.
    """
    facts = [("tokenizer", "the tokenizer"), ("row_length", "ids of a row"), ("pad", "the id of padding")]
    # If only one folder has a mask, it has conversations, in which the chat template writes bos and eos.
    if one.facts.has_mask == other.facts.has_mask:
        facts += [("bos", "the id before each document"), ("eos", "the id after each document")]
    for name, noun in facts:
        values = [folder.manifest.get(name) for folder in (one, other)]
        if values[0] != values[1]:
            first, second = ("none" if value is None else f"{value}" for value in values)
            message = f"{one.path} and {other.path} cannot be read as one: {noun} is {first} in the first and {second}"
            raise ConfigError(f"{message} in the second", option="folder")


def _check_sizes(folder: Folder, number: int) -> None:
    """Checks the sizes of the files of a shard.

    Raises:
        ShardError: a file is missing, or its size differs from the manifest.
    """
    for name, file in folder.manifest["shards"][number]["files"].items():
        path = folder.path / name
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise ShardError(f"{path} is missing; {AGAIN}", path=str(path)) from None
        if size != file["bytes"]:
            message = f"{path}: it has {size:,} bytes, but the manifest says {file['bytes']:,}"
            hint = f"merge again after another run; if the file is damaged, {AGAIN}"
            raise ShardError(f"{message}; {hint}", path=str(path))

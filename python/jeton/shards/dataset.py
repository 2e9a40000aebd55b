"""`open`: shards as a memory-mapped sequence of documents, or of rows.

The sequence has `__len__` and `__getitem__`, which PyTorch requires of a map-style dataset. It is pickled as the names
of its folders, so that it can be passed to the processes of a `DataLoader`. Shards are opened on first use (`opened`).
"""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..calls.batch import TokenBatch
from ..errors import ConfigError, keyword
from ..util.arguments import choice, integer, wrong
from ..util.lazy import cached_property
from .collecting import gather
from .layouts import Documents, positions
from .metadata import Metadata
from .opened import OpenShard, OpenShards
from .rows import PackedRows

__all__ = ["ShardDataset", "open"]

DTYPES = ("int32", "int64")


def open(
    folder: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, dtype: str | None = None
) -> ShardDataset:
    """Opens folders of merged shards. Supported formats: megatron, bin, llmc, datatrove, olmo and litdata.

    Args:
        folder: a folder, or several, which are read one after the other. They must have the same tokenizer and row
            length; formats can differ.
        dtype: ``"int64"`` or ``"int32"``: items are writable copies in this type, which PyTorch accepts. None: items
            are views of the files, in the type of the file.

    Raises:
        ShardError: a folder has no manifest.
        FormatError: a manifest is damaged, or of another version.
        ConfigError: two folders differ in tokenizer, row length, or tokens around documents.
        UnsupportedFeatureError: a folder is a URL, which cannot be memory-mapped (copy the folder first), or its format
            is one that other libraries read (parquet, arrow, mds), or it contains pretoken counts instead of shards.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> _ = pathlib.Path(folder, "lines.txt").write_text("to be\\nor not to be\\n")
        >>> lines = jeton.Corpus(f"{folder}/lines.txt", documents="line")
        >>> tok = jeton.default()
        >>> for name in "ab":
        ...     _ = jeton.shards.make(lines, f"{folder}/{name}", tok, progress=False)
        >>> dataset = open(f"{folder}/a")
        >>> len(dataset), tok.decode(dataset[1])
        (2, 'or not to be')
        >>> len(open([f"{folder}/a", f"{folder}/b"]))
        4
    """
    return ShardDataset(folder, dtype=dtype)


class ShardDataset(Sequence[Any]):
    """Sequence of the documents, or rows, of folders of shards; made by `open`.

    An item is an array of ids. If the shards are packed or have a loss mask, an item is a dict: ``input_ids``; for a
    row, ``position_ids`` (int32), which begin at 0 with each document; ``loss_mask`` (uint8), which is 0 for padding
    and for ids of a conversation that do not contribute to the loss.

    Attributes:
        num_tokens: number of ids of all documents, including padding.
        row_length: number of ids in a row, if the shards are packed and items are rows; None: items are documents.
        dtype: type of the ids.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> _ = pathlib.Path(folder, "lines.txt").write_text("to be\\nor not to be\\n")
        >>> lines = jeton.Corpus(f"{folder}/lines.txt", documents="line")
        >>> tok = jeton.default()
        >>> _ = jeton.shards.make(lines, f"{folder}/out", tok, progress=False)
        >>> dataset = ShardDataset(f"{folder}/out")
        >>> [len(ids) for ids in dataset], [ids.tolist() for ids in dataset.batches(3)] == [
        ...     np.concatenate(list(dataset))[start : start + 3].tolist() for start in (0, 3)
        ... ]
        ([2, 4], True)
        >>> _ = jeton.shards.make(lines, f"{folder}/packed", tok, pack=4, packing="best_fit", progress=False)
        >>> row = ShardDataset(f"{folder}/packed")[0]
        >>> row["position_ids"].tolist(), row["loss_mask"].tolist()
        ([0, 1, 0, 1], [1, 1, 0, 0])
    """

    def __init__(
        self, folder: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, dtype: str | None = None
    ) -> None:
        is_one = isinstance(folder, (str, os.PathLike))
        if not is_one and not isinstance(folder, Iterable):
            raise wrong("folder", folder, "a folder, or several")
        paths: list[str | os.PathLike[str]] = [folder] if is_one else list(folder)  # type: ignore[arg-type, list-item]
        if not paths:
            raise wrong("folder", folder, "a folder, or several")
        self._dtype = None if dtype is None else np.dtype(choice(dtype, "dtype", DTYPES))
        self._shards = OpenShards(paths)
        self.row_length: int | None = self._shards.row_length
        self._unit = self._shards.folders[0].unit
        self.num_tokens: int = self._shards.token_starts[-1]
        self._starts: list[int] = self._shards.starts

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the ids."""
        if self._dtype is not None:
            return self._dtype
        return np.result_type(*(folder.facts.dtype for folder in self._shards.folders))

    @property
    def manifest(self) -> dict[str, Any]:
        """Content of ``manifest.json`` of the first folder."""
        return self._shards.folders[0].manifest

    @property
    def folder(self) -> Path:
        """Path of the first folder."""
        return self.folders[0]

    @property
    def folders(self) -> tuple[Path, ...]:
        """Paths of the folders."""
        return tuple(folder.path for folder in self._shards.folders)

    @property
    def num_shards(self) -> int:
        """Number of shards of all folders."""
        return len(self._shards)

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"document {index} is out of range: there are {len(self):,}, from 0")
        shard = bisect_right(self._starts, number) - 1
        return self._item(self._shards[shard], number - self._starts[shard])

    def _item(self, shard: OpenShard, at: int) -> Any:
        """Returns item number `at` of a shard."""
        documents = shard.documents
        if not self._shards.has_mask:
            return self._given(documents[at])
        if self.row_length is None:
            ids = documents[at]
            if documents.mask is None:
                return {"input_ids": self._given(ids), "loss_mask": np.ones(len(ids), np.uint8)}
            end = int(documents.spans(np.array([at]))[1][0])
            mask = documents.mask[end - len(ids) : end]
            return {"input_ids": self._given(ids), "loss_mask": mask if self._dtype is None else mask.copy()}
        start, end = at * self.row_length, (at + 1) * self.row_length
        inner = shard.boundaries(start, end)
        return {
            "input_ids": self._given(documents.tokens[start:end]),
            "position_ids": positions(np.diff(inner, prepend=start, append=end)),
            "loss_mask": shard.loss_mask(start, end),
        }

    def _given(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Returns ids for the caller: a view, or a copy if `dtype` was given."""
        return ids if self._dtype is None else ids.astype(self._dtype)

    def take(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> TokenBatch:
        """Copies documents, or rows, into one batch, which can be padded.

        The batch has ``loss_mask`` and ``position_ids`` if items have them.

        Raises:
            IndexError: an index is out of range.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> _ = pathlib.Path(folder, "lines.txt").write_text("to be\\nor not to be\\n")
            >>> lines = jeton.Corpus(f"{folder}/lines.txt", documents="line")
            >>> tok = jeton.default()
            >>> _ = jeton.shards.make(lines, f"{folder}/out", tok, progress=False)
            >>> tok.decode_batch(open(f"{folder}/out").take([1, 0, 1]))
            ['or not to be', 'to be', 'or not to be']
        """
        numbers = self._numbers(indices)
        return self._take_documents(numbers) if self.row_length is None else self._take_rows(numbers, self.row_length)

    def copy_rows(
        self, numbers: NDArray[np.int64], rows: NDArray[np.int64], ids: NDArray[Any], mask: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        """See `OpenShards.copy_rows`. `numbers`: indices of the source rows, which are as long as the rows of `ids`."""
        return self._shards.copy_rows(numbers * ids.shape[1], rows, ids, mask)

    @property
    def content(self) -> str:
        """Digest of all shards, from the hashes of their files in the manifests."""
        digest = hashlib.sha256()
        for folder in self._shards.folders:
            hashes = [[file["sha256"] for file in shard["files"].values()] for shard in folder.manifest["shards"]]
            digest.update(json.dumps(hashes).encode())
        return digest.hexdigest()

    def _take_rows(self, numbers: NDArray[np.int64], length: int) -> TokenBatch:
        ids, mask = np.empty((len(numbers), length), np.uint32), np.ones((len(numbers), length), np.uint8)
        starts = np.sort(self.copy_rows(numbers, np.arange(len(numbers)), ids, mask))
        return TokenBatch(
            ids.reshape(-1),
            np.arange(len(numbers) + 1) * length,
            pad_id=self.manifest.get("pad"),
            loss_mask=mask.reshape(-1),
            position_ids=positions(np.diff(starts, append=ids.size)),
        )

    def _take_documents(self, numbers: NDArray[np.int64]) -> TokenBatch:
        bounds = np.asarray(self._starts)
        order = np.argsort(numbers, kind="stable")  # so that documents are read by shard, and in order in each shard
        ordered = numbers[order]
        splits = np.searchsorted(ordered, bounds)
        lengths = np.empty(len(numbers), np.int64)
        ids, masks = [np.empty(0, self.dtype)], [np.empty(0, np.uint8)]
        for shard in np.flatnonzero(np.diff(splits)).tolist():
            span = slice(splits[shard], splits[shard + 1])
            found, own = self.shard(shard), ordered[span] - bounds[shard]
            starts, ends = found.spans(own)
            lengths[span] = ends - starts
            ids.append(gather(found.tokens, starts, ends - starts))
            if found.mask is not None:
                masks.append(gather(found.mask, starts, ends - starts))
            elif self._shards.has_mask:
                masks.append(np.ones(len(ids[-1]), np.uint8))
        back = np.empty_like(order)  # position of each requested document in `ordered`
        back[order] = np.arange(len(order))
        starts = (np.cumsum(lengths) - lengths)[back]
        lengths = lengths[back]
        mask = gather(np.concatenate(masks), starts, lengths).copy() if self._shards.has_mask else None
        return TokenBatch(
            gather(np.concatenate(ids), starts, lengths).astype(np.uint32),
            np.concatenate([[0], np.cumsum(lengths)]),
            pad_id=self.manifest.get("pad"),
            loss_mask=mask,
        )

    def _numbers(self, indices: Any) -> NDArray[np.int64]:
        """Checks indices of documents; returns them with negative indices resolved."""
        try:
            numbers = np.asarray(indices)
        except ValueError:  # ragged nested lists
            numbers = np.empty((0, 0))
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise wrong("indices", indices, "a sequence of integers")
        outside = np.flatnonzero((numbers < -len(self)) | (numbers >= len(self)))
        if len(outside):
            raise IndexError(f"document {numbers[outside[0]]} is out of range: there are {len(self):,}, from 0")
        numbers = numbers.astype(np.int64)
        numbers[numbers < 0] += len(self)
        return numbers

    def __iter__(self) -> Iterator[Any]:
        for number in range(self.num_shards):
            shard, num = self._shards[number], self._starts[number + 1] - self._starts[number]
            for at in range(num):
                yield self._item(shard, at)

    def shard(self, number: int) -> Documents:
        """Returns the documents of one shard; their ids are one array, ``shard(0).tokens``, a view of the file.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> _ = pathlib.Path(folder, "a.txt").write_text("to be")
            >>> _ = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
            >>> len(open(f"{folder}/out").shard(0).tokens)
            2

        Raises:
            ShardError: its files are damaged, or not those of the manifest.
        """
        return self._shards[number].documents

    def batches(self, length: int) -> Iterator[NDArray[Any]]:
        """Yields all ids, back to back, in arrays of one length. The remainder at the end is left out.

        Most arrays are views of the files; an array that has ids of two shards is a copy.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> _ = pathlib.Path(folder, "a.txt").write_text("to be or not to be")
            >>> _ = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
            >>> [ids.shape for ids in open(f"{folder}/out").batches(4)]
            [(4,)]
        """
        integer(length, "length", 1)
        held: list[NDArray[Any]] = []
        missing = length  # number of ids by which the arrays in `held` are shorter than `length`
        for number in range(self.num_shards):
            tokens = self.shard(number).tokens
            start = 0
            if held:
                held.append(tokens[:missing])
                start = len(held[-1])
                missing -= start
                if missing:
                    continue
                yield self._given(np.concatenate(held))
                held, missing = [], length
            end = start + (len(tokens) - start) // length * length
            for at in range(start, end, length):
                yield self._given(tokens[at : at + length])
            if end < len(tokens):
                held, missing = [tokens[end:]], length - (len(tokens) - end)

    def rows(self, size: int = 1) -> Iterator[PackedRows]:
        """Yields the rows of packed shards, up to `size` at a time, each time from one shard.

        Raises:
            ConfigError: the shards are not packed.
            ShardError: the ends of documents in a file are damaged.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> _ = pathlib.Path(folder, "lines.txt").write_text("to be\\nor not to be\\n")
            >>> lines = jeton.Corpus(f"{folder}/lines.txt", documents="line")
            >>> tok, options = jeton.default(), {"pack": 4, "progress": False}
            >>> _ = jeton.shards.make(lines, f"{folder}/out", tok, **options)
            >>> [(rows.ids.shape, rows.position_ids.tolist()) for rows in open(f"{folder}/out").rows(2)]
            [((2, 4), [[0, 1, 0, 1], [0, 1, 0, 1]])]
        """
        integer(size, "size", 1)
        length = self.row_length
        if length is None:
            raise ConfigError(
                f"{self.folder} is not packed; pass {keyword('pack')} to jeton.shards.plan", option="pack"
            )
        for number in range(self.num_shards):
            shard = self._shards[number]
            documents = shard.documents
            first = 0
            for start in range(0, len(documents.tokens), size * length):
                ids = documents.tokens[start : start + size * length]
                lengths = documents.lengths_between(start, start + len(ids), first, length)
                mask = shard.loss_mask(start, start + len(ids))
                yield PackedRows(self._given(ids).reshape(-1, length), lengths, mask.reshape(-1, length))
                first += len(lengths)

    def metadata(self, index: int) -> Any:
        """Returns the metadata of a document: the fields that ``keep=`` names.

        For a packed row, returns a list with the metadata of each piece of the row.

        Raises:
            ConfigError: the shards were made without `keep`.
            IndexError: the index is out of range.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> _ = pathlib.Path(folder, "rows.jsonl").write_text('{"id": "a-1", "text": "to be"}')
            >>> options = {"keep": ["id"], "progress": False}
            >>> _ = jeton.shards.make(f"{folder}/rows.jsonl", f"{folder}/out", jeton.default(), **options)
            >>> open(f"{folder}/out").metadata(0)
            {'id': 'a-1'}
        """
        return self._metadata[index]

    @cached_property
    def _metadata(self) -> Metadata:
        return Metadata(self.folders)

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (list(map(str, self.folders)), None if self._dtype is None else self._dtype.name)

    def __repr__(self) -> str:
        formats = " and ".join(dict.fromkeys(folder.manifest["format"] for folder in self._shards.folders))
        items = f"{len(self):,} {self._unit}, {self.num_tokens:,} tokens"
        return f"ShardDataset({items}, {self.num_shards:,} shards of {formats})"


def _opened(folders: list[str], dtype: str | None) -> ShardDataset:
    """Opens a dataset again from its pickled arguments."""
    return ShardDataset(folders, dtype=dtype)

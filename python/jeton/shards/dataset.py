"""`open`: shards as a memory-mapped sequence of documents.

It has `__len__` and `__getitem__`, as a map-style dataset of PyTorch needs them, and pickles as the name of its
folder, so that it can be passed to the processes of a `DataLoader`. Shards are opened on first use; at most
`MOST_OPEN` stay open.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..calls.batch import TokenBatch
from ..errors import ConfigError, FormatError, ShardError, UnsupportedFeatureError, keyword
from ..util.arguments import integer, wrong
from .collecting import gather
from .folder import ShardFolder
from .layouts import COUNTS, LAYOUTS, Documents, shard_facts
from .rows import PackedRows

__all__ = ["ShardDataset", "open"]

MOST_OPEN = 256  # each is two mappings, and systems permit 65,530


def open(folder: str | os.PathLike[str]) -> ShardDataset:
    """Opens a folder of shards that has been merged: formats megatron, bin, llmc, datatrove and olmo.

    Raises:
        ShardError: it has no manifest.
        FormatError: the manifest is damaged, or of another version.
        UnsupportedFeatureError: a URL, from which nothing can be memory-mapped: copy the folder first; or a format that
            other libraries memory-map (parquet, arrow), or counts.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> _ = pathlib.Path(folder, "lines.txt").write_text("to be\\nor not to be\\n")
        >>> lines = jeton.Corpus(f"{folder}/lines.txt", documents="line")
        >>> tok = jeton.default()
        >>> _ = jeton.shards.make(lines, f"{folder}/out", tok, progress=False)
        >>> dataset = open(f"{folder}/out")
        >>> len(dataset), tok.decode(dataset[1])
        (2, 'or not to be')
    """
    return ShardDataset(folder)


class ShardDataset(Sequence[NDArray[Any]]):
    """Documents of a folder of shards; `open` makes one.

    Attributes:
        manifest: the content of ``manifest.json``.
        num_tokens: ids of all documents, with padding.
        row_length: ids of a row of packed shards, which are the items of the sequence; None: these are documents.
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
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        place = ShardFolder(folder)
        self._folder = place.path.absolute()  # first, to refuse a URL
        self.manifest: dict[str, Any] = place.load_manifest()
        format, dtype = self.manifest["format"], self.manifest["dtype"]
        if format == COUNTS or not LAYOUTS[format].can_read:
            message = f"{place}: opening format {format!r} is not supported"
            raise UnsupportedFeatureError(f"{message}; use datasets or pyarrow", format=format, feature="open")
        self._layout = LAYOUTS[format]
        if dtype not in self._layout.dtypes:
            message = f"{place}: not a manifest of shards: dtype {dtype!r} for format {format!r}"
            raise FormatError(message, format="manifest")
        self.row_length: int | None = self.manifest.get("row_length")
        self._unit = "documents" if self.row_length is None else "rows"
        items = [shard[self._unit] for shard in self.manifest["shards"]]
        self._facts = shard_facts(dtype, self.manifest["tokenizer"], self.row_length, "loss_mask" in self.manifest)
        self.num_tokens: int = self.manifest["tokens"] if self.row_length is None else sum(items) * self.row_length
        self._starts: list[int] = list(accumulate(items, initial=0))  # documents, or rows, before each shard
        self._open: OrderedDict[int, Documents] = OrderedDict()

    @property
    def dtype(self) -> np.dtype[Any]:
        """See the class."""
        return self._facts.dtype

    @property
    def folder(self) -> Path:
        """The folder."""
        return self._folder

    @property
    def num_shards(self) -> int:
        """Number of shards."""
        return len(self._starts) - 1

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray[Any]]: ...
    def __getitem__(self, index: int | slice) -> NDArray[Any] | list[NDArray[Any]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"document {index} of {len(self):,}")
        shard = bisect_right(self._starts, number) - 1
        at = number - self._starts[shard]
        if self.row_length is None:
            return self.shard(shard)[at]
        return self.shard(shard).tokens[at * self.row_length : (at + 1) * self.row_length]

    def take(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> TokenBatch:
        """Copies documents, or rows, into one batch, which can be padded. An index returns a view.

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
        bounds = np.asarray(self._starts)
        order = np.argsort(numbers, kind="stable")  # by shard, and by place in it
        ordered = numbers[order]
        splits = np.searchsorted(ordered, bounds)
        lengths = np.empty(len(numbers), np.int64)
        parts = []
        for shard in np.flatnonzero(np.diff(splits)).tolist():
            span = slice(splits[shard], splits[shard + 1])
            found, own = self.shard(shard), ordered[span] - bounds[shard]
            row = self.row_length
            starts, ends = found.spans(own) if row is None else (own * row, (own + 1) * row)
            lengths[span] = ends - starts
            parts.append(gather(found.tokens, starts, ends - starts))
        ids = np.concatenate(parts) if parts else np.empty(0, self.dtype)
        back = np.empty_like(order)  # place of each document among the ordered ones
        back[order] = np.arange(len(order))
        starts = (np.cumsum(lengths) - lengths)[back]
        lengths = lengths[back]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return TokenBatch(gather(ids, starts, lengths).astype(np.uint32), offsets, pad_id=self.manifest.get("pad"))

    def _numbers(self, indices: Any) -> NDArray[np.int64]:
        """Checks indices of documents; returns them without negative ones."""
        try:
            numbers = np.asarray(indices)
        except ValueError:  # ragged
            numbers = np.empty((0, 0))
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise wrong("indices", indices, "a sequence of integers")
        outside = np.flatnonzero((numbers < -len(self)) | (numbers >= len(self)))
        if len(outside):
            raise IndexError(f"document {numbers[outside[0]]} of {len(self):,}")
        numbers = numbers.astype(np.int64)
        numbers[numbers < 0] += len(self)
        return numbers

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for number in range(self.num_shards):
            documents = self.shard(number)
            if self.row_length is not None:
                yield from documents.tokens.reshape(-1, self.row_length)
                continue
            for index in range(len(documents)):
                yield documents[index]

    def shard(self, number: int) -> Documents:
        """The documents of one shard: ``shard(0).tokens`` has their ids as one array.

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
        known = self._open.get(number)
        if known is None:
            name = ShardFolder.stem(integer(number, "number", 0, self.num_shards - 1))
            known = self._layout.read(self._folder, name, self._facts)
            self._check_sizes(number)
            self._check(number, known)
            self._open[number] = known
            if len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        else:
            self._open.move_to_end(number)
        return known

    def _check_sizes(self, number: int) -> None:
        """Checks the sizes of the files of a shard.

        Raises:
            ShardError: they are not those of the manifest.
            FileNotFoundError: one is missing.
        """
        for name, file in self.manifest["shards"][number]["files"].items():
            path = self._folder / name
            size = path.stat().st_size
            if size != file["bytes"]:
                message = f"{path}: it has {size:,} bytes, and the manifest has {file['bytes']:,} of it"
                raise ShardError(f"{message}; copy it again, or run and merge again", path=str(path))

    def _check(self, number: int, found: Documents) -> None:
        """Checks that a shard has the items that the manifest counts on.

        Raises:
            ShardError: it has others, as after a later run that was not merged.
        """
        expected = self._starts[number + 1] - self._starts[number]
        has = len(found) if self.row_length is None else len(found.tokens) / self.row_length
        if has != expected:
            message = f"{found.name}: it has {has:,} {self._unit}, and the manifest has {expected:,} of it; merge again"
            raise ShardError(message, path=found.name)

    def batches(self, length: int) -> Iterator[NDArray[Any]]:
        """Yields all ids, back to back, in arrays of one length, without the rest at the end.

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
        missing = length  # of the array that `held` begins
        for number in range(self.num_shards):
            tokens = self.shard(number).tokens
            start = 0
            if held:
                held.append(tokens[:missing])
                start = len(held[-1])
                missing -= start
                if missing:
                    continue
                yield np.concatenate(held)
                held, missing = [], length
            end = start + (len(tokens) - start) // length * length
            for at in range(start, end, length):
                yield tokens[at : at + length]
            if end < len(tokens):
                held, missing = [tokens[end:]], length - (len(tokens) - end)

    def rows(self, size: int = 1) -> Iterator[PackedRows]:
        """Yields the rows of packed shards, up to `size` at a time, never of two shards.

        Raises:
            ConfigError: the shards are not packed.
            ShardError: the ends of documents are damaged.

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
                f"{self._folder} is not packed; pass {keyword('pack')} to jeton.shards.plan", option="pack"
            )
        for number in range(self.num_shards):
            shard = self.shard(number)
            first = 0
            for start in range(0, len(shard.tokens), size * length):
                ids = shard.tokens[start : start + size * length]
                lengths = shard.lengths_between(start, start + len(ids), first, length)
                mask = None if shard.mask is None else shard.mask[start : start + len(ids)].reshape(-1, length)
                yield PackedRows(ids.reshape(-1, length), lengths, mask)
                first += len(lengths)

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardDataset, (str(self._folder),)

    def __repr__(self) -> str:
        format = self.manifest["format"]
        items = f"{len(self):,} {self._unit}, {self.num_tokens:,} tokens"
        return f"ShardDataset({items}, {self.num_shards:,} shards of {format})"

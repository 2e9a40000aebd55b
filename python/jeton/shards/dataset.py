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

from ..arguments import integer
from ..errors import FormatError, ShardError, UnsupportedFeatureError
from .folder import MANIFEST, ShardFolder
from .layouts import COUNTS, LAYOUTS, Documents, ShardFacts

__all__ = ["ShardDataset", "open", "shard_facts"]

MOST_OPEN = 256  # each is two mappings, and systems permit 65,530


def shard_facts(dtype: str | None, tokenizer: str | None) -> ShardFacts:
    """Facts for opening a shard."""
    return ShardFacts(np.dtype(dtype).newbyteorder("<"), tokenizer or "")


def open(folder: str | os.PathLike[str]) -> ShardDataset:
    """Opens a folder of shards that has been merged: formats megatron, bin, llmc, datatrove and olmo.

    Raises:
        ShardError: it has no manifest.
        UnsupportedFeatureError: a URL, from which nothing can be memory-mapped: copy the folder first; or a format that
            other libraries memory-map (parquet, arrow), or counts.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> _ = pathlib.Path(folder, "lines.txt").write_text("to be\\nor not to be\\n")
        >>> tok = jeton.default()
        >>> _ = jeton.shards.make(f"{folder}/lines.txt", f"{folder}/out", tok, documents="line", progress=False)
        >>> dataset = open(f"{folder}/out")
        >>> len(dataset), tok.decode(dataset[1])
        (2, 'or not to be')
    """
    return ShardDataset(folder)


class ShardDataset(Sequence[NDArray[Any]]):
    """Documents of a folder of shards; `open` makes one.

    Attributes:
        manifest: the content of ``manifest.json``.
        num_tokens: ids of all documents.
        dtype: type of the ids.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> _ = pathlib.Path(folder, "lines.txt").write_text("to be\\nor not to be\\n")
        >>> tok = jeton.default()
        >>> _ = jeton.shards.make(f"{folder}/lines.txt", f"{folder}/out", tok, documents="line", progress=False)
        >>> dataset = ShardDataset(f"{folder}/out")
        >>> [len(ids) for ids in dataset], [ids.tolist() for ids in dataset.batches(3)] == [
        ...     np.concatenate(list(dataset))[start : start + 3].tolist() for start in (0, 3)
        ... ]
        ([2, 4], True)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        place = ShardFolder(folder)
        self._folder = place.path.absolute()  # first, to refuse a URL
        if not place.has(MANIFEST):
            message = (
                f"{place}: no {MANIFEST}; jeton.shards.merge (jeton shards merge) writes it when all tasks are done"
            )
            raise ShardError(message, path=str(place))
        self.manifest: dict[str, Any] = place.read(MANIFEST)
        try:
            format = self.manifest["format"]
            documents = [shard["documents"] for shard in self.manifest["shards"]]
            self._facts = shard_facts(self.manifest["dtype"], self.manifest["tokenizer"])
            self.num_tokens = int(self.manifest["tokens"])
        except (KeyError, TypeError) as error:
            raise FormatError(f"{place}: not a manifest of shards ({error})", format="manifest") from None
        if format == COUNTS or not LAYOUTS[format].can_read:
            message = f"{place}: opening format {format!r} is not supported"
            raise UnsupportedFeatureError(f"{message}; use datasets or pyarrow", format=format, feature="open")
        self._layout = LAYOUTS[format]
        self._starts: list[int] = list(accumulate(documents, initial=0))  # documents before each shard
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
        return self.shard(shard)[number - self._starts[shard]]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for number in range(self.num_shards):
            documents = self.shard(number)
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
        """
        known = self._open.get(number)
        if known is None:
            name = ShardFolder.stem(integer(number, "number", 0, self.num_shards - 1))
            known = self._layout.read(self._folder, name, self._facts)
            self._open[number] = known
            if len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        return known

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

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardDataset, (str(self._folder),)

    def __repr__(self) -> str:
        format = self.manifest["format"]
        return (
            f"ShardDataset({len(self):,} documents, {self.num_tokens:,} tokens, {self.num_shards:,} shards of {format})"
        )

"""Formats of nanoGPT, llm.c, datatrove and OLMo: ids back to back; the ends of documents are in a separate file.

    bin         .bin: ids                                           .documents: ends    .mask
    llmc        .bin: 256 int32 of header, ids                      .documents: ends    .mask
    datatrove   .ds: ids; .ds.metadata: tokenizer, number of ids    .ds.index: ends     .ds.loss
    olmo        .npy: ids, without NumPy's header; .csv.gz          .documents: ends    .mask

An end is a uint64: the position one past the last id of a document. ``.documents`` is Jeton's own file, for
`jeton.shards.open`; nanoGPT and llm.c read only the ids. A row of ``.csv.gz`` has the columns start, end, id, source,
line; the id is made of the source and the line. The compressed bytes depend on the version of zlib. A loss mask is a
byte for each id, 0 or 1, as datatrove and OLMo-core (`label_mask_paths`) read it.

Sources: karpathy/nanoGPT, data/openwebtext/prepare.py; karpathy/llm.c, dev/data/data_common.py; huggingface/datatrove,
pipeline/tokens/tokenizer.py; allenai/dolma, python/dolma/tokenizer/memmap_writer.py.
"""

from __future__ import annotations

import csv
import gzip
import io
import shutil
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import ShardError, UnsupportedFeatureError, keyword
from ..outputs import OutputFile, OutputFiles
from .base import BLOCK, Documents, Int64, Layout, Places, ShardFacts, ShardWriter, as_bytes, mapped

__all__ = ["Bin", "Datatrove", "LlmC", "Olmo"]

MAX_UINT16_VOCAB = 1 << 16


class _Raw(Layout):
    """Base class of the four formats."""

    dtypes = ("uint16", "uint32")
    ends_suffix, mask_suffix = ".documents", ".mask"

    def auto(self, vocab_size: int) -> str:
        """Returns uint16 if all ids fit, else uint32."""
        return "uint16" if vocab_size <= MAX_UINT16_VOCAB else "uint32"

    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """See `Layout`."""
        return _Writer(files.open(stem + self.suffix), *self.beside(files, stem, facts))

    def beside(self, files: OutputFiles, stem: str, facts: ShardFacts) -> tuple[OutputFile, OutputFile | None]:
        """Opens the files for the ends of documents and for the mask."""
        return files.open(stem + self.ends_suffix), files.open(stem + self.mask_suffix) if facts.has_mask else None

    def tokens(self, folder: Path, stem: str, facts: ShardFacts) -> NDArray[Any]:
        """Returns the ids of a shard."""
        return mapped(folder / (stem + self.suffix), facts.dtype)

    def read(self, folder: Path, stem: str, facts: ShardFacts) -> Documents:
        """See `Layout`."""
        mask = mapped(folder / (stem + self.mask_suffix), "u1") if facts.has_mask else None
        ends = mapped(folder / (stem + self.ends_suffix), "<u8")
        return Documents(folder / (stem + self.suffix), self.tokens(folder, stem, facts), ends, mask)


class _Writer(ShardWriter):
    """Writes the ids to one file, the ends of documents to another, and the mask to a third."""

    def __init__(self, tokens: BinaryIO | OutputFile, ends: OutputFile, mask: OutputFile | None) -> None:
        self._tokens, self._ends, self._mask = tokens, ends, mask
        self.num_tokens = 0  # number of ids in the documents written so far

    def add(
        self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None = None
    ) -> None:
        """See `ShardWriter`."""
        self._tokens.write(as_bytes(ids))
        if self._mask is not None and mask is not None:
            self._mask.write(as_bytes(mask))
        if len(lengths):
            ends = np.cumsum(lengths) + self.num_tokens
            self._ends.write(as_bytes(ends.astype("<u8")))
            self.num_tokens = int(ends[-1])

    def finish(self) -> None:
        """See `ShardWriter`."""


class Bin(_Raw):
    """``format="bin"``."""

    name, suffix = "bin", ".bin"


class LlmC(_Raw):
    """``format="llmc"``."""

    name, suffix = "llmc", ".bin"
    # dtype -> magic number, version
    HEADS: ClassVar = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
    HEAD_BYTES = 1024
    MAX_TOKENS = (1 << 31) - 1

    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """See `Layout`."""
        tokens, held = files.open(f"{stem}.bin"), files.temporary()
        return _LlmCWriter(tokens, *self.beside(files, stem, facts), held, facts)

    def tokens(self, folder: Path, stem: str, facts: ShardFacts) -> NDArray[Any]:
        """Returns the ids of a shard."""
        path = folder / f"{stem}.bin"
        head = mapped(path, "<i4", 0, 256)
        tokens = mapped(path, facts.dtype, self.HEAD_BYTES)
        if tuple(head[:3].tolist()) != (*self.HEADS[facts.dtype.name], len(tokens)):
            message = f"{path}: its header has {head[:3].tolist()}, and it has {len(tokens):,} tokens"
            raise ShardError(message, path=str(path))
        return tokens


class _LlmCWriter(_Writer):
    """Writes the header, then the ids. The header has the number of ids, so they are first held in a temporary file."""

    def __init__(
        self, file: OutputFile, ends: OutputFile, mask: OutputFile | None, held: BinaryIO, facts: ShardFacts
    ) -> None:
        self._file, self._held, self._dtype = file, held, facts.dtype
        super().__init__(self._held, ends, mask)

    def finish(self) -> None:
        """See `ShardWriter`."""
        if self.num_tokens > LlmC.MAX_TOKENS:
            message = f"{self.num_tokens:,} tokens, but a file of llm.c has at most {LlmC.MAX_TOKENS:,}"
            raise UnsupportedFeatureError(
                f"{message}; pass smaller {keyword('task_bytes')}, or do not join", format="llmc"
            )
        head = np.zeros(256, "<i4")
        head[:3] = *LlmC.HEADS[self._dtype.name], self.num_tokens
        self._file.write(as_bytes(head))
        self._held.seek(0)
        shutil.copyfileobj(self._held, self._file, BLOCK)

    def close(self) -> None:
        """See `ShardWriter`."""
        self._held.close()


class Datatrove(_Raw):
    """``format="datatrove"``."""

    name, suffix, ends_suffix, mask_suffix = "datatrove", ".ds", ".ds.index", ".ds.loss"
    can_join = False  # `DatatroveFolderDataset` also reads subfolders, so it would read ids twice

    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """See `Layout`."""
        tokens, metadata = files.open(f"{stem}.ds"), files.open(f"{stem}.ds.metadata")
        return _DatatroveWriter(tokens, *self.beside(files, stem, facts), metadata, facts)


class _DatatroveWriter(_Writer):
    def __init__(
        self, tokens: OutputFile, ends: OutputFile, mask: OutputFile | None, metadata: OutputFile, facts: ShardFacts
    ) -> None:
        super().__init__(tokens, ends, mask)
        self._metadata, self._facts = metadata, facts

    def finish(self) -> None:
        """See `ShardWriter`."""
        size = self._facts.dtype.itemsize
        lines = (f"{self._facts.tokenizer}|{size}", str(self.num_tokens), _metric(self.num_tokens))
        self._metadata.write("\n".join(lines).encode())


def _metric(number: int) -> str:
    """Formats a number like `humanize.metric(number, unit="T")`: three digits, a metric prefix and the unit T.

    Examples:
        >>> _metric(999), _metric(1234), _metric(45_678_901)
        ('999 T', '1.23 kT', '45.7 MT')
    """
    exponent = min((len(str(number)) - 1) // 3, 5)
    value = number / 1000**exponent
    digits = 2 - (len(str(int(value))) - 1)
    return f"{value:.{digits if number >= 1000 or number < 100 else 0}f} {('', 'k', 'M', 'G', 'T', 'P')[exponent]}T"


class Olmo(_Raw):
    """``format="olmo"``."""

    name, suffix = "olmo", ".npy"
    can_join = False  # the offsets in each ``.csv.gz`` file are relative to the start of the file's own shard
    has_sources = True

    def writer(self, files: OutputFiles, stem: str, facts: ShardFacts) -> ShardWriter:
        """See `Layout`."""
        tokens, table = files.open(f"{stem}.npy"), files.open(f"{stem}.csv.gz")
        return _OlmoWriter(tokens, *self.beside(files, stem, facts), table)


class _OlmoWriter(_Writer):
    def __init__(self, tokens: OutputFile, ends: OutputFile, mask: OutputFile | None, table: OutputFile) -> None:
        super().__init__(tokens, ends, mask)
        # The gzip header has no name and no time, so that equal rows give equal bytes.
        self._zip = gzip.GzipFile("", "wb", 6, cast(BinaryIO, table), mtime=0)
        self._text = io.TextIOWrapper(cast(BinaryIO, self._zip), "utf-8", "surrogateescape", newline="")
        self._rows = csv.writer(self._text, lineterminator="\n")

    def add(
        self, ids: NDArray[Any], lengths: Int64, places: Sequence[Places], mask: NDArray[np.uint8] | None = None
    ) -> None:
        """See `ShardWriter`."""
        ends = np.cumsum(lengths) + self.num_tokens
        starts = (ends - lengths).tolist()
        super().add(ids, lengths, places, mask)
        at = 0
        for file, numbers, count, _ in places:
            span = slice(at, at + count)
            files = [file] * count if isinstance(file, str) else file
            names = files if numbers is None else _names(files, numbers)
            lines = [1] * count if numbers is None else list(map(max, numbers, repeat(1)))
            self._rows.writerows(zip(starts[span], ends[span].tolist(), names, files, lines, strict=True))
            at += count

    def finish(self) -> None:
        """See `ShardWriter`."""
        self._text.flush()
        self._text.detach()
        self._zip.close()


def _names(files: Sequence[str], numbers: Sequence[int]) -> list[str]:
    """Returns the names of documents: the file, followed by the line if there is one."""
    if min(numbers, default=1) > 0:
        return list(map("{}:{}".format, files, numbers))
    return [f"{file}:{number}" if number else file for file, number in zip(files, numbers, strict=True)]

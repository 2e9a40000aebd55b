"""Sources of the report: the files of a corpus or, if there are many files, the folders that contain them.

A corpus of four files has four sources. A corpus of 100,000 files in six folders has six: files are replaced by their
folders, and these folders by their parents, until there are at most `MAX_SOURCES` sources. A task groups only its own
files, so that its totals do not depend on inputs that are added later. `merge` groups the files of all inputs in the
same way. Each source of a task equals a source of `merge`, or is a file or folder inside a source of `merge`. So the
totals of the task's source can be added to the totals of the source of `merge`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..corpus import Batch
from .encoding import EncodedDocuments

__all__ = ["MAX_SOURCES", "SourceTally", "SourceTotals", "group_files", "regroup"]

MAX_SOURCES = 40  # maximum number of sources, each of which is a row of a table and of a plot that people read


class SourceTotals(NamedTuple):
    """Totals of a source: written documents, their bytes before encoding, and their ids, including bos and eos.

    Examples:
        >>> SourceTotals(2, 100, 25).bytes_per_token
        4.0
    """

    documents: int = 0
    bytes: int = 0
    tokens: int = 0

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text per id; None if there are no ids."""
        return self.bytes / self.tokens if self.tokens else None

    def plus(self, other: Sequence[int]) -> SourceTotals:
        """Returns the sum of these totals and other ones."""
        return SourceTotals(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def group_files(files: Sequence[str], most: int = MAX_SOURCES) -> dict[str, str]:
    """Returns file -> source: the file itself or, if there are more than `most` files, a folder that contains it.

    Each source is k levels above its file, with the same k for all files. If there are at most `most` files, k is 0.
    Otherwise k is the smallest number for which there are at most `most` folders.

    Examples:
        >>> group_files(["a/x.txt", "a/y.txt", "b/z.txt"], 2)
        {'a/x.txt': 'a/', 'a/y.txt': 'a/', 'b/z.txt': 'b/'}
        >>> group_files(["s3://bucket/x.txt", "s3://bucket/y.txt"], 1)["s3://bucket/x.txt"]
        's3://bucket/'
    """
    names = list(files)
    while len(set(names)) > most:
        above = [_parent(name) for name in names]
        if above == names:
            break
        names = above
    return dict(zip(files, names, strict=True))


def regroup(files: Sequence[str], sources: Mapping[str, str]) -> dict[str, str]:
    """Returns source in a task -> source in the report.

    The two sources can differ: a task groups only its own files, but the report groups the files of all inputs.

    Args:
        files: the files of the task.
        sources: file -> source for all inputs, as `group_files` returns it.

    Examples:
        >>> regroup(["a/x.txt"], group_files(["a/x.txt", "a/y.txt", "b/z.txt"], 2))
        {'a/x.txt': 'a/'}
    """
    found = {own: sources[file] for file, own in group_files(files).items()}
    # In earlier versions of Jeton, a task grouped the files of the whole corpus, as the corpus was at that time. The
    # source of a file can therefore be the file itself or a folder at any level above the file.
    for file in files:
        name = file
        while name != sources[file] and name not in found:
            found[name] = sources[file]
            name = _parent(name)
    return found


def _parent(name: str) -> str:
    """Returns the folder above a file or folder, with a final slash. If there is no folder above, returns `name`."""
    head = name.rstrip("/").rpartition("/")[0]
    return f"{head}/" if head.strip("/") and not head.endswith(":/") else name


class SourceTally:
    """Totals of each source in one task."""

    def __init__(self, sources: dict[str, str]) -> None:
        """`sources`: file -> source, as `group_files` returns it."""
        self._sources = sources
        self.totals: dict[str, SourceTotals] = {}

    def add(self, batch: Batch, found: EncodedDocuments) -> None:
        """Adds the numbers of documents, bytes and ids of a batch to the totals of the documents' sources."""
        documents = [place.num_documents for place in found.places]
        ends = np.concatenate([[0], np.cumsum(found.lengths)])[np.cumsum([0, *documents])]
        tokens = np.diff(ends).tolist()
        sizes = found.num_bytes or [chunk.texts.num_bytes for chunk in batch.chunks]
        for chunk, count, size, ids in zip(batch.chunks, documents, sizes, tokens, strict=True):
            name = self._sources[chunk.name]
            row = count, size, ids
            self.totals[name] = self.totals.get(name, SourceTotals()).plus(row)

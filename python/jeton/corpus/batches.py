"""Documents in transit: chunks as they are read, batches as they are processed.

A document is a plain `bytes` object. Its source is computed on demand, because a corpus may have a hundred million
rows. Invariant: all documents of a batch have the same weight group.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

__all__ = ["Batch", "Document", "DocumentChunk", "batched"]


class Document(NamedTuple):
    """One document: its UTF-8 bytes and its source (``"a.txt"``, ``"rows.jsonl:12"``, ``"corpus[3]"``)."""

    data: bytes
    source: str


class DocumentChunk(NamedTuple):
    """Consecutive documents read from one source at once.

    Attributes:
        texts: bytes of each document.
        name: their file, or ``"corpus"``.
        numbers: line, row or index of each; None for a file that is one document.
        weight_group: index of their weight group; see `ResolvedSource`.
        position: bytes of the corpus read after these documents.
        size: approximate memory, in bytes.
    """

    texts: list[bytes]
    name: str
    numbers: Sequence[int] | None
    weight_group: int
    position: int
    size: int

    def source(self, index: int) -> str:
        """Source of a document, as in `Document`."""
        if self.numbers is None:
            return self.name
        number = self.numbers[index]
        return f"corpus[{number}]" if self.name == "corpus" else f"{self.name}:{number}"

    def select(self, chosen: Sequence[int]) -> DocumentChunk:
        """A chunk with some of the documents."""
        numbers = self.numbers
        kept = numbers if numbers is None else [numbers[index] for index in chosen]
        texts = [self.texts[index] for index in chosen]
        size = self.size * len(texts) // max(len(self.texts), 1)
        return self._replace(texts=texts, numbers=kept, size=size)


class Batch:
    """Documents to process together, all of one weight group.

    Attributes:
        texts: bytes of each document, valid UTF-8.
        weight_group: index of their weight group, from 0.
        weight: factor of their counts.
        bytes_read: bytes of the corpus read after these documents, on the scale of `Corpus.total_bytes`.
    """

    def __init__(self, chunks: list[DocumentChunk], weight: Fraction) -> None:
        self.texts = [text for chunk in chunks for text in chunk.texts] if len(chunks) > 1 else chunks[0].texts
        self.weight_group, self.weight = chunks[0].weight_group, weight
        self.bytes_read = chunks[-1].position
        self._chunks = chunks
        self._starts: list[int] = []

    def source(self, index: int) -> str:
        """Source of a document, as in `Document`.

        Examples:
            >>> from jeton.corpus import open_corpus
            >>> next(open_corpus(["one", "two"]).batches()).source(1)
            'corpus[1]'
        """
        if not self._starts:
            start = 0
            for chunk in self._chunks:
                self._starts.append(start)
                start += len(chunk.texts)
        at = bisect_right(self._starts, index) - 1
        return self._chunks[at].source(index - self._starts[at])


def batched(chunks: Iterable[DocumentChunk], weights: Mapping[int, Fraction], size: int) -> Iterator[Batch]:
    """Chunks in groups of about `size` bytes, none with two weight groups."""
    group: list[DocumentChunk] = []
    held = 0
    for chunk in chunks:
        if group and group[0].weight_group != chunk.weight_group:
            yield Batch(group, weights[group[0].weight_group])
            group, held = [], 0
        group.append(chunk)
        held += chunk.size
        if held >= size:
            yield Batch(group, weights[chunk.weight_group])
            group, held = [], 0
    if group:
        yield Batch(group, weights[group[0].weight_group])

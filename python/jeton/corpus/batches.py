"""Documents on their way: in chunks as they are read, and in batches as they are worked on.

A document is a `bytes` object and nothing more: where it comes from is worked out when somebody asks, for a corpus may
have a hundred million rows. Invariant: a batch holds documents of one source of the corpus.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

__all__ = ["Batch", "Document", "DocumentChunk", "batched"]


class Document(NamedTuple):
    """One document: its UTF-8 bytes, and whence they come (``"a.txt"``, ``"rows.jsonl:12"``, ``"corpus[3]"``)."""

    data: bytes
    source: str


class DocumentChunk(NamedTuple):
    """Documents that were read together.

    Attributes:
        texts: their bytes.
        name: the file they come from, or ``"corpus"``.
        numbers: the line, row or index of each; None for a file that is one document.
        weight_group: which of the corpus's sources they come from.
        position: how far the corpus has been read with them, in bytes.
        size: about how much memory they take, in bytes.
    """

    texts: list[bytes]
    name: str
    numbers: Sequence[int] | None
    weight_group: int
    position: int
    size: int

    def source(self, index: int) -> str:
        """Where a document comes from."""
        if self.numbers is None:
            return self.name
        number = self.numbers[index]
        return f"corpus[{number}]" if self.name == "corpus" else f"{self.name}:{number}"

    def select(self, chosen: Sequence[int]) -> DocumentChunk:
        """The same with some of its documents."""
        numbers = self.numbers
        kept = numbers if numbers is None else [numbers[index] for index in chosen]
        texts = [self.texts[index] for index in chosen]
        size = self.size * len(texts) // max(len(self.texts), 1)
        return self._replace(texts=texts, numbers=kept, size=size)


class Batch:
    """Documents to work on together, all of one source.

    Attributes:
        texts: their bytes, checked to be UTF-8.
        weight_group: which of the corpus's sources they come from, from 0.
        weight: what their counts are multiplied by.
        bytes_read: how far the corpus has been read with them; counted as `Corpus.total_bytes` is.
    """

    def __init__(self, chunks: list[DocumentChunk], weight: Fraction) -> None:
        self.texts = [text for chunk in chunks for text in chunk.texts] if len(chunks) > 1 else chunks[0].texts
        self.weight_group, self.weight = chunks[0].weight_group, weight
        self.bytes_read = chunks[-1].position
        self._chunks = chunks
        self._starts: list[int] = []

    def source(self, index: int) -> str:
        """Where a document comes from.

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
    """Chunks in groups of about `size` bytes, none with documents of two sources."""
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

"""Documents on their way: in pieces as they are read, and in batches as they are worked on.

A document is a `bytes` object and nothing more: where it comes from is worked out when somebody asks, for a corpus may
have a hundred million rows. Invariant: a batch holds documents of one source of the corpus.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

__all__ = ["Batch", "Document", "Piece", "batched"]


class Document(NamedTuple):
    """One document: its UTF-8 bytes, and whence they come (``"a.txt"``, ``"rows.jsonl:12"``, ``"corpus[3]"``)."""

    data: bytes
    source: str


class Piece(NamedTuple):
    """Documents that were read together.

    Attributes:
        texts: their bytes.
        name: the file they come from, or ``"corpus"``.
        numbers: the line, row or index of each; None for a file that is one document.
        part: which of the corpus's sources they come from.
        position: how far the corpus has been read with them, in bytes.
        size: about how much memory they take, in bytes.
    """

    texts: list[bytes]
    name: str
    numbers: Sequence[int] | None
    part: int
    position: int
    size: int

    def place(self, index: int) -> str:
        """Where a document comes from."""
        if self.numbers is None:
            return self.name
        number = self.numbers[index]
        return f"corpus[{number}]" if self.name == "corpus" else f"{self.name}:{number}"

    def only(self, chosen: Sequence[int]) -> Piece:
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
        part: which of the corpus's sources they come from, from 0.
        weight: what their counts are multiplied by.
        bytes_read: how far the corpus has been read with them; counted as `Corpus.total_bytes` is.
    """

    def __init__(self, pieces: list[Piece], weight: Fraction) -> None:
        self.texts = [text for piece in pieces for text in piece.texts] if len(pieces) > 1 else pieces[0].texts
        self.part, self.weight = pieces[0].part, weight
        self.bytes_read = pieces[-1].position
        self._pieces = pieces
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
            for piece in self._pieces:
                self._starts.append(start)
                start += len(piece.texts)
        at = bisect_right(self._starts, index) - 1
        return self._pieces[at].place(index - self._starts[at])


def batched(pieces: Iterable[Piece], weights: Mapping[int, Fraction], size: int) -> Iterator[Batch]:
    """Pieces in groups of about `size` bytes, none with documents of two sources."""
    group: list[Piece] = []
    held = 0
    for piece in pieces:
        if group and group[0].part != piece.part:
            yield Batch(group, weights[group[0].part])
            group, held = [], 0
        group.append(piece)
        held += piece.size
        if held >= size:
            yield Batch(group, weights[piece.part])
            group, held = [], 0
    if group:
        yield Batch(group, weights[group[0].part])

"""Encodes documents to ids, with bos and eos, in the integer type of the output file; totals of a task.

The core encodes a batch and adds bos and eos in one call. If a document contains the spelling of a special token, the
spelling is encoded as ordinary text and counted. Documents without tokens are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core import SpellingCounter, TextColumn
from ..corpus import Batch
from ..errors import InvalidTextError
from ..tokenizer import Tokenizer
from .layouts import Int64, Places
from .plan import Plan

__all__ = ["EncodedDocuments", "Encoder", "places_of"]

NUM_LARGEST = 3


class EncodedDocuments(NamedTuple):
    """Ids of the documents of a batch.

    Attributes:
        ids: ids of all documents, with bos and eos, in the type of the file.
        lengths: number of ids of each document.
        places: sources of the documents: one `Places` for each chunk of the batch.
        mask: uint8, the loss mask: a value for each id; None: the documents have none.
        num_bytes: number of bytes of the documents in each of `places`; None: bytes of the batch's texts.
    """

    ids: NDArray[Any]
    lengths: Int64
    places: list[Places]
    mask: NDArray[np.uint8] | None = None
    num_bytes: Sequence[int] | None = None


class Encoder:
    """Encoder of one task, with its totals.

    Attributes:
        documents, tokens: number of written documents, and number of their ids, including bos and eos.
        num_bytes: bytes of all documents before encoding.
        empty: number of documents without tokens, which are dropped.
        highest: highest id; -1 if there are no ids.
        special: spelling of a special token -> number of its occurrences in documents.
    """

    def __init__(self, tok: Tokenizer, plan: Plan) -> None:
        self._tok, self._dtype = tok, np.dtype(plan.dtype).newbyteorder("<")
        self._before, self._after = ([] if id is None else [id] for id in (plan.bos, plan.eos))
        self._spellings = list(tok.special_tokens)
        self._counter = SpellingCounter([spelling.encode() for spelling in self._spellings])
        self._special = np.zeros(len(self._spellings), np.int64)
        self.documents = self.num_bytes = self.tokens = self.empty = 0
        self.highest = -1
        # For each document: (number of ids, negated index of the document, file, row or line number)
        # If only a range of the file is read, the row or line number counts from the start of the range.
        self._largest: list[tuple[int, int, str, int | None]] = []

    def encode(self, batch: Batch) -> EncodedDocuments:
        """Encodes a batch.

        Raises:
            InvalidTextError: the tokenizer cannot encode a document.
        """
        try:
            found = self._tok._core.encode_columns(
                batch.columns,
                self._dtype.name,
                threads=1,
                before=self._before,
                after=self._after,
                drops_empty=True,
            )
        except InvalidTextError as error:
            source = batch.source(error.index or 0)
            raise InvalidTextError(f"{source}: {error}", position=error.position, source=source) from None
        ids = np.frombuffer(found[0], self._dtype)
        lengths = np.frombuffer(found[1], "<i8")
        dropped, highest = found[2:]
        self._count_special(batch.columns)
        numbers = None
        if dropped:
            numbers = np.ones(len(batch), np.int64)
            numbers[dropped] = 0
        self.highest = max(self.highest, -1 if highest is None else highest)
        self._count(batch, lengths, numbers)
        self.empty += len(dropped)
        return EncodedDocuments(ids, lengths, places_of(batch, numbers))

    def _count_special(self, columns: list[TextColumn]) -> None:
        """Counts how often documents contain the spelling of each special token."""
        if self._spellings:
            self._special += self._counter.count(columns)

    def _count(self, batch: Batch, lengths: Int64, numbers: Int64 | None, num_bytes: int | None = None) -> None:
        """Adds documents to the totals.

        Args:
            batch: the batch.
            lengths: number of ids of each document.
            numbers: for each document of the batch, how many documents are written from it. None: one document.
            num_bytes: number of bytes of the written documents. None: the number of bytes of the batch.
        """
        self.num_bytes += batch.num_bytes if num_bytes is None else num_bytes
        if len(lengths):
            indices = np.arange(len(batch)) if numbers is None else np.repeat(np.arange(len(batch)), numbers)
            for index in _largest(lengths):
                place = batch.place(int(indices[index]))
                self._largest.append((int(lengths[index]), -self.documents - index, *place))
            self._largest = nlargest(NUM_LARGEST, self._largest, key=lambda found: found[:2])
        self.documents += len(lengths)
        self.tokens += int(lengths.sum())

    @property
    def totals(self) -> dict[str, Any]:
        """Entries that a subclass adds to the completion file, which marks a task as done and stores totals."""
        return {}

    @property
    def special(self) -> dict[str, int]:
        """Spelling of a special token -> number of occurrences in documents. Omits special tokens that do not occur."""
        counts = zip(self._spellings, self._special.tolist(), strict=True)
        return {spelling: count for spelling, count in counts if count}

    @property
    def largest(self) -> list[tuple[int, str, int | None]]:
        """The largest documents: (number of ids, file, row or line number).

        If only a range of the file is read, the row or line number counts from the start of the range.
        """
        return [(tokens, file, number) for tokens, _, file, number in self._largest]


def _largest(lengths: Int64) -> list[int]:
    """Returns the indices of the `NUM_LARGEST` longest documents; among equally long ones, the first are preferred."""
    num = min(NUM_LARGEST, len(lengths))
    least = np.partition(lengths, -num)[-num]
    candidates = np.flatnonzero(lengths >= least)
    order = np.argsort(-lengths[candidates], kind="stable")[:num]
    found: list[int] = candidates[order].tolist()
    return found


def places_of(batch: Batch, numbers: Int64 | None) -> list[Places]:
    """Returns the sources of documents: a `Places` for each chunk of the batch.

    Args:
        batch: the batch.
        numbers: for each document of the batch, the number of documents written from it; None: one from each.
    """
    places = [Places(chunk.name, chunk.numbers, len(chunk.texts), chunk.fields) for chunk in batch.chunks]
    if numbers is None:
        return places
    some, at = [], 0
    for place in places:
        chosen = numbers[at : at + place.num_documents]
        at += place.num_documents
        lines = place.numbers if place.numbers is None else np.repeat(place.numbers, chosen).tolist()
        fields = place.fields
        if fields is not None:
            fields = [fields[index] for index in np.repeat(np.arange(len(fields)), chosen).tolist()]
        some.append(Places(place.file, lines, int(chosen.sum()), fields))
    return some

"""Documents → ids in the type of the file, with bos and eos; totals of a task.

bos and eos are a template, which the core applies to the whole batch. Spellings of special tokens in documents are
text; they are counted. Documents without tokens are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core import count_spellings
from ..corpus import Batch
from ..errors import InvalidTextError
from ..tokenizer import Tokenizer
from .layouts import Int64, Places
from .plan import Plan

__all__ = ["EncodedDocuments", "Encoder", "framed", "places_of"]

NUM_LARGEST = 3


class EncodedDocuments(NamedTuple):
    """Ids of the documents of a batch.

    Attributes:
        ids: of all documents, with bos and eos, in the type of the file.
        lengths: number of ids of each document.
        places: sources of the documents: one for each chunk of the batch.
        mask: uint8, the loss mask: a value for each id; None: the documents have none.
        num_bytes: bytes of the documents of each place, if they are not those of the batch.
    """

    ids: NDArray[Any]
    lengths: Int64
    places: list[Places]
    mask: NDArray[np.uint8] | None = None
    num_bytes: Sequence[int] | None = None


def framed(tok: Tokenizer, bos: int | None, eos: int | None) -> Tokenizer:
    """A tokenizer whose template adds the ids; without any it adds none.

    Examples:
        >>> tok = Tokenizer.from_merges({104: b"h"}, [], special_tokens={"<|end|>": 300})
        >>> framed(tok, None, 300).encode("h", add_special_tokens=True)
        [104, 300]
    """
    before, after = ([] if id is None else [{"ids": [id], "type_id": 0}] for id in (bos, eos))
    template = {"single": [*before, {"sequence": "A", "type_id": 0}, *after], "pair": None}
    return Tokenizer(replace(tok.definition, template=template), tok._core.vocabulary())


class Encoder:
    """Encoder of one task, with its totals.

    Attributes:
        documents, num_bytes, tokens: written documents, their bytes before encoding, and their ids with bos and eos.
        empty: documents without tokens, which are dropped.
        highest: highest id, -1 without any.
        special: spelling of a special token -> occurrences in documents.
    """

    def __init__(self, tok: Tokenizer, plan: Plan) -> None:
        """`tok`: as `framed` returns it."""
        self._tok, self._dtype = tok, np.dtype(plan.dtype).newbyteorder("<")
        self._num_added = (plan.bos is not None) + (plan.eos is not None)
        self._spellings = [spelling.encode() for spelling in tok.special_tokens]
        self._special = np.zeros(len(self._spellings), np.int64)
        self.documents = self.num_bytes = self.tokens = self.empty = 0
        self.highest = -1
        self._largest: list[tuple[int, int, str, int | None]] = []  # tokens, -document, file, number

    def encode(self, batch: Batch) -> EncodedDocuments:
        """Encodes a batch.

        Raises:
            InvalidTextError: a document that the tokenizer cannot encode.
        """
        try:
            found = self._tok.encode_batch(batch.texts, threads=1, special="none", add_special_tokens=True)
        except InvalidTextError as error:
            source = batch.source(error.index or 0)
            raise InvalidTextError(f"{source}: {error}", position=error.position, source=source) from None
        self._count_special(batch.texts)
        lengths = np.diff(found.offsets)
        ids = found.ids
        has_tokens = lengths > self._num_added
        num_empty = len(lengths) - int(np.count_nonzero(has_tokens))
        if num_empty:
            if self._num_added:
                ids = ids[np.repeat(has_tokens, lengths)]
            lengths = lengths[has_tokens]
        places = places_of(batch, has_tokens if num_empty else None)
        self._count(batch, ids, lengths, has_tokens if num_empty else None)
        return EncodedDocuments(ids.astype(self._dtype), lengths, places)

    def _count_special(self, texts: list[bytes]) -> None:
        """Counts the special tokens that texts spell."""
        if self._spellings:
            self._special += count_spellings(texts, self._spellings)

    def _count(self, batch: Batch, ids: NDArray[np.uint32], lengths: Int64, kept: NDArray[np.bool_] | None) -> None:
        """Adds to the totals."""
        self.empty += 0 if kept is None else len(kept) - len(lengths)
        if not len(lengths):
            return
        self.highest = max(self.highest, int(ids.max()))
        num = min(NUM_LARGEST, len(lengths))
        for index in np.argpartition(lengths, -num)[-num:].tolist():
            at = index if kept is None else int(np.flatnonzero(kept)[index])
            self._largest.append((int(lengths[index]), -self.documents - index, *batch.place(at)))
        self._largest = nlargest(NUM_LARGEST, self._largest, key=lambda found: found[:2])
        self.documents += len(lengths)
        self.num_bytes += sum(map(len, batch.texts))
        self.tokens += len(ids)

    @property
    def special(self) -> dict[str, int]:
        """See the class."""
        counts = zip(self._spellings, self._special.tolist(), strict=True)
        return {spelling.decode(): count for spelling, count in counts if count}

    @property
    def largest(self) -> list[tuple[int, str, int | None]]:
        """The largest documents: ids, file, and number in the range that was read."""
        return [(tokens, file, number) for tokens, _, file, number in self._largest]


def places_of(batch: Batch, kept: NDArray[np.bool_] | None) -> list[Places]:
    """The sources of the documents of a batch that are kept: one for each chunk; None: all are."""
    places = [Places(chunk.name, chunk.numbers, len(chunk.texts)) for chunk in batch.chunks]
    if kept is None:
        return places
    some, at = [], 0
    for place in places:
        chosen = kept[at : at + place.num_documents]
        at += place.num_documents
        numbers = place.numbers if place.numbers is None else list(compress(place.numbers, chosen))
        some.append(Places(place.file, numbers, int(np.count_nonzero(chosen))))
    return some

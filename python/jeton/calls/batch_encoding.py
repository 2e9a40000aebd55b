"""Implements `Tokenizer.encode_batch`: encodes texts and pairs to rows of ids, truncated and with the template's ids.

If a call has no pairs, no truncation and no words, the core also adds the template's ids. Otherwise the core encodes
the texts without the template. Then the rows are gathered from three arrays, without a loop over texts: the ids of the
template, the ids of the first texts, and the ids of the second texts.

Left out: computing how many ids each text keeps (`truncation`), and padding (`batch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._core import Tokenizer as Core
from .._core import join_ids, join_integers
from ..definition import sets_overflow_types
from ..errors import ConfigError, JetonError, keyword
from .batch import RowSegments, TokenBatch
from .truncation import Truncation, combine, split

__all__ = ["BatchEncoder", "Item"]

Int64: TypeAlias = NDArray[np.int64]
Words: TypeAlias = Sequence[Sequence[str | bytes]]  # the words of each text

# Maximum number of ids of a batch. Rows of one text overlap by the stride, so they have more ids in total than the
# text.
MAX_IDS = 1 << 30


class Item(NamedTuple):
    """Item of a template: ids that the template adds, or a text (`text` is 0 or 1: the first or second of a pair)."""

    text: int | None
    ids: tuple[int, ...]
    type_id: int


class Encoded(NamedTuple):
    """Ids of many texts.

    Attributes:
        ids: uint32[n].
        offsets: int64[texts + 1]; text i has ``ids[offsets[i]:offsets[i + 1]]``.
        hf_offsets: int64[n, 2], if requested.
        first_hf_offsets: int64[n, 2], the offsets that each id would have if truncation cut off all ids before this id.
            None if such a truncation cannot change the offsets of an id, or if offsets are not requested.
        words: int64[n], the index of the pretoken of each id in its text, if requested.
    """

    ids: NDArray[np.uint32]
    offsets: Int64
    hf_offsets: Int64 | None = None
    first_hf_offsets: Int64 | None = None
    words: Int64 | None = None

    @property
    def lengths(self) -> Int64:
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class BatchEncoder:
    """A tokenizer, and the options of one call of `Tokenizer.encode_batch`, except the options of truncation.

    Attributes:
        core: the tokenizer.
        template: template of the tokenizer's definition.
        special: permitted special tokens, in the core's form.
        threads: maximum number of threads.
        add_special_tokens: whether the template adds its ids.
        pad_id: id of the padding token, if any.
        with_offsets: whether the result has `TokenBatch.hf_offsets`.
        with_words: whether the result has `TokenBatch.words`; not together with `with_offsets`.
    """

    core: Core
    template: Mapping[str, Any] | None
    special: Literal["all", "raise"] | list[int] | None
    threads: int
    add_special_tokens: bool
    pad_id: int | None
    with_offsets: bool = False
    with_words: bool = False

    def encode(self, texts: list[str | bytes], pairs: list[str | bytes] | None, truncation: Truncation) -> TokenBatch:
        """Implements `Tokenizer.encode_batch`."""
        items = self.items(is_pair=pairs is not None)
        room = self._room(items, truncation)
        if pairs is None and room is None and not self.with_words:
            return self._whole(texts, items, truncation.overflow)
        first = self._encoded(texts, truncates=room is not None)
        if pairs is None:
            return self._rows(items, (first,), truncation, room)
        try:
            second = self._encoded(pairs, truncates=room is not None)
        except JetonError as error:  # the message has the index of a text, but does not say that the text is in `pairs`
            error.prefix("pairs: ")
            raise
        return self._rows(items, (first, second), truncation, room)

    def _room(self, items: Sequence[Item], truncation: Truncation) -> int | None:
        """Returns how many ids a row can have in addition to those of the template; None if there is no limit."""
        room = truncation.room(sum(len(item.ids) for item in items))
        if truncation.stride and room is not None:
            added = sum(len(part.get("ids", ())) for part in (self.template or {}).get("single") or ())
            # As in transformers, `stride` is not checked if `max_length` is less than the number of ids that the
            # template adds.
            if (truncation.max_length or 0) >= added:
                truncation.check_stride(added if self.add_special_tokens else 0)
        return room

    def encode_words(self, texts: Words, pairs: Words | None, truncation: Truncation) -> TokenBatch:
        """Encodes texts that are split into words, each word separately; offsets are relative to their word."""
        items = self.items(is_pair=pairs is not None)
        room = self._room(items, truncation)
        encoded = [self._joined(words, truncates=room is not None) for words in (texts, pairs) if words is not None]
        return self._rows(items, encoded, truncation, room)

    def _joined(self, words: Words, *, truncates: bool) -> Encoded:
        """Encodes words, and joins the ids of each text's words."""
        found = self._encoded(list(chain.from_iterable(words)), truncates=truncates)
        ends = np.cumsum([0, *map(len, words)])
        joined = found._replace(offsets=found.offsets[ends])
        if self.with_words:
            # The index of each word in its text.
            indices = np.arange(len(found.lengths)) - np.repeat(ends[:-1], np.diff(ends))
            joined = joined._replace(words=np.repeat(indices, found.lengths))
        return joined

    def _whole(self, texts: list[str | bytes], items: Sequence[Item], overflow: bool) -> TokenBatch:
        """Encodes single texts that are not truncated."""
        ids, offsets, hf_offsets, *_ = self._encoded(texts, template=self.add_special_tokens)
        segments = None
        if len(items) != 1 or items[0] != Item(0, (), 0):
            num_texts = sum(item.text is not None for item in items)
            own = (np.diff(offsets) - sum(len(item.ids) for item in items)) // max(num_texts, 1)
            lengths = [own if item.text is not None else np.full_like(own, len(item.ids)) for item in items]
            type_ids = np.array([[item.type_id for item in items]], np.int64)
            segments = _segments(items, _columns(lengths, len(own)), type_ids)
        mapping = np.arange(len(texts)) if overflow else None
        return TokenBatch(ids, offsets, mapping, self.pad_id, segments, hf_offsets)

    def _rows(
        self, items: Sequence[Item], texts: Sequence[Encoded], truncation: Truncation, room: int | None
    ) -> TokenBatch:
        """Truncates texts or pairs and joins them with the template."""
        first, second = texts[0].lengths, texts[1].lengths if len(texts) == 2 else None
        if room is None or not len(first) or int((first if second is None else first + second).max()) <= room:
            return self._uncut(items, texts, truncation.overflow)
        kept_first, kept_second = truncation.kept(first, second, room)
        pieces = [split(first, kept_first, truncation)]
        if second is not None and kept_second is not None:
            pieces.append(split(second, kept_second, truncation))
        places = [item.text for item in items if item.text is not None]
        row_text, chosen = combine(len(first), [pieces[text].counts for text in places])
        template_ids = np.array([id for item in items for id in item.ids], np.uint32)
        bases = np.cumsum([len(template_ids), *(len(text.ids) for text in texts)])
        starts: list[Int64] = []
        sizes: list[Int64] = []
        type_ids: list[Int64] = []
        choices = iter(chosen)
        at = 0  # index into the ids of the template
        for item in items:
            if item.text is None:
                columns = at, len(item.ids), item.type_id
                at += len(item.ids)
                for column, value in zip((starts, sizes, type_ids), columns, strict=True):
                    column.append(np.full_like(row_text, value))
                continue
            piece, found = next(choices), pieces[item.text]
            index = found.first[row_text] + piece
            starts.append(bases[item.text] + texts[item.text].offsets[row_text] + found.starts[index])
            sizes.append(found.lengths[index])
            type_ids.append(np.where(piece == 0, item.type_id, self._overflow_type(item.text)))
        num_ids = sum(int(column.sum()) for column in sizes)
        if truncation.overflow and num_ids > MAX_IDS:
            raise ConfigError(
                f"{keyword('overflow', True)}: the rows have {num_ids:,} ids; the limit is {MAX_IDS:,}; pass "
                "fewer texts or a smaller stride",
            )
        source = np.concatenate([template_ids, *(text.ids for text in texts)])
        num_rows = len(row_text)
        segments = _segments(items, _columns(sizes, num_rows), _columns(type_ids, num_rows))
        index = _ranges(_columns(starts, num_rows), segments.lengths)
        offsets = np.concatenate([[0], np.cumsum(segments.lengths.sum(axis=1))])
        mapping = row_text if truncation.overflow else None
        hf_offsets = self._hf_offsets(len(template_ids), texts, index, segments) if self.with_offsets else None
        words = self._words(len(template_ids), texts, index) if self.with_words else None
        return TokenBatch(source[index], offsets, mapping, self.pad_id, segments, hf_offsets, words)

    def _uncut(self, items: Sequence[Item], texts: Sequence[Encoded], overflow: bool) -> TokenBatch:
        """Joins the template with texts or pairs that need no truncation, like `_rows`, but faster for few texts."""
        num_rows = len(texts[0].offsets) - 1
        starts, sizes = np.zeros((2, num_rows, len(items)), np.int64)
        for column, item in enumerate(items):
            if item.text is not None:
                starts[:, column] = texts[item.text].offsets[:-1]
            sizes[:, column] = len(item.ids) if item.text is None else texts[item.text].lengths
        segments = _segments(items, sizes, np.array([[item.type_id for item in items]], np.int64))
        offsets = np.concatenate([[0], sizes.sum(axis=1).cumsum()])
        mapping = np.arange(num_rows) if overflow else None
        ranges = _bytes(starts), _bytes(sizes)
        own_ids = [np.array(item.ids, "<u4") if item.text is None else texts[item.text].ids for item in items]
        ids = np.frombuffer(join_ids([*map(_bytes, own_ids)], *ranges), "<u4")
        hf_offsets = words = None
        if self.with_offsets:
            columns = [
                _bytes(np.zeros((len(item.ids), 2), np.int64) if item.text is None else texts[item.text].hf_offsets)
                for item in items
            ]
            hf_offsets = np.frombuffer(join_integers(columns, *ranges, 2), "<i8").reshape(-1, 2)
        if self.with_words:
            columns = [
                _bytes(np.full(len(item.ids), -1) if item.text is None else texts[item.text].words) for item in items
            ]
            words = np.frombuffer(join_integers(columns, *ranges, 1), "<i8")
        return TokenBatch(ids, offsets, mapping, self.pad_id, segments, hf_offsets, words)

    def _hf_offsets(
        self, num_template_ids: int, texts: Sequence[Encoded], index: Int64, segments: RowSegments
    ) -> Int64:
        """Returns the offsets of the ids of all rows.

        `index` maps each id of the rows to a position in one array: the ids of the template, then the ids of all texts.
        """
        of_template = np.zeros((num_template_ids, 2), np.int64)
        columns = [text.hf_offsets for text in texts if text.hf_offsets is not None]
        hf_offsets: Int64 = np.concatenate([of_template, *columns])[index]
        firsts = [text.first_hf_offsets for text in texts if text.first_hf_offsets is not None]
        if firsts:
            lengths = segments.lengths.ravel()
            places = (np.cumsum(lengths) - lengths)[lengths > 0]  # indices of the first ids of the segments
            hf_offsets[places] = np.concatenate([of_template, *firsts])[index[places]]
        return hf_offsets

    def _words(self, num_template_ids: int, texts: Sequence[Encoded], index: Int64) -> Int64:
        """Returns the index of the pretoken of each id; -1 for ids of the template. `index` is as in `_hf_offsets`."""
        columns = [text.words for text in texts if text.words is not None]
        words: Int64 = np.concatenate([np.full(num_template_ids, -1), *columns])[index]
        return words

    def _encoded(self, texts: list[str | bytes], *, template: bool = False, truncates: bool = False) -> Encoded:
        """Encodes texts. If they will be truncated (`truncates`), the result also has `first_hf_offsets`."""
        if self.with_words:
            ids, offsets, words = self.core.encode_batch_with_words(texts, self.special, self.threads)
            own = np.frombuffer(words, "<i8")
            return Encoded(np.frombuffer(ids, "<u4"), np.frombuffer(offsets, "<i8"), words=own)
        if not self.with_offsets:
            ids, offsets = self.core.encode_batch(texts, self.special, self.threads, template)
            return Encoded(np.frombuffer(ids, "<u4"), np.frombuffer(offsets, "<i8"))
        ids, offsets, *columns = self.core.encode_batch_with_offsets(
            texts, self.special, self.threads, template=template, truncates=truncates
        )
        spans = [None if column is None else np.frombuffer(column, "<i8").reshape(-1, 2) for column in columns]
        return Encoded(np.frombuffer(ids, "<u4"), np.frombuffer(offsets, "<i8"), *spans)

    def items(self, *, is_pair: bool) -> list[Item]:
        """Returns the template's items for a text or a pair. If no special tokens are added, all items are texts."""
        listed = (self.template or {}).get("pair" if is_pair else "single")
        if listed is None:
            return [Item(0, (), 0), Item(1, (), 1)] if is_pair else [Item(0, (), 0)]
        items = [
            Item(
                "AB".index(part["sequence"]) if "sequence" in part else None,
                tuple(part.get("ids", ())),
                part["type_id"],
            )
            for part in listed
        ]
        if self.add_special_tokens:
            return items
        texts = [item for item in items if item.text is not None]
        return texts if is_pair else texts[:1] or [Item(0, (), 0)]  # `encode` adds nothing to one text, either

    def _overflow_type(self, text: int) -> int:
        """Returns the type id of an overflowing piece of a text.

        Of Hugging Face's post-processors, only RobertaProcessing also sets the type ids of overflowing pieces, to 0.
        Without it, the type id of an overflowing piece is the index of the text.
        """
        return 0 if self.add_special_tokens and sets_overflow_types(self.template) else text


def _bytes(column: NDArray[Any] | None) -> NDArray[np.uint8]:
    """Returns the bytes of a column of little-endian integers, in the form that the core takes."""
    found: NDArray[np.uint8] = np.ascontiguousarray(column).view(np.uint8).ravel()
    return found


def _columns(columns: list[Int64], num_rows: int) -> Int64:
    """Returns columns as one array, int64[rows, columns]."""
    return np.stack(columns, axis=1) if columns else np.zeros((num_rows, 0), np.int64)


def _segments(items: Sequence[Item], lengths: Int64, type_ids: Int64) -> RowSegments:
    return RowSegments(lengths, type_ids, np.array([item.text is None for item in items], np.bool_))


def _ranges(starts: Int64, lengths: Int64) -> Int64:
    """Concatenates ranges of integers, row by row; each has a start in `starts` and a length in `lengths`."""
    starts, lengths = starts.ravel(), lengths.ravel()
    ends = np.cumsum(lengths)
    index: Int64 = np.repeat(starts - (ends - lengths), lengths)
    index += np.arange(len(index))
    return index

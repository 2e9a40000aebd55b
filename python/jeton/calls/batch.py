"""Results of `Tokenizer.encode_batch`: `TokenBatch`, the ids of many texts, and `PaddedBatch`, rows of equal length.

A row has the ids of a text or a pair, and the ids that the template adds. If `encode_batch` truncates with overflow, a
row has a part of these ids.

Left out: the selection of the ids of a row (`truncation`, `batch_encoding`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from .._core import id_lists
from ..errors import ConfigError, keyword
from ..util.arguments import integer, wrong
from ..util.lazy import cached_property

__all__ = ["PaddedBatch", "RowSegments", "TokenBatch"]

Int64: TypeAlias = NDArray[np.int64]

MAX_LENGTH = (1 << 31) - 1  # maximum number of ids of a row
MAX_PAD_ID = (1 << 32) - 1
MAX_ROWS_SHOWN, MAX_IDS_SHOWN = 8, 24  # limits of the table in a notebook


@dataclass(frozen=True, eq=False)
class RowSegments:
    """Segments of the rows of a batch, in order. A segment is a text, or tokens of the template.

    Attributes:
        lengths: int64[rows, segments], the number of ids of each segment.
        type_ids: int64[rows, segments], or int64[1, segments] if all rows have the same type ids.
        is_template: bool[segments], True for tokens of the template.
    """

    lengths: Int64
    type_ids: Int64
    is_template: NDArray[np.bool_]

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Repeats the value of each segment for each of its ids."""
        return np.repeat(np.broadcast_to(values, self.lengths.shape).ravel(), self.lengths.ravel())


@dataclass(frozen=True, eq=False, repr=False)
class TokenBatch(Sequence[NDArray[np.uint32]]):
    """Ids of many texts, concatenated; a sequence with one array per row.

    A row is a text or a pair. With ``overflow=True``, a truncated text has several rows.

    Attributes:
        ids: uint32[n], the ids of all rows.
        offsets: int64[rows + 1]; row i has ``ids[offsets[i]:offsets[i + 1]]``.
        overflow_to_sample_mapping: int64[rows], the index of the text of each row; None without ``overflow=True``.
        pad_id: id of the tokenizer's padding token, if it has one.
        segments: texts and tokens of the template in each row; None if each row is one text without a template.
        hf_offsets: int64[n, 2], the half-open range of characters of each id in its text, by Hugging Face's rules
            (``offset_mapping``), as in `Encoding.hf_offsets`; (0, 0) for ids of the template. None without
            ``offsets=True``.
        words: int64[n], the index of the pretoken of each id in its text; -1 for ids of the template. None for the
            result of `Tokenizer.encode_batch`; `Encoding.word_ids` is the public form.
        loss_mask: uint8[n], 1 for an id that is trained on. Only batches of shards have it; None means all ids.
        position_ids: int32[n], restarting at 0 with each document in a row of packed shards. None for other batches.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> batch = tok.encode_batch(["low", "lower"])
        >>> len(batch), batch[1].tolist(), batch.offsets.tolist()
        (2, [257, 101, 114], [0, 1, 4])
    """

    ids: NDArray[np.uint32]
    offsets: Int64
    overflow_to_sample_mapping: Int64 | None = None
    pad_id: int | None = None
    segments: RowSegments | None = None
    hf_offsets: Int64 | None = None
    words: Int64 | None = None
    loss_mask: NDArray[np.uint8] | None = None
    position_ids: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray[np.uint32]]: ...
    def __getitem__(self, index: int | slice) -> NDArray[np.uint32] | list[NDArray[np.uint32]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if isinstance(index, str):
            raise TypeError(
                f"rows are indexed by an integer or a slice, not {index!r}; for columns, use "
                "tok.encode_batch(texts).padded()"
            )
        try:
            index = range(len(self))[index]
        except IndexError:
            raise IndexError(f"row {index} is out of range: there are {len(self):,}, from 0") from None
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    if not TYPE_CHECKING:  # if type checkers saw the method, they would accept any attribute

        def __getattr__(self, name: str) -> NoReturn:
            from ..util.hints import result_error

            raise result_error(self, name)

    def tolist(self) -> list[list[int]]:
        """Returns the rows as lists of integers.

        Examples:
            >>> import jeton
            >>> tok = jeton.Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
            >>> tok.encode_batch(["hi", "h"]).tolist()
            [[104, 105], [104]]
        """
        return id_lists(_bytes(self.ids), _bytes(self.offsets))

    @cached_property
    def type_ids(self) -> Int64:
        """int64[n], the type id of each id, as the tokenizer's template assigns it (``token_type_ids``).

        Examples:
            >>> import jeton
            >>> tok = jeton.Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
            >>> tok.encode_batch(["hi", "h"], ["h", "i"]).type_ids.tolist()
            [0, 0, 1, 0, 1]
        """
        if self.segments is None:
            return np.zeros(len(self.ids), np.int64)
        return self.segments.spread(self.segments.type_ids)

    @cached_property
    def special_tokens_mask(self) -> NDArray[np.bool_]:
        """bool[n], True for an id that the template added."""
        if self.segments is None:
            return np.zeros(len(self.ids), np.bool_)
        return self.segments.spread(self.segments.is_template)

    def padded(
        self,
        length: int | None = None,
        multiple_of: int | None = None,
        side: Literal["right", "left"] = "right",
        pad_id: int | None = None,
    ) -> PaddedBatch:
        """Returns the rows as arrays for a model, filled to equal length with a padding id.

        Args:
            length: number of ids per row (``padding="max_length"`` of transformers); None is the length of the longest
                row (``padding=True``).
            multiple_of: the length is rounded up to a multiple of this number (``pad_to_multiple_of``).
            side: the end at which padding is added (``padding_side``).
            pad_id: the id to fill with; None is the tokenizer's padding token.

        Raises:
            ConfigError: a row is longer than `length`, or `pad_id` is None and the tokenizer has no padding token.

        Examples:
            >>> import jeton
            >>> tok = jeton.Tokenizer.from_merges({104: b"h", 105: b"i"}, [], special_tokens={"<pad>": 0})
            >>> padded = tok.encode_batch(["hi", "h"]).padded(multiple_of=4, pad_id=0)
            >>> padded.input_ids
            array([[104, 105,   0,   0],
                   [104,   0,   0,   0]])
            >>> padded.attention_mask.tolist()
            [[1, 1, 0, 0], [1, 0, 0, 0]]

        Source:
            huggingface/tokenizers, utils/padding.rs.
        """
        if length is not None:
            length = integer(length, "length", 0, MAX_LENGTH)
        if multiple_of is not None:
            multiple_of = integer(multiple_of, "multiple_of", 1, MAX_LENGTH)
        if side not in ("right", "left"):
            raise wrong("side", side, '"right" or "left"')
        if pad_id is None:
            pad_id = self.pad_id
        if pad_id is None:
            raise ConfigError(
                f"the tokenizer has no padding token: pass {keyword('pad_id')}, the id that fills rows, such "
                "as tok.eos_id, or set one with tok.with_roles(pad=…)",
                option="pad_id",
            )
        pad_id = integer(pad_id, "pad_id", 0, MAX_PAD_ID)
        lengths = np.diff(self.offsets)
        longest = int(lengths.max(initial=0))
        width = longest if length is None else length
        if multiple_of is not None:
            width += -width % multiple_of
        if longest > width:
            row = int(lengths.argmax())
            raise ConfigError(
                f"row {row} has {longest} ids, more than {keyword('length', length)}; to shorten rows, pass "
                f"max_length={length} to encode_batch",
                option="length",
            )
        columns = np.arange(width)
        filled = columns < lengths[:, None] if side == "right" else columns >= width - lengths[:, None]

        def rows(values: NDArray[Any], padding: int) -> Int64:
            array = np.full(filled.shape + values.shape[1:], padding, np.int64)
            array[filled] = values[self.offsets[0] : self.offsets[-1]]
            return array

        return PaddedBatch(
            rows(self.ids, pad_id),
            filled.astype(np.int64),
            rows(self.type_ids, 0),
            rows(self.special_tokens_mask, 1),
            self.overflow_to_sample_mapping,
            *(None if column is None else rows(column, 0) for column in self._more),
        )

    @property
    def _more(self) -> tuple[NDArray[Any] | None, ...]:
        """Returns the columns that only some batches have, in the order of the fields of `PaddedBatch`."""
        return self.hf_offsets, self.loss_mask, self.position_ids

    def to_dict(self) -> dict[str, Any]:
        """Returns the columns, named as in transformers, as lists of one int64 array per row, for `datasets.map`.

        Returns:
            ``input_ids``, ``attention_mask`` (ones), ``token_type_ids`` and ``special_tokens_mask``: lists of arrays as
            long as their rows; with ``offsets=True`` also ``offset_mapping``; with ``overflow=True`` also
            ``overflow_to_sample_mapping``, an array; for batches of shards ``loss_mask`` and ``position_ids``, if any.

        Examples:
            >>> import jeton
            >>> tok = jeton.Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
            >>> [row.tolist() for row in tok.encode_batch(["hi", "h"]).to_dict()["input_ids"]]
            [[104, 105], [104]]
        """
        values = {
            "input_ids": self.ids.astype(np.int64),
            "attention_mask": np.ones(len(self.ids), np.int64),
            "token_type_ids": self.type_ids,
            "special_tokens_mask": self.special_tokens_mask.astype(np.int64),
        }
        names = ("offset_mapping", "loss_mask", "position_ids")
        values |= {name: column for name, column in zip(names, self._more, strict=True) if column is not None}
        columns: dict[str, Any] = {name: np.split(column, self.offsets[1:-1]) for name, column in values.items()}
        if len(self) == 0:
            columns = {name: [] for name in values}
        if self.overflow_to_sample_mapping is not None:
            columns["overflow_to_sample_mapping"] = self.overflow_to_sample_mapping
        return columns

    def _repr_html_(self) -> str:
        from ..drawing import to_card

        lengths = np.diff(self.offsets)
        rows = [("rows", f"{len(self):,}"), ("ids", f"{len(self.ids):,}")]
        if len(self):
            rows.append(("ids of a row", f"{lengths.min():,} to {lengths.max():,}, median {np.median(lengths):,.0f}"))
        for index, ids in enumerate(self[:MAX_ROWS_SHOWN]):
            more = f" … {len(ids) - MAX_IDS_SHOWN:,} more" if len(ids) > MAX_IDS_SHOWN else ""
            rows.append((f"row {index}", " ".join(map(str, ids[:MAX_IDS_SHOWN].tolist())) + more))
        if len(self) > MAX_ROWS_SHOWN:
            rows.append(("", f"… {len(self) - MAX_ROWS_SHOWN:,} more rows"))
        return to_card("TokenBatch", rows)

    def __repr__(self) -> str:
        what = "texts" if self.overflow_to_sample_mapping is None else "rows"
        return f"TokenBatch({len(self)} {what}, {len(self.ids)} ids)"


@dataclass(frozen=True, eq=False, repr=False)
class PaddedBatch(Mapping[str, Int64]):
    """Rows of equal length: a mapping from the names of a model's inputs to arrays. The arrays are also attributes.

    Attributes:
        input_ids: int64[rows, length].
        attention_mask: int64[rows, length], 1 for an id of the row, 0 for padding.
        token_type_ids: int64[rows, length], type ids of the tokenizer's template; 0 for padding.
        special_tokens_mask: int64[rows, length], 1 for ids that the template added and for padding.
        overflow_to_sample_mapping: int64[rows], the index of the text of each row. Without ``overflow=True``, it is
            None and not a key of the mapping.
        offset_mapping: int64[rows, length, 2], `TokenBatch.hf_offsets`; (0, 0) for padding. Without
            ``offsets=True``, it is None and not a key.
        loss_mask, position_ids: int64[rows, length], as in `TokenBatch`; 0 for padding. If the `TokenBatch` has
            none, they are None and not keys.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
        >>> padded = tok.encode_batch(["hi", "h"]).padded(pad_id=0, side="left")
        >>> list(padded), padded["input_ids"].tolist()
        (['input_ids', 'attention_mask', 'token_type_ids', 'special_tokens_mask'], [[104, 105], [0, 104]])
    """

    input_ids: Int64
    attention_mask: Int64
    token_type_ids: Int64
    special_tokens_mask: Int64
    overflow_to_sample_mapping: Int64 | None = None
    offset_mapping: Int64 | None = None
    loss_mask: Int64 | None = None
    position_ids: Int64 | None = None

    @property
    def _columns(self) -> dict[str, Int64]:
        return {name: array for name, array in vars(self).items() if array is not None}

    def __getitem__(self, name: str) -> Int64:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PaddedBatch):
            return NotImplemented
        return list(self) == list(other) and all(np.array_equal(self[name], other[name]) for name in self)

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        """Returns the columns as nested lists."""
        return {name: array.tolist() for name, array in self.items()}

    def __repr__(self) -> str:
        rows, length = self.input_ids.shape
        return f"PaddedBatch({rows} rows of {length} ids)"


def _bytes(column: NDArray[Any]) -> NDArray[np.uint8]:
    """Returns the bytes of a column, in the form that the core takes."""
    return np.ascontiguousarray(column).view(np.uint8)

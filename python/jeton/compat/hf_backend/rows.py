"""Padded rows of ids, as the lists that Hugging Face's libraries return, or as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._core import constant_lists, optional_list, row_lists, row_pair_lists
from ...calls.batch import TokenBatch
from ...util.lazy import cached_property

__all__ = ["Rows"]

Int64: TypeAlias = NDArray[np.int64]
NAMES = ("input_ids", "token_type_ids", "attention_mask", "special_tokens_mask", "offset_mapping", "length")


@dataclass(frozen=True)
class Rows:
    """Rows of a batch, and their padding.

    Attributes:
        batch: the ids.
        width: the length up to which shorter rows are padded; 0 is no padding.
        is_left: whether padding is added on the left.
        pad_id: the id to pad with.
        pad_type_id: type id of the padding.

    Examples:
        >>> batch = TokenBatch(np.array([7, 8, 9], "<u4"), np.array([0, 2, 3]))
        >>> rows = Rows(batch, width=2, pad_id=1)
        >>> rows.lists("input_ids"), rows.lists("attention_mask")
        ([[7, 8], [9, 1]], [[1, 1], [1, 0]])
    """

    batch: TokenBatch
    width: int = 0
    is_left: bool = False
    pad_id: int = 0
    pad_type_id: int = 0

    @cached_property
    def offsets(self) -> list[int]:
        """The offset of each row in the ids, and at the end the number of all ids."""
        offsets: list[int] = self.batch.offsets.tolist()
        return offsets

    @cached_property
    def lengths(self) -> Int64:
        """int64[rows], the number of ids of each row, without padding."""
        return np.diff(self.batch.offsets)

    @property
    def longest(self) -> int:
        """Number of ids of the longest row, including padding."""
        return max(self.width, int(self.lengths.max(initial=0)))

    def lists(self, name: str) -> list[Any]:
        """Returns a column as one list for each row; columns have the names of `transformers`.

        Args:
            name: ``"input_ids"``, ``"token_type_ids"``, ``"attention_mask"``, ``"special_tokens_mask"``,
                ``"offset_mapping"`` (lists of tuples) or ``"length"`` (one number for each row).
        """
        batch, width, left = self.batch, self.width, self.is_left
        column: NDArray[Any]
        match name:
            case "input_ids":
                ids = _bytes(batch.ids, "<u4")
                return row_lists(ids, self.offsets, wide=False, width=width, left=left, fill=self.pad_id)
            case "attention_mask":
                return self.constant(1, 0)
            case "token_type_ids":
                if batch.segments is None or not batch.segments.type_ids.any():
                    return self.constant(0, self.pad_type_id)
                column, fill = batch.type_ids, self.pad_type_id
            case "special_tokens_mask":
                if batch.segments is None:
                    return self.constant(0, 1)
                column, fill = batch.special_tokens_mask, 1
            case "offset_mapping":
                return row_pair_lists(_bytes(batch.hf_offsets, "<i8"), self.offsets, width=width, left=left)
            case "length":
                lengths: list[int] = np.maximum(self.lengths, self.width).tolist()
                return lengths
            case _:
                raise KeyError(name)
        return row_lists(_bytes(column, "<i8"), self.offsets, wide=True, width=width, left=left, fill=fill)

    def constant(self, value: int, fill: int) -> list[list[int]]:
        """Returns a list for each row: `value` for each id, `fill` for padding.

        Examples:
            >>> Rows(TokenBatch(np.array([7, 8, 9], "<u4"), np.array([0, 2, 3])), width=2).constant(5, 0)
            [[5, 5], [5, 0]]
        """
        return constant_lists(value, self.lengths.tolist(), width=self.width, left=self.is_left, fill=fill)

    def word_ids(self, row: int) -> list[int | None]:
        """Returns the pretoken index of each id of a row; None for ids of template tokens and of padding.

        Examples:
            >>> batch = TokenBatch(np.array([1, 7, 8], "<u4"), np.array([0, 3]), words=np.array([-1, 0, 0]))
            >>> Rows(batch, width=4).word_ids(0)
            [None, 0, 0, None]
        """
        if self.batch.words is None:
            raise ValueError("the rows have no words")
        own = self.batch.words[self.offsets[row] : self.offsets[row + 1]]
        return optional_list(_bytes(own, "<i8"), width=self.width, left=self.is_left)

    def token_at(self, row: int, char: int) -> int | None:
        """Returns the index, in a padded row, of the first token that contains the character `char`, or None.

        Examples:
            >>> offsets = np.array([[0, 2], [2, 3]])
            >>> batch = TokenBatch(np.array([7, 8], "<u4"), np.array([0, 2]), hf_offsets=offsets)
            >>> Rows(batch).token_at(0, 2), Rows(batch).token_at(0, 3)
            (1, None)
        """
        first, end = self.offsets[row], self.offsets[row + 1]
        if self.batch.hf_offsets is None:
            raise ValueError("the rows have no offsets")
        starts, ends = self.batch.hf_offsets[first:end].T
        found = ((starts <= char) & (char < ends)).nonzero()[0]
        before = max(self.width - (end - first), 0) if self.is_left else 0
        return int(found[0]) + before if len(found) else None

    def hf_offsets(self, row: int) -> list[tuple[int, int]]:
        """Returns the offsets of the tokens of a row, in characters; (0, 0) for padding.

        Examples:
            >>> offsets = np.array([[0, 2], [2, 3]])
            >>> batch = TokenBatch(np.array([7, 8], "<u4"), np.array([0, 2]), hf_offsets=offsets)
            >>> Rows(batch, width=3).hf_offsets(0)
            [(0, 2), (2, 3), (0, 0)]
        """
        first, end = self.offsets[row], self.offsets[row + 1]
        if self.batch.hf_offsets is None:
            raise ValueError("the rows have no offsets")
        own = [(start, stop) for start, stop in self.batch.hf_offsets[first:end].tolist()]
        padding = [(0, 0)] * max(self.width - len(own), 0)
        return padding + own if self.is_left else own + padding

    def array(self, name: str) -> Int64 | None:
        """Returns a column as an array, int64[rows, width]; None if the rows differ in length."""
        rows, width = len(self.batch), self.longest
        if rows == 0 or (self.lengths.max() > self.width and self.lengths.min() != width):
            return None
        if name == "length":
            return np.full(rows, width, np.int64)
        batch = self.batch
        inside = np.arange(width) < self.lengths[:, None]
        if self.is_left:
            inside = inside[:, ::-1]
        if name == "attention_mask":
            return inside.astype(np.int64)
        columns: dict[str, tuple[Callable[[], Any], int]] = {
            "input_ids": (lambda: batch.ids, self.pad_id),
            "token_type_ids": (lambda: batch.type_ids, self.pad_type_id),
            "special_tokens_mask": (lambda: batch.special_tokens_mask, 1),
            "offset_mapping": (lambda: batch.hf_offsets, 0),
        }
        column, fill = columns[name]
        values = column()
        array = np.full((rows, width, *values.shape[1:]), fill, np.int64)
        array[inside] = values[batch.offsets[0] : batch.offsets[-1]]
        return array


def _bytes(column: NDArray[Any] | None, dtype: str) -> NDArray[np.uint8]:
    return np.ascontiguousarray(column, dtype).view(np.uint8).ravel()

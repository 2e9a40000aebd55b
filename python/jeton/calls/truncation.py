"""Truncation of texts and pairs to a number of ids, with the rules of Hugging Face's libraries.

`Truncation` has the options, and computes how many ids each text keeps. `split` computes the pieces of each text: the
kept one and those that overflow. `combine` computes the rows, which are combinations of pieces. All operate on arrays
with one element for each text, without a loop over texts.

Cost: linear in texts, pieces and rows. If both texts of a pair overflow, there is a row for each combination of pieces.

Source: huggingface/tokenizers, utils/truncation.rs (`truncate_encodings`) and tokenizer/encoding.rs (`truncate`,
`merge_with`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, keyword
from ..util.arguments import flag, integer, wrong

__all__ = ["Strategy", "TextPieces", "Truncation", "combine", "split"]

Int64: TypeAlias = NDArray[np.int64]
Side: TypeAlias = Literal["right", "left"]
Strategy: TypeAlias = Literal["longest_first", "only_first", "only_second"]

MAX_LENGTH = (1 << 31) - 1
# Limit on the rows of a call. The rows of a pair are combinations of the pieces of its two texts, so without a limit,
# two long texts with short pieces would give a very large number of rows.
MAX_ROWS = 1 << 24


@dataclass(frozen=True, slots=True)
class Truncation:
    """Options of truncation: arguments of `Tokenizer.encode_batch`, which documents them.

    Raises:
        ConfigError: an option has a wrong value. The error names the option.
    """

    max_length: int | None = None
    strategy: Strategy = "longest_first"
    stride: int = 0
    side: Side = "right"
    overflow: bool = False

    def __post_init__(self) -> None:
        if self.max_length is not None:
            integer(self.max_length, "max_length", 0, MAX_LENGTH)
        if self.strategy not in ("longest_first", "only_first", "only_second"):
            names = '"longest_first", "only_first" or "only_second"; omit it to truncate with max_length= alone'
            raise wrong("truncation", self.strategy, names)
        integer(self.stride, "stride", 0, MAX_LENGTH)
        if self.side not in ("right", "left"):
            raise wrong("side", self.side, '"right" or "left"')
        flag(self.overflow, "overflow")

    def room(self, num_added: int) -> int | None:
        """Returns how many ids of text a row can have in addition to `num_added` ids of the template; None: no limit.

        Raises:
            ConfigError: the template alone is longer than `max_length`.
        """
        if self.max_length is None:
            return None
        if self.max_length < num_added:
            raise ConfigError(
                f"{keyword('max_length', self.max_length)} is below the {num_added} ids that the template adds to "
                "each row",
            )
        return self.max_length - num_added

    def check_stride(self, num_added: int) -> None:
        """Checks `stride` as in transformers, even if no text is shortened.

        `split` checks the stride again for shortened texts. `num_added` is the number of ids that the template adds to
        one text.

        Raises:
            ConfigError: the stride is larger than `max_length` minus `num_added`.
        """
        if self.max_length is not None and self.stride > self.max_length - num_added:
            raise ConfigError(
                f"{keyword('stride', self.stride)} exceeds the {self.max_length - num_added} ids of text that "
                f"fit into a row: {keyword('max_length', self.max_length)} minus the {num_added} ids that the "
                "template adds",
            )

    def kept(self, first: Int64, second: Int64 | None, room: int | None) -> tuple[Int64, Int64 | None]:
        """Returns the number of ids that each text keeps.

        Args:
            first: int64[texts], number of ids of each text.
            second: int64[texts], number of ids of the second text of each pair; None without pairs.
            room: the result of `room`.

        Raises:
            ConfigError: a row is too long, `strategy` allows only one text to be shortened, and this text does not
                exist or would keep no ids.
        """
        if room is None:
            return first, second
        if room == 0:
            return np.zeros_like(first), None if second is None else np.zeros_like(first)
        excess = np.maximum(first + (0 if second is None else second) - room, 0)
        if self.strategy == "only_second":
            if second is None:
                self._refuse(
                    excess > 0,
                    f"has {{ids}} ids but no second text (pairs=) that could be shortened to fit {room}",
                    first,
                )
                return first, None
            return first, self._one(second, first, excess, "first")
        if self.strategy == "only_first" or second is None:
            return self._one(first, second, excess, "second"), second
        shorter, longer = np.minimum(first, second), np.maximum(first, second)
        # The longer text is shortened first, until both are equally long. If that is not enough, each gets half `room`.
        longer = np.minimum(longer, np.maximum(shorter, room - shorter))
        is_halved = shorter + longer > room
        shorter, longer = np.where(is_halved, room // 2, shorter), np.where(is_halved, room - room // 2, longer)
        is_swapped = first > second
        kept = np.where(is_swapped, longer, shorter), np.where(is_swapped, shorter, longer)
        return np.where(excess, kept[0], first), np.where(excess, kept[1], second)

    def _one(self, lengths: Int64, others: Int64 | None, excess: Int64, other: str) -> Int64:
        """Returns the number of ids that each text keeps if the other text of its pair (`others`) is not shortened."""
        kept = lengths - excess
        if others is not None:
            self._refuse(
                (excess > 0) & (kept <= 0), f"has {{ids}} ids in its {other} text, which is not shortened", others
            )
        return kept

    def _refuse(self, is_wrong: NDArray[np.bool_], why: str, ids: Int64) -> None:
        if is_wrong.any():
            at = int(is_wrong.argmax())
            raise ConfigError(
                f'truncation="{self.strategy}" with {keyword("max_length", self.max_length)}: text {at} of the batch '
                f'{why.format(ids=ids[at])}; "longest_first" shortens either text',
                option="truncation",
            )


class TextPieces(NamedTuple):
    """Pieces of each text. Piece q of text i has the index ``first[i] + q``; piece 0 is the kept one.

    Attributes:
        first: int64[texts + 1], the index of the first piece of each text.
        starts: int64[pieces], the index of the piece's first id in its text.
        lengths: int64[pieces].
    """

    first: Int64
    starts: Int64
    lengths: Int64

    @property
    def counts(self) -> Int64:
        """int64[texts], the number of pieces of each text."""
        return np.diff(self.first)


def split(lengths: Int64, kept: Int64, options: Truncation) -> TextPieces:
    """Splits texts into pieces that overlap by the stride. Each piece of text i has ``kept[i]`` ids.

    The first piece is what remains of the text after truncation: its start (for ``side="left"``, its end). The last
    piece can be shorter. If no id of a text remains, its first piece is empty and its second piece is the whole text.

    Args:
        lengths: int64[texts], number of ids of each text.
        kept: int64[texts], number of ids that each text keeps.
        options: `stride`, `side` and `overflow`. Without `overflow`, only the first piece of each text is returned.

    Raises:
        ConfigError: the stride is not less than the number of ids that a shortened text keeps.

    Examples:
        >>> pieces = split(np.array([7, 2]), np.array([3, 2]), Truncation(stride=1, overflow=True))
        >>> pieces.first.tolist(), pieces.starts.tolist(), pieces.lengths.tolist()
        ([0, 3, 4], [0, 2, 4, 0], [3, 3, 3, 2])
    """
    kept = np.minimum(kept, lengths)
    is_cut = (kept < lengths) & (kept > 0)
    is_wrong = is_cut & (kept <= options.stride)
    if is_wrong.any():
        at = int(is_wrong.argmax())
        raise ConfigError(
            f"{keyword('stride', options.stride)} is too large: text {at} of the batch keeps {kept[at]} of "
            f"its {lengths[at]} ids, and the stride must be smaller than that",
        )
    step = np.where(is_cut, kept - options.stride, 1)
    counts = np.ones_like(lengths)
    if options.overflow:
        counts += np.where(is_cut, -((kept - lengths) // step), kept < lengths)
    first = np.concatenate([[0], np.cumsum(counts)])
    index = within(counts)
    removed, length, most = (np.repeat(column, counts) for column in (step, lengths, kept))
    removed = removed * index  # number of ids before the piece; for side="left", number of ids after the piece
    if options.side == "right":
        starts = removed
        pieces = np.minimum(most, length - starts)
    else:
        ends = length - removed
        starts = np.maximum(ends - most, 0)
        pieces = ends - starts
    is_whole = (most == 0) & (index == 1)
    return TextPieces(first, np.where(is_whole, 0, starts), np.where(is_whole, length, pieces))


def combine(num_texts: int, counts: Sequence[Int64]) -> tuple[Int64, list[Int64]]:
    """Returns the rows of each text: all combinations of the pieces of its segments, the kept pieces first.

    Args:
        num_texts: number of texts or pairs.
        counts: for each segment that is a text, int64[texts]: the segment's number of pieces in each text or pair.

    Returns:
        int64[rows], the index of each row's text; and for each segment an array int64[rows] that tells which of the
        segment's pieces is in each row (0: the kept piece). Rows of a text are adjacent.

    Raises:
        ConfigError: too many rows.

    Examples:
        >>> text, (first, second) = combine(1, [np.array([2]), np.array([3])])
        >>> list(zip(first.tolist(), second.tolist()))
        [(0, 0), (1, 0), (1, 1), (1, 2), (0, 1), (0, 2)]
    """
    num_rows = np.ones(num_texts)
    for count in counts:
        num_rows *= count
    if num_rows.sum() > MAX_ROWS + num_texts:  # texts with a single row do not count towards the limit
        raise ConfigError(
            f"{keyword('overflow', True)}: {num_rows.sum():.3g} rows, {num_rows.max():.3g} of them from text "
            f"{int(num_rows.argmax())} of the batch; the limit is {MAX_ROWS:,}. Pass a larger max_length or a "
            "smaller stride",
        )
    texts = np.arange(num_texts)
    # `rows` and `chosen` store the combinations of pieces for the segments processed so far. The first combination of
    # each text has piece 0 (the kept piece) of every segment, and is not stored; the last line adds this combination.
    # Each step processes one segment: every stored combination is extended by every piece of the segment, and the first
    # combination is extended by every piece except piece 0.
    rows = np.zeros(0, np.int64)
    chosen: list[Int64] = []
    for count in counts:
        repeats, others = count[rows], count - 1
        added = np.repeat(texts, others)
        rows = np.concatenate([np.repeat(rows, repeats), added])
        chosen = [np.concatenate([np.repeat(piece, repeats), np.zeros_like(added)]) for piece in chosen]
        chosen.append(np.concatenate([within(repeats), within(others) + 1]))
        rows, chosen = _by_text(rows, chosen)
    return _by_text(np.concatenate([texts, rows]), [np.concatenate([np.zeros_like(texts), piece]) for piece in chosen])


def _by_text(rows: Int64, chosen: list[Int64]) -> tuple[Int64, list[Int64]]:
    order = np.argsort(rows, kind="stable")
    return rows[order], [piece[order] for piece in chosen]


def within(counts: Int64) -> Int64:
    """Concatenates the ranges from 0 to each count.

    Examples:
        >>> within(np.array([2, 0, 3])).tolist()
        [0, 1, 0, 1, 2]
    """
    starts: Int64 = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) - np.repeat(starts, counts)

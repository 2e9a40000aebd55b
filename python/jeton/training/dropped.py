"""`DroppedPretokens`: facts about rare pretokens that were dropped from counts."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DroppedPretokens"]


@dataclass(frozen=True, slots=True)
class DroppedPretokens:
    """Numbers of rare pretokens that were dropped from counts.

    Error bound: the count of a pair of symbols is too low by at most `occurrences` × n, if the pair occurs at most n
    times in one dropped pretoken. The count of a dropped pretoken is at most `min_count` - 1.

    Attributes:
        min_count: pretokens with a lower count were dropped.
        distinct: number of distinct dropped pretokens.
        occurrences: sum of the counts of dropped pretokens.
        bytes: total number of bytes of these occurrences.

    Examples:
        >>> import jeton
        >>> jeton.count_pretokens(["to be or not to be"], pattern="gpt2", min_count=2, progress=False).dropped
        DroppedPretokens(min_count=2, distinct=4, occurrences=4, bytes=12)
    """

    min_count: int
    distinct: int
    occurrences: int
    bytes: int

    def __add__(self, other: DroppedPretokens) -> DroppedPretokens:
        return DroppedPretokens(
            max(self.min_count, other.min_count),
            self.distinct + other.distinct,
            self.occurrences + other.occurrences,
            self.bytes + other.bytes,
        )

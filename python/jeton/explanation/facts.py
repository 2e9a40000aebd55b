"""What happened to each pretoken: merges, the lattice of Unigram, or the attempts of WordPiece.

Left out: computing any of it (the core does, by the same code that encodes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "Edge",
    "ExplainedMerge",
    "ExplainedPretoken",
    "ExplainedSplit",
    "ExplanationTotals",
    "Lattice",
    "MergeResult",
    "Segmentation",
    "WordPieceAttempts",
    "explained",
]


@dataclass(frozen=True, slots=True)
class ExplainedMerge:
    """One merge, at the moment it was done.

    Attributes:
        left, right: the ids of the pair.
        rank: the merge's priority; lower goes first.
        result: the id that took their place.
        position: where the left symbol begins, in bytes from the beginning of the pretoken.
        rivals: the best few other pairs that could have merged at that moment, as (left, right, rank).
        num_rivals: at how many other places some pair could have merged, repetitions of one pair included.
    """

    left: int
    right: int
    rank: int
    result: int
    position: int
    rivals: Sequence[tuple[int, int, int]] = ()
    num_rivals: int = 0


class ExplainedSplit(NamedTuple):
    """A piece that merging made and that is not in use, at the moment it was taken apart again.

    Attributes:
        position: where it begins, in bytes from the beginning of the pretoken.
        middle: where its right part begins.
        id: the piece.
        left, right: the ids of its parts.
    """

    position: int
    middle: int
    id: int
    left: int
    right: int


class ExplanationTotals(NamedTuple):
    """Of a whole text: the number of merges, and the ids of special and added tokens in it."""

    num_merges: int
    added: frozenset[int]


class Edge(NamedTuple):
    """A piece at a place of a pretoken: bytes start…end, its id (None for an unknown character), its score."""

    start: int
    end: int
    id: int | None
    score: float


class Segmentation(NamedTuple):
    """A segmentation: its pieces in order, and the sum of their scores."""

    edges: Sequence[Edge]
    score: float


@dataclass(frozen=True, slots=True)
class Lattice:
    """All segmentations of a pretoken by a Unigram model.

    Attributes:
        edges: the pieces that fit somewhere, by their start, shorter first; of a long text the first 131,072.
        num_edges: how many there are.
        best: the segmentation that was taken.
        others: the next best, best first; none for a pretoken of more than 16,384 bytes.
    """

    edges: Sequence[Edge]
    num_edges: int
    best: Segmentation
    others: Sequence[Segmentation]


@dataclass(frozen=True, slots=True)
class WordPieceAttempts:
    """What WordPiece found in a pretoken: at each place the longest entry. All longer ones were tried before it.

    Attributes:
        found: (start, end, id) of each, in bytes of the pretoken.
        stuck_at: where no entry begins, so that the whole pretoken is unknown; None: nowhere.
        is_too_long: whether the pretoken has more characters than the model looks at.
    """

    found: Sequence[tuple[int, int, int]]
    stuck_at: int | None
    is_too_long: bool


@dataclass(frozen=True, slots=True)
class ExplainedPretoken:
    """One pretoken, from its first symbols to its ids.

    Attributes:
        byte_span: where it lies in the text.
        text: its bytes, as the model saw them.
        special: whether it is a special or added token, which is matched whole and never merged.
        start_ids: the symbols before the first merge.
        merges: the merges in the order in which they were done.
        ids: its tokens: the symbols after the last merge, or what stands in for unknown characters among them.
        start_lengths: bytes of the text that each first symbol covers, where that is not the symbol's own bytes (an
            unknown character, an end-of-word mark); None: it is.
        whole: whether the model took the pretoken as it stands in the vocabulary, before any merge.
        by_merges: whether the model works by merges at all.
        part: which part of the pattern made it, counted from 0; None where no pattern, or not one alone, cuts.
        lattice: what a Unigram model chose from.
        attempts: what a WordPiece model found.
        splits: pieces that merging made and that are not in use, taken apart again after the last merge, in order.
    """

    byte_span: tuple[int, int]
    text: bytes
    special: bool
    start_ids: Sequence[int]
    merges: Sequence[ExplainedMerge]
    ids: Sequence[int]
    start_lengths: Sequence[int] | None = None
    whole: bool = False
    by_merges: bool = True
    part: int | None = None
    lattice: Lattice | None = None
    attempts: WordPieceAttempts | None = None
    splits: Sequence[ExplainedSplit] = ()


_Edge = tuple[int, int, int | None, float]
_Path = tuple[list[_Edge], float]
_Step = tuple[int, tuple[int, int, int], int, list[tuple[int, int, int]], int]
_Split = tuple[int, int, int, int, int]
# As the core tells it: symbols, where each begins, steps, splits.
MergeResult = tuple[list[int], list[int], list[_Step], list[_Split]]


def explained(
    byte_span: tuple[int, int],
    text: bytes,
    added: bool,
    whole: bool,
    part: int | None,
    ids: list[int],
    merged: MergeResult | None,
    lattice: tuple[list[_Edge], int, _Path, list[_Path]] | None,
    longest: tuple[list[tuple[int, int, int]], int | None, bool] | None,
    *,
    by_chars: bool,
) -> ExplainedPretoken:
    """One pretoken as the core explains it; `by_chars`: whether first symbols may cover what they do not spell.

    Examples:
        >>> steps = [(0, (1, 2, 0), 256, [], 1)]
        >>> merged = ([1, 2], [0, 1], steps, [])
        >>> explained((0, 2), b"st", False, False, None, [256], merged, None, None, by_chars=False).merges
        [ExplainedMerge(left=1, right=2, rank=0, result=256, position=0, rivals=[], num_rivals=0)]
    """
    symbols, starts, steps, splits = merged or (ids, None, [], [])
    merges = [
        ExplainedMerge(*pair, result=result, position=at, rivals=rivals, num_rivals=candidates - 1)
        for at, pair, result, rivals, candidates in steps
    ]
    lengths = None
    if by_chars and starts is not None:
        lengths = [end - start for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    return ExplainedPretoken(
        byte_span,
        text,
        added,
        symbols,
        merges,
        ids,
        lengths,
        whole,
        by_merges=merged is not None or added or whole,
        part=part,
        lattice=None if lattice is None else _lattice(*lattice),
        attempts=None if longest is None else WordPieceAttempts(*longest),
        splits=[ExplainedSplit._make(split) for split in splits],
    )


def _lattice(edges: list[_Edge], num_edges: int, best: _Path, others: list[_Path]) -> Lattice:
    return Lattice([Edge._make(edge) for edge in edges], num_edges, _path(best), [_path(other) for other in others])


def _path(path: _Path) -> Segmentation:
    return Segmentation([Edge._make(edge) for edge in path[0]], path[1])

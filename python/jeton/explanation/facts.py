"""Steps within a pretoken: merges of BPE, the lattice of Unigram, or the longest-match attempts of WordPiece.

Left out: computing the steps. The core computes them, with the same code that it uses for encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .agenda import Agenda, PieceLookup, agenda_of

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
    "symbol_sequences",
]


@dataclass(frozen=True, slots=True)
class ExplainedMerge:
    """One merge that was applied.

    Attributes:
        left, right: ids of the pair.
        rank: priority of the merge; lower ranks merge first.
        result: id of the merged symbol.
        position: start of the left symbol, in bytes from the beginning of the pretoken.
        rivals: other pairs that could have merged at this step, as (left, right, rank); only the best few.
        num_rivals: number of other positions with a mergeable pair at this step, including repeated pairs.
    """

    left: int
    right: int
    rank: int
    result: int
    position: int
    rivals: Sequence[tuple[int, int, int]] = ()
    num_rivals: int = 0


class ExplainedSplit(NamedTuple):
    """Split of an unused piece (SentencePiece's type UNUSED) after the last merge.

    Attributes:
        position: start of the piece, in bytes from the beginning of the pretoken.
        middle: start of the piece's right part.
        id: id of the piece.
        left, right: ids of the piece's two parts.
    """

    position: int
    middle: int
    id: int
    left: int
    right: int


class ExplanationTotals(NamedTuple):
    """Totals of a text: the number of merges, and the ids of the special and added tokens in it."""

    num_merges: int
    added: frozenset[int]


class Edge(NamedTuple):
    """Edge of a lattice: range of bytes in the pretoken, id of the piece (None for an unknown character), and score."""

    start: int
    end: int
    id: int | None
    score: float


class Segmentation(NamedTuple):
    """Path through a lattice: its edges in order, and the sum of their scores."""

    edges: Sequence[Edge]
    score: float


@dataclass(frozen=True, slots=True)
class Lattice:
    """Lattice of a Unigram model over a pretoken.

    Attributes:
        edges: the edges, sorted by start, then by length; at most the first 131,072.
        num_edges: total number of edges, including those that `edges` omits.
        best: the Viterbi segmentation, which is the result of encoding.
        others: the next best segmentations, best first; empty for a pretoken of more than 16,384 bytes.
    """

    edges: Sequence[Edge]
    num_edges: int
    best: Segmentation
    others: Sequence[Segmentation]


@dataclass(frozen=True, slots=True)
class WordPieceAttempts:
    """Greedy longest-match-first search of WordPiece. Before each match, all longer prefixes were tried.

    Attributes:
        found: (start, end, id) of each match; positions are in bytes of the pretoken.
        stuck_at: position at which no entry matches, so that the whole pretoken is unknown; None if there is none.
        is_too_long: whether the pretoken exceeds the model's ``max_input_chars_per_word``.
    """

    found: Sequence[tuple[int, int, int]]
    stuck_at: int | None
    is_too_long: bool


@dataclass(frozen=True, slots=True)
class ExplainedPretoken:
    """One pretoken, from its initial symbols to its ids.

    Attributes:
        byte_span: half-open range of the text's bytes.
        text: bytes of the pretoken, as the model gets them.
        special: whether it is a special or added token, which is matched whole and never merged.
        start_ids: the symbols before the first merge.
        merges: the merges in order of application.
        ids: ids of its tokens: the symbols after the last merge, with byte fallback or unk for unknown characters.
        start_lengths: number of bytes of the text that each initial symbol covers; None if each symbol covers exactly
            its own bytes. Symbols for unknown characters and symbols with an end-of-word mark do not cover exactly
            their own bytes.
        whole: whether the model found the whole pretoken in the vocabulary, and applied no merges.
        by_merges: whether the model uses merges.
        part: index of the regex alternative that matched the pretoken; None unless pre-tokenization is one pattern.
        lattice: the lattice of a Unigram model.
        attempts: the matches of a WordPiece model.
        splits: splits of unused pieces (SentencePiece) after the last merge, in order.
        agenda: the priority queue of a SentencePiece BPE model.
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
    agenda: Agenda | None = None


def symbol_sequences(pretoken: ExplainedPretoken) -> Iterator[list[int]]:
    """Implements `Explanation.sequences`."""
    ids = list(pretoken.start_ids)
    yield list(ids)
    for merge in pretoken.merges:
        # Among equal ranks, the leftmost pair merges first, so a merge is always at the first occurrence of its pair.
        index = ids.index(merge.left)
        while ids[index + 1] != merge.right:
            index = ids.index(merge.left, index + 1)
        ids[index : index + 2] = [merge.result]
        yield list(ids)


_Edge = tuple[int, int, int | None, float]
_Path = tuple[list[_Edge], float]
_Step = tuple[int, tuple[int, int, int], int, list[tuple[int, int, int]], int]
_Split = tuple[int, int, int, int, int]
# Result of the core: initial symbols, their starts, steps, splits.
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
    lookup: PieceLookup | None = None,
) -> ExplainedPretoken:
    """Converts the core's result for one pretoken.

    `by_chars` is true if an initial symbol, such as the unknown token, can cover text other than its own bytes.
    `lookup` is given for a SentencePiece BPE model.

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
    agenda = None
    if lookup is not None and merged is not None and lengths is not None:
        pairs = ((merge.position, merge.result) for merge in merges)
        agenda = agenda_of(text, symbols, lengths, pairs, lookup)
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
        agenda=agenda,
    )


def _lattice(edges: list[_Edge], num_edges: int, best: _Path, others: list[_Path]) -> Lattice:
    return Lattice([Edge._make(edge) for edge in edges], num_edges, _path(best), [_path(other) for other in others])


def _path(path: _Path) -> Segmentation:
    return Segmentation([Edge._make(edge) for edge in path[0]], path[1])

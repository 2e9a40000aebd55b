"""Common runs of two sequences of ids, in O(n log n).

The longest common subsequence takes quadratic time in general. Here, the common prefix and suffix are cut off, and the
rest is matched by *anchors*: runs of k ids that occur equally often in both sequences, the i-th occurrence in one
paired with the i-th in the other. (Patience diff, Bram Cohen 2003, pairs lines that occur once.) Of the chains of
anchors that ascend in both sequences, the chain with the most ids is chosen. The gaps between its anchors are matched
in the same way with a smaller k, and small gaps by the longest common subsequence. A larger gap without anchors counts
as changed. So the result is nearly always minimal for edits of a text. It is never wrong: all ids outside its runs are
reported as added or removed.

Equal runs of k ids have equal ranks. Ranks are computed by doubling k instead of hashing, so no collision is possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Run", "common_runs"]

ANCHOR_SIZES = (32, 8, 2, 1)  # lengths of anchors in ids, tried in this order
# A gap is matched by the longest common subsequence if its size (its length in one sequence times its length in the
# other) is at most MAX_CELLS. Larger gaps are searched for anchors; if none are found, MAX_CELLS_WITHOUT_ANCHORS is the
# limit. A gap of 64 × 64 ids takes a millisecond.
MAX_CELLS, MAX_CELLS_WITHOUT_ANCHORS = 256, 4096

Ids = NDArray[np.int64]


class Run(NamedTuple):
    """Ids in common: ``a[start:start + length]`` and ``b[other:other + length]``."""

    start: int
    other: int
    length: int


def common_runs(a: NDArray[np.uint32], b: NDArray[np.uint32]) -> list[Run]:
    """Returns runs of equal ids, ascending in both sequences; adjacent runs are joined.

    Examples:
        >>> common_runs(np.array([1, 2, 3, 4], "u4"), np.array([1, 5, 3, 4, 6], "u4"))
        [Run(start=0, other=0, length=1), Run(start=2, other=2, length=2)]
    """
    ranks = _Ranks(a, b)
    gaps = [(0, len(a), 0, len(b), 0)]
    found: list[Run] = []
    while gaps:
        start, end, other, other_end, level = gaps.pop()
        head = _common(a[start:end], b[other:other_end])
        if head:
            found.append(Run(start, other, head))
            start, other = start + head, other + head
        tail = _common(a[start:end][::-1], b[other:other_end][::-1])
        if tail:
            end, other_end = end - tail, other_end - tail
            found.append(Run(end, other_end, tail))
        if start == end or other == other_end:
            continue
        if (end - start) * (other_end - other) <= MAX_CELLS:
            found += _small(a[start:end].tolist(), b[other:other_end].tolist(), start, other)
            continue
        while level < len(ANCHOR_SIZES):
            size = ANCHOR_SIZES[level]
            level += 1
            if anchors := _anchors(*ranks.of(size), start, end, other, other_end, size):
                found += anchors
                ends = [*anchors, Run(end, other_end, 0)]
                for run, after in zip([Run(start, other, 0), *anchors], ends, strict=True):
                    gaps.append((run.start + run.length, after.start, run.other + run.length, after.other, level))
                break
        else:
            if (end - start) * (other_end - other) <= MAX_CELLS_WITHOUT_ANCHORS:
                found += _small(a[start:end].tolist(), b[other:other_end].tolist(), start, other)
    return _joined(sorted(found))


class _Ranks:
    """Ranks of the runs of k ids that begin at each position of both sequences; equal runs have equal ranks."""

    def __init__(self, a: NDArray[np.uint32], b: NDArray[np.uint32]) -> None:
        self._split = len(a)
        self._of = {1: np.concatenate([a, b]).astype(np.int64)}

    def of(self, size: int) -> tuple[Ids, Ids]:
        """Returns the ranks of the runs of `size` ids. Runs that extend past the end get ranks that no caller uses."""
        if size not in self._of:
            half = size // 2
            self.of(half)
            ranks = self._of[half]
            following = np.concatenate([ranks[half:], np.zeros(min(half, len(ranks)), np.int64)])
            _, dense = np.unique(ranks, return_inverse=True)
            _, after = np.unique(following, return_inverse=True)
            _, self._of[size] = np.unique(dense * (len(ranks) + 1) + after, return_inverse=True)
        both = self._of[size]
        return both[: self._split], both[self._split :]


def _common(a: NDArray[np.uint32], b: NDArray[np.uint32]) -> int:
    """Returns the length of the common prefix, in time proportional to this length."""
    most, block, at = min(len(a), len(b)), 64, 0
    while at < most:
        differ = a[at : min(at + block, most)] != b[at : min(at + block, most)]
        if differ.any():
            return at + int(differ.argmax())
        at, block = at + block, block * 4
    return most


def _anchors(a: Ids, b: Ids, start: int, end: int, other: int, other_end: int, size: int) -> list[Run]:
    """Returns a chain of anchors of `size` ids.

    Args:
        a, b: ranks of the runs of `size` ids in the two sequences.
        start, end: range of the first sequence in which to search.
        other, other_end: range of the second sequence in which to search.
        size: number of ids of an anchor.
    """
    ours, theirs = _pairs(a[start : max(end - size + 1, start)], b[other : max(other_end - size + 1, other)])
    if not len(ours):
        return []
    places, others = ours + start, theirs + other
    order = np.argsort(places)
    places, others = places[order], others[order]
    breaks = np.flatnonzero((np.diff(places) != 1) | (np.diff(others) != 1)) + 1  # positions at which a new run begins
    firsts, lasts = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(places)]])
    lengths = lasts - firsts + size - 1
    runs = map(Run, places[firsts].tolist(), others[firsts].tolist(), lengths.tolist())
    return [*_without_overlaps(_heaviest_chain([*runs]))]


def _pairs(a: Ids, b: Ids) -> tuple[Ids, Ids]:
    """For each rank that is equally frequent in `a` and `b`, pairs its n-th position in `a` with its n-th in `b`."""
    order, other_order = np.argsort(a, kind="stable"), np.argsort(b, kind="stable")
    values, first, counts = np.unique(a[order], return_index=True, return_counts=True)
    other_values, other_first, other_counts = np.unique(b[other_order], return_index=True, return_counts=True)
    _, at, other_at = np.intersect1d(values, other_values, assume_unique=True, return_indices=True)
    is_equal = counts[at] == other_counts[other_at]
    at, other_at = at[is_equal], other_at[is_equal]
    sizes = counts[at]
    number = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # 0, 1, … within each rank
    return order[np.repeat(first[at], sizes) + number], other_order[np.repeat(other_first[other_at], sizes) + number]


def _heaviest_chain(runs: list[Run]) -> list[Run]:
    """Of all chains that ascend in `start` and `other`, returns the one with the most ids (Fenwick tree of maxima)."""
    rank = {other: number for number, other in enumerate(sorted(run.other for run in runs), 1)}
    # A Fenwick tree. Each node describes one chain: of those whose last run is in the node's range, the chain with the
    # most ids. The node stores this number of ids and the index of the last run.
    best = [(0, -1)] * (len(runs) + 1)
    before: list[int] = []
    for index, run in enumerate(runs):
        weight, last, node = 0, -1, rank[run.other] - 1
        while node:
            weight, last = max((weight, last), best[node])
            node &= node - 1
        before.append(last)
        node, entry = rank[run.other], (weight + run.length, index)
        while node < len(best):
            best[node] = max(best[node], entry)
            node += node & -node
    chain, index = [], max(best)[1]
    while index >= 0:
        chain.append(runs[index])
        index = before[index]
    return chain[::-1]


def _without_overlaps(chain: list[Run]) -> Iterator[Run]:
    """Yields the runs. If a run overlaps the previous run in either sequence, the start of the run is cut off."""
    end = other_end = 0
    for run in chain:
        cut = max(end - run.start, other_end - run.other, 0)
        if cut < run.length:
            yield Run(run.start + cut, run.other + cut, run.length - cut)
            end, other_end = run.start + run.length, run.other + run.length


def _small(a: list[int], b: list[int], start: int, other: int) -> list[Run]:
    """Returns the longest common subsequence of a small gap, by dynamic programming over a table of lengths."""
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            same = a[i] == b[j]
            lengths[i][j] = lengths[i + 1][j + 1] + 1 if same else max(lengths[i + 1][j], lengths[i][j + 1])
    i = j = 0
    runs = []
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            runs.append(Run(start + i, other + j, 1))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return runs


def _joined(runs: list[Run]) -> list[Run]:
    joined: list[Run] = []
    for run in runs:
        last = joined[-1] if joined else Run(-1, -1, 0)
        if (last.start + last.length, last.other + last.length) == run[:2]:
            joined[-1] = Run(last.start, last.other, last.length + run.length)
        else:
            joined.append(run)
    return joined

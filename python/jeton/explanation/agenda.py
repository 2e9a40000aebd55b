"""Agenda of SentencePiece's BPE in a pretoken: the entries of its priority queue, including stale entries.

The core reports only merges, and no stale entries. Therefore the queue is replayed here from the initial symbols and
the vocabulary; the replay must give the core's merges. Simple version: `reference/step18_sentencepiece`.

Left out: pretokens of more than `limits.MAX_AGENDA_SYMBOLS` symbols; their merges are shown with ranks, as for other
models.
Source: google/sentencepiece src/bpe_model.cc (algorithm).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import accumulate
from typing import NamedTuple

from ..tokens.kinds import ADDED, TOKEN, UNUSED
from . import limits

__all__ = ["Agenda", "AgendaEntry", "PieceLookup", "agenda_of"]


class AgendaEntry(NamedTuple):
    """Entry of the agenda. Entries are popped by score, the highest first, and then by position.

    Attributes:
        score: score of the piece.
        position: start of the left symbol, in bytes from the beginning of the pretoken.
        id: id of the piece that the pair forms.
        is_stale: whether one of the two symbols had already merged with another symbol, so that the entry was dropped.
    """

    score: float
    position: int
    id: int
    is_stale: bool


class Agenda(NamedTuple):
    """Agenda of a pretoken of a SentencePiece BPE model.

    Attributes:
        entries: all entries, in the order of popping; the entries that are not stale are the merges.
        frozen: start and id of each user-defined piece; such pieces never merge.
    """

    entries: Sequence[AgendaEntry]
    frozen: Sequence[tuple[int, int]]

    @property
    def num_stale(self) -> int:
        """Number of stale entries."""
        return sum(entry.is_stale for entry in self.entries)


class PieceLookup(NamedTuple):
    """Lookups in the vocabulary of a SentencePiece BPE model.

    Attributes:
        scores: score of each id.
        find: function that returns the id of a piece's bytes, or None.
        kind: function that returns the kind of the entry with an id.
    """

    scores: Sequence[float]
    find: Callable[[bytes], int | None]
    kind: Callable[[int], int]

    def piece(self, text: bytes) -> int | None:
        """Returns the id of the piece with this text; None if there is no such piece that merges can form."""
        id = self.find(text)
        return id if id is not None and self.kind(id) in (TOKEN, UNUSED) else None


def agenda_of(
    text: bytes,
    start_ids: Sequence[int],
    lengths: Sequence[int],
    merges: Iterable[tuple[int, int]],
    lookup: PieceLookup,
) -> Agenda | None:
    """Replays the agenda of a pretoken; returns None if the pretoken is too long.

    Args:
        text: bytes of the pretoken.
        start_ids: ids of the initial symbols.
        lengths: number of bytes of the text that each initial symbol covers.
        merges: position and result of each merge that the core reports.
        lookup: the vocabulary.

    Examples:
        >>> ids = {b"ab": 4, b"bc": 5, b"abc": 6}
        >>> lookup = PieceLookup([0, 0, 0, 0, -1.0, -2.0, -3.0], ids.get, lambda id: TOKEN)
        >>> for entry in agenda_of(b"abc", [1, 2, 3], [1, 1, 1], [(0, 4), (0, 6)], lookup).entries:
        ...     print(entry)
        AgendaEntry(score=-1.0, position=0, id=4, is_stale=False)
        AgendaEntry(score=-2.0, position=1, id=5, is_stale=True)
        AgendaEntry(score=-3.0, position=0, id=6, is_stale=False)
    """
    if len(start_ids) > limits.MAX_AGENDA_SYMBOLS:
        return None
    starts = [0, *accumulate(lengths)][:-1]
    is_frozen = [lookup.kind(id) == ADDED for id in start_ids]
    frozen = [(start, id) for start, id, held in zip(starts, start_ids, is_frozen, strict=True) if held]
    entries = _replay(text, starts, is_frozen, lookup)
    merged = [(entry.position, entry.id) for entry in entries if not entry.is_stale]
    is_equal = merged == list(merges)
    return Agenda(entries, frozen) if is_equal else None


def _replay(text: bytes, starts: Sequence[int], is_frozen: Sequence[bool], lookup: PieceLookup) -> list[AgendaEntry]:
    num = len(starts)
    ends: list[int | None] = [*starts[1:], len(text)]  # end of each symbol; None if merged into its left neighbor
    before, after = list(range(-1, num - 1)), list(range(1, num + 1))
    heap: list[tuple[float, int, int, int]] = []  # (-score, left symbol, end of the pair, id)

    def offer(left: int) -> None:
        right = after[left] if left >= 0 else num
        if right == num or is_frozen[left] or is_frozen[right]:
            return
        end = ends[right]
        id = lookup.piece(text[starts[left] : end])
        if id is not None and end is not None:
            heappush(heap, (-lookup.scores[id], left, end, id))

    for left in range(num):
        offer(left)
    entries: list[AgendaEntry] = []
    while heap:
        cost, left, end, id = heappop(heap)
        right = after[left]
        is_stale = ends[left] is None or right == num or ends[right] != end
        entries.append(AgendaEntry(0.0 - cost, starts[left], id, is_stale))
        if is_stale:
            continue
        ends[left], ends[right] = end, None
        after[left] = after[right]
        if after[left] < num:
            before[after[left]] = left
        offer(before[left])
        offer(left)
    return entries

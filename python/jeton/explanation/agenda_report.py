"""Text of the reports about the agenda of a pretoken: its entries with score and position, and the totals.

Left out: the layout of lines and tables, and models without an agenda (`text_report`, `page`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..drawing import visible
from ..util.messages import translate
from . import limits
from .agenda import Agenda, AgendaEntry
from .facts import ExplainedMerge, ExplainedPretoken, ExplainedSplit

__all__ = ["AgendaStep", "agenda_steps", "agenda_totals", "frozen_words", "resegmented_words"]


class AgendaStep(NamedTuple):
    """A line of the report: an entry of the agenda, with its score and a text about it."""

    score: float
    words: str
    is_stale: bool


def agenda_steps(pretoken: ExplainedPretoken, agenda: Agenda, describe: Callable[[int], bytes]) -> Iterator[AgendaStep]:
    """Yields a line for each agenda entry, in the order of popping; stops before the first merge that is not shown."""
    merges = iter(pretoken.merges[: limits.MAX_MERGES_SHOWN])
    for entry in agenda.entries:
        merge = None if entry.is_stale else next(merges, None)
        if merge is None and not entry.is_stale:
            return
        words = _stale(entry, describe) if merge is None else _merged(merge, entry, describe)
        yield AgendaStep(entry.score, words, entry.is_stale)


def _merged(merge: ExplainedMerge, entry: AgendaEntry, describe: Callable[[int], bytes]) -> str:
    left, right, result = (visible(describe(id)) for id in (merge.left, merge.right, merge.result))
    pair = f"({merge.left}, {merge.right}) {left}+{right} -> {result}"
    return f"{pair}  {_at(entry)}"


def _stale(entry: AgendaEntry, describe: Callable[[int], bytes]) -> str:
    piece = visible(describe(entry.id))
    return translate("stale entry: {piece}", piece=piece) + f"  {_at(entry)}"


def _at(entry: AgendaEntry) -> str:
    message = "score {score}, position {position}, id {id}"
    return translate(message, score=f"{entry.score:g}", position=entry.position, id=entry.id)


def agenda_totals(agenda: Agenda) -> str:
    """Returns a sentence with the number of entries, stale entries and merges."""
    pushed, stale = len(agenda.entries), agenda.num_stale
    message = "agenda empty: {pushed} pushed, {stale} stale, {merged} merged"
    return translate(message, pushed=f"{pushed:,}", stale=f"{stale:,}", merged=f"{pushed - stale:,}")


def frozen_words(agenda: Agenda, describe: Callable[[int], bytes]) -> Iterator[str]:
    """Yields a line for each distinct user-defined piece."""
    for id in dict.fromkeys(id for _, id in agenda.frozen):
        message = "{piece}, id {id}, is a user-defined piece: frozen, in no entry of the agenda"
        yield translate(message, piece=visible(describe(id)), id=id)


def resegmented_words(split: ExplainedSplit, describe: Callable[[int], bytes]) -> str:
    """Formats the split of an unused piece."""
    whole, left, right = (visible(describe(id)) for id in (split.id, split.left, split.right))
    parts = f"({split.left}, {split.right}) {left}+{right}"
    return translate("{piece}, id {id}, re-segmented because unused: {parts}", piece=whole, id=split.id, parts=parts)

"""Plain-text report of an explanation, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from ..drawing import draw, to_terminal, visible
from ..util.messages import counted, translate
from . import limits
from .agenda_report import agenda_steps, agenda_totals, frozen_words, resegmented_words
from .facts import (
    Edge,
    ExplainedMerge,
    ExplainedPretoken,
    Lattice,
    Segmentation,
    WordPieceAttempts,
    symbol_sequences,
)

__all__ = [
    "Describe",
    "attempt_words",
    "edge_words",
    "heading",
    "merge_words",
    "part_words",
    "quoted_text",
    "report_lines",
    "sequence",
    "some",
]


Describe: TypeAlias = Callable[[int], bytes]  # id -> bytes of the token


def report_lines(
    pretokens: Sequence[ExplainedPretoken], num_merges: int, describe: Describe, parts: Sequence[str], *, color: bool
) -> Iterator[str]:
    """Yields the lines of the text report, except the summary."""
    first_seen: dict[tuple[bytes, tuple[int, ...]], int] = {}
    shown = pretokens[: limits.MAX_PRETOKENS_SHOWN]
    for number, pretoken in enumerate(shown, start=1):
        yield ""
        yield heading(number, pretoken)
        earlier = first_seen.setdefault((pretoken.text, tuple(pretoken.ids)), number)
        if earlier != number:
            yield "  " + translate("as pretoken {number}: ids {ids}", number=earlier, ids=list(pretoken.ids))
        else:
            yield from ("  " + line for line in _pretoken(pretoken, describe, parts, color=color))
    left_out = len(pretokens) - len(shown)
    if left_out:
        merges = num_merges - sum(len(pretoken.merges) for pretoken in shown)
        yield ""
        yield translate(
            "… {pretokens} more with {merges}: too long to show here; the JSON has them all",
            pretokens=counted(left_out, "pretoken"),
            merges=counted(merges, "merge"),
        )


def _pretoken(pretoken: ExplainedPretoken, describe: Describe, parts: Sequence[str], *, color: bool) -> Iterator[str]:
    if pretoken.part is not None:
        yield part_words(pretoken.part, parts)
    if pretoken.special:
        yield translate("a special token, matched whole: ids {ids}", ids=list(pretoken.ids))
    elif pretoken.lattice is not None:
        yield from _lattice(pretoken, pretoken.lattice)
    elif pretoken.attempts is not None:
        yield from attempt_words(pretoken, pretoken.attempts, describe)
    elif pretoken.whole and not pretoken.merges:
        yield _whole(pretoken)
    elif pretoken.by_merges:
        yield from _merges(pretoken, describe, color=color)
    else:
        yield sequence(pretoken.ids, describe, color=color)
        tokens = counted(len(pretoken.ids), "token")
        yield translate("segmented into {tokens}; this model has no steps to show", tokens=tokens)
        yield translate("ids {ids}", ids=some(pretoken.ids))


def _whole(pretoken: ExplainedPretoken) -> str:
    message = "the whole pretoken is in the vocabulary, which this model looks up first: ids {ids}"
    return translate(message, ids=list(pretoken.ids))


def _more(left_out: int, noun: str) -> str:
    message = "… {number} more: too long to show here; the JSON has them all"
    return translate(message, number=counted(left_out, noun))


def _merges(pretoken: ExplainedPretoken, describe: Describe, *, color: bool) -> Iterator[str]:
    if pretoken.whole:
        yield _whole(pretoken)
        yield translate("merging gives the same result:")
    last = list(pretoken.start_ids)
    sequences = symbol_sequences(pretoken)
    yield sequence(next(sequences), describe, color=color)
    agenda = pretoken.agenda
    if agenda is not None:
        yield from frozen_words(agenda, describe)
        for step in agenda_steps(pretoken, agenda, describe):
            yield "-- " + step.words
            if not step.is_stale:
                last = next(sequences)
                yield sequence(last, describe, color=color)
    else:
        for merge, last in zip(pretoken.merges[: limits.MAX_MERGES_SHOWN], sequences, strict=False):
            yield "-- " + merge_words(merge, describe)
            yield sequence(last, describe, color=color)
    left_out = len(pretoken.merges) - limits.MAX_MERGES_SHOWN
    if left_out > 0:
        yield _more(left_out, "merge")
    if agenda is not None:
        yield agenda_totals(agenda)
    elif len(pretoken.ids) > 1 or pretoken.merges:
        yield translate("no mergeable pair left: stop")
    else:
        yield translate("one symbol: nothing to merge")
    for split in pretoken.splits[: limits.MAX_MERGES_SHOWN]:
        yield "-- " + resegmented_words(split, describe)
    more = len(pretoken.splits) - limits.MAX_MERGES_SHOWN
    if more > 0:
        yield _more(more, "piece")
    if pretoken.splits:
        yield sequence(pretoken.ids, describe, color=color)
    elif left_out <= 0 and last != list(pretoken.ids):
        yield translate("symbols without an entry become bytes (byte fallback) or the unknown token:")
        yield sequence(pretoken.ids, describe, color=color)
    yield translate("ids {ids}", ids=some(pretoken.ids))


def _lattice(pretoken: ExplainedPretoken, lattice: Lattice) -> Iterator[str]:
    edges = counted(lattice.num_edges, "edge")
    yield translate("lattice of {edges}; score of the best segmentation (Viterbi):", edges=edges)
    yield _path(pretoken, lattice.best)
    for path in lattice.others:
        yield translate("next best: {path}", path=_path(pretoken, path))
    if any(edge.id is None for edge in lattice.best.edges):
        yield translate("an unknown character scores 10 less than the lowest-scoring piece")
        if len(pretoken.ids) < len(lattice.best.edges):
            yield translate("unknown characters in a row are fused into one unknown token")
    yield translate("ids {ids}", ids=some(pretoken.ids))


def _path(pretoken: ExplainedPretoken, path: Segmentation) -> str:
    shown = path.edges[: limits.MAX_SYMBOLS_SHOWN]
    more = " " + _left_out(len(path.edges) - len(shown)) if len(path.edges) > len(shown) else ""
    return f"{path.score:.2f} = " + " + ".join(edge_words(pretoken, edge) for edge in shown) + more


def edge_words(pretoken: ExplainedPretoken, edge: Edge) -> str:
    """Formats a piece with its score."""
    return f"{visible(pretoken.text[edge.start : edge.end])} ({edge.score:.2f})"


def attempt_words(pretoken: ExplainedPretoken, attempts: WordPieceAttempts, describe: Describe) -> Iterator[str]:
    """Yields a line for each WordPiece match in a pretoken, with the longer prefixes that were tried before."""
    if attempts.is_too_long:
        message = "longer than max_input_chars_per_word: the whole pretoken is unknown, ids {ids}"
        yield translate(message, ids=some(pretoken.ids))
        return
    for start, end, id in attempts.found[: limits.MAX_MERGES_SHOWN]:
        name, match = describe(id), pretoken.text[start:end]
        prefix = name.removesuffix(match) if name.endswith(match) else b""  # such as "##"
        yield f"{visible(name)}  id {id}; {_tried(pretoken.text[start:], end - start, prefix)}"
    left_out = len(attempts.found) - limits.MAX_MERGES_SHOWN
    if left_out > 0:
        yield _more(left_out, "entry")
    if attempts.stuck_at is not None:
        rest = quoted_text(pretoken.text[attempts.stuck_at :])
        if attempts.stuck_at:
            yield translate(
                "no entry that continues a word is a prefix of {rest}: the whole pretoken is unknown", rest=rest
            )
        else:
            yield translate("no entry is a prefix of {rest}: the whole pretoken is unknown", rest=rest)
    yield translate("ids {ids}", ids=some(pretoken.ids))


def _tried(rest: bytes, taken: int, prefix: bytes) -> str:
    """Describes the longer prefixes of `rest` that were tried before a match and are not in the vocabulary.

    At most three are named, each with `prefix` (such as ``##``) in front.
    """
    text = rest.decode("utf-8", "replace")
    longer = range(len(text), len(rest[:taken].decode("utf-8", "replace")), -1)
    if not longer:
        return translate("the whole rest")
    if len(text) > 60:
        return translate("{candidates} not in the vocabulary", candidates=counted(len(longer), "longer candidate"))
    named = ", ".join(visible(prefix + text[:length].encode()) for length in longer[:3])
    if len(longer) > 3:
        return translate("no entry: {names} and {number} more", names=named, number=len(longer) - 3)
    return translate("no entry: {names}", names=named)


def part_words(part: int, parts: Sequence[str]) -> str:
    """Returns a phrase for the regex alternative that matched a pretoken."""
    shown = visible(parts[part].encode())
    shown = shown if len(shown) <= limits.MAX_PART_SHOWN else shown[: limits.MAX_PART_SHOWN - 1] + "…"
    message = "matched by regex alternative {number} of {all}: {regex}"
    return translate(message, number=part + 1, all=len(parts), regex=shown)


def merge_words(merge: ExplainedMerge, describe: Describe) -> str:
    """Formats a merge with its rank and the other pairs that could have merged."""

    def name(id: int) -> str:
        return visible(describe(id))

    pair = f"({merge.left}, {merge.right}) {name(merge.left)}+{name(merge.right)} -> {name(merge.result)}"
    said = f"{pair}  " + translate("rank {rank}, id {id}", rank=merge.rank, id=merge.result)
    if merge.rivals:
        rivals = [f"({left}, {right}) {name(left)}+{name(right)} rank {rank}" for left, right, rank in merge.rivals]
        said += translate("; ") + translate("other candidates: {pairs}", pairs=", ".join(rivals))
    if merge.num_rivals > len(merge.rivals):
        said += translate("; ") + counted(merge.num_rivals, "other mergeable position")
    return said


def heading(number: int, pretoken: ExplainedPretoken) -> str:
    """Formats a pretoken with its byte range."""
    start, end = pretoken.byte_span
    message = "pretoken {number}: {text}, bytes {start} to {end}"
    return translate(message, number=number, text=quoted_text(pretoken.text), start=start, end=end)


def sequence(ids: Sequence[int], describe: Describe, *, color: bool = False) -> str:
    """Formats symbols up to a maximum number. Draws them as one text, to show where symbols split a character."""
    drawing = draw((id, describe(id)) for id in ids[: limits.MAX_SYMBOLS_SHOWN])
    more = " " + _left_out(len(ids) - len(drawing)) if len(ids) > len(drawing) else ""
    if color:
        return to_terminal(drawing, color=True, break_lines=False) + more
    return " ".join(look.shown for look in drawing) + more


def some(ids: Sequence[int]) -> str:
    """Formats a list of ids, truncated."""
    most = limits.MAX_SYMBOLS_SHOWN
    if len(ids) <= most:
        return str(list(ids))
    return str(list(ids[:most]))[:-1] + f", {_left_out(len(ids) - most)}]"


def _left_out(number: int) -> str:
    return translate("… {number} more", number=number)


def quoted_text(data: bytes) -> str:
    """Formats a text in quotes and in visible form, truncated."""
    shown = visible(data[:240])
    return f'"{shown}"' if len(data) <= 240 and len(shown) <= 60 else f'"{shown[:60]}…"'

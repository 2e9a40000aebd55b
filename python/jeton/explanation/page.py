"""HTML report of an explanation: the drawn tokens, then one collapsible table for each distinct pretoken."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from ..drawing import Drawing, visible
from ..drawing import to_html as drawing_html
from ..util.messages import counted
from . import limits
from .agenda_report import agenda_steps, agenda_totals, frozen_words, resegmented_words
from .facts import ExplainedPretoken, Lattice, symbol_sequences
from .text_report import Describe, attempt_words, heading, merge_words, part_words, sequence, some

__all__ = ["to_html"]

_CSS = (
    ".jeton-explanation table{border-collapse:collapse;font-family:ui-monospace,monospace}"
    ".jeton-explanation td,.jeton-explanation th{padding:1px 10px 1px 0;text-align:left;vertical-align:top}"
    ".jeton-explanation summary{cursor:pointer;margin-top:4px}"
    ".jeton-explanation .rivals{opacity:.75}"
    ".jeton-explanation .best{font-weight:bold}"
)


def to_html(
    summary: str,
    drawing: Drawing,
    num_tokens: int,
    pretokens: Sequence[ExplainedPretoken],
    describe: Describe,
    parts: Sequence[str],
) -> str:
    """Renders an explanation as a self-contained HTML fragment without scripts. `parts`: the pattern's alternatives."""
    inside = [f"<p>{html.escape(summary)}</p>", drawing_html(drawing)]
    if num_tokens > limits.MAX_TOKENS_SHOWN:
        inside.append(f"<p>… and {num_tokens - limits.MAX_TOKENS_SHOWN:,} tokens more</p>")
    seen: set[tuple[bytes, tuple[int, ...]]] = set()
    for number, pretoken in enumerate(pretokens[: limits.MAX_PRETOKENS_SHOWN], start=1):
        key = (pretoken.text, tuple(pretoken.ids))
        if key not in seen:
            seen.add(key)
            inside.append(_pretoken(number, pretoken, describe, parts))
    left_out = len(pretokens) - limits.MAX_PRETOKENS_SHOWN
    if left_out > 0:
        inside.append(f"<p>… {counted(left_out, 'pretoken')} more: too long to show here; the JSON has them all</p>")
    return f'<div class="jeton-explanation"><style>{_CSS}</style>{"".join(inside)}</div>'


def _pretoken(number: int, pretoken: ExplainedPretoken, describe: Describe, parts: Sequence[str]) -> str:
    title = html.escape(f"{heading(number, pretoken)} · ids {some(pretoken.ids)}")
    part = "" if pretoken.part is None else f"<div>{html.escape(part_words(pretoken.part, parts))}</div>"
    if pretoken.lattice is not None and not pretoken.special:
        inside = _lattice(pretoken, pretoken.lattice)
    elif pretoken.attempts is not None and not pretoken.special:
        lines = attempt_words(pretoken, pretoken.attempts, describe)
        inside = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
    elif pretoken.merges and not pretoken.special:
        inside = _merges(pretoken, describe)
    else:
        mark = " · special" if pretoken.special else " · whole" if pretoken.whole else ""
        return f"<div>{title}{mark}</div>"
    return f"<details><summary>{title}</summary>{part}{inside}</details>"


def _merges(pretoken: ExplainedPretoken, describe: Describe) -> str:
    sequences, agenda = symbol_sequences(pretoken), pretoken.agenda
    rows = [_row(["", "", sequence(next(sequences), describe), ""])]
    if agenda is not None:
        rows += [_row(["", words, "", ""]) for words in frozen_words(agenda, describe)]
        for step in agenda_steps(pretoken, agenda, describe):
            after = "" if step.is_stale else sequence(next(sequences), describe)
            rows.append(_row([f"{step.score:g}", step.words, after, ""]))
        rows.append(_row(["", agenda_totals(agenda), "", ""]))
    else:
        for merge, ids in zip(pretoken.merges[: limits.MAX_MERGES_SHOWN], sequences, strict=False):
            merged, _, rivals = merge_words(merge, describe).partition("; ")
            rows.append(_row([str(merge.rank), merged, sequence(ids, describe), rivals]))
    left_out = len(pretoken.merges) - limits.MAX_MERGES_SHOWN
    if left_out > 0:
        rows.append(f'<tr><td colspan="4">… {counted(left_out, "merge")} more; the JSON has them all</td></tr>')
    for split in pretoken.splits[: limits.MAX_MERGES_SHOWN]:
        rows.append(_row(["", resegmented_words(split, describe), "", ""]))
    if pretoken.splits:
        rows.append(_row(["", "", sequence(pretoken.ids, describe), ""]))
    return _table(["rank" if agenda is None else "score", "merge", "symbols", ""], rows)


def _lattice(pretoken: ExplainedPretoken, lattice: Lattice) -> str:
    best = set(lattice.best.edges)
    rows = []
    for edge in lattice.edges[: limits.MAX_MERGES_SHOWN]:
        shown = visible(pretoken.text[edge.start : edge.end])
        cells = [f"{edge.start} to {edge.end}", shown, "unknown" if edge.id is None else str(edge.id)]
        rows.append(_row([*cells, f"{edge.score:.2f}"], "best" if edge in best else ""))
    left_out = lattice.num_edges - limits.MAX_MERGES_SHOWN
    if left_out > 0:
        rows.append(f'<tr><td colspan="4">… {counted(left_out, "piece")} more</td></tr>')
    scores = ", ".join(f"{path.score:.2f}" for path in lattice.others)
    after = f"; next best: {scores}" if scores else ""
    return f"<div>score of the best segmentation: {lattice.best.score:.2f}{after}</div>" + _table(
        ["bytes", "piece", "id", "score"], rows
    )


def _row(cells: Sequence[str], kind: str = "") -> str:
    """Renders a table row of four cells; the last cell is de-emphasized."""
    asides = ["", "", "", ' class="rivals"']
    inside = "".join(f"<td{aside}>{html.escape(cell)}</td>" for cell, aside in zip(cells, asides, strict=True))
    return f'<tr class="{kind}">{inside}</tr>' if kind else f"<tr>{inside}</tr>"


def _table(titles: Iterable[str], rows: Iterable[str]) -> str:
    return f"<table><tr>{''.join(f'<th>{title}</th>' for title in titles)}</tr>{''.join(rows)}</table>"

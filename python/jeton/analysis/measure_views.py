"""Formats the records of a `MeasureTable` as text, HTML and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from html import escape
from typing import Any

from ..drawing.display_width import aligned, display_width, elided
from ..util.messages import translate

__all__ = ["table_csv", "table_html", "table_text"]

NONE = "–"
GAP = "  "
# Minimum width of a shortened name, in columns of the terminal. Figures are omitted only if such names do not fit.
MIN_NAME = 8
MAX_BASELINE = 12  # maximum width of the baseline's name in a heading, in columns of the terminal
# Figures that a table omits if it is too wide, in this order.
IMPLIED = ("chars/tok", "whole words", "ms/MB", "vs")
LEGEND = "tok/word: words of scripts with spaces; tok/char: characters of scripts without (Chinese, Japanese, Thai, …)"

Records = Sequence[dict[str, Any]]  # `MeasureTable.records`

# Heading -> figure of a record, its factor and its format
_FIGURES = {
    "tokens": ("tokens", 1, ",d"),
    "bytes/tok": ("bytes_per_token", 1, ".3f"),
    "chars/tok": ("chars_per_token", 1, ".3f"),
    "tok/word": ("tokens_per_word", 1, ".3f"),
    "tok/char": ("tokens_per_unspaced_char", 1, ".3f"),
    "whole words": ("whole_word_share", 1, ".1%"),
    "unknown": ("unknown", 1, ",d"),
    "ms/MB": ("seconds_per_mb", 1000, ".1f"),
}


def table_csv(records: Records) -> str:
    """Formats flat records as CSV with a header; each line ends with a newline."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def table_text(records: Records, baseline: str, width: int | None) -> str:
    """Formats the table as lines of text; see `MeasureTable.to_terminal`."""
    headings, lines = _cells(records, baseline)
    if _num_tokenizers(records) == 1:
        headings, lines = [headings[0], *headings[2:]], [[line[0], *line[2:]] for line in lines]
    num_names = headings.index("tokens")
    for left_out in ("", *IMPLIED):
        for at in (index for index, heading in enumerate(headings) if left_out and heading.startswith(left_out)):
            headings, lines = headings[:at] + headings[at + 1 :], [line[:at] + line[at + 1 :] for line in lines]
            break
        shown = [translate(heading) for heading in headings]
        sizes = [max(map(display_width, column)) for column in zip(shown, *lines, strict=True)]
        if width is None or sum(sizes) + len(GAP) * (len(sizes) - 1) <= width:
            break
        figures = sum(len(GAP) + size for size in sizes[num_names:])
        room = max(width - figures - len(GAP) * (num_names - 1), 0)
        sizes[:num_names] = _shrunk(sizes[:num_names], room)
        if sum(sizes[:num_names]) <= room:
            break
    elided_names = [[*map(elided, line[:num_names], sizes), *line[num_names:]] for line in [shown, *lines]]
    drawn = aligned(elided_names, num_names, sizes)
    legend = translate(LEGEND)
    if "tok/char" in headings and (width is None or display_width(legend) <= width):
        drawn.append(legend)
    return "\n".join(drawn)


def table_html(records: Records, baseline: str) -> str:
    """Formats the table as an HTML fragment."""
    headings, lines = _cells(records, baseline)
    num_names = headings.index("tokens")

    def row(texts: Sequence[str], tag: str) -> str:
        cells = (
            f'<{tag} style="text-align:{"left" if index < num_names else "right"}">{escape(text)}</{tag}>'
            for index, text in enumerate(texts)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(row(line, "td") for line in lines)
    legend = f"<caption>{escape(LEGEND)}</caption>" if "tok/char" in headings else ""
    return f"<table>{legend}<thead>{row(headings, 'th')}</thead><tbody>{body}</tbody></table>"


def _cells(records: Records, baseline: str) -> tuple[list[str], list[list[str]]]:
    """Returns the headings, and a line of formatted cells for each record. Figures that no record has are omitted."""
    shown = {
        heading: form
        for heading, form in _FIGURES.items()
        if any(each[form[0]] is not None and (heading != "unknown" or each["unknown"]) for each in records)
    }
    num_tokenizers = _num_tokenizers(records)
    if num_tokenizers > 1:
        shown[_baseline(baseline)] = ("relative_tokens", 1, ".3f")
    lines = []
    for index, each in enumerate(records):
        figures = [_format(each[name], factor, form) for name, factor, form in shown.values()]
        is_total = index >= num_tokenizers and index == len(records) - num_tokenizers
        source = translate("total") if is_total else each["source"] if index % num_tokenizers == 0 else ""
        lines.append([source, each["tokenizer"], *figures])
    return ["source", "tokenizer", *shown], lines


def _num_tokenizers(records: Records) -> int:
    return len({each["tokenizer"] for each in records})


def _baseline(name: str) -> str:
    """Returns the heading of the column with relative numbers of tokens."""
    return "vs " + (name if display_width(name) <= MAX_BASELINE else translate("baseline"))


def _format(value: float | None, factor: int, form: str) -> str:
    return NONE if value is None else format(value * factor, form)


def _shrunk(sizes: Sequence[int], room: int) -> list[int]:
    """Reduces the widths of names, the largest first, until the sum is at most `room` or all are at most `MIN_NAME`."""
    found = list(sizes)
    while sum(found) > room and max(found) > MIN_NAME:
        found[found.index(max(found))] -= 1
    return found

"""Formats the rows of a `LanguageTable` as text and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from ...drawing.display_width import aligned, elided
from ...util.messages import translate
from ..measure_table import Measure

__all__ = ["Row", "languages_html", "languages_text"]

NONE = "–"
MAX_HEADING = 20  # maximum width of a tokenizer's name, in characters
HEADINGS = {"language": ("language", "script", "family")}
TITLES = {
    "relative": "tokens relative to {language}",
    "bytes_per_token": "bytes per token",
    "chars_per_token": "characters per token",
    "fertility": "tokens per word; c: tokens per character, for scripts without spaces between words",
}
# Darkest background of HTML cells, for at least eight times as many tokens as in the baseline language.
RED, GREEN, BLUE = 31, 95, 168


class Row(NamedTuple):
    """A line of the table: names, and for each tokenizer the relative number of tokens and the measures."""

    names: Sequence[str]
    relative: Sequence[float]
    cells: Sequence[Measure]


def languages_text(
    by: str, figure: str, baseline: str, tokenizers: Sequence[str], rows: Sequence[Row], left_out: Sequence[str]
) -> str:
    """Formats the table as lines of text; see `LanguageTable.to_terminal`."""
    headings = list(HEADINGS.get(by, (by, "languages")))
    num_names = len(headings)
    headings = [translate(heading) for heading in headings] + [elided(name, MAX_HEADING) for name in tokenizers]
    lines = [[*map(_local, row.names, [*HEADINGS.get(by, (by, ""))]), *_figures(figure, row)] for row in rows]
    drawn = [_title(baseline, by, figure), *aligned([headings, *lines], num_names)]
    if left_out:
        drawn.append(translate("left out as incomplete: {languages}", languages=", ".join(left_out)))
    return "\n".join(drawn)


def languages_html(baseline: str, tokenizers: Sequence[str], rows: Sequence[Row]) -> str:
    """Formats the relative numbers of tokens as an HTML table with shaded cells."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in (*HEADINGS["language"], *tokenizers))
    body = []
    for row in rows:
        names = "".join(f"<td style='text-align:left'>{escape(text)}</td>" for text in row.names)
        body.append(f"<tr>{names}{''.join(map(_html_cell, row.relative))}</tr>")
    caption = f"<caption>{escape(_title(baseline, 'language', 'relative'))}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _html_cell(value: float) -> str:
    alpha = min(max(value - 1, 0) / 7, 1)
    color = "#fff" if alpha > 0.5 else "inherit"
    return f"<td style='background:rgba({RED},{GREEN},{BLUE},{alpha:.2f});color:{color}'>{value:.2f}</td>"


def _local(name: str, kind: str) -> str:
    """Translates the name of a language, script or family. `kind` distinguishes scripts from languages of that name."""
    message = f"{name} ({kind})"
    found = translate(message)
    return name if found == message else found


def _title(baseline: str, by: str, figure: str) -> str:
    title = translate(TITLES[figure], language=_local(baseline, "language"))
    if by == "language":
        return title
    return title + translate(", median of the languages" if figure == "relative" else ", all texts")


def _figures(figure: str, row: Row) -> Iterator[str]:
    if figure == "relative":
        return (f"{value:.2f}" for value in row.relative)
    return map(_FORMS[figure], row.cells)


def _fertility(cell: Measure) -> str:
    """Formats tokens per word, or per character if more tokens are in scripts without spaces than in words."""
    if (cell.unspaced_tokens or 0) > (cell.word_tokens or 0):
        value, unit = cell.tokens_per_unspaced_char, "c"
    else:
        value, unit = cell.tokens_per_word, ""
    return NONE if value is None else f"{value:.2f}{unit}"


_FORMS: dict[str, Callable[[Measure], str]] = {
    "bytes_per_token": lambda cell: f"{cell.bytes_per_token:.2f}",
    "chars_per_token": lambda cell: f"{cell.chars_per_token:.2f}",
    "fertility": _fertility,
}

"""Text and HTML of a `LanguageTable`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Literal

from ...drawing.display_width import display_width, elided

if TYPE_CHECKING:
    from ..measure_table import Measure
    from .table import LanguageTable

__all__ = ["languages_html", "languages_text"]

NONE = "–"
GAP = "  "
MAX_HEADING = 20  # columns of a tokenizer's name
TITLES = {
    "relative": "tokens relative to {}",
    "bytes_per_token": "bytes per token",
    "chars_per_token": "characters per token",
    "fertility": "tokens per word; c: tokens per character, for scripts without spaces between words",
}
# Darkest background of HTML cells, for eight times the tokens and more.
RED, GREEN, BLUE = 31, 95, 168


def languages_text(table: LanguageTable, by: Literal["language", "script", "family"], figure: str) -> str:
    """The table as lines of text; see `LanguageTable.to_terminal`."""
    headings, lines = _cells(table, by, figure)
    sizes = [max(map(display_width, column)) for column in zip(headings, *lines, strict=True)]
    num_names = len(headings) - len(table.tokenizers)
    drawn = [_title(table, by, figure)]
    for line in [headings, *lines]:
        names = (text + " " * (size - display_width(text)) for text, size in zip(line, sizes[:num_names], strict=False))
        figures = (
            " " * (size - display_width(text)) + text
            for text, size in zip(line[num_names:], sizes[num_names:], strict=True)
        )
        drawn.append(GAP.join([*names, *figures]).rstrip())
    if table.left_out:
        drawn.append(f"left out, not complete: {', '.join(table.left_out)}")
    return "\n".join(drawn)


def languages_html(table: LanguageTable) -> str:
    """The relative numbers of tokens as an HTML table with shaded cells."""
    headings = ["language", "script", "family", *table.tokenizers]
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    rows = []
    for language, values in zip(table.languages, table.relative_rows(), strict=True):
        names = "".join(f"<td style='text-align:left'>{escape(text)}</td>" for text in language[1:])
        rows.append(f"<tr>{names}{''.join(map(_html_cell, values))}</tr>")
    caption = f"<caption>{escape(_title(table, 'language', 'relative'))}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _html_cell(value: float) -> str:
    alpha = min(max(value - 1, 0) / 7, 1)
    color = "#fff" if alpha > 0.5 else "inherit"
    return f"<td style='background:rgba({RED},{GREEN},{BLUE},{alpha:.2f});color:{color}'>{value:.2f}</td>"


def _title(table: LanguageTable, by: str, figure: str) -> str:
    name = next(language.name for language in table.languages if language.key == table.baseline)
    title = TITLES[figure].format(name)
    return title + ("" if by == "language" else ", median of the languages" if figure == "relative" else ", all texts")


def _cells(
    table: LanguageTable, by: Literal["language", "script", "family"], figure: str
) -> tuple[list[str], list[list[str]]]:
    """Headings, and formatted lines."""
    tokenizers = [elided(name, MAX_HEADING) for name in table.tokenizers]
    if by == "language":
        rows = zip(table.languages, table.relative_rows(), table.cells, strict=True)
        lines = [[*language[1:], *_figures(figure, relative, cells)] for language, relative, cells in rows]
        return ["language", "script", "family", *tokenizers], lines
    groups = table.groups(by)
    lines = [[each.name, str(len(each.languages)), *_figures(figure, each.relative, each.cells)] for each in groups]
    return [by, "languages", *tokenizers], lines


def _figures(figure: str, relative: tuple[float, ...], cells: tuple[Measure, ...]) -> Iterator[str]:
    if figure == "relative":
        return (f"{value:.2f}" for value in relative)
    return map(_FORMS[figure], cells)


def _fertility(cell: Measure) -> str:
    """Tokens per word, or per character if more tokens are in scripts without spaces."""
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

"""Display width of text in a terminal, in columns (as `wcwidth`)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

__all__ = ["aligned", "display_width", "elided", "padded", "wrapped"]


def display_width(text: str) -> int:
    """Returns the columns that a text takes: 2 for wide characters, 0 for combining marks.

    Terminals disagree on the width of flags and of characters with an emoji variation selector. The larger width is
    used, so a line can be shorter than the limit, but never longer.

    Examples:
        >>> display_width("a天"), display_width("e\\u0301")
        (3, 1)
    """
    return len(text) if text.isascii() else sum(map(_character_width, text))


def elided(name: str, size: int) -> str:
    """Shortens a name to at most `size` columns; removes its beginning, because paths differ at their ends.

    Examples:
        >>> elided("texts/english.txt", 12)
        '…english.txt'
    """
    if display_width(name) <= size:
        return name
    while name and display_width(name) > size - 1:
        name = name[1:]
    return "…" + name


def padded(text: str, size: int) -> str:
    """Adds spaces after a text, or before it if `size` is negative, so that it takes `abs(size)` columns."""
    spaces = " " * (abs(size) - display_width(text))
    return text + spaces if size >= 0 else spaces + text


def aligned(lines: Sequence[Sequence[str]], num_names: int, sizes: Sequence[int] | None = None) -> list[str]:
    """Returns the lines of a table: the first `num_names` columns are aligned left, the others (numbers) right.

    Args:
        lines: the cells.
        num_names: number of columns of names.
        sizes: widths of the columns; None: each column is as wide as its widest cell.

    Examples:
        >>> aligned([["name", "tokens"], ["天", "5"]], 1)
        ['name  tokens', '天         5']
    """
    sizes = sizes or [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    signed = [size if index < num_names else -size for index, size in enumerate(sizes)]
    return ["  ".join(map(padded, line, signed)).rstrip() for line in lines]


# A line can end after spaces, and before or after a wide character. It never ends before closing punctuation or after
# opening punctuation.
_CLOSING = "，。、；：？！）》」』”’…%)]}>,;:?!"
_OPENING = "（《「『“‘([{<"


def wrapped(text: str, size: int) -> list[str]:
    """Wraps a text to lines of at most `size` columns, also in languages without spaces between words.

    Line breaks in the text are kept. A word that is longer than a line is put on a separate line.

    Examples:
        >>> wrapped("分词器的 Python 接口，", 12)
        ['分词器的', 'Python 接', '口，']
        >>> wrapped("one two three", 8)
        ['one two', 'three']
    """
    lines = []
    for paragraph in text.split("\n"):
        line, used = "", 0
        for part in _unbreakable(paragraph):
            width = display_width(part.rstrip(" "))
            if line and used + width > size:
                lines.append(line.rstrip(" "))
                line, used, part = "", 0, part.lstrip(" ")
            line, used = line + part, used + display_width(part)
        lines.append(line.rstrip(" "))
    return lines


def _unbreakable(text: str) -> list[str]:
    """Splits a line into the parts that must not be broken across lines, each with the spaces after it."""
    parts: list[str] = []
    for piece in re.findall(r" +|[^ ]", text):
        last = parts[-1] if parts else ""
        is_open = (
            not last
            or piece[0] == " "
            or piece in _CLOSING
            or last[-1] in _OPENING
            or (last[-1] != " " and _character_width(piece) < 2 and _character_width(last[-1]) < 2)
        )
        if parts and is_open:
            parts[-1] += piece
        else:
            parts.append(piece)
    return parts


@cache
def _character_width(character: str) -> int:
    if character < "\u0300":
        return 1
    if character == "\ufe0f":  # emoji variation selector, which widens the character before it
        return 1
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return 2
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

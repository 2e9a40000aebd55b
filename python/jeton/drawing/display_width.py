"""Display width of text in a terminal, in columns (as `wcwidth`)."""

from __future__ import annotations

import unicodedata
from functools import cache

__all__ = ["display_width", "elided"]


def display_width(text: str) -> int:
    """Returns the columns that a text takes: 2 for wide characters, 0 for combining marks.

    Where terminals differ (flags, characters with an emoji variation selector) it is the larger width, so that lines
    may be short but never overflow.

    Examples:
        >>> display_width("a天"), display_width("e\\u0301")
        (3, 1)
    """
    return len(text) if text.isascii() else sum(map(_character_width, text))


def elided(name: str, size: int) -> str:
    """A name in at most `size` columns; a longer one loses its beginning: paths differ at their ends.

    Examples:
        >>> elided("texts/english.txt", 12)
        '…english.txt'
    """
    if display_width(name) <= size:
        return name
    while name and display_width(name) > size - 1:
        name = name[1:]
    return "…" + name


@cache
def _character_width(character: str) -> int:
    if character < "\u0300":
        return 1
    if character == "\ufe0f":  # emoji variation selector: widens the character before it
        return 1
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return 2
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

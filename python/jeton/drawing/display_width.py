"""How wide text is in a terminal, in cells."""

from __future__ import annotations

import unicodedata
from functools import cache

__all__ = ["display_width"]


def display_width(text: str) -> int:
    """How many cells of a terminal a text takes: 2 for wide characters, none for marks on the letter before.

    Where terminals differ (flags, signs that a selector makes emoji), the wider: a line may be short, and never long.

    Examples:
        >>> display_width("a天"), display_width("e\\u0301")
        (3, 1)
    """
    return len(text) if text.isascii() else sum(map(_character_width, text))


@cache
def _character_width(character: str) -> int:
    if character < "\u0300":
        return 1
    if character == "\ufe0f":  # makes the sign before it as wide as an emoji
        return 1
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return 2
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

"""The order in which runs of both directions stand in a line, for pictures, which place every run themselves.

Source: Unicode Standard Annex 9, of which these rules are applied to runs instead of characters: P2 (the direction of a
paragraph is that of its first strong character), W2 and W7 (numbers), N1 and N2 (what has no direction), I1 and I2
(levels), L2 (reordering).

Left out: pairs of brackets (N0), which have the direction of their neighbors; explicit embeddings, overrides and
isolates, which a drawing shows by number and does not obey; and a run with letters of both directions, which counts as
its first letter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal

from .look_parts import LookPart

__all__ = ["Direction", "direction_of", "visual_order"]

Direction = Literal["ltr", "rtl", "number", ""]

_KINDS: dict[str, Direction] = {"L": "ltr", "R": "rtl", "AL": "rtl", "EN": "number", "AN": "number"}


def direction_of(part: LookPart) -> Direction:
    """The direction of a part: that of its first letter, else of its first digit; empty: it has none of its own.

    Examples:
        >>> from jeton.drawing.look_parts import LookPartKind
        >>> [direction_of(LookPart(LookPartKind.TEXT, shown, shown)) for shown in ("(a", "\\u05d0", "12", "?!")]
        ['ltr', 'rtl', 'number', '']
    """
    if part.side or part.shown != part.text:
        return part.side
    found = [_KINDS[kind] for kind in map(unicodedata.bidirectional, part.shown) if kind in _KINDS]
    return next((kind for kind in found if kind != "number"), found[0] if found else "")


def visual_order(directions: Sequence[Direction], base: Literal["ltr", "rtl"]) -> list[int]:
    """The runs of a line from left to right, as indices.

    Args:
        directions: of each run, in the order of the text.
        base: the direction of the paragraph.

    Examples:
        >>> visual_order(["ltr", "", "rtl", "", "rtl", "", "ltr"], "ltr")
        [0, 1, 4, 3, 2, 5, 6]
        >>> visual_order(["rtl", "", "number"], "rtl")
        [2, 1, 0]
    """
    levels = _levels(directions, base)
    order = list(range(len(levels)))
    for level in range(max(levels, default=0), 0, -1):
        start = 0
        while start < len(order):
            end = start
            while end < len(order) and levels[order[end]] >= level:
                end += 1
            order[start:end] = order[start:end][::-1]
            start = max(end, start + 1)
    return order


def _levels(directions: Sequence[Direction], base: Literal["ltr", "rtl"]) -> list[int]:
    lowest = int(base == "rtl")
    known: list[Direction] = []  # numbers behind a left-to-right letter are as it
    strong: Direction = base
    for direction in directions:
        strong = direction if direction in ("ltr", "rtl") else strong
        known.append("ltr" if direction == "number" and strong == "ltr" else direction)
    levels = []
    for index, direction in enumerate(known):
        if not direction:
            before = next((other for other in reversed(known[:index]) if other), base)
            after = next((other for other in known[index + 1 :] if other), base)
            sides = {"rtl" if side == "number" else side for side in (before, after)}
            direction = sides.pop() if len(sides) == 1 else base
        levels.append(lowest + (direction == "ltr") if lowest else {"ltr": 0, "rtl": 1, "number": 2}[direction])
        if lowest and direction == "number":
            levels[-1] = 2
    return levels

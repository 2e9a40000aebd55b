"""Visual order of left-to-right and right-to-left runs in a line, for SVG, where every run has explicit coordinates.

Source: Unicode Standard Annex 9. The rules for characters are applied to whole runs: P2 (a paragraph has the direction
of its first strong character), W2 and W7 (numbers), N1 and N2 (neutrals), I1 and I2 (levels), L2 (reordering).

Left out: pairs of brackets (N0; here, a bracket gets the direction of its neighbors); explicit embeddings, overrides
and isolates (a drawing shows these code points but does not apply them); runs of mixed directions (here, such a run
gets the direction of its first letter).
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
    """Returns the direction of a part: of the first letter, or else of the first digit, or else empty (neutral).

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
    """Returns the indices of a line's runs in visual order, from left to right.

    Args:
        directions: direction of each run, in logical order.
        base: direction of the paragraph.

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
    known: list[Direction] = []  # by rule W7, a number after a left-to-right letter is left-to-right
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

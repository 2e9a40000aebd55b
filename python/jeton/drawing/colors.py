"""A color for every id, always and everywhere the same.

Colors run out and not everybody sees them, so whoever draws gives neighbors a second cue: underline, or a border.
"""

from __future__ import annotations

__all__ = ["HUES", "hue"]

HUES = 360

# Steps of the golden angle spread any run of ids around the circle of hues without repeating (Vogel 1979).
GOLDEN_ANGLE = 137.508


def hue(id: int) -> int:
    """The hue of an id, in degrees, 0 to 359.

    Examples:
        >>> [hue(id) for id in range(4)]
        [0, 138, 275, 53]
    """
    return round(id * GOLDEN_ANGLE) % HUES

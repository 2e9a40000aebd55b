"""Deterministic color of every id.

Colors repeat, and some readers cannot distinguish them. Renderers therefore add a second cue to adjacent tokens: a gap,
an underline or a border.
"""

from __future__ import annotations

__all__ = ["HUES", "hue"]

HUES = 360

# Multiples of the golden angle spread consecutive ids evenly around the hue circle (Vogel 1979).
GOLDEN_ANGLE = 137.508


def hue(id: int) -> int:
    """Returns the hue of an id in degrees, 0 to 359.

    Examples:
        >>> [hue(id) for id in range(4)]
        [0, 138, 275, 53]
    """
    return round(id * GOLDEN_ANGLE) % HUES

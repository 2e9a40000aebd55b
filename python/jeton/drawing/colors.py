"""Color of a token as a function of its bytes, so that equal tokens of two vocabularies have the same color.

Different tokens can have the same color, and some readers cannot distinguish colors. Renderers therefore add a second
cue between adjacent tokens: a gap, an underline or a border.
"""

from __future__ import annotations

from zlib import crc32

__all__ = ["HUES", "hue"]

HUES = 360


def hue(data: bytes) -> int:
    """Returns the hue of a token's bytes in degrees, 0 to 359: their CRC-32 (ISO 3309, as in gzip) modulo 360.

    Examples:
        >>> [hue(token) for token in (b"st", b"raw", b"berry")]
        [351, 269, 27]
    """
    return crc32(data) % HUES

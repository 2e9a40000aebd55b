"""Divides documents into parts by a hash of their bytes. A document keeps its part in each run and in a larger corpus.

The hash is the first 64 bits of BLAKE2b of the UTF-8 bytes of the text, or of the messages of a conversation as JSON. A
part is a range of hashes, so equal documents are in the same part, and the part of a document does not depend on other
documents. Cost: a microsecond for each document and a second for each gigabyte.
"""

from __future__ import annotations

from fractions import Fraction
from hashlib import blake2b
from typing import TypeAlias

from ..corpus.batches import DocumentChunk
from ..util.arguments import is_finite, wrong

__all__ = ["HASH_BITS", "Share", "bounds_of", "documents_in", "hash_of"]

HASH_BITS = 64
Share: TypeAlias = float | Fraction  # share of all possible hashes, from 0 to 1


def hash_of(document: bytes) -> int:
    """Returns the hash of a document.

    Examples:
        >>> hash_of(b"to be")
        5753215433756860322
    """
    return int.from_bytes(blake2b(document, digest_size=HASH_BITS // 8).digest(), "big")


def documents_in(chunk: DocumentChunk, hash_range: tuple[int, int]) -> DocumentChunk:
    """Returns the documents of a chunk whose hashes are in a range."""
    start, end = hash_range
    return chunk.select([index for index, text in enumerate(chunk.texts.to_list()) if start <= hash_of(text) < end])


def bounds_of(shares: object) -> tuple[int, int]:
    """Converts two shares (from 0 to 1) of all hashes to a range of hashes. The float 0.1 means exactly 1/10.

    Raises:
        ConfigError: `shares` is not a pair of ascending shares, or the range is empty.

    Examples:
        >>> bounds_of((0, 0.5)), bounds_of((0.5, 1))
        ((0, 9223372036854775808), (9223372036854775808, 18446744073709551616))
    """
    if isinstance(shares, tuple | list) and len(shares) == 2 and all(map(_is_share, shares)):
        start, end = (int(Fraction(str(share)) * (1 << HASH_BITS)) for share in shares)
        if start < end:
            return start, end
    raise wrong("hash_range", shares, "a pair of numbers from 0 to 1, the first of which is smaller")


def _is_share(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return False
    return is_finite(value) and 0 <= value <= 1

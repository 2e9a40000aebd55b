"""Compiled character maps of SentencePiece's named normalization rules.

The core compiles a quarter of a million rules to a map in 0.35 s, which is longer than training on a small corpus
takes. So the compiled maps are stored in files, compressed by zlib. ``tools/character_maps.py`` writes them, and a test
compares them with the core.
"""

from __future__ import annotations

import os
import zlib

from ... import _core

__all__ = ["NAMES", "character_map"]

NAMES = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")


def character_map(name: str) -> bytes:
    """Returns the character map of a named set of rules, in the format of a ``.model``.

    Raises:
        ConfigError: there are no rules with this name.

    Examples:
        >>> len(character_map("nmt_nfkc"))
        240007
    """
    if name not in NAMES:
        return _core.character_map(name, [])  # raises ConfigError
    with open(os.path.join(os.path.dirname(__file__), f"{name}.zlib"), "rb") as file:
        return zlib.decompress(file.read())

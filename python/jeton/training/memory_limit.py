"""Memory limit of counting and learning: as passed by the caller, or a quarter of the available memory."""

from __future__ import annotations

import os
import re
import tempfile
from fractions import Fraction
from typing import TypeAlias

from .. import _core
from ..errors import ConfigError
from ..machine import available

__all__ = ["MemoryOptions", "make_memory", "parse_bytes"]

# (limit as for `parse_bytes`, folder for spilled data)
MemoryOptions: TypeAlias = "tuple[int | str | None, str | os.PathLike[str] | None]"

UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
    "ti": 1 << 40,
}
MIN_BYTES = 1 << 20


def parse_bytes(limit: int | str | None) -> int:
    """Parses a limit in bytes: an integer, or a string such as ``"500MB"`` or ``"2GiB"``; None: `available` / 4.

    Raises:
        ConfigError: another type or syntax, or below 1 MiB.

    Examples:
        >>> parse_bytes("500MB"), parse_bytes("1.5GiB"), parse_bytes(1 << 30)
        (500000000, 1610612736, 1073741824)
    """
    if limit is None:
        return max(available() // 4, MIN_BYTES)
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", limit, re.IGNORECASE)
        value = int(Fraction(match[1]) * UNITS[(match[2] or "").lower()]) if match else None
    else:
        value = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
    if value is None or not MIN_BYTES <= value < 1 << 62:
        example = 'expected at least 1 MiB, such as 500_000_000, "500MB" or "2GiB"'
        message = f"memory_limit={limit!r} is not a valid amount of memory: {example}"
        raise ConfigError(message, option="memory_limit")
    return value


def make_memory(limit: int | str | None = None, folder: str | os.PathLike[str] | None = None) -> _core.Memory:
    """Builds the core's memory limit, with the folder for memory-mapped files beyond it."""
    return _core.Memory(parse_bytes(limit), os.fspath(folder or tempfile.gettempdir()))

"""How much memory counting may take: what the caller says, or a quarter of what there is."""

from __future__ import annotations

import os
import re
import tempfile
from fractions import Fraction
from typing import TypeAlias

from .. import _core
from ..errors import ConfigError
from ..machine import available

__all__ = ["Within", "bytes_of", "memory"]

# A limit as `bytes_of` takes it, and the folder for what exceeds it
Within: TypeAlias = "tuple[int | str | None, str | os.PathLike[str] | None]"

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
LEAST = 1 << 20


def bytes_of(limit: int | str | None) -> int:
    """A limit in bytes: an integer, or a string as ``"500MB"`` or ``"2GiB"``; None is a quarter of `available`.

    Raises:
        ConfigError: it is neither, or under 1 MiB.

    Examples:
        >>> bytes_of("500MB"), bytes_of("1.5GiB"), bytes_of(1 << 30)
        (500000000, 1610612736, 1073741824)
    """
    if limit is None:
        return max(available() // 4, LEAST)
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", limit, re.IGNORECASE)
        value = int(Fraction(match[1]) * UNITS[(match[2] or "").lower()]) if match else None
    else:
        value = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
    if value is None or not LEAST <= value < 1 << 62:
        message = f'memory_limit={limit!r} is no amount of memory from 1 MiB on, as in 500_000_000, "500MB" or "2GiB"'
        raise ConfigError(message, option="memory_limit")
    return value


def memory(limit: int | str | None = None, folder: str | os.PathLike[str] | None = None) -> _core.Memory:
    """A limit for what the core holds from now on, and the folder for what exceeds it."""
    return _core.Memory(bytes_of(limit), os.fspath(folder or tempfile.gettempdir()))

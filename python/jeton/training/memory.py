"""How much memory counting may take: what the caller says, or a quarter of what there is.

Source of the limits of containers: the kernel's cgroup-v1 and cgroup-v2 documentation.
"""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path

from ..errors import ConfigError

__all__ = ["available", "bytes_of"]

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
FALLBACK = 8 << 30  # where the system does not say how much memory it has
CGROUP = Path("/sys/fs/cgroup")


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


def available() -> int:
    """The bytes of memory that this process may have: the machine's, or its container's where that is less.

    Examples:
        >>> available() > 1 << 20
        True
    """
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        machine = FALLBACK
    return min([machine if machine > 0 else FALLBACK, *_container_limits()])


def _container_limits() -> list[int]:
    """What the cgroups of this process allow, where they are limited."""
    limits = []
    for path in _limit_files():
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        if text.isdigit():  # else "max"
            limits.append(int(text))
    return [limit for limit in limits if limit > 0]


def _limit_files() -> list[Path]:
    """Where the limits of this process's cgroup and of those above it stand."""
    files = [CGROUP / "memory.max", CGROUP / "memory" / "memory.limit_in_bytes"]
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return files
    for line in lines:
        _, controllers, name = line.split(":", 2)
        root, leaf = (CGROUP, "memory.max") if not controllers else (CGROUP / "memory", "memory.limit_in_bytes")
        if not controllers or "memory" in controllers.split(","):
            group = root / name.lstrip("/")
            files += [place / leaf for place in (group, *group.parents) if place.is_relative_to(root)]
    return files

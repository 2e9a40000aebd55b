"""Available memory of this machine, container and process.

Source of the limits of containers: the kernel's cgroup-v1 and cgroup-v2 documentation.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available"]

FALLBACK = 8 << 30  # bytes assumed if the system does not report its memory
CGROUP = Path("/sys/fs/cgroup")


def available() -> int:
    """Returns the bytes of memory that this process may use: the minimum of what machine, container and process permit.

    Examples:
        >>> available() > 1 << 20
        True
    """
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        machine = FALLBACK
    return min([machine if machine > 0 else FALLBACK, *_container_limits(), *_own_limit()])


def _own_limit() -> list[int]:
    """Returns a list with the limit of ``ulimit -v``; empty if it is not set."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return [] if limit == resource.RLIM_INFINITY else [limit]


def _container_limits() -> list[int]:
    """Returns the memory limits that are set in the cgroups of this process."""
    limits = []
    for path in _limit_files():
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        if text.isdigit():  # otherwise "max", which means no limit
            limits.append(int(text))
    return [limit for limit in limits if limit > 0]


def _limit_files() -> list[Path]:
    """Returns paths of files that can contain the memory limits of this process's cgroup and its ancestors."""
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

"""How many threads work may use."""

from __future__ import annotations

import os

from .arguments import integer

__all__ = ["num_threads"]

# More threads than this no machine here has use for; it keeps a slip of the keyboard from starting a million.
MAX_THREADS = 256


def num_threads(threads: int | None) -> int:
    """How many threads to use: as asked, else RAYON_NUM_THREADS, else every core this process may run on.

    Raises:
        ConfigError: fewer than one, or no integer.
    """
    if threads is None:
        asked = os.environ.get("RAYON_NUM_THREADS", "")
        if asked.isdecimal() and int(asked) > 0:
            return int(asked)
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(integer(threads, "threads", 1), MAX_THREADS)

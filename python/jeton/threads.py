"""How many threads work may use."""

from __future__ import annotations

import os

from .errors import ConfigError

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
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise ConfigError(
            f"threads={threads!r}: a number of threads is an integer, or None for all cores", option="threads"
        )
    if threads < 1:
        raise ConfigError(f"threads={threads}: at least one is needed", option="threads")
    return min(threads, MAX_THREADS)

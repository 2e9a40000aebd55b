"""Number of threads that a call uses."""

from __future__ import annotations

import os

from .arguments import integer

__all__ = ["num_threads"]

# Guards against a mistyped number: no supported machine benefits from more threads.
MAX_THREADS = 256


def num_threads(threads: int | None, option: str = "threads") -> int:
    """Returns the number of threads: as passed, else RAYON_NUM_THREADS, else the available cores; at most 256.

    A value of the environment variable that is not a positive integer is ignored.

    Raises:
        ConfigError: `threads` is below 1 or not an integer.
    """
    if threads is None:
        asked = os.environ.get("RAYON_NUM_THREADS", "").lstrip("0")
        if asked.isascii() and asked.isdecimal():
            return min(int(asked[:4]), MAX_THREADS)  # 4 digits suffice, and `int` rejects very long numbers
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(integer(threads, option, 1), MAX_THREADS)

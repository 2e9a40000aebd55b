"""State of the process: threads, seed of random segmentations, time limit of n-best searches.

Source: google/sentencepiece, python/src/sentencepiece (behavior).
"""

from __future__ import annotations

import os
from typing import Any

from ... import _core

__all__ = [
    "ThreadPool",
    "num_workers",
    "set_data_dir",
    "set_min_log_level",
    "set_nbest_timeout",
    "set_random_generator_seed",
]

_MOST_THREADS = 1024


class ThreadPool:
    """Number of threads for several calls. The object has no threads; the core starts them for each call.

    Args:
        num_threads: number of threads; if negative, one for each processor.

    Examples:
        >>> ThreadPool(8).num_threads()
        8
    """

    __slots__ = ("_num_threads",)

    def __init__(self, num_threads: int) -> None:
        self._num_threads = _resolved(num_threads)

    def num_threads(self) -> int:
        """Returns the number of threads."""
        return self._num_threads


def _resolved(num_threads: int) -> int:
    if num_threads < 0:
        num_threads = os.cpu_count() or 1
    return max(1, min(num_threads, _MOST_THREADS))


def num_workers(num_threads: Any, thread_pool: Any) -> int:
    """Returns the number of threads of a call with these arguments.

    Raises:
        RuntimeError: `thread_pool` is not a thread pool.
    """
    if thread_pool is None:
        return _resolved(num_threads)
    if not isinstance(thread_pool, ThreadPool):
        raise RuntimeError(f"thread_pool must be a ThreadPool, not {type(thread_pool).__name__}")
    return thread_pool.num_threads()


def set_random_generator_seed(seed: int) -> None:
    """Sets the seed of random segmentations. SentencePiece gives other segmentations for the same seed.

    Results for lists are reproducible only with one thread: the order in which several threads draw random numbers
    varies.

    Examples:
        >>> set_random_generator_seed(1)
    """
    _core.set_random_seed(seed)


def set_nbest_timeout(timeout_ms: int) -> None:
    """Sets the time limit of n-best searches (0 is none); after this time, only the best segmentation is returned.

    Examples:
        >>> set_nbest_timeout(0)
    """
    _core.set_nbest_timeout(timeout_ms)


def set_min_log_level(level: int) -> None:
    """Accepts a level of log messages without effect, because no messages are logged.

    Examples:
        >>> set_min_log_level(2)
    """
    if not isinstance(level, int):
        raise TypeError(f"a level must be an integer, not {type(level).__name__}")


def set_data_dir(data_dir: str) -> None:
    """Accepts a folder of normalization rules without effect, because the rules are built in.

    Examples:
        >>> set_data_dir("/tmp")
    """
    if not isinstance(data_dir, str | bytes):
        raise TypeError(f"a folder must be a string, not {type(data_dir).__name__}")

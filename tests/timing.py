"""Measurements of time that are repeated, because other programs may slow a machine down for a while.

A call that takes quadratic time, or waits, is slow in every repetition.
"""

from __future__ import annotations

import time
from collections.abc import Callable

ATTEMPTS, PAUSE_S = 6, 0.5


def fastest(call: Callable[[], object], limit: float, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of the fastest call, repeated until one takes less than `limit` seconds, at most six times."""
    best = float("inf")
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_S)
        best = min(best, _seconds(call, clock))
        if best < limit:
            break
    return best


def growth(call: Callable[[int], object], sizes: tuple[int, int], limit: float) -> float:
    """How many times as long a call takes with the second size as with the first, of the fastest calls with each.

    They are repeated until the result is less than `limit`, at most six times. Less than 5 ms with the first size
    counts as 5 ms.
    """
    small = large = float("inf")
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_S)
        small = min(small, _seconds(lambda: call(sizes[0]), time.process_time))
        large = min(large, _seconds(lambda: call(sizes[1]), time.process_time))
        if large < limit * max(small, 0.005):
            break
    return large / max(small, 0.005)


def _seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    began = clock()
    call()
    return clock() - began

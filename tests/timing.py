"""Measurements of time that are repeated, because other programs may slow a machine down for a while.

Code that takes quadratic time is slow in every repetition. A measured call must not use cached results.
"""

from __future__ import annotations

import time
from collections.abc import Callable

ATTEMPTS, PAUSE_S = 6, 0.5


def least(measure: Callable[[], float], limit: float) -> float:
    """Measures until a result is less than `limit`, at most six times with pauses; returns the least result."""
    best = float("inf")
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_S)
        best = min(best, measure())
        if best < limit:
            break
    return best


def fastest(call: Callable[[], object], limit: float, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of the fastest call, repeated as by `least`. The default clock counts processor time, without waiting."""

    def seconds() -> float:
        began = clock()
        call()
        return clock() - began

    return least(seconds, limit)


def growth(call: Callable[[int], object], sizes: tuple[int, int], limit: float) -> float:
    """How many times as long a call takes with the second size as with the first, of the fastest calls with each.

    The calls are repeated as by `least`. Less than 5 ms with the first size counts as 5 ms.
    """
    small = large = float("inf")

    def ratio() -> float:
        nonlocal small, large
        small = min(small, fastest(lambda: call(sizes[0]), float("inf")))
        large = min(large, fastest(lambda: call(sizes[1]), float("inf")))
        return large / max(small, 0.005)

    return least(ratio, limit)

"""Current rate of completed tasks of a folder, the time left, and the records that tasks have skipped.

A completion has no date, because a task that runs twice must write the same bytes. The rate follows from the times of
modification of the completion files, so tasks of all machines count, even after an interruption.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .folder import ShardFolder
from .plan import Plan
from .tasks import Stage

__all__ = ["Pace", "count_skipped", "pace_of"]

WINDOW_S = 600  # completions of the last ten minutes count


class Pace(NamedTuple):
    """Rate of the tasks that complete.

    Attributes:
        bytes_per_s: bytes of input a second; None: fewer than two tasks have completed lately.
        idle_s: seconds since the last task completed; None before the first one.
    """

    bytes_per_s: float | None = None
    idle_s: float | None = None


def pace_of(folder: ShardFolder, stage: Stage) -> Pace:
    """Returns the rate of a stage."""
    times = folder.storage.times(stage.folder)
    sizes = {task.number: task.num_bytes for task in stage.tasks}
    found = [(times[name], sizes[number]) for name, number in _numbered(times) if number in sizes]
    return _pace(found, time.time())


def _pace(completed: Iterable[tuple[float, int]], now: float) -> Pace:
    """Returns the rate of tasks: times at which they completed, and their bytes.

    Examples:
        >>> _pace([(50, 10), (60, 30), (70, 20)], 75)
        Pace(bytes_per_s=2.0, idle_s=5)
        >>> _pace([(50, 10)], 75), _pace([], 75)
        (Pace(bytes_per_s=None, idle_s=25), Pace(bytes_per_s=None, idle_s=None))
    """
    ordered = sorted(completed)
    if not ordered:
        return Pace()
    now = max(now, ordered[-1][0])  # the clock of another machine may be ahead
    recent = [one for one in ordered if one[0] >= now - WINDOW_S]
    elapsed = now - recent[0][0] if recent else 0
    done = sum(size for _, size in recent[1:])  # the first one only marks the start of the interval
    return Pace(done / elapsed if done and elapsed else None, now - ordered[-1][0])


def _numbered(names: Iterable[str]) -> list[tuple[str, int]]:
    """Returns the names of completions, and the numbers of their tasks."""
    stems = ((name, name.removesuffix(".json")) for name in names if name.endswith(".json"))
    return [(name, int(stem)) for name, stem in stems if stem.isdecimal()]


def count_skipped(folder: ShardFolder, plan: Plan, done: Sequence[int]) -> int | None:
    """Returns records that tasks of the first stage have skipped; None if a completion is being replaced."""
    stage, total = plan.stages[0], 0
    try:
        for data in folder.storage.read(f"{stage.folder}/{number:05}.json" for number in done):
            facts: Any = json.loads(data)
            total += sum(count for count, _ in facts.get("skipped", {}).values())
    except (FileNotFoundError, ValueError, TypeError, AttributeError):  # damaged ones are errors of `merge`
        return None
    return total

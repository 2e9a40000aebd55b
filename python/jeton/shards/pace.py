"""Current rate at which the tasks of a folder complete, and the number of records that they have skipped.

A completion file stores no date, because a task that runs twice must write the same bytes. So the rate is computed from
the modification times of the completion files. The rate therefore includes the tasks of all machines, and also tasks
that were completed before this process started.
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

WINDOW_S = 600  # seconds; the rate is computed from the completions of the last ten minutes


class Pace(NamedTuple):
    """Rate at which tasks complete.

    Attributes:
        bytes_per_s: bytes of input per second; None: fewer than two tasks have completed in the last `WINDOW_S`
            seconds.
        idle_s: seconds since the last task completed; None before the first one.
    """

    bytes_per_s: float | None = None
    idle_s: float | None = None


def pace_of(folder: ShardFolder, stage: Stage) -> Pace:
    """Returns the rate at which tasks of a stage complete."""
    times = folder.storage.times(stage.folder)
    sizes = {task.number: task.num_bytes for task in stage.tasks}
    found = [(times[name], sizes[number]) for name, number in _numbered(times) if number in sizes]
    return _pace(found, time.time())


def _pace(completed: Iterable[tuple[float, int]], now: float) -> Pace:
    """Computes the rate from pairs (time at which a task completed, number of bytes of its input).

    Examples:
        >>> _pace([(50, 10), (60, 30), (70, 20)], 75)
        Pace(bytes_per_s=2.0, idle_s=5)
        >>> _pace([(50, 10)], 75), _pace([], 75)
        (Pace(bytes_per_s=None, idle_s=25), Pace(bytes_per_s=None, idle_s=None))
    """
    ordered = sorted(completed)
    if not ordered:
        return Pace()
    now = max(now, ordered[-1][0])  # the clock of another machine can be ahead of this one
    recent = [one for one in ordered if one[0] >= now - WINDOW_S]
    elapsed = now - recent[0][0] if recent else 0
    done = sum(size for _, size in recent[1:])  # the first completion only marks the start of the interval
    return Pace(done / elapsed if done and elapsed else None, now - ordered[-1][0])


def _numbered(names: Iterable[str]) -> list[tuple[str, int]]:
    """Returns pairs: name of a completion, and number of its task."""
    stems = ((name, name.removesuffix(".json")) for name in names if name.endswith(".json"))
    return [(name, int(stem)) for name, stem in stems if stem.isdecimal()]


def count_skipped(folder: ShardFolder, plan: Plan, done: Sequence[int]) -> int | None:
    """Counts the records that tasks of the first stage have skipped; None if a completion cannot be read.

    For example, reading can fail while a task that runs again replaces the completion file.
    """
    stage, total = plan.stages[0], 0
    try:
        for data in folder.storage.read(f"{stage.folder}/{number:05}.json" for number in done):
            facts: Any = json.loads(data)
            total += sum(count for count, _ in facts.get("skipped", {}).values())
    except (FileNotFoundError, ValueError, TypeError, AttributeError):  # `merge` reports damaged completions
        return None
    return total

"""Runners: call one function for many items, and yield the results as they are complete.

```text
threads     threads of this process
processes   processes on this machine
ray_tasks   tasks of a Ray cluster
```

The function takes an item and a check, and calls the check often. The check raises
`CanceledError` when the caller has stopped or another item has failed. Results must be small. Invariant: no call is
running when the iterator has ended, for whatever reason.

Left out: retries, except for Ray's. The next run repeats an item that failed.
"""

from __future__ import annotations

from .processes import run_processes
from .ray_tasks import run_ray
from .threads import CanceledError, run_threads

__all__ = ["RUNNERS", "CanceledError", "run_processes", "run_ray", "run_threads"]

# Name -> runner: (work, items, workers, idle) -> results
RUNNERS = {"threads": run_threads, "processes": run_processes, "ray": run_ray}

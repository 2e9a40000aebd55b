"""Runners: each calls one function for many items in parallel, and yields each result when it is complete.

```text
threads     threads of this process
processes   processes on this machine
ray_tasks   tasks of a Ray cluster
```

The function takes an item and a *check*, a callable that it calls often. The check raises `CanceledError` when the
caller has stopped or another item has failed. Results must be small. Invariant: when the iterator has ended, for
whatever reason, no call is running.

Left out: retries, except those of Ray. A failed item is repeated when the caller runs again.
"""

from __future__ import annotations

from .processes import run_processes
from .ray_tasks import run_ray
from .threads import CanceledError, run_threads

__all__ = ["RUNNERS", "CanceledError", "run_processes", "run_ray", "run_threads"]

# Name -> runner, a function that is called with (work, items, workers, idle) and yields the results.
RUNNERS = {"threads": run_threads, "processes": run_processes, "ray": run_ray}

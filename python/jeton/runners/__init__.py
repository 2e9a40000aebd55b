"""Runners: call one function for many items, on threads or in processes, and yield the results as they are complete.

```text
threads     threads of this process
processes   processes on this machine
```

The function takes an item and a check, and calls the check often. The check raises
`CanceledError` when the caller has stopped or another item has failed. Results must be small. Invariant: when the
iterator ends, for whatever reason, no call is running any more.

Left out: retries. An item that failed is run again by the next run.
"""

from __future__ import annotations

from .processes import run_processes
from .threads import CanceledError, run_threads

__all__ = ["RUNNERS", "CanceledError", "run_processes", "run_threads"]

# Name -> runner: (work, items, workers, idle) -> results
RUNNERS = {"threads": run_threads, "processes": run_processes}

"""`ForkLock`: a lock that neither a forked process nor a signal handler waits for forever.

If a process is forked while another thread holds a lock, no thread of the child releases the lock. A signal handler or
a finalizer can run in the very thread that holds a lock. So no code in Jeton waits for a lock that may never be
released:

- A fork waits for imports that functions make on their first call (`forks`).
- If threads race to build a lookup table, each builds it, and the first result is kept (`atomic_cell` of the core).
- A mutex of the binding is held only during steps that neither release the GIL nor run Python code (`exclusive.rs`).

Therefore not used: `functools.cached_property`, which has a lock before Python 3.12 (`lazy`); `PyOnceLock` and
`intern!` of PyO3, which release the GIL while a cell is marked as being initialized (`once.rs`).
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

__all__ = ["ForkLock"]

_LOCKS: WeakSet[ForkLock] = WeakSet()


class ForkLock:
    """Reentrant lock as a context manager. In a forked process it is unlocked.

    A signal handler or a finalizer that runs in the thread that holds the lock can acquire the lock again.

    Attributes:
        depth: number of acquisitions by the thread that holds the lock; above 1, the guarded data may be inconsistent.
        was_forked: True if the process was forked while another thread held the lock, so that the guarded data may be
            inconsistent. The code that repairs the data sets this attribute to False.

    Examples:
        >>> with ForkLock() as lock, lock:
        ...     lock.depth, lock.was_forked
        (2, False)
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner = 0
        self.depth = 0
        self.was_forked = False
        _LOCKS.add(self)

    def __enter__(self) -> ForkLock:
        self._lock.acquire()
        self._owner = threading.get_ident()
        self.depth += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self.depth -= 1
        self._lock.release()

    def _renew(self) -> None:
        if self.depth and self._owner == threading.get_ident():
            return  # in the child, the thread that forked still holds the lock
        self.was_forked = self.depth > 0
        self.depth = 0
        self._lock = threading.RLock()


def _after_fork() -> None:
    for lock in list(_LOCKS):
        lock._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

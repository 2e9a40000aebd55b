"""`ForkLock`: a lock that a forked process gets unlocked, whatever the threads of its parent were doing."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

__all__ = ["ForkLock"]

_LOCKS: WeakSet[ForkLock] = WeakSet()


class ForkLock:
    """Lock as a context manager.

    Attributes:
        was_forked: True if the process was forked while the lock was held, so that what it guards may be half done.
            Whoever repairs that sets it to False.

    Examples:
        >>> with ForkLock() as lock:
        ...     lock.was_forked
        False
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.was_forked = False
        _LOCKS.add(self)

    def __enter__(self) -> ForkLock:
        self._lock.acquire()
        return self

    def __exit__(self, *error: Any) -> None:
        self._lock.release()

    def _renew(self) -> None:
        self.was_forked = self._lock.locked()
        self._lock = threading.Lock()


def _after_fork() -> None:
    for lock in list(_LOCKS):
        lock._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

"""Forks during imports: a child process never waits for an import that a thread of its parent had begun.

Functions of this package import what only they need on their first call. While a module is imported, Python holds a
lock for it. A child that another thread forks meanwhile inherits the lock in that state, with a module that is half
executed, and no thread that would finish either: every call that needs the module would block forever.

- Before a fork, the forking thread waits until no other thread is importing anything for this package, or one of its
  dependencies. Other imports are not waited for, and may never end: a module can be a server.
- From then until the fork, imports cannot be held up without the risk of a deadlock with what other packages lock
  before a fork. In the child, those that other threads began in these microseconds are therefore undone: their locks
  and half-executed modules are removed, so that the modules are imported again.

This module is loaded by ``import jeton``, and imports only what every interpreter has loaded.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from time import monotonic, sleep

try:
    from _frozen_importlib import _module_locks  # type: ignore[attr-defined]  # name -> weak reference to its lock
except ImportError:  # a later version of Python
    _module_locks = {}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

__all__ = ["forget_imports", "wait_for_imports"]

# Importing NumPy takes a tenth of a second, from a slow network file system some seconds.
MAX_WAIT_S = 10.0
INTERVAL_S = 0.001

_PACKAGE = __name__.partition(".")[0]
_DEPENDENCIES = {_PACKAGE, "click", "numpy", "tqdm"}
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
_not_awaited: set[str] = set()  # modules that other threads were importing at the end of the wait


def wait_for_imports() -> None:
    """Waits until no other thread is importing anything for this package, at most `MAX_WAIT_S`."""
    end = monotonic() + MAX_WAIT_S
    is_used, is_importing = _use_by_other_threads()
    if is_used:
        sleep(
            0
        )  # then no other thread is likely to get the interpreter for some milliseconds, enough to reach the fork
        is_used, is_importing = _use_by_other_threads()
    while is_importing and monotonic() < end:
        sleep(INTERVAL_S)
        is_used, is_importing = _use_by_other_threads()


def forget_imports() -> None:
    """Undoes imports that threads of the parent process began since `wait_for_imports`."""
    for name in _imported_by_other_threads() - _not_awaited:
        del _module_locks[name]
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            del sys.modules[name]


def _imported_by_other_threads() -> set[str]:
    """Names of the modules that other threads are importing."""
    locks = [(name, reference()) for name, reference in list(_module_locks.items())]
    return {name for name, lock in locks if lock is not None and lock.owner not in (None, get_ident())}


def _use_by_other_threads() -> tuple[bool, bool]:
    """Tests whether another thread is in a function of this package, and is importing something for it.

    Another thread may begin an import at any moment. The names are therefore taken first: what is not among them is
    undone in the child.
    """
    global _not_awaited
    own, is_used = get_ident(), False
    _not_awaited = _imported_by_other_threads()
    is_importing = any(name.partition(".")[0] in _DEPENDENCIES for name in _not_awaited)
    for thread, innermost in sys._current_frames().items():
        frame: FrameType | None = innermost if thread != own else None
        has_import = False  # in a function that `frame` calls
        while frame is not None:
            if frame.f_code.co_filename == _IMPORT_SYSTEM:
                has_import = True
            elif str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
                is_used, is_importing = True, is_importing or has_import
            frame = frame.f_back
    return is_used, is_importing


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait_for_imports, after_in_child=forget_imports)

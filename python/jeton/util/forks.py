"""Forks during imports: a child process never waits for an import that a thread of its parent had begun.

Functions of this package import modules that only they need on their first call. While a module is imported, Python
holds a lock for it. If another thread forks during the import, the child inherits a held lock and a half-executed
module, but no thread that would finish the import: every call that needs the module would block forever.

- Before a fork, the forking thread waits until no other thread is importing anything for this package, or one of its
  dependencies. Other imports are not waited for, and may never end: a module can be a server.
- Between the end of the wait and the fork, blocking imports would risk a deadlock with locks that other packages
  acquire before a fork. The child therefore undoes imports that other threads began in these microseconds, or that
  outlasted the wait: it removes their locks and half-executed modules, so that the modules are imported again.

This module is loaded by ``import jeton``, and imports only modules that every interpreter has loaded.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from time import monotonic, sleep

try:
    from _frozen_importlib import _module_locks  # type: ignore[attr-defined]  # name -> weak reference to its lock
except ImportError:  # later versions of Python lack it
    _module_locks = {}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

__all__ = ["forget_imports", "wait_for_imports"]

# Importing NumPy takes a tenth of a second, from a slow network file system some seconds.
MAX_WAIT_S = 10.0
INTERVAL_S = 0.001
MAX_EQUAL = 10  # intervals after which a thread at the same place in `logging` is assumed to wait for the fork

_PACKAGE = __name__.partition(".")[0]
_DEPENDENCIES = {_PACKAGE, "click", "numpy", "tqdm"}
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
_not_awaited: set[str] = set()  # modules that other threads were importing at the end of the wait


def wait_for_imports() -> None:
    """Waits until no other thread is importing anything for this package, at most `MAX_WAIT_S`."""
    global _not_awaited
    end = monotonic() + MAX_WAIT_S
    is_used, importing = _use_by_other_threads()
    if is_used:
        sleep(0)  # then no other thread gets the GIL for some milliseconds, enough to reach the fork
        is_used, importing = _use_by_other_threads()
    logging, num_equal = _calls_of_logging(), 0
    while importing and num_equal < MAX_EQUAL and monotonic() < end:
        sleep(INTERVAL_S)
        is_used, importing = _use_by_other_threads()
        before, logging = logging, _calls_of_logging()
        num_equal = num_equal + 1 if logging and logging == before else 0
    imported = _imported_by_other_threads()
    importing |= {owner for name, owner in imported.items() if _is_ours(name)}
    _not_awaited = {name for name, owner in imported.items() if owner not in importing}


def forget_imports() -> None:
    """Undoes imports for this package that threads of the parent process had not ended."""
    for name in _imported_by_other_threads().keys() - _not_awaited:
        del _module_locks[name]
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            del sys.modules[name]


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in _DEPENDENCIES


def _imported_by_other_threads() -> dict[str, int]:
    """Name of each module that another thread is importing -> that thread."""
    locks = [(name, reference()) for name, reference in list(_module_locks.items())]
    return {name: lock.owner for name, lock in locks if lock is not None and lock.owner not in (None, get_ident())}


def _calls_of_logging() -> set[tuple[int, int, int]]:
    """Calls of `logging` in which other threads are: thread, frame and instruction.

    `logging` locks its loggers before a fork. If its hook runs before ours, an import that makes a logger waits for the
    fork, so waiting for that import would deadlock.
    """
    own, calls = get_ident(), sys._current_frames().items()
    return {
        (thread, id(frame), frame.f_lasti)
        for thread, frame in calls
        if thread != own and frame.f_globals.get("__name__") == "logging"
    }


def _use_by_other_threads() -> tuple[bool, set[int]]:
    """Tests whether other threads are in functions of this package; returns those that are importing for it."""
    own, is_used = get_ident(), False
    importing = {owner for name, owner in _imported_by_other_threads().items() if _is_ours(name)}
    for thread, innermost in sys._current_frames().items():
        frame: FrameType | None = innermost if thread != own else None
        has_import = False  # in a function that `frame` called
        while frame is not None:
            if frame.f_code.co_filename == _IMPORT_SYSTEM:
                has_import = True
            elif str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
                is_used = True
                if has_import:
                    importing.add(thread)
            frame = frame.f_back
    return is_used, importing


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait_for_imports, after_in_child=forget_imports)

"""Forks during imports: a child process never waits for an import that a thread of its parent had begun.

If only one function of this package needs a module, the function imports it on its first call. While a module is
imported, Python holds a lock for it. If another thread forks during the import, the child inherits a held lock and a
half-executed module, but no thread that would finish the import: every call that needs the module would block forever.

- Before a fork, the forking thread waits until no other thread is importing a module of this package or of its
  dependencies, or any module for this package. It does not wait for other imports, which may never end: importing a
  module can run a server.
- After the wait, other threads can still begin imports before the fork. Blocking these imports would risk a deadlock
  with locks that other packages acquire before a fork. So the child undoes imports that other threads began in these
  microseconds, or that outlasted the wait: it removes their locks and half-executed modules, so that the modules are
  imported again.

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

# Longest wait for imports. NumPy's import takes a tenth of a second, or some seconds from a slow network file system.
MAX_WAIT_S = 10.0
INTERVAL_S = 0.001
# A thread that stays at one instruction of `logging` for this number of intervals is assumed to wait for the fork.
MAX_EQUAL = 10

_PACKAGE = __name__.partition(".")[0]
_DEPENDENCIES = {_PACKAGE, "click", "numpy", "tqdm"}
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
_not_awaited: set[str] = set()  # modules that other threads were importing at the end of the wait


def wait_for_imports() -> None:
    """Waits until no other thread is importing a module for this package, but at most `MAX_WAIT_S` seconds."""
    global _not_awaited
    end = monotonic() + MAX_WAIT_S
    is_used, importing = _use_by_other_threads()
    if is_used:
        sleep(0)  # after this, the thread keeps the GIL for some milliseconds, enough to reach the fork
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
    """Undoes, in a child process, imports for this package that the parent's threads had not finished."""
    for name in _imported_by_other_threads().keys() - _not_awaited:
        del _module_locks[name]
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            del sys.modules[name]


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in _DEPENDENCIES


def _imported_by_other_threads() -> dict[str, int]:
    """Returns the name of each module that another thread is importing -> id of that thread."""
    locks = [(name, reference()) for name, reference in list(_module_locks.items())]
    return {name: lock.owner for name, lock in locks if lock is not None and lock.owner not in (None, get_ident())}


def _calls_of_logging() -> set[tuple[int, int, int]]:
    """Returns the calls of `logging` that other threads are executing: thread, frame and instruction.

    `logging` locks its loggers before a fork. If `logging`'s fork hook runs before this module's hook, an import that
    creates a logger waits for the fork. So waiting for that import would deadlock.
    """
    own, calls = get_ident(), sys._current_frames().items()
    return {
        (thread, id(frame), frame.f_lasti)
        for thread, frame in calls
        if thread != own and frame.f_globals.get("__name__") == "logging"
    }


def _use_by_other_threads() -> tuple[bool, set[int]]:
    """Returns whether other threads run functions of this package, and also which threads import modules for it."""
    own, is_used = get_ident(), False
    importing = {owner for name, owner in _imported_by_other_threads().items() if _is_ours(name)}
    for thread, innermost in sys._current_frames().items():
        frame: FrameType | None = innermost if thread != own else None
        has_import = False  # whether a call inside of `frame` imports a module
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

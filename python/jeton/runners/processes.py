"""Runner that uses processes on this machine, started with ``forkserver`` where the system has it, else with ``spawn``.

Use it for corpora whose reading holds the GIL. The function and its items are pickled; the calling script needs the
usual ``if __name__ == "__main__":``. Workers ignore Ctrl-C and stop at their next check instead, so that each removes
its temporary files. If the calling process is killed, workers also stop at their next check.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import wait as wait_for
from multiprocessing.synchronize import Event
from threading import Thread
from typing import Any, TypeVar

from .threads import IDLE_S, CanceledError

__all__ = ["run_processes"]

T = TypeVar("T")
R = TypeVar("R")

GRACE_S = 1.0  # seconds from the death of the parent process to the exit of a worker

_canceled: Event | None = None  # in a worker: set when the worker has to stop


def run_processes(
    work: Callable[[T, Callable[[], None]], R],
    items: Iterable[T],
    workers: int,
    idle: Callable[[], object] = lambda: None,
) -> Generator[R]:
    """Yields the results of a function for items, in the order of completion. Takes the arguments of `run_threads`.

    Raises:
        OSError: a worker was killed, for example because the machine ran out of memory.
        Exception: the first exception that `work` raises.
    """
    context = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
    canceled, iterator = context.Event(), iter(items)
    pool = ProcessPoolExecutor(workers, context, _start, (canceled,))
    try:
        # The number of submitted items is the number of workers plus one. More items are not needed to keep each worker
        # busy, and would only add work that is done in vain after an error.
        running: set[Future[Any]] = {pool.submit(_call, work, item) for item in islice(iterator, workers + 1)}
        while running:
            done, running = wait(running, IDLE_S, FIRST_COMPLETED)
            if not done:
                idle()
            running |= {pool.submit(_call, work, item) for item in islice(iterator, len(done))}
            for future in done:
                yield future.result()
    except BrokenProcessPool:
        message = "a worker process was killed; the machine may lack memory for so many workers"
        raise OSError(errno.ECHILD, message) from None
    finally:
        canceled.set()
        pool.shutdown(cancel_futures=True)


def _start(canceled: Event) -> None:
    """Initializes a worker process: ignores Ctrl-C, and watches the parent process."""
    global _canceled
    _canceled = canceled
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_watch, name="jeton-parent", daemon=True).start()


def _watch() -> None:
    """Ends this worker process when its parent has been killed; otherwise it would wait for items forever."""
    parent = parent_process()
    if parent is not None and _canceled is not None:
        wait_for([parent.sentinel])
        _canceled.set()  # at its next check, `work` then raises an error and removes its temporary files
        time.sleep(GRACE_S)
        os._exit(1)


def _check() -> None:
    if _canceled is not None and _canceled.is_set():
        raise CanceledError


def _call(work: Callable[[Any, Callable[[], None]], Any], item: Any) -> Any:
    """Runs one item in a worker."""
    return work(item, _check)

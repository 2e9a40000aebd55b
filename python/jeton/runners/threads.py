"""Runner that uses threads of this process. Reading, decompressing, parsing, encoding and writing release the GIL.

Ctrl-C interrupts the calling thread, which only waits for results. The other threads then stop at their next check.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from typing import Any, TypeVar

__all__ = ["IDLE_S", "CanceledError", "run_threads"]

T = TypeVar("T")
R = TypeVar("R")

# Seconds between two calls of `idle`, the interval at which a progress bar is drawn.
IDLE_S = 0.1


class CanceledError(Exception):
    """Raised in the work on an item, if the caller of `run_threads` has stopped or the work on another item failed."""


def run_threads(
    work: Callable[[T, Callable[[], None]], R],
    items: Iterable[T],
    workers: int,
    idle: Callable[[], object] = lambda: None,
) -> Generator[R]:
    """Yields the results of a function for items, in the order of completion.

    Args:
        work: function that is called with an item and the cancellation check.
        items: the items; an item is taken when a thread becomes free.
        workers: number of threads.
        idle: function that is called about ten times a second in the calling thread while it waits for results.

    Raises:
        Exception: the first exception that `work` raises; the other threads stop at their next check.

    Examples:
        >>> sorted(run_threads(lambda item, check: item * item, range(5), 2))
        [0, 1, 4, 9, 16]
    """
    canceled, lock, iterator = Event(), Lock(), iter(items)
    results: Queue[tuple[str, Any]] = Queue(2 * workers)  # bounded: threads wait if the caller is slower

    def check() -> None:
        if canceled.is_set():
            raise CanceledError

    def put(kind: str, value: Any) -> None:
        while not canceled.is_set():
            try:
                return results.put((kind, value), timeout=IDLE_S)
            except Full:
                pass

    def loop() -> None:
        try:
            while not canceled.is_set():
                with lock:
                    item = next(iterator, check)
                if item is check:
                    break
                put("result", work(item, check))  # type: ignore[arg-type]
            put("end", None)
        except CanceledError:
            put("end", None)
        except BaseException as error:
            put("error", error)

    threads: list[Thread] = []
    try:
        for number in range(workers):
            thread = Thread(target=loop, name=f"jeton-worker-{number}", daemon=True)
            thread.start()
            threads.append(thread)
        running = len(threads)
        while running:
            try:
                kind, value = results.get(timeout=IDLE_S)
            except Empty:
                idle()
                continue
            if kind == "result":
                yield value
            elif kind == "error":
                raise value
            else:
                running -= 1
    finally:
        canceled.set()
        for thread in threads:
            thread.join()

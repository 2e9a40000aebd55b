"""Threads and processes: results, the first error, cancellation, and nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jeton.runners import RUNNERS, CanceledError, run_processes, run_threads

# Ray needs a cluster: test_ray.
LOCAL = [name for name in RUNNERS if name != "ray"]

Check = Callable[[], None]


def square(item: int, check: Check) -> int:
    check()
    return item * item


def fail_at_three(item: int, check: Check) -> int:
    if item == 3:
        raise ValueError("three")
    while item > 3:  # only a cancellation ends it
        check()
        time.sleep(0.01)
    return item


def killed(item: int, check: Check) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return item


@pytest.mark.parametrize("name", LOCAL)
def test_all_results_are_returned(name: str) -> None:
    assert sorted(RUNNERS[name](square, range(20), 2)) == [item * item for item in range(20)]
    assert list(RUNNERS[name](square, [], 2)) == []


@pytest.mark.parametrize("name", LOCAL)
def test_the_first_error_cancels_the_others(name: str) -> None:
    with pytest.raises(ValueError, match="three"):
        list(RUNNERS[name](fail_at_three, range(50), 3))


def test_items_are_taken_as_threads_become_free() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(1000):
            taken += 1
            yield item

    results = run_threads(square, items(), 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert taken < 1000
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("jeton-worker")]


def test_an_error_of_the_items_propagates() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("items")

    with pytest.raises(KeyError, match="items"):
        list(run_threads(square, items(), 2))


def test_idle_is_called_in_the_calling_thread() -> None:
    seen: list[threading.Thread] = []

    def slow(item: int, check: Check) -> int:
        while not seen:
            time.sleep(0.01)
        return item

    assert list(run_threads(slow, [1], 1, lambda: seen.append(threading.current_thread()))) == [1]
    assert set(seen) == {threading.current_thread()}


def test_canceled_work_raises_no_error() -> None:
    def canceled(item: int, check: Check) -> int:
        raise CanceledError

    assert list(run_threads(canceled, [1, 2], 2)) == []


def test_a_thread_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that were started before the failure stop."""
    start, started = threading.Thread.start, []

    def limited(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(RuntimeError, match="can't start"):
        list(run_threads(square, range(10**9), 4))
    assert not any(thread.is_alive() for thread in started)


def mark(path: str, check: Check) -> None:
    """Writes the id of its process, and runs until it is stopped."""
    (Path(path) / str(os.getpid())).touch()
    while True:
        check()
        time.sleep(0.01)


PARENT = """
import sys
from jeton.runners import run_processes
from tests.runners.test_runners import mark
if __name__ == "__main__":
    list(run_processes(mark, [sys.argv[1]] * 2, 2))
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")
def test_workers_of_a_killed_parent_end(tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    command = [sys.executable, "-c", PARENT, str(tmp_path / "marks")]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while len(list((tmp_path / "marks").iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
    workers = [int(path.name) for path in (tmp_path / "marks").iterdir()]
    assert len(workers) == 2
    while any(map(runs, workers)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(map(runs, workers))


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")
def test_a_killed_worker_is_an_error() -> None:
    with pytest.raises(OSError, match="a worker process was killed"):
        list(run_processes(killed, [1], 1))

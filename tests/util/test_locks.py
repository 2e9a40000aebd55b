"""`ForkLock` in forked processes, and in a signal handler of the thread that holds it."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import get_context
from typing import Any

import pytest

from jeton.util.locks import ForkLock


def _in_child(lock: ForkLock, connection: Any) -> None:
    with lock:
        connection.send((lock.was_forked, lock.depth))
    connection.send(lock.depth)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(("holder", "expected"), [("another", (True, 1)), ("this", (False, 2)), ("none", (False, 1))])
def test_a_fork_while_a_thread_holds_a_lock(holder: str, expected: tuple[bool, int]) -> None:
    lock, is_held, may_end = ForkLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            may_end.wait(60)

    thread = threading.Thread(target=hold)
    if holder == "another":
        thread.start()
        is_held.wait()
    context = get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_in_child, args=(lock, theirs))
    if holder == "this":
        with lock:
            child.start()
    else:
        child.start()
    assert ours.poll(30)
    assert ours.recv() == expected
    assert ours.poll(30)
    assert ours.recv() == expected[1] - 1
    child.join()
    assert child.exitcode == 0
    may_end.set()
    if holder == "another":
        thread.join()
    assert not lock.was_forked


@pytest.mark.skipif(not hasattr(signal, "raise_signal") or not hasattr(signal, "SIGUSR1"), reason="needs SIGUSR1")
def test_a_signal_handler_of_the_thread_that_holds_the_lock() -> None:
    lock, depths = ForkLock(), []

    def handle(*_: Any) -> None:
        with lock:
            depths.append(lock.depth)

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with lock:
            signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert depths == [2, 1]
    assert lock.depth == 0

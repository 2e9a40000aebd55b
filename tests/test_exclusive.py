"""Tests marked ``alone`` wait for the running ones, and later tests wait for them."""

from __future__ import annotations

import threading

import pytest

from .exclusive import Turns, fcntl


@pytest.mark.skipif(fcntl is None, reason="needs flock")
def test_a_test_that_runs_alone_overlaps_with_no_other() -> None:
    name = f"exclusive-{threading.get_native_id()}"
    first, second, timed, late = (Turns(name) for _ in range(4))
    order: list[str] = []
    waits, may_end = threading.Event(), threading.Event()

    def run_timed() -> None:
        waits.set()
        with timed.turn(alone=True):
            order.append("timed begins")
            may_end.wait(10)
            order.append("timed ends")

    def run_late() -> None:
        with late.turn(alone=False):
            order.append("late")

    threads = [threading.Thread(target=run_timed), threading.Thread(target=run_late)]
    with first.turn(alone=False):
        with second.turn(alone=False):  # two others do not wait for each other
            threads[0].start()
            waits.wait(10)
            threads[0].join(0.1)
        assert order == []
        threads[1].start()
        threads[1].join(0.1)
    order.append("others end")
    may_end.set()
    for thread in threads:
        thread.join(10)
    assert sorted(order) == sorted(["others end", "timed begins", "timed ends", "late"])
    assert order.index("timed ends") < order.index("late"), "a later test does not overtake"
    for turns in (first, second, timed, late):
        turns.close()

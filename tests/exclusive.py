"""Tests that measure wall time run alone, also when pytest-xdist runs tests in several processes.

Each test holds a lock that the processes share: a test marked ``alone`` exclusively, any other with the others. A
second lock, held while waiting for the first, keeps new tests from overtaking a test that waits to run alone.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: timed tests run beside others
    fcntl = None  # type: ignore[assignment]


class Turns:
    """The two locks, as files in a folder that all processes of a test run have."""

    def __init__(self, run: str) -> None:
        """`run` identifies the test run."""
        self._folder = Path(tempfile.gettempdir(), f"jeton-tests-{run}")
        self._folder.mkdir(exist_ok=True)
        self._queue = (self._folder / "queue").open("wb")
        self._running = (self._folder / "running").open("wb")

    def close(self) -> None:
        """Removes the files. Other processes may still hold them open, and start no more tests."""
        self._queue.close()
        self._running.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def turn(self, *, alone: bool) -> Iterator[None]:
        """Waits until a test may run, and holds the lock while it does."""
        if fcntl is None:
            yield
            return
        with _locked(self._queue, fcntl.LOCK_EX):
            fcntl.flock(self._running, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._running, fcntl.LOCK_UN)


@contextmanager
def _locked(file: IO[bytes], kind: int) -> Iterator[None]:
    fcntl.flock(file, kind)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)

"""Neighbors: processes that keep the memory busy while engines are measured, one for each core.

A neighbor copies 64 MiB back and forth, so that it evicts what shares its caches, and takes memory bandwidth. All
engines have the same neighbors. Their processor time includes the misses that the neighbors cause; wall time also has
the waiting for a core.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["neighbors"]

MEGABYTES = 64


@contextmanager
def neighbors(count: int) -> Iterator[None]:
    """Runs this number of neighbors during the block."""
    started = [
        subprocess.Popen([sys.executable, __file__, str(os.getpid())], stdin=subprocess.DEVNULL) for _ in range(count)
    ]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def copy_until_orphaned(parent: int) -> None:
    """Copies memory until the parent has ended."""
    source, target = (np.ones(MEGABYTES << 17) for _ in range(2))  # of 8 bytes
    while os.getppid() == parent:
        np.copyto(target, source)
        np.copyto(source, target)


if __name__ == "__main__":
    copy_until_orphaned(int(sys.argv[1]))

"""Ctrl-C while counting: deferred until a save is complete; the log reports the state of the checkpoint."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

__all__ = ["defer_interrupt", "log_kept_counts"]

_log = logging.getLogger("jeton")


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Defers the first SIGINT until the block has ended; a second one interrupts the block.

    Python runs signal handlers in the main thread only, so in other threads this does nothing.

    Examples:
        >>> done = []
        >>> try:
        ...     with defer_interrupt():
        ...         signal.raise_signal(signal.SIGINT)
        ...         done.append("whole")
        ... except KeyboardInterrupt:
        ...     print(done)
        ['whole']
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held: list[FrameType | None] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(frame)
        if len(held) > 1:
            before(number, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        before(signal.SIGINT, held[0])


@contextmanager
def log_kept_counts(checkpoint: str | os.PathLike[str] | None, state: str) -> Iterator[None]:
    """Logs the number of documents in the checkpoint if the block is interrupted.

    Args:
        checkpoint: the folder; None: no checkpoint, no message.
        state: name of the state files in it.
    """
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None:
            documents = sum(map(_documents, [Path(checkpoint, state), *Path(checkpoint).glob(f"*/{state}")]))
            if documents:
                _log.warning(
                    "interrupted: the checkpoint %s holds the counts of %d documents; the same call resumes after them",
                    os.fspath(checkpoint),
                    documents,
                )
            else:
                _log.warning("interrupted: nothing is kept in the checkpoint %s yet", os.fspath(checkpoint))
        raise


def _documents(path: Path) -> int:
    try:
        documents = json.loads(path.read_bytes())["documents"]
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    return documents if isinstance(documents, int) else 0

"""The time that ``strftime_now`` gives to chat templates; checks and comparisons set it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime

__all__ = ["clock", "now"]

_moment: ContextVar[datetime | None] = ContextVar("jeton_chat_moment", default=None)


def now() -> datetime:
    """Returns the time that `clock` has set, or else the current time."""
    return _moment.get() or datetime.now()


@contextmanager
def clock(moment: datetime | None) -> Iterator[None]:
    """Sets the time of ``strftime_now`` for a ``with`` block; None means the current time.

    The time is set only in the current context of `contextvars`.

    Examples:
        >>> with clock(datetime(2026, 11, 26)):
        ...     print(f"{now():%d %b %Y}")
        26 Nov 2026
    """
    token = _moment.set(moment)
    try:
        yield
    finally:
        _moment.reset(token)

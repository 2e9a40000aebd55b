"""Progress events of long operations, and the reporters that display or forward them.

``with make_reporter(progress) as report: … report(ProgressEvent("count", done, total, "B"))``. For every value of
``progress``, ``report`` is callable: it draws a bar on standard error, calls the caller's function, or ignores the
event. Bars throttle themselves, so a loop can report at any rate.

Left out: the decision when to report, which is up to each operation; and a bar for notebooks, in which tqdm's text bar
is readable, too.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeAlias

from .arguments import wrong
from .messages import translate

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["Progress", "ProgressEvent", "Reporter", "json_lines", "make_reporter"]

# Ten updates a second: as fast as the eye can follow, and slow enough for a log on a network disk.
INTERVAL_S = 0.1
# Seconds: an operation that ends within this time draws no bar.
DELAY_S = 0.3

# Stage -> label of its bar; the label of any other stage is its name.
STAGE_WORDS = {
    "read": "reading",
    "sample": "choosing a sample",
    "count": "counting pretokens",
    "merge": "learning merges",
    "encode": "encoding",
    "download": "downloading",
    "compare": "comparing",
}


class ProgressEvent(NamedTuple):
    """Progress of one stage of a long operation.

    Attributes:
        stage: name of the stage: ``"count"``, ``"merge"``, …
        done: number of units done since the beginning of the stage.
        total: total number of units, or None if unknown (standard input).
        unit: ``"B"`` for bytes, else a plural noun (``"merges"``).
        message: a line to print above the bar, usually empty.

    Examples:
        >>> ProgressEvent("merge", 500, 1000, "merges")
        ProgressEvent(stage='merge', done=500, total=1000, unit='merges', message='')
    """

    stage: str
    done: int
    total: int | None = None
    unit: str = ""
    message: str = ""


Reporter: TypeAlias = Callable[[ProgressEvent], None]
Progress: TypeAlias = bool | Reporter | None


@contextmanager
def make_reporter(progress: Progress = None) -> Iterator[Reporter]:
    """Converts the ``progress=`` argument of a public function into a reporter.

    Args:
        progress: None draws a bar if standard error is a terminal; True always draws it; False is silent; a function is
            called with every event, in the working thread, and an exception that it raises stops the operation.

    Yields:
        The reporter. Leaving the block closes the bar, even after an exception.

    Raises:
        ConfigError: `progress` has another type.

    Examples:
        >>> seen = []
        >>> with make_reporter(seen.append) as report:
        ...     report(ProgressEvent("count", 10, 20, "B"))
        >>> seen[0].done
        10
    """
    if callable(progress):
        yield progress
    elif progress is not None and not isinstance(progress, bool):
        raise wrong("progress", progress, "True, False, None or a function that takes a ProgressEvent")
    elif progress or (progress is None and sys.stderr is not None and sys.stderr.isatty()):
        bars = _Bars()
        try:
            yield bars
        finally:
            bars.close()
    else:
        yield _silent


def json_lines(stream: TextIO | None = None, interval_s: float = INTERVAL_S) -> Reporter:
    """Returns a reporter that writes one JSON object per line, for machine-readable logs.

    It writes the first and the last event of a stage and every event with a message. Of other events, it writes at most
    one per interval.

    Args:
        stream: output; None: standard error.
        interval_s: minimum time between two ordinary lines, in seconds.

    Examples:
        >>> import io
        >>> out = io.StringIO()
        >>> json_lines(out)(ProgressEvent("merge", 1, 2, "merges"))
        >>> out.getvalue()
        '{"stage": "merge", "done": 1, "total": 2, "unit": "merges"}\\n'
    """
    stage, last = "", 0.0

    def report(event: ProgressEvent) -> None:
        nonlocal stage, last
        now = time.monotonic()
        ordinary = event.stage == stage and event.done != event.total and not event.message
        if ordinary and now - last < interval_s:
            return
        stage, last = event.stage, now
        facts = {key: value for key, value in event._asdict().items() if key != "message" or value}
        print(json.dumps(facts, ensure_ascii=False), file=stream or sys.stderr, flush=True)

    return report


def _silent(event: ProgressEvent) -> None:
    """Ignores the event."""


class _Bars:
    """One tqdm bar per stage, on standard error; a new stage closes the bar of the previous one."""

    def __init__(self) -> None:
        self._stage: str | None = None
        self._bar: tqdm[None] | None = None

    def __call__(self, event: ProgressEvent) -> None:
        if event.stage != self._stage or self._bar is None:
            self.close()
            self._stage, self._bar = event.stage, _bar(event)
        self._bar.total = event.total
        self._bar.update(event.done - self._bar.n)
        if event.message:
            self._bar.write(event.message, file=sys.stderr)

    def close(self) -> None:
        """Closes the current bar and leaves it on the screen."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _bar(event: ProgressEvent) -> tqdm[None]:
    """Creates a bar for the event's stage. tqdm is imported here, because most programs never draw a bar."""
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[type-arg]
        # No monitor thread and no inter-process lock: forked children of the caller's program would inherit them.
        monitor_interval = 0

    Bar.set_lock(RLock())
    return Bar(
        desc=translate(STAGE_WORDS.get(event.stage, event.stage)),
        total=event.total,
        unit=event.unit if event.unit == "B" else f" {translate(event.unit)}",
        unit_scale=True,
        mininterval=INTERVAL_S,
        delay=DELAY_S,
        dynamic_ncols=True,
        file=sys.stderr,
        disable=False,
    )

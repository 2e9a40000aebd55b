"""Progress: events that long work reports, and the reporters that draw them or hand them on.

``with make_reporter(progress) as report: … report(ProgressEvent("count", done, total, "B"))``. Whatever ``progress``
was, ``report`` may be called: it draws a bar on standard error, calls the caller's own function, or does nothing.
Bars are throttled by their own clock, so that a loop may report as often as it likes.

Left out: deciding when to report (the work knows), and a bar for notebooks (tqdm's plain bar reads well there too).
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

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["Progress", "ProgressEvent", "Reporter", "json_lines", "make_reporter"]

# Ten a second is as fast as an eye follows and slow enough for a log on a network disk.
INTERVAL_S = 0.1
# Work that is over before anybody could read its bar draws none.
DELAY_S = 0.3

# What a person reads for each stage; a stage that is not here is shown by its name.
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
    """How far one stage of a long work has come.

    Attributes:
        stage: which stage: ``"count"``, ``"merge"``, …
        done: units done so far, from the beginning of the stage.
        total: units in all, or None when nobody can know (standard input).
        unit: what is counted: ``"B"`` for bytes, else a plural noun (``"merges"``).
        message: a line worth keeping beside the bar, usually empty.

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
    """Turns the ``progress=`` of a public function into something that can be called with each event.

    Args:
        progress: None draws a bar when standard error is a terminal; True draws it anyway; False is silent; a
            function gets every event, in the thread that does the work, and what it raises stops the work.

    Yields:
        The reporter; leaving the block closes the bar, whatever happened inside.

    Raises:
        ConfigError: none of these.

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
    """A reporter that writes one JSON object per line, for logs that programs read.

    The first and the last event of a stage and every event with a message are written; between them at most one for
    each interval.

    Args:
        stream: where to write; standard error when None.
        interval_s: the least time between two ordinary lines, in seconds.

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
    """Reports to nobody."""


class _Bars:
    """One tqdm bar for each stage, on standard error; a stage that begins closes the bar of the one before."""

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
        """Leaves the last bar where it stands."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _bar(event: ProgressEvent) -> tqdm[None]:
    """A new bar for the event's stage. tqdm is imported here, for most programs never draw one."""
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[type-arg]
        # tqdm's monitor thread and its lock between processes would outlive us in every `fork` of the caller's program.
        monitor_interval = 0

    Bar.set_lock(RLock())
    return Bar(
        desc=STAGE_WORDS.get(event.stage, event.stage),
        total=event.total,
        unit=event.unit if event.unit == "B" else f" {event.unit}",
        unit_scale=True,
        mininterval=INTERVAL_S,
        delay=DELAY_S,
        dynamic_ncols=True,
        file=sys.stderr,
        disable=False,
    )

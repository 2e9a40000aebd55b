"""Progress events for functions, bars and JSON lines."""

from __future__ import annotations

import io
import json
import sys
import threading

import pytest

from jeton.util.progress import ProgressEvent, json_lines, make_reporter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(progress: object) -> None:
    with make_reporter(progress) as report:  # type: ignore[arg-type]
        for done in (0, 500_000, 1_000_000):
            report(ProgressEvent("count", done, 1_000_000, "B"))
        report(ProgressEvent("merge", 7, None, "merges", "no pair left"))


def test_a_function_gets_every_event() -> None:
    seen: list[ProgressEvent] = []
    run(seen.append)
    assert [(event.stage, event.done) for event in seen] == [
        ("count", 0),
        ("count", 500_000),
        ("count", 1_000_000),
        ("merge", 7),
    ]


def test_exceptions_of_the_function_propagate() -> None:
    def stop(event: ProgressEvent) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        run(stop)


@pytest.mark.parametrize(
    ("progress", "terminal", "drawn"), [(None, False, 0), (False, True, 0), (None, True, 1), (True, False, 1)]
)
def test_a_bar_is_drawn_on_terminals_or_on_request(
    monkeypatch: pytest.MonkeyPatch, progress: bool | None, terminal: bool, drawn: bool
) -> None:
    stderr = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr("jeton.util.progress.DELAY_S", 0)
    run(progress)
    assert ("counting pretokens" in stderr.getvalue()) == drawn
    assert ("no pair left" in stderr.getvalue()) == drawn


def test_a_bar_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    before = set(threading.enumerate())
    run(True)
    assert set(threading.enumerate()) == before


def test_quick_work_draws_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stderr := io.StringIO())
    with make_reporter(True) as report:
        report(ProgressEvent("count", 1, 1, "B"))
    assert stderr.getvalue() == ""


def test_json_lines_keep_first_last_and_messages() -> None:
    out = io.StringIO()
    report = json_lines(out, interval_s=60)
    for done in range(101):
        report(ProgressEvent("merge", done, 100, "merges", "half" if done == 50 else ""))
    report(ProgressEvent("save", 0))
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["stage"], line["done"]) for line in lines] == [
        ("merge", 0),
        ("merge", 50),
        ("merge", 100),
        ("save", 0),
    ]
    assert [line.get("message") for line in lines] == [None, "half", None, None]

"""Plugin of pytest for `tools/mutants.py`, which records the tests that reach each mutant, and runs tests on mutants.

Tests are collected once, in one process. For each mutant, a fork of this process changes one function or selects a
mutant of the core. It runs the tests that reach the mutant, the shortest first, and ends at the first that fails.
Starting pytest for each mutant would take longer than most of these tests.

`JETON_MUTATION` names a JSON file that describes the task. It has either

- `record`: path of a map to write; `files`: modules whose lines are recorded. The map has `seconds` (test ->
  duration) and `lines` (path -> line -> tests, in the order they ran). Lines that run at import or in another process
  have no tests.
- or `jobs`: a list of mutants, each with its `tests` and a `limit` in seconds; `output`: a file to which a row is
  appended for each mutant.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

TASK: dict[str, Any] = json.loads(Path(os.environ["JETON_MUTATION"]).read_text(encoding="utf-8"))
FILES = frozenset(TASK.get("files", ()))
MEMORY = 8 << 30  # limit of a fork's address space, since a mutant may append to a list endlessly
MAX_CORE_MUTANTS = 4096  # equals the size of `REACHED` in the module that `mutants_core` adds to the core

seconds: dict[str, float] = {}
failed: set[str] = set()
lines: defaultdict[str, defaultdict[int, list[str]]] = defaultdict(lambda: defaultdict(list))


class Recorder:
    """Holds the trace functions that record which lines a test runs."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int]] = set()
        self.is_recorded: dict[CodeType, bool] = {}

    def call(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace function for a call of a Python function."""
        code = frame.f_code
        recorded = self.is_recorded.get(code)
        if recorded is None:
            recorded = self.is_recorded[code] = code.co_filename in FILES
        return self.line if recorded else None

    def line(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace function for a line of a recorded module."""
        self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self.line


@functools.cache
def core() -> ctypes.CDLL | None:
    """Returns the extension module if it was built with mutants, else None."""
    from jeton import _core

    library = ctypes.CDLL(_core.__file__)
    return library if hasattr(library, "jeton_set_mutant") else None


def reached() -> Iterator[int]:
    """Yields the mutants of the core that were reached since the last call."""
    if (library := core()) is not None:
        counts = (ctypes.c_uint8 * MAX_CORE_MUTANTS)()
        library.jeton_take_reached(counts)
        yield from (number for number, was in enumerate(counts) if was)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Records which lines, and which mutants of the core, are reached by a test."""
    if "record" not in TASK or item.get_closest_marker("alone"):  # tests with this marker measure time
        return (yield)
    recorder = Recorder()
    began = time.monotonic()
    if FILES:
        threading.settrace(recorder.call)
        sys.settrace(recorder.call)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        seconds[item.nodeid] = round(time.monotonic() - began, 3)
        for path, number in recorder.seen:
            lines[path][number].append(item.nodeid)
        for number in reached():
            lines["core"][number].append(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records the tests that fail in the run without mutants."""
    if report.failed:
        failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Writes the map, after removing failed tests from its lists of tests."""
    if "record" in TASK:
        for tests in (tests for numbers in lines.values() for tests in numbers.values()):
            tests[:] = [test for test in tests if test not in failed]
        found = json.dumps({"seconds": seconds, "lines": lines}, ensure_ascii=False)
        Path(TASK["record"]).write_text(found, encoding="utf-8")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Runs each mutant in a fork."""
    if "jobs" not in TASK:
        return None
    items = {item.nodeid: item for item in session.items}
    with Path(TASK["output"]).open("a", encoding="utf-8") as output:
        for job in TASK["jobs"]:
            if time.time() > TASK["end"]:
                break
            began = time.monotonic()
            tests = [items[name] for name in job.pop("tests") if name in items]
            result = in_fork(session, job, tests)
            row = {**job, **result, "tests": len(tests), "seconds": round(time.monotonic() - began, 1)}
            output.write(json.dumps(row, ensure_ascii=False) + "\n")
            output.flush()
    return True


def in_fork(session: pytest.Session, job: dict[str, Any], tests: list[pytest.Item]) -> dict[str, Any]:
    """Runs tests on a mutant until one fails or the time limit is reached.

    In the result, `caught` tells whether the tests noticed the mutant; None: it needs a process of its own. If they
    noticed it, `by` names the last test that was run.
    """
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(reading)
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            change(job)
            for at, test in enumerate(tests):
                os.write(writing, b"%d\n" % at)
                following = tests[at + 1] if at + 1 < len(tests) else None
                session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
                if session.testsfailed:
                    os._exit(1)
            os._exit(0)
        except NotChangeableError:
            os._exit(3)
        finally:
            os._exit(2)
    os.close(writing)
    end = time.monotonic() + job["limit"]
    status = None
    while status is None and time.monotonic() < end:
        time.sleep(0.01)
        done, ended = os.waitpid(pid, os.WNOHANG)
        status = ended if done else None
    if status is None:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    with os.fdopen(reading, "rb") as progress:
        last = progress.read().split()[-1:]
    if status == 3 << 8:
        return {"caught": None}
    if status == 0:
        return {"caught": False}
    return {"caught": True, "by": tests[int(last[0])].nodeid if last else "", "killed": status is None}


class NotChangeableError(Exception):
    """Raised if the mutant's code is in no function of this process; the mutant then needs a process of its own."""


def change(job: dict[str, Any]) -> None:
    """Changes this process into the mutant."""
    if job["path"] == "core":
        library = core()
        assert library is not None  # noqa: S101
        library.jeton_set_mutant(job["number"])
        return
    path = Path(job["file"])
    importlib.import_module(job["module"])
    original = path.read_bytes()
    mutated = original[: job["start"]] + job["after"].encode() + original[job["end"] :]
    codes = dict(zip(functions(original, path), functions(mutated, path).values(), strict=True))
    changed = 0
    for function in [one for one in gc.get_objects() if isinstance(one, FunctionType)]:
        code = function.__code__
        if code.co_filename == str(path):
            new = codes.get((code.co_qualname, code.co_firstlineno))
            if new is not None:
                try:
                    function.__code__ = new
                except ValueError as error:  # the number of free variables differs from the original's
                    raise NotChangeableError from error
                changed += 1
    if not changed:
        raise NotChangeableError


def functions(source: bytes, path: Path) -> dict[tuple[str, int], CodeType]:
    """Returns the code of each function that is not inside of another function."""
    found: dict[tuple[str, int], CodeType] = {}

    def walk(code: CodeType) -> None:
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                # CO_NEWLOCALS (0x2) is set for a function, but not for a class body.
                if constant.co_flags & 0x2 and "<" not in constant.co_name:
                    found[constant.co_qualname, constant.co_firstlineno] = constant
                elif "<" not in constant.co_name:
                    walk(constant)

    walk(compile(source, str(path), "exec", dont_inherit=True))
    return found

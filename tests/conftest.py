"""Fixtures and settings of all tests.

``JETON_TEST_DATA`` names a folder with the large data (``corpora/``, ``vocabs/``); tests that need it skip without it.
``JETON_TESTS`` selects tests: see `selection`. ``CI`` makes Hypothesis deterministic.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import jeton

from .exclusive import Turns
from .material import KINDS, tokenizer
from .selection import ALL, EXHAUSTIVE, amount

# Texts of tests are short; they take the fast path nevertheless.
os.environ.setdefault("JETON_TABLES", "always")
# The outputs in tests and docs are English, whatever the developer's locale.
os.environ["JETON_LANG"] = "en"

examples = amount(100, default=20)
settings.register_profile("jeton", deadline=None, max_examples=examples)  # no deadline: other work slows a machine down
settings.register_profile("jeton-ci", deadline=None, max_examples=examples, derandomize=True, database=None)
settings.load_profile("jeton-ci" if os.environ.get("CI") else "jeton")

# A shell starts background jobs with Ctrl-C ignored, which every process of a test would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Collected tests, with those that are not selected.
COLLECTED = pytest.StashKey[list[pytest.Item]]()
TURNS = pytest.StashKey[Turns]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow(reason): runs with JETON_TESTS=all; what of it the default selection has")
    config.addinivalue_line("markers", "exhaustive: takes many minutes; runs with JETON_TESTS=exhaustive")
    config.addinivalue_line("markers", "alone: measures wall time; no other test runs meanwhile")
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist
        config.stash[TURNS] = Turns(config.workerinput["testrunuid"])


def pytest_unconfigure(config: pytest.Config) -> None:
    if (turns := config.stash.get(TURNS, None)) is not None:
        turns.close()


@pytest.hookimpl(tryfirst=True)  # before `-k` and `-m`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects tests, except those that the command line names."""
    config.stash[COLLECTED] = list(items)
    named = {arg.partition("[")[0] for arg in config.args if "::" in arg}
    left_out = [name for name, runs in (("slow", ALL), ("exhaustive", EXHAUSTIVE)) if not runs]
    dropped = [
        item
        for item in items
        if any(item.get_closest_marker(name) for name in left_out) and item.nodeid.partition("[")[0] not in named
    ]
    config.hook.pytest_deselected(items=dropped)
    gone = set(dropped)
    items[:] = [item for item in items if item not in gone]


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around pytest-timeout, which does not count the wait
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    turns = item.config.stash.get(TURNS, None)
    if turns is None:
        return (yield)
    with turns.turn(alone=item.get_closest_marker("alone") is not None):
        return (yield)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of large data."""
    folder = os.environ.get("JETON_TEST_DATA")
    if not folder:
        pytest.skip("needs the large data: set JETON_TEST_DATA to its folder")
    return Path(folder)


@pytest.fixture(scope="session")
def tok() -> jeton.Tokenizer:
    """Byte level, GPT-2's pattern, five special tokens."""
    return tokenizer("byte gpt2")


@pytest.fixture(scope="session", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The name of each kind of tokenizer."""
    return str(request.param)


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser of this machine, or the one that ``JETON_BROWSER`` names; one for all tests."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    path = os.environ.get("JETON_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium on this machine: install it, or set JETON_BROWSER to its path")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()

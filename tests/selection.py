"""Selection of tests, by the environment variable ``JETON_TESTS``.

- unset: the default selection, about five minutes on two cores. It covers every format, every oracle, hostile files and
  the page in a browser.
- ``all``: everything that a change must pass; ``.ci/run`` sets it.
- ``exhaustive``: also tests that take many minutes each, such as every code point in every context.

A test leaves the default selection by the marker ``slow``, with a reason: what is left of the same check in the default
selection. Random tests stay in it with fewer cases: `amount`. Grids keep a part of their cases: `rest_is_slow`.
`test_selection.py` checks what the default selection covers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

LEVELS = ("default", "all", "exhaustive")
LEVEL = os.environ.get("JETON_TESTS") or "default"
if LEVEL not in LEVELS:
    raise pytest.UsageError(f"JETON_TESTS is {LEVEL!r}; use one of {', '.join(LEVELS)}")
ALL = LEVEL != "default"
EXHAUSTIVE = LEVEL == "exhaustive"


def amount(everything: int, *, default: int) -> int:
    """Number of random cases: the first where everything runs, the second in the default selection."""
    return everything if ALL else default


def rest_is_slow(cases: Iterable[Any], keep: Callable[[Any], bool], reason: str) -> list[Any]:
    """Cases of a parametrized test, of which those that `keep` rejects are slow. A tuple is several arguments."""
    mark = pytest.mark.slow(reason=reason)
    wanted = [(case, case if isinstance(case, tuple) else (case,)) for case in cases]
    return [case if keep(case) else pytest.param(*values, marks=mark) for case, values in wanted]

"""The default selection covers every test file, every parameter of a grid, every format, oracle and hostile file.

Checked for the tests that were collected, so a run of all tests checks all.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from .conftest import COLLECTED

ROOT = Path(__file__).parent.parent
LEFT_OUT = ("slow", "exhaustive")
# Each function here has a case in the default selection.
COMPLETE = ("tests/formats/", "tests/oracle/", "tests/test_hostile.py", "tests/test_fuzz_cases.py")


def is_default(item: pytest.Item) -> bool:
    return not any(item.get_closest_marker(name) for name in LEFT_OUT)


@pytest.fixture
def functions(request: pytest.FixtureRequest) -> dict[str, list[pytest.Item]]:
    """Test function -> its cases, of all that was collected."""
    found: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in request.config.stash[COLLECTED]:
        found[item.nodeid.partition("[")[0]].append(item)
    return found


def test_every_file_has_a_default_test(functions: dict[str, list[pytest.Item]]) -> None:
    files: dict[str, bool] = {}
    for name, items in functions.items():
        file = name.partition("::")[0]
        files[file] = files.get(file, False) or any(map(is_default, items))
    assert [file for file, has_default in files.items() if not has_default] == []


def test_every_test_of_formats_oracles_and_hostile_files_has_a_default_case(
    functions: dict[str, list[pytest.Item]],
) -> None:
    missing = [
        name for name, items in functions.items() if name.startswith(COMPLETE) and not any(map(is_default, items))
    ]
    assert missing == []


def test_every_value_in_a_grid_has_a_default_case(functions: dict[str, list[pytest.Item]]) -> None:
    """Applies to values shared by several cases, such as each source and each target of a conversion."""
    for name, items in functions.items():
        parameters = [getattr(item, "callspec", None) for item in items]
        if any(spec is None or len(spec.params) < 2 for spec in parameters) or not any(map(is_default, items)):
            continue
        values = [_values(spec) for spec in parameters]
        shared = {value for value, num in Counter(chain(*values)).items() if num > 1}
        default = set().union(*(each for each, item in zip(values, items, strict=True) if is_default(item)))
        assert shared - default == set(), name


def _values(spec: Any) -> set[tuple[str, str]]:
    return {(name, repr(value)) for name, value in spec.params.items()}


def test_every_slow_test_has_a_reason(functions: dict[str, list[pytest.Item]]) -> None:
    marks = [(name, item.get_closest_marker("slow")) for name, items in functions.items() for item in items]
    assert [name for name, mark in marks if mark and not mark.kwargs.get("reason")] == []


def test_a_slow_test_named_on_the_command_line_runs(tmp_path: Path) -> None:
    file, test = "tests/parity/test_training_parity.py", "test_20_mb_give_equal_merges_in_hf"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, f"{file}::{test}"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert test in done.stdout, done.stdout + done.stderr

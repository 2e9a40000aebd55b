"""Replays findings of fuzzing `jeton.load`; `fuzz/tests/replay.rs` replays the cases of the core.

`testdata/fuzz/index.toml` names each case and its outcome.
"""

from __future__ import annotations

import importlib.util
import tomllib
from types import ModuleType

import pytest

from .material import TESTDATA

FOLDER = TESTDATA / "fuzz"
CASES: list[dict[str, str]] = tomllib.loads((FOLDER / "index.toml").read_text("utf-8"))["case"]


def loaders() -> ModuleType:
    spec = importlib.util.spec_from_file_location("loaders", TESTDATA.parent / "fuzz" / "loaders.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["name"].startswith("load-")], ids=lambda case: case["name"]
)
def test_each_case_has_its_outcome(case: dict[str, str]) -> None:
    kind, _, _ = case["name"].removeprefix("load-").partition("/")
    with loaders().Loader(kind) as loader:
        outcome, message = loader.check((FOLDER / case["name"]).read_bytes())
    assert outcome == case["outcome"], message
    assert case.get("message", "") in message


def test_the_index_lists_every_case() -> None:
    found = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*"))
    assert sorted(case["name"] for case in CASES) == found

"""``tools/environment.py``, which creates the environments of the Makefile: its reports on a machine."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "environment.py"


@pytest.fixture
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def program(folder: Path, name: str, prints: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho '{prints}'\n")
    (folder / name).chmod(0o755)


def test_an_old_python_is_reported(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(script["missing"]()) == []
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))
    (problem,) = script["missing"]()
    assert "is Python 3.9.2; Jeton needs 3.11 or later" in problem
    assert script["main"]("unused", []) == 1


def test_a_python_without_venv_is_reported(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    (problem,) = script["missing"]()
    assert "has no module ensurepip" in problem
    assert "python3-venv" in problem


@pytest.mark.skipif(os.name == "nt", reason="the programs here are shell scripts")
def test_a_missing_or_old_rust_toolchain_is_reported(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    note = script["toolchain_note"]
    monkeypatch.setenv("PATH", f"{tmp_path}")
    assert "no Rust toolchain" in note()
    program(tmp_path, "cargo", "cargo 1.70.0")
    program(tmp_path, "rustc", "rustc 1.70.0 (90c541806 2023-05-31)")
    assert "rustc is 'rustc 1.70.0 (90c541806 2023-05-31)'. Update it" in note()
    program(tmp_path, "rustc", "rustc 1.95.0 (59807616e 2026-04-14)")
    assert "no linker" in note()
    program(tmp_path, "cc", "cc")
    assert note() is None


def test_a_missing_folder_argument_prints_the_usage() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "usage: " in done.stderr

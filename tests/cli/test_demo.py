"""``jeton demo``, on a small standard library in place of Python's own, which the README uses."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest

import jeton
from jeton.cli import demo as module
from jeton.drawing.display_width import display_width

from .conftest import Run


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "lib"
    for name in ("a.py", "package/b.py", "site-packages/c.py"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def function(argument):\n    return argument\n" * 50)
    (root / "latin.py").write_bytes("# caf\xe9".encode("latin-1"))
    get_path = sysconfig.get_path
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(root) if name == "stdlib" else get_path(name))
    monkeypatch.setattr(module, "VOCAB_SIZE", 600)
    return root


def test_the_tour_trains_and_encodes(run: Run, library: Path, tmp_path: Path) -> None:
    result = run("demo", "-o", tmp_path / "out", "--progress", "none")
    assert result.code == 0, result.err
    assert "Python source" in result.text
    assert "in 2 files" in result.text  # neither installed packages nor files that are not UTF-8
    for word in (
        "English lessons",
        "Chinese lessons",
        "bytes per token",
        "The first merges",
        "词",
        str(tmp_path / "out"),
    ):
        assert word in result.text
    tok = jeton.load(tmp_path / "out")
    assert len(tok) == 600
    for sentence in module.SENTENCES.values():
        assert " ".join(map(str, tok.encode(sentence))) in result.text


@pytest.mark.parametrize("reader", ["en", "zh"])
def test_the_tour_fits_a_terminal(
    reader: str, run: Run, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JETON_LANG", reader)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "terminal_look", lambda: (False, 80))
    lines = run("demo", "-o", "out", "--progress", "none").text.splitlines()
    assert [line for line in lines if display_width(line) > 80] == []


def test_quiet_prints_results_alone(run: Run, library: Path, tmp_path: Path) -> None:
    result = run("demo", "-o", tmp_path / "out", "-q")
    assert (result.code, result.err) == (0, "")
    names = [line.split("\t")[0] for line in result.text.splitlines()]
    assert names == ["Python source", "English lessons", "Chinese lessons"]
    assert len(jeton.load(tmp_path / "out")) == 600


def test_the_tour_in_json(run: Run, library: Path, tmp_path: Path) -> None:
    facts = json.loads(run("demo", "-o", tmp_path / "out", "--json", "-q").text)
    assert facts["num_tokens"] == 600
    assert set(facts["bytes_per_token"]) == {"Python source", "English lessons", "Chinese lessons"}


def test_a_python_without_sources_is_an_error(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    result = run("demo", "-o", tmp_path / "out")
    assert result.code == 1
    assert "no source files" in result.err

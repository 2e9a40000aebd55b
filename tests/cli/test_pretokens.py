"""``jeton pretokens``: files of counts, and reports on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton

from .conftest import CORPUS, Run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.txt").write_text(CORPUS, encoding="utf-8")
    return tmp_path / "corpus"


def test_counts_are_saved_and_trained_from(run: Run, corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "counts.jtc"
    result = run("pretokens", corpus, "-o", path, "--pattern", "gpt2")
    assert result.code == 0
    assert "in 1 document" in result.err
    assert jeton.Counts.load(path) == jeton.count_pretokens([CORPUS], pattern="gpt2")
    assert run("train", path, "-o", tmp_path / "counts.json", "-s", 280, "--pattern", "gpt2").code == 0
    assert run("train", corpus, "-o", tmp_path / "text.json", "-s", 280, "--pattern", "gpt2").code == 0
    assert (tmp_path / "counts.json").read_bytes() == (tmp_path / "text.json").read_bytes()


def test_files_of_counts_add_up(run: Run, corpus: Path, tmp_path: Path) -> None:
    one, both = tmp_path / "one.jtc", tmp_path / "both.jtc"
    assert run("pretokens", corpus, "-o", one).code == 0
    two = tmp_path / "two.jtc"
    two.write_bytes(one.read_bytes())
    assert run("pretokens", one, two, "-o", both).code == 0
    counts = jeton.Counts.load(one)
    assert jeton.Counts.load(both) == counts + counts
    repeated = run("pretokens", one, one, "-o", both)
    assert jeton.Counts.load(both) == counts
    assert f"1 file is not read: 1 read already ({one})" in repeated.err
    mixed = run("pretokens", one, corpus / "a.txt", "-o", both)
    assert mixed.code == 1
    assert "a.txt is not: count the latter first" in mixed.err


def test_the_report_as_text_and_json(run: Run, corpus: Path) -> None:
    shown = run("pretokens", "-", "--report", "--top", 3, "--min-count", 2, input=CORPUS.encode())
    report = jeton.count_pretokens([CORPUS], min_count=2).report(3)
    assert shown.text == f"{report}\n"
    facts = json.loads(run("pretokens", corpus, "--report", "--json", "--top", 3, "--min-count", 2).text)
    assert facts == report.to_json()


def test_a_checkpoint_and_a_limit(run: Run, corpus: Path, tmp_path: Path) -> None:
    options = ("--memory-limit", "1MiB", "--checkpoint", tmp_path / "state", "-o", tmp_path / "a.jtc")
    for _ in range(2):
        assert run("pretokens", corpus, *options).code == 0
        assert jeton.Counts.load(tmp_path / "a.jtc") == jeton.count_pretokens([CORPUS])
    other = run("pretokens", corpus, "--pattern", "gpt2", *options)
    assert other.code == 1
    assert "was made with stages" in other.err


def test_a_missing_output_is_a_usage_error(run: Run, corpus: Path) -> None:
    nothing = run("pretokens", corpus)
    assert nothing.code == 2
    assert "-o FILE, --report or --plot FILE" in nothing.err
    assert run("pretokens", corpus, "--report", "--memory-limit", "much").code == 1


@pytest.mark.parametrize("option", ["-o", "--plot"])
def test_outputs_are_checked_before_the_work(
    run: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr(jeton, "count_pretokens", lambda *_, **__: pytest.fail("it counts"))
    result = run("pretokens", corpus, option, tmp_path / "none" / "x.svg")
    assert result.code == 1
    assert "the folder to save in does not exist" in result.err

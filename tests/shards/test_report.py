"""Reports: totals by source, and their outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError, FormatError, ShardError
from jeton.shards.sources import MAX_SOURCES, SourceTotals, group_files

from .conftest import EOS, facts_of, texts


@pytest.fixture
def made(tok: jeton.Tokenizer, tmp_path: Path) -> Path:
    """A folder of shards of two files of rows, one with records that are skipped."""
    for name, seed in (("a", 1), ("b", 2)):
        rows = [json.dumps({"text": text}) for text in texts(seed, 200)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join([*rows, "{"] if name == "b" else rows))
    jeton.shards.make(
        jeton.Corpus([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], errors="skip"),
        tmp_path / "out",
        tok,
        append_eos=True,
        task_bytes=3000,
        progress=False,
    )
    return tmp_path / "out"


def test_totals_of_a_source_do_not_depend_on_tasks(made: Path, tok: jeton.Tokenizer) -> None:
    """Totals do not depend on tasks, one of which has rows of both files."""
    report = jeton.shards.report(made)
    expected = {}
    for name, seed in (("a", 1), ("b", 2)):
        kept = [text for text in texts(seed, 200) if text]
        ids = sum(len([*tok.encode(text), EOS]) for text in kept)
        size = sum(len(text.encode()) for text in kept)
        expected[str(made.parent / f"{name}.jsonl")] = SourceTotals(len(kept), size, ids)
    assert report.sources == expected
    assert sum(totals.tokens for totals in report.sources.values()) == report.tokens
    assert report.num_skipped == 1


def test_the_report_as_json_markdown_and_plots(made: Path) -> None:
    report = jeton.shards.report(made)
    assert facts_of(made / "report.json") == json.loads(json.dumps(report.to_json()))
    totals = report.sources[str(made.parent / "a.jsonl")]
    assert f"| {made.parent}/a.jsonl | {totals.documents} | {totals.bytes:,} | " in (made / "report.md").read_text()
    for name in ("plot.svg", "plot.png"):
        report.plot(made.parent / name)
        first = (made.parent / name).read_bytes()
        report.plot(made.parent / name)
        assert (made.parent / name).read_bytes() == first
    shown = re.findall("<!-- (.*?) -->", (made.parent / "plot.svg").read_text())
    assert f"{report.sources[str(made.parent / 'b.jsonl')].tokens:,}" in shown
    assert {"bytes per token", "skipped records", "not a JSON row"} <= set(shown)
    with pytest.raises(ConfigError, match=r"a plot ends in \.png"):
        report.plot(made.parent / "plot.gif")


def test_a_report_of_counts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower")
    report = jeton.shards.make(tmp_path / "a.txt", tmp_path / "out", format="counts", progress=False)
    assert report.sources == {}
    report.plot(tmp_path / "plot.svg")
    assert jeton.shards.report(tmp_path / "out") == report


def test_a_missing_and_a_damaged_report(made: Path) -> None:
    for content in ("[]", "{}", '{"format": 1'):
        (made / "report.json").write_text(content)
        with pytest.raises(FormatError, match=r"report\.json"):
            jeton.shards.report(made)
    (made / "report.json").unlink()
    with pytest.raises(ShardError, match=r"no report\.json"):
        jeton.shards.report(made)


def test_many_files_are_grouped_by_folder() -> None:
    files = [f"/data/{language}/{part}/{number}.txt" for language in "abc" for part in range(20) for number in range(9)]
    grouped = group_files(files)
    assert set(grouped.values()) == {"/data/a/", "/data/b/", "/data/c/"}
    assert grouped["/data/b/7/3.txt"] == "/data/b/"
    assert len(set(group_files(files[:MAX_SOURCES]).values())) == MAX_SOURCES
    assert set(group_files(files, 0).values()) == {"/data/"}
    assert set(group_files([f"{number}.txt" for number in range(50)]).values()) == {f"{n}.txt" for n in range(50)}


@pytest.mark.parametrize("read", [jeton.shards.open, jeton.shards.report])
def test_a_missing_result_is_explained(read: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("a")
    jeton.shards.plan(tmp_path / "a.txt", tmp_path / "planned", tok)
    for folder, hint in (
        ("absent", "^there is no folder .*absent$"),
        ("empty", r"empty: no (manifest|report)\.json; this is not a folder of shards$"),
        ("planned", r"planned: no (manifest|report)\.json; jeton\.shards\.merge \(jeton shards merge\) writes it when"),
    ):
        with pytest.raises(ShardError, match=hint):
            read(tmp_path / folder)

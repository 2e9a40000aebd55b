"""Totals of the arguments: paths, globs and folders of a corpus, as they were given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import jeton

from .conftest import EOS, facts_of, rewrite
from .test_identity import IDS


def expected(tok: jeton.Tokenizer, place: Path) -> dict[str, int]:
    from jeton.corpus import open_corpus

    found = [document.data for document in open_corpus(place)]
    ids = [[*tok.encode(data), EOS] for data in found if data]
    return {"documents": len(ids), "bytes": sum(map(len, found)), "tokens": sum(map(len, ids))}


def make(corpus: Any, folder: Path, tok: jeton.Tokenizer, **options: Any) -> jeton.shards.Report:
    options = {"append_eos": True, "progress": False, "task_bytes": 4000, **options}
    return jeton.shards.make(corpus, folder, tok, **options)


@pytest.mark.parametrize("options", [*({"format": name} for name in IDS), {"shuffle": 3}, {"pack": 16}])
def test_each_argument_has_its_totals(
    options: dict[str, Any], corpus: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus)
    names = ["d", "b.jsonl.gz", "[ac].*"]
    sources = [jeton.Source(name) for name in names]
    report = make(sources, tmp_path / "out", tok, **options)
    found = {name: totals._asdict() for name, totals in report.arguments.items()}
    both = [expected(tok, corpus / name) for name in ("a.jsonl", "c.parquet")]
    assert found == {
        "d": expected(tok, corpus / "d"),
        "b.jsonl.gz": expected(tok, corpus / "b.jsonl.gz"),
        "[ac].*": {name: both[0][name] + both[1][name] for name in both[0]},
    }
    assert facts_of(tmp_path / "out" / "manifest.json")["arguments"] == found
    assert jeton.shards.report(tmp_path / "out") == report
    assert "## Arguments\n\n| argument | documents |" in report.to_markdown()
    if options == {"format": "bin"}:  # the same plan with other names of the same files: the first names stay
        monkeypatch.chdir("/")
        again = make([jeton.Source(corpus / name) for name in names], tmp_path / "out", tok, **options)
        assert again.arguments == report.arguments


def test_a_single_argument_is_not_reported(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    report = make(corpus, tmp_path / "out", tok)
    assert report.arguments == {}
    assert "arguments" not in facts_of(tmp_path / "out" / "manifest.json")
    assert facts_of(tmp_path / "out" / "plan.json")["arguments"] == [[str(corpus), 23]]
    assert "Arguments" not in report.to_markdown()
    digest = jeton.shards.plan(corpus, tmp_path / "out", tok, append_eos=True, task_bytes=4000).digest
    parts = [corpus / name for name in ("a.jsonl", "b.jsonl.gz", "c.parquet", "d")]
    named = make(parts, tmp_path / "named", tok)
    assert facts_of(tmp_path / "named" / "manifest.json")["plan"] == digest
    assert list(named.arguments) == [os.fspath(part) for part in parts]
    assert sum(totals.tokens for totals in named.arguments.values()) == named.tokens == report.tokens


def test_plans_with_wrong_arguments_are_refused(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.plan([corpus / "a.jsonl", corpus / "d"], tmp_path / "out", tok)
    facts = facts_of(tmp_path / "out" / "plan.json")
    assert [count for _, count in facts["arguments"]] == [1, 20]
    for wrong in ([["a", 1]], [["a", -1], ["b", 22]], [], [["a", 21, 0]]):
        rewrite(tmp_path / "out" / "plan.json", {**facts, "arguments": wrong})
        with pytest.raises(jeton.errors.FormatError, match="arguments"):
            jeton.shards.status(tmp_path / "out")


def test_counts_have_no_arguments(corpus: Path, tmp_path: Path) -> None:
    report = jeton.shards.make(
        [corpus / "a.jsonl", corpus / "d"], tmp_path / "out", None, format="counts", progress=False
    )
    assert report.arguments == {}


def test_arguments_of_a_growing_corpus_stay_attributed(
    corpus: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier inputs keep their argument, even if later calls name them differently."""
    monkeypatch.chdir(corpus)
    make([jeton.Source("d")], tmp_path / "out", tok)
    make([jeton.Source("./d"), jeton.Source("a.jsonl")], tmp_path / "out", tok)
    report = jeton.shards.add(tmp_path / "out", [jeton.Source("c.parquet")], progress=False)
    names = ("d", "a.jsonl", "c.parquet")
    assert {name: totals._asdict() for name, totals in report.arguments.items()} == {
        name: expected(tok, corpus / name) for name in names
    }
    assert jeton.shards.repair(tmp_path / "out", progress=False).arguments == report.arguments
    assert jeton.shards.verify(tmp_path / "out", progress=False).is_valid


def test_completions_without_arguments_make_no_table(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Completions of an earlier version of Jeton have no arguments; their tasks are kept."""
    report = make([corpus / "a.jsonl", corpus / "d"], tmp_path / "out", tok)
    assert len(report.arguments) == 2
    done = tmp_path / "out" / "done" / "00000.json"
    facts = facts_of(done)
    del facts["arguments"]
    rewrite(done, facts)
    assert jeton.shards.merge(tmp_path / "out").arguments == {}

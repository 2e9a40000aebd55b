"""Counts as shards: training on them equals training on the corpus."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import jeton

OPTIONS: dict[str, Any] = {"pattern": "gpt2", "special_tokens": ["<|end|>"]}


def test_training_on_counts_equals_training_on_the_corpus(corpus: Path, tmp_path: Path) -> None:
    report = jeton.shards.make(
        corpus, tmp_path, format="counts", task_bytes=3000, workers=2, join=True, progress=False, **OPTIONS
    )
    direct = jeton.count_pretokens(corpus, progress=False, **OPTIONS)
    assert (report.tokens, report.documents) == (direct.total, direct.documents)
    files = sorted(tmp_path.glob("shard-*.jtc"))
    assert len(files) == report.shards > 5
    assert jeton.Counts.load(tmp_path / "joined" / "joined.jtc") == direct
    trained = [
        jeton.train(source, 300, progress=False, **OPTIONS)
        for source in (corpus, files, tmp_path / "joined" / "joined.jtc")
    ]
    assert len({tok.to_bytes() for tok in trained}) == 1


def test_skipped_records_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "low"}\nnonsense\n' * 30)
    jeton.shards.make(
        jeton.Corpus(tmp_path / "a.jsonl", errors="skip"),
        tmp_path / "out",
        format="counts",
        task_bytes=100,
        join=True,
        progress=False,
    )
    direct = jeton.count_pretokens(jeton.Corpus(tmp_path / "a.jsonl", errors="skip"), progress=False)
    assert jeton.Counts.load(tmp_path / "out" / "joined" / "joined.jtc") == direct


def test_plans_of_counts_have_no_ids(corpus: Path, tmp_path: Path) -> None:
    plan = jeton.shards.plan(corpus, tmp_path / "out", format="counts")
    assert (plan.tokenizer, plan.dtype, plan.vocab_size) == (None, None, 0)


def test_tasks_do_not_list_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing the folder for each file would take quadratic time."""
    (tmp_path / "a.txt").write_text("low lower\n" * 100)
    jeton.shards.plan(
        jeton.Corpus(tmp_path / "a.txt", documents="line"), tmp_path / "out", format="counts", task_bytes=20
    )
    listed, listdir = [], os.listdir

    def spy(path: str) -> list[str]:
        listed.append(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", spy)
    assert jeton.shards.run(tmp_path / "out", progress=False).done == 50
    assert len(listed) < 10


def test_damaged_counts_are_found(corpus: Path, tmp_path: Path) -> None:
    jeton.shards.make(corpus, tmp_path, format="counts", task_bytes=3000, progress=False, verify=False)
    assert jeton.shards.verify(tmp_path, progress=False).is_valid
    path = tmp_path / "shard-00001.jtc"
    path.write_bytes(path.read_bytes()[:-1] + b"\0\0")
    assert not jeton.shards.verify(tmp_path, progress=False).is_valid

"""Shards depend on the plan alone: not on workers, runners, jobs or batches. Documents do not depend on task sizes."""

from __future__ import annotations

import errno
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.shards import FORMATS

from ..selection import EXHAUSTIVE, amount
from .conftest import EOS, digest, stored, texts

IDS = [name for name in FORMATS if name != "counts"]


def make(corpus: Path, folder: Path, tok: jeton.Tokenizer, **options: Any) -> jeton.shards.Report:
    options = {"append_eos": True, "progress": False, "verify": False, "task_bytes": 4000, **options}
    return jeton.shards.make(corpus, folder, tok, **options)


@pytest.mark.parametrize("format", IDS)
def test_every_format_has_the_documents_of_the_corpus(
    format: str, corpus: Path, tok: jeton.Tokenizer, documents: list[list[int]], tmp_path: Path
) -> None:
    report = make(corpus, tmp_path / "a", tok, format=format, workers=2, verify=True)
    assert stored(tmp_path / "a") == documents
    assert (report.documents, report.tokens) == (len(documents), sum(map(len, documents)))
    assert report.highest_id == max(map(max, documents))
    make(corpus, tmp_path / "b", tok, format=format, workers=1)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


@pytest.mark.parametrize("task_bytes", [1000, 7777, 10**9])
def test_documents_do_not_depend_on_the_size_of_tasks(
    task_bytes: int, corpus: Path, tok: jeton.Tokenizer, documents: list[list[int]], tmp_path: Path
) -> None:
    make(corpus, tmp_path / "out", tok, format="bin", task_bytes=task_bytes)
    assert stored(tmp_path / "out") == documents


def test_tasks_smaller_than_a_line_encode_each_line_once(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower\n\nnew\r\nlast")
    report = make(jeton.Corpus(tmp_path / "a.txt", documents="line"), tmp_path / "out", tok, task_bytes=1)
    assert report.shards == (tmp_path / "a.txt").stat().st_size
    assert stored(tmp_path / "out") == [[*tok.encode(text), EOS] for text in ("low lower", "new", "last")]
    assert report.empty == 1


def test_processes_write_equal_files(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(corpus, tmp_path / "threads", tok, workers=3)
    make(corpus, tmp_path / "processes", tok, workers=2, runner="processes")
    assert digest(tmp_path / "threads") == digest(tmp_path / "processes")


def test_jobs_give_equal_shards_in_any_order_and_repeated(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(corpus, tmp_path / "one", tok, task_bytes=1500)
    rng = random.Random(7)
    for trial in range(amount(8, default=2)):
        folder = tmp_path / f"jobs-{trial}"
        plan = jeton.shards.plan(corpus, folder, tok, append_eos=True, task_bytes=1500)
        jobs = [(number, 8) for number in range(8)] * 2
        rng.shuffle(jobs)
        for job in jobs:
            if rng.random() < 0.3:  # the node lost a shard and its completion
                lost = rng.randrange(plan.num_tasks)
                (folder / "done" / f"{lost:05}.json").unlink(missing_ok=True)
            jeton.shards.run(folder, job=job, workers=1, progress=False)
        jeton.shards.run(folder, workers=1, progress=False)
        jeton.shards.merge(folder)
        assert digest(folder) == digest(tmp_path / "one")


@pytest.mark.timeout(1200)
def test_an_array_of_jobs_that_fail(tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in random order: some are interrupted, cannot rename a file, lose files of their node, or run twice."""
    num_jobs = 1000 if EXHAUSTIVE else amount(100, default=15)
    (tmp_path / "a.txt").write_text("\n".join(texts(9, 2 * num_jobs)))
    corpus = jeton.Corpus(tmp_path / "a.txt", documents="line")
    options: dict[str, Any] = {"task_bytes": (tmp_path / "a.txt").stat().st_size // num_jobs}
    make(corpus, tmp_path / "one", tok, **options)
    folder = tmp_path / "jobs"
    plan = jeton.shards.plan(corpus, folder, tok, append_eos=True, **options)
    rng = random.Random(11)
    replace, fsync, happened = os.replace, os.fsync, Counter[str]()

    def full(source: str, target: str) -> None:
        if rng.random() < 0.5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)
        replace(source, target)

    def interrupt(descriptor: int) -> None:  # after a file is written, or before its folder is flushed
        if rng.random() < 0.3:
            raise KeyboardInterrupt
        fsync(descriptor)

    left = list(range(num_jobs)) + rng.choices(range(num_jobs), k=num_jobs // 4)
    while left:
        job, kind = left.pop(rng.randrange(len(left))), rng.choice(["none", "full", "interrupt", "lost", "killed"])
        monkeypatch.setattr(os, "replace", full if kind == "full" else replace)
        monkeypatch.setattr(os, "fsync", interrupt if kind == "interrupt" else fsync)
        try:
            jeton.shards.run(folder, job=(job, num_jobs), workers=1, progress=False)
            if kind in ("lost", "killed"):  # after all its files, or before the completion
                (folder / "done" / f"{job:05}.json").unlink(missing_ok=True)
                if kind == "lost":
                    (folder / f"shard-{job:05}.bin").unlink(missing_ok=True)
                left.append(job)
        except (OSError, KeyboardInterrupt):
            left.append(job)
            happened["failed"] += 1
        happened[kind] += 1
    monkeypatch.undo()
    jeton.shards.run(folder, workers=2, progress=False)  # tasks beyond the jobs, and late failures
    jeton.shards.merge(folder)
    assert min(happened.values()) > num_jobs / 20
    assert plan.num_tasks >= num_jobs
    assert digest(folder) == digest(tmp_path / "one")


def test_batches_do_not_change_rows_groups(
    corpus: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of lines depend on the number of bytes that a read returns, which varies on a network."""
    from jeton.corpus import streams
    from jeton.shards.layouts import columns

    monkeypatch.setattr(columns, "GROUP_TOKENS", 1000)
    make(corpus, tmp_path / "a", tok, format="arrow")
    monkeypatch.setattr(streams, "BLOCK_BYTES", 700)
    monkeypatch.setattr(streams, "READ_BYTES", 300)
    make(corpus, tmp_path / "b", tok, format="arrow")
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


def test_a_finished_folder_is_unchanged(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(corpus, tmp_path, tok)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("shard-*")}
    make(corpus, tmp_path, tok)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("shard-*")} == times


def test_bos_and_named_eos_surround_documents(
    corpus: Path, tok: jeton.Tokenizer, documents: list[list[int]], tmp_path: Path
) -> None:
    make(corpus, tmp_path, tok, format="bin", prepend_bos=True, append_eos="<|begin|>", verify=True)
    assert stored(tmp_path) == [[EOS + 1, *ids[:-1], EOS + 1] for ids in documents]


def test_append_eos_false_leaves_eos_out(
    corpus: Path, tok: jeton.Tokenizer, documents: list[list[int]], tmp_path: Path
) -> None:
    make(corpus, tmp_path, tok, format="datatrove", append_eos=False, verify=True)
    assert stored(tmp_path) == [ids[:-1] for ids in documents]

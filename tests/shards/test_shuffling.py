"""Global shuffle: a permutation that depends on the plan alone, and that no interruption changes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, ShardError
from jeton.shards.collecting import read_origins
from jeton.shards.shuffling import buckets_of, document_keys

from ..selection import amount
from .conftest import digest, rehash, stored
from .test_identity import IDS

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def mixed(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def key(seed: int, task: int, index: int) -> int:
    state = mixed(seed + STEP & MASK)
    state = mixed(state + (task + 1) * STEP & MASK)
    return mixed(state + (index + 1) * STEP & MASK)


def make(corpus: Any, folder: Path, tok: jeton.Tokenizer, **options: Any) -> jeton.shards.Report:
    options = {"append_eos": True, "progress": False, "task_bytes": 4000, "shuffle": 7, "format": "bin", **options}
    return jeton.shards.make(corpus, folder, tok, **options)


def by_task(corpus: Path, folder: Path, tok: jeton.Tokenizer) -> list[list[list[int]]]:
    """Documents of each task, as shards without a shuffle have them."""
    make(corpus, folder, tok, shuffle=None, verify=False)
    dataset = jeton.shards.open(folder)
    return [
        [dataset.shard(shard)[i].tolist() for i in range(len(dataset.shard(shard)))]
        for shard in range(dataset.num_shards)
    ]


def test_keys_are_those_of_plain_python() -> None:
    rng = random.Random(1)
    for seed in (0, 1, MASK):
        places = [(rng.randrange(1 << 20), rng.randrange(1 << 32)) for _ in range(50)]
        tasks, indices = (np.array(column) for column in zip(*places, strict=True))
        keys = document_keys(seed, tasks, indices)
        assert keys.tolist() == [key(seed, task, index) for task, index in places]
        assert buckets_of(keys, 1000).tolist() == [(key >> 32) * 1000 >> 32 for key in keys.tolist()]


@pytest.mark.parametrize("format", IDS)
def test_documents_are_sorted_by_key(format: str, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    tasks = by_task(corpus, tmp_path / "plain", tok)
    places = [(key(7, task, index), task, index) for task, own in enumerate(tasks) for index in range(len(own))]
    report = make(corpus, tmp_path / "out", tok, format=format)
    if format != "olmo":  # its rows are not split into tasks
        assert stored(tmp_path / "out") == [tasks[task][index] for _, task, index in sorted(places)]
        origins = [read_origins(tmp_path / "out", f"shard-{shard:05}") for shard in range(report.shards)]
        assert np.concatenate(origins).tolist() == [[task, index, 0] for _, task, index in sorted(places)]
    else:
        assert sorted(stored(tmp_path / "out")) == sorted(ids for own in tasks for ids in own)
    assert (report.documents, report.shards > 3) == (len(places), True)
    assert jeton.shards.verify(tmp_path / "out", progress=False).compared > 50
    assert not list((tmp_path / "out" / "spool").glob("*.bin"))


def test_shuffled_olmo_documents_keep_their_sources(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    import csv
    import gzip

    def rows(folder: Path) -> list[tuple[list[int], list[str]]]:
        found = []
        for path in sorted(folder.glob("*.npy")):
            ids = np.fromfile(path, "<u2")
            with gzip.open(path.with_suffix(".csv.gz"), "rt", encoding="utf-8", newline="") as file:
                found += [(ids[int(row[0]) : int(row[1])].tolist(), row[2:]) for row in csv.reader(file)]
        return found

    make(corpus, tmp_path / "plain", tok, format="olmo", shuffle=None)
    make(corpus, tmp_path / "out", tok, format="olmo")
    assert rows(tmp_path / "out") != rows(tmp_path / "plain")
    assert sorted(rows(tmp_path / "out")) == sorted(rows(tmp_path / "plain"))
    make(corpus, tmp_path / "packed", tok, format="olmo", pack=50, packing="best_fit")
    pieces = [row for row in rows(tmp_path / "packed") if row[1][1] != "padding"]
    joined: dict[str, int] = {}
    for ids, source in pieces:
        joined[source[0]] = joined.get(source[0], 0) + len(ids)
    assert joined == {source[0]: len(ids) for ids, source in rows(tmp_path / "plain")}


def test_positions_are_uniform(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Chi-square of tenths of the corpus by tenths of the result; 140 of 81 degrees of freedom: probability 5e-5."""
    number = 10_000
    (tmp_path / "lines.txt").write_text("".join(f"{index}\n" for index in range(number)))
    orders = []
    for seed in (1, 2):
        options = {"task_bytes": 9_000, "append_eos": False, "verify": False}
        make(jeton.Corpus(tmp_path / "lines.txt", documents="line"), tmp_path / f"{seed}", tok, shuffle=seed, **options)
        orders.append([int(tok.decode(ids)) for ids in jeton.shards.open(tmp_path / f"{seed}")])
        order = np.array(orders[-1])
        assert np.array_equal(np.sort(order), np.arange(number))
        table, _, _ = np.histogram2d(order, np.arange(number), 10)
        expected = number / 100
        assert ((table - expected) ** 2 / expected).sum() < 140
        neighbors = np.abs(np.diff(order)) == 1  # 2 are expected
        assert neighbors.sum() < 15
    assert abs(np.corrcoef(orders)[0, 1]) < 0.03
    assert orders[0] != orders[1]


@pytest.mark.slow(reason="starts interpreters; threads are in the default selection")
def test_processes_shuffle_as_threads_do(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(corpus, tmp_path / "threads", tok, workers=2)
    make(corpus, tmp_path / "processes", tok, workers=2, runner="processes")
    assert digest(tmp_path / "threads") == digest(tmp_path / "processes")


def test_a_shuffle_does_not_depend_on_workers_and_jobs(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    options: dict[str, Any] = {"task_bytes": 4000, "verify": False}
    make(corpus, tmp_path / "one", tok, workers=1, **options)
    make(corpus, tmp_path / "three", tok, workers=3, **options)
    assert digest(tmp_path / "one") == digest(tmp_path / "three")
    rng = random.Random(3)
    for trial in range(amount(8, default=1)):
        folder = tmp_path / f"jobs-{trial}"
        plan = jeton.shards.plan(corpus, folder, tok, append_eos=True, task_bytes=4000, shuffle=7, format="bin")
        for stage in plan.stages:
            jobs = [(number, 4) for number in range(4)] * 2
            rng.shuffle(jobs)
            for job in jobs:
                if rng.random() < 0.3:  # the node lost a completion
                    lost = rng.randrange(len(stage.tasks))
                    (folder / stage.folder / f"{lost:05}.json").unlink(missing_ok=True)
                jeton.shards.run(folder, job=job, stage=stage.name, workers=1, progress=False)
            jeton.shards.run(folder, stage=stage.name, workers=1, progress=False)
        jeton.shards.merge(folder)
        assert digest(folder) == digest(tmp_path / "one")


def test_a_second_stage_before_the_first_is_complete_is_refused(
    corpus: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    plan = jeton.shards.plan(corpus, tmp_path, tok, shuffle=7, task_bytes=3000)
    assert [stage.name for stage in plan.stages] == ["spool", "shuffle"]
    match = r"of \d+ tasks of the stage spool are not complete, and the stage shuffle needs all; .* --stage spool\)"
    for options in ({"job": (0, 2)}, {"stage": "shuffle"}, {"job": (1, 2), "stage": "shuffle"}):
        (tmp_path / "spool" / "00000.json").unlink(missing_ok=True)
        with pytest.raises(ShardError, match=match):
            jeton.shards.run(tmp_path, progress=False, **options)
    found = jeton.shards.run(tmp_path, stage="spool", progress=False)
    assert (found.stage, found.done, found.is_complete) == ("shuffle", 0, False)
    with pytest.raises(ShardError, match="tasks of the stage shuffle are not complete"):
        jeton.shards.merge(tmp_path)
    assert jeton.shards.run(tmp_path, progress=False).is_complete
    with pytest.raises(ConfigError, match="stage='encode' is not one of spool, shuffle"):
        jeton.shards.run(tmp_path, stage="encode")


def test_a_shard_that_is_lost_after_merging(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(corpus, tmp_path, tok)
    before = digest(tmp_path)
    (tmp_path / "shard-00001.bin").unlink()
    (tmp_path / "done" / "00001.json").unlink()
    make(corpus, tmp_path, tok)
    assert digest(tmp_path) == before
    assert not list((tmp_path / "spool").glob("*.bin"))


def test_a_truncated_spool_is_spooled_again(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.plan(corpus, tmp_path, tok, shuffle=7, task_bytes=3000)
    jeton.shards.run(tmp_path, stage="spool", progress=False)
    path = tmp_path / "spool" / "00001.bin"
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    jeton.shards.run(tmp_path, stage="spool", progress=False)
    assert path.read_bytes() == data


@pytest.mark.parametrize("at", [0, 100, -1])
def test_a_damaged_spool_is_refused(at: int, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.plan(corpus, tmp_path, tok, shuffle=7, task_bytes=3000)
    jeton.shards.run(tmp_path, stage="spool", progress=False)
    path = tmp_path / "spool" / "00001.bin"
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(ShardError, match=r"spool/00001\.bin: damaged; remove it, and run the stage spool again"):
        jeton.shards.run(tmp_path, progress=False)
    path.unlink()
    assert jeton.shards.run(tmp_path, progress=False).is_complete
    jeton.shards.merge(tmp_path)
    assert jeton.shards.verify(tmp_path, progress=False).is_valid


def test_repair_spools_a_damaged_file_again(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.plan(corpus, tmp_path, tok, shuffle=7, task_bytes=3000)
    jeton.shards.run(tmp_path, stage="spool", progress=False)
    path = tmp_path / "spool" / "00001.bin"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    jeton.shards.repair(tmp_path, progress=False)
    assert jeton.shards.verify(tmp_path, progress=False).is_valid


def test_verify_finds_a_document_that_is_not_its_source(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(corpus, tmp_path, tok, append_eos=False)
    name = "shard-00000.bin"
    ids = np.fromfile(tmp_path / name, "<u2")
    np.full_like(ids, 1).tofile(tmp_path / name)
    rehash(tmp_path, name)
    problems = jeton.shards.verify(tmp_path, progress=False).problems
    assert problems
    assert all(
        "its documents of task" in problem and "differ from those of their source" in problem for problem in problems
    )


def test_another_seed_is_refused(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(corpus, tmp_path, tok)
    for options in ({"shuffle": 8}, {"shuffle": None}):
        with pytest.raises(ConfigError, match="was planned with shuffle 7") as caught:
            make(corpus, tmp_path, tok, **options)
        assert caught.value.option == "shuffle"
    with pytest.raises(ConfigError, match="shuffle=-1"):
        make(corpus, tmp_path, tok, shuffle=-1)
    with pytest.raises(ConfigError, match="shuffle= applies to formats of ids"):
        jeton.shards.plan(corpus, tmp_path / "counts", format="counts", shuffle=3)


def test_an_empty_corpus_gives_an_empty_shard(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    report = make(tmp_path / "a.txt", tmp_path / "out", tok, format="megatron", pack=8)
    assert (report.documents, report.shards, report.packing["rows"]) == (0, 1, 0)


def test_a_shuffle_reports_skipped_records_by_line(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    rows = [json.dumps({"text": f"low {number}"}) for number in range(300)]
    rows[150] = "nonsense"
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    report = make(jeton.Corpus(tmp_path / "a.jsonl", errors="skip"), tmp_path / "out", tok, task_bytes=1000)
    assert report.skipped == {"not a JSON row": (1, (f"{tmp_path / 'a.jsonl'}:151",))}
    assert (report.documents, report.num_skipped) == (299, 1)


def test_scripts_of_a_shuffle_have_two_arrays(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    plan = jeton.shards.plan(corpus, tmp_path, tok, shuffle=7, task_bytes=3000)
    with pytest.raises(ConfigError, match="a shuffle takes two arrays"):
        jeton.shards.slurm_script(tmp_path)
    script = jeton.shards.slurm_script(tmp_path, jobs=100, stage="spool")
    assert f"--array=0-{plan.num_tasks - 1}\n" in script
    assert "--dependency=afterok" in script
    assert " --stage shuffle " in jeton.shards.slurm_script(tmp_path, stage="shuffle")
    manifest = json.loads(jeton.shards.kubernetes_manifest(tmp_path, jobs=100, stage="shuffle"))
    assert manifest["spec"]["completions"] == plan.num_shards
    assert manifest["spec"]["template"]["spec"]["containers"][0]["command"][5:7] == ["--stage", "shuffle"]


def test_progress_of_each_stage_reaches_its_end(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    plan = jeton.shards.plan(corpus, tmp_path, tok, shuffle=7, task_bytes=3000)
    events: list[jeton.ProgressEvent] = []
    jeton.shards.run(tmp_path, workers=2, progress=events.append)
    for stage in plan.stages:
        own = [event for event in events if event.stage == stage.name]
        assert [event.done for event in own] == sorted(event.done for event in own)
        assert (own[0].done, own[-1].done, own[-1].total) == (0, plan.num_bytes, plan.num_bytes)

"""Plans: tasks cover their inputs; invalid arguments are refused; a plan of a large corpus is small and quick."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.errors import ConfigError, FormatError, MissingDependencyError, ShardError
from jeton.shards.folder import ShardFolder
from jeton.shards.plan import Plan
from jeton.shards.planning import difference_of
from jeton.shards.storage import RemoteStorage, storage_of
from jeton.shards.tasks import InputFile, cut_tasks, is_divisible

READING = {"documents": "file", "field": "text", "errors": "strict", "encoding": "utf-8", "max_expansion": 100}

files = st.lists(st.tuples(st.sampled_from(["a.jsonl", "b.txt", "c.jsonl.gz"]), st.integers(0, 300)), max_size=20)


@given(files, st.integers(1, 400))
def test_tasks_have_every_byte_once_in_order(sizes: list[tuple[str, int]], task_bytes: int) -> None:
    inputs = [InputFile(name, size, "") for name, size in sizes]
    divisible = [is_divisible(file.path, "file", "utf-8") for file in inputs]
    tasks = list(cut_tasks(inputs, divisible, task_bytes))
    assert [task.number for task in tasks] == list(range(len(tasks)))
    pieces = [piece for task in tasks for piece in task.pieces]
    assert [piece.input for piece in pieces] == sorted(piece.input for piece in pieces)
    assert {piece.input for piece in pieces} == set(range(len(inputs)))
    for index, file in enumerate(inputs):
        own = [piece for piece in pieces if piece.input == index]
        if not divisible[index]:
            assert [(piece.start, piece.end) for piece in own] == [(0, None)]
            continue
        assert [piece.start for piece in own] == [0, *(piece.end for piece in own[:-1])]
        assert own[-1].end == file.size
    assert sum(task.num_bytes for task in tasks) == sum(size for _, size in sizes)
    for task in tasks:
        assert len({piece.input for piece in task.pieces}) == len(task.pieces)
        assert len(task.pieces) == 1 or task.num_bytes <= task_bytes


def test_rows_in_utf8_and_parquet_are_divisible() -> None:
    assert is_divisible("a.JSONL", "file", "utf-8")
    assert is_divisible("https://host/a.ndjson?x=1", "file", "utf-8")
    assert is_divisible("a.parquet", "file", "gb18030")
    assert not is_divisible("a.jsonl", "file", "gb18030")
    assert not is_divisible("a.parquet.zst", "file", "utf-8")
    assert not is_divisible("a.jsonl", "file", "utf-8", names_lines=True)


def test_a_plan_survives_json(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    plan = jeton.shards.plan(corpus, tmp_path, tok, append_eos=True)
    stored = Plan.from_json(json.loads((tmp_path / "plan.json").read_bytes()))
    assert stored == plan
    assert (stored.digest, stored.tasks) == (plan.digest, plan.tasks)
    assert Path(stored.inputs[0].path).is_absolute()


def test_roles_are_ids_of_the_plan(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    plan = jeton.shards.plan(corpus, tmp_path, tok, prepend_bos=True, append_eos=True)
    assert (plan.bos, plan.eos) == (tok.bos_id, tok.eos_id) == (281, 280)


@pytest.mark.parametrize("role", ["bos", "eos"])
def test_a_role_of_a_plan_is_an_id_of_its_vocabulary(role: str) -> None:
    plan = Plan((InputFile("/a.txt", 1, ""),), READING, "bin", "uint16", 1, "j1:0", vocab_size=1)
    for id in (None, 0):
        facts = replace(plan, **{role: id}).to_json()  # type: ignore[arg-type]
        assert getattr(Plan.from_json(facts), role) == id
    with pytest.raises(FormatError, match="not a plan of shards"):
        Plan.from_json({**facts, role: 1})


@pytest.mark.parametrize(("number", "message"), [(1, "1 input has changed"), (2, "2 inputs have changed")])
def test_changed_inputs_are_counted(number: int, message: str, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.txt" for name in "abc"]
    for path in paths:
        path.write_text("low")
    before = jeton.shards.plan(paths, tmp_path / "out", tok)
    inputs = tuple(file._replace(size=9) if at < number else file for at, file in enumerate(before.inputs))
    assert difference_of(before, replace(before, inputs=inputs)) == message


def test_the_type_of_inputs_is_an_option_of_the_plan(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    for input_type, expected in (("auto", None), ("text", "text")):
        plan = jeton.shards.plan(jeton.Corpus(corpus / "d", input_type=input_type), tmp_path / input_type, tok)
        assert plan.reading.get("input_type") == expected
        assert Plan.from_json(json.loads((tmp_path / input_type / "plan.json").read_bytes())) == plan


def test_files_that_are_not_read_are_logged(
    tok: jeton.Tokenizer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("low")
    (tmp_path / "texts" / "b.png").write_bytes(b"x")
    jeton.shards.plan(tmp_path / "texts", tmp_path / "out", tok)
    assert "1 file is not read: " in caplog.text


def test_a_relative_path_is_resolved_in_the_callers_folder(
    corpus: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus)
    jeton.shards.plan("a.jsonl", tmp_path / "out", tok)
    monkeypatch.chdir(tmp_path)
    assert jeton.shards.run("out", progress=False).is_complete


def test_a_remote_corpus_is_planned_and_read(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    rows = "".join(json.dumps({"text": f"low {number}"}) + "\n" for number in range(100))
    fsspec.filesystem("memory").pipe("/shards/rows.jsonl", rows.encode())
    jeton.shards.make("memory://shards/*.jsonl", tmp_path, tok, task_bytes=300, progress=False)
    assert [tok.decode(ids) for ids in jeton.shards.open(tmp_path)] == [f"low {number}" for number in range(100)]
    fsspec.filesystem("memory").pipe("/shards/rows.jsonl", rows.encode())  # with a new time of creation
    jeton.shards.plan("memory://shards/*.jsonl", tmp_path, tok, task_bytes=300)
    assert jeton.shards.status(tmp_path).done == 0


def refused(match: str, corpus: Any, folder: Path, tok: Any, **options: Any) -> None:
    with pytest.raises(ConfigError, match=match):
        jeton.shards.plan(corpus, folder / "out", tok, **options)
    assert not (folder / "out").exists()


def test_invalid_arguments_are_refused(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    refused("tasks read files", [b"a text"], tmp_path, tok)
    refused("weight= of a Source", [jeton.Source(corpus, 2)], tmp_path, tok)
    refused("field= of a Source", jeton.Source(corpus, field="x"), tmp_path, tok)
    refused("sample_bytes= is not supported", jeton.Corpus(corpus, sample_bytes=5), tmp_path, tok)
    refused("format='npz' is not one of megatron", corpus, tmp_path, tok, format="npz")
    refused("needs a tokenizer", corpus, tmp_path, None)
    refused("is not a Tokenizer", corpus, tmp_path, 7)
    refused("task_bytes=0 is not", corpus, tmp_path, tok, task_bytes=0)
    refused("append_eos='<x>' is not a special token", corpus, tmp_path, tok, append_eos="<x>")
    refused("append_eos=1 is not True", corpus, tmp_path, tok, append_eos=1)
    bare = jeton.Tokenizer.from_merges({97: b"a"}, [])
    refused("has no role eos: name the special token", corpus, tmp_path, bare, append_eos=True)
    refused("have no effect", corpus, tmp_path, tok, format="counts")
    refused("are for format='counts'", corpus, tmp_path, tok, pattern="gpt2")
    with pytest.raises(FileNotFoundError):
        jeton.shards.plan(tmp_path / "none", tmp_path / "out", tok)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_refused(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    refused("must be able to read its input again", tmp_path / "pipe.txt", tmp_path, tok)


@pytest.mark.parametrize("job", [(1, 1), (-1, 2), (0, 0), (0,), 3])
def test_an_invalid_job_is_refused(job: Any, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.plan(corpus, tmp_path, tok)
    with pytest.raises(ConfigError, match="job"):
        jeton.shards.run(tmp_path, job=job)


def test_a_plan_of_a_hundred_thousand_tasks_is_small() -> None:
    """15 TB in 1 GB files: tasks are computed, not stored."""
    inputs = tuple(InputFile(f"s3://bucket/part-{number:05}.jsonl", 1 << 30, "ETag:abc") for number in range(14_000))
    plan = Plan(inputs, READING, "megatron", "int32", 150_000_000, "j1:0", 100_000)
    assert plan.num_tasks > 100_000
    spelled = json.dumps(plan.to_json())
    assert len(spelled) < 1_000_000
    assert Plan.from_json(json.loads(spelled)) == plan


def test_the_second_of_two_plans_at_once_is_refused(
    corpus: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither call sees a plan: the second one to write is refused, and changes neither plan nor tokenizer."""
    pytest.importorskip("fsspec")
    for folder in (str(tmp_path / "out"), "memory://two-plans/out"):
        jeton.shards.plan(corpus, folder, tok)
        storage = storage_of(folder)
        before = list(storage.read(["plan.json", "tokenizer.json"]))
        with monkeypatch.context() as patch:
            found, sizes = iter([False]), iter([None, 1])
            patch.setattr(ShardFolder, "check_free_of", lambda self, *names: None)
            patch.setattr(ShardFolder, "has", lambda self, name, found=found: next(found, True))
            if folder.startswith("memory"):
                patch.setattr(RemoteStorage, "size", lambda self, name, sizes=sizes: next(sizes))
            with pytest.raises(ConfigError, match="planned with"):
                jeton.shards.plan(corpus, folder, tok.add_tokens(["<|more|>"]), append_eos=True)
        assert list(storage.read(["plan.json", "tokenizer.json"])) == before


def test_an_equal_plan_writes_nothing(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.plan(corpus, tmp_path, tok)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    jeton.shards.plan(corpus, tmp_path, tok)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")} == before
    (tmp_path / "tokenizer.json").unlink()
    jeton.shards.plan(corpus, tmp_path, tok)
    assert jeton.shards.run(tmp_path, progress=False).is_complete


@pytest.mark.parametrize("pattern", ["", "/", "/*", "/**", "/**/*.bin"])
def test_an_output_in_the_corpus_is_refused(pattern: str, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """The files of the output would be inputs of the next call."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.bin").write_text("low")
    (tmp_path / "data" / "a.txt").write_text("low")
    place = f"{tmp_path}/data{pattern}"
    for output in ("data/out", "data/out/more"):
        with pytest.raises(
            ConfigError, match=r"the output .*data/out.* is inside of .*; pass a folder outside"
        ) as caught:
            jeton.shards.plan([place], tmp_path / output, tok)
        assert caught.value.option == "output"
        assert not (tmp_path / "data" / "out").exists()
    with pytest.raises(ConfigError, match=r"the input .*a\.bin is inside of the output"):
        jeton.shards.plan(tmp_path / "data" / "a.bin", tmp_path / "data", tok)


def test_an_output_beside_the_inputs_is_permitted(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("low")
    for output in ("data/out", "data-out"):
        for place in ("data/a.txt", "data/*.txt", "data/**/*.txt"):
            for _ in range(2):
                jeton.shards.plan(tmp_path / place, tmp_path / output, tok)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.txt").write_text("low")
    for output in ("more/.out", "more-out"):
        for _ in range(2):
            jeton.shards.plan(tmp_path / "more", tmp_path / output, tok)


def test_run_does_not_read_the_tokenizer_again_that_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("to be or not to be")
    tok = jeton.default()
    jeton.shards.plan(tmp_path / "a.txt", tmp_path / "out", tok)
    monkeypatch.setattr(jeton.Tokenizer, "from_bytes", lambda data: pytest.fail("read again"))
    assert jeton.shards.run(tmp_path / "out", progress=False).is_complete
    jeton.shards.merge(tmp_path / "out")
    assert jeton.shards.verify(tmp_path / "out", progress=False).is_valid


def test_a_changed_tokenizer_file_is_read_although_the_one_that_planned_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("to be or not to be")
    tok, other = jeton.default(), jeton.train(["a b"], vocab_size=257, progress=False)
    jeton.shards.plan(tmp_path / "a.txt", tmp_path / "out", tok)
    other.save(tmp_path / "out" / "tokenizer.json")
    with pytest.raises(ShardError, match="the plan is for"):
        jeton.shards.run(tmp_path / "out", progress=False)


def test_defaults_of_a_view_do_not_reach_the_shards(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("to be<|endoftext|>")
    for name, tok in (("plain", jeton.default()), ("view", jeton.default().with_options(special="all"))):
        jeton.shards.make(tmp_path / "a.txt", tmp_path / name, tok, progress=False)
    plain, view = ((tmp_path / name / "shard-00000.bin").read_bytes() for name in ("plain", "view"))
    assert plain == view


def test_planning_parquet_without_pyarrow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match="pyarrow"):
        jeton.shards.plan(tmp_path / "a.parquet", tmp_path / "out", jeton.default())

"""Plans: tasks cover their inputs; invalid arguments are refused; a plan of a large corpus is small and quick."""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.definition import Definition
from jeton.errors import ConfigError, FormatError, MissingDependencyError, ShardError
from jeton.shards.folder import ShardFolder
from jeton.shards.layouts import LAYOUTS
from jeton.shards.plan import Plan, check_inputs, list_inputs, named_runs, places_of, reading_of, renewed
from jeton.shards.planning import _names, added_id, difference_of, missing_tasks, stage_done
from jeton.shards.storage import RemoteStorage, storage_of
from jeton.shards.tasks import InputFile, cut_tasks, is_divisible
from jeton.training import Stages

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
    refused("writes counts, not ids: omit the tokenizer", corpus, tmp_path, tok, format="counts")
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


MODULE = import_module("jeton.shards.plan")
ONE = Plan((InputFile("/a.txt", 1, "1"),), READING, "megatron", "int32", 10, "j1:0", 300)
COUNTING = {"stages": Stages.of(Definition()).to_json(), "special_tokens": ["<s>"]}
COUNTED = Plan((InputFile("/a.txt", 1, "1"),), READING, "counts", None, 10, None, 0, counting=COUNTING)
PACKED = {"length": 8, "method": "best_fit", "rest": "pad", "pad": 0}


def row(name: str, *values: Any) -> list[tuple[str, Any]]:
    return [(name, value) for value in values]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *row("inputs", [], [["", 1, "1"]], [["/a\0", 1, "1"]], [["/a", -1, "1"]], [["/a", 1]], [["/a", 1, 1]], {}),
        *row("inputs", [["/a", 1, "1", None]], [["/a", 1, "1", -1]], [["/a", 1, "1", 2, 3]], [1]),
        *row("reading", [], None, {**READING, "x": 1}, {name: READING[name] for name in ("field", "errors")}),
        *row("reading", {**READING, "errors": "x"}),
        *row("format", "x", None, "bin2"),
        *row("dtype", "float32", None, 1, "uint32"),
        *row("task_bytes", 0, -1, 1.0, "1", True),
        *row("tokenizer", None, 1),
        *row("vocab_size", -1, (1 << 32) + 1, None, (1 << 31) + 1),
        *row("bos", -1, 300, "1", True),
        *row("eos", -1, 300, 1.0),
        *row("counting", {}, COUNTING, {"stages": {}, "special_tokens": [1]}),
        *row("shuffle", -1, 1 << 64, True, 1.0),
        *row("packing", [], {}, {**PACKED, "pad": 300}, {**PACKED, "method": "x"}),
        *row("chat", 1, {}),
        *row("arguments", [], [["a", 2]], [["a"]], [["a", -1]], [[1, 1]], {}),
        *row("keep", [], [""], ["a", "a"], [1], "a"),
        *row("hash_range", [0], [0, 0], [-1, 5], [5, 4], [0, (1 << 64) + 1], [0.0, 1], [0, True], [0, 1, 2]),
        *row("conversations", {}, [], {"too_long": "x"}, {"mask": {}}, {"x": 1}),
        *row("grown", [1], [-1], [0], ["a"], 1),
        *row("unknown", 1),
    ],
)
def test_a_plan_with_a_wrong_entry_is_refused(name: str, value: Any) -> None:
    facts = ONE.to_json()
    assert Plan.from_json(facts) == ONE
    with pytest.raises(FormatError, match=r"^plan\.json: not a plan of shards"):
        Plan.from_json({**facts, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *row("inputs", [["/a", 0, ""]], [["/a", 1, "1", 0]], [["/a", 1, "1", 2]]),
        *row("task_bytes", 1),
        *row("vocab_size", 1, (1 << 31) - 1),
        *row("bos", 0, 299),
        *row("eos", 0, 299),
        *row("shuffle", 0, (1 << 64) - 1),
        *row("packing", PACKED, {**PACKED, "pad": 299}),
        *row("arguments", [["a", 1]], [["a", 0], ["b", 1]]),
        *row("keep", ["a"], ["a", "b"]),
        *row("hash_range", [0, 1 << 64], [5, 6]),
        *row("sha256", "x"),
        *row("reading", {**READING, "input_type": "text"}),
    ],
)
def test_a_plan_with_an_entry_at_its_limit_is_read(name: str, value: Any) -> None:
    plan = Plan.from_json({**ONE.to_json(), name: value})
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert (plan == ONE) == (name == "sha256" or value == getattr(ONE, name))


@pytest.mark.parametrize(
    "changes",
    [
        {"shuffle": 1},
        {"packing": PACKED},
        {"chat": "x"},
        {"keep": ["a"]},
        {"dtype": "uint16"},
        {"tokenizer": "j1:0"},
        {"counting": None},
        {"counting": {"stages": {}, "special_tokens": []}},
        {"bos": 1},
    ],
)
def test_plans_of_counts_have_no_options_of_ids(changes: dict[str, Any]) -> None:
    assert Plan.from_json(COUNTED.to_json()) == COUNTED
    with pytest.raises(FormatError, match="not a plan of shards"):
        Plan.from_json({**COUNTED.to_json(), **changes})


@pytest.mark.parametrize(
    ("changes", "is_valid"),
    [
        ({"chat": "x", "conversations": {"mask": {"turns": "last", "stop": False}}}, True),
        ({"chat": "x", "conversations": {"mask": {"turns": "first"}}}, False),
        ({"chat": "x", "conversations": {"mask": {"x": 1}}}, False),
        ({"chat": "x", "conversations": {"mask": []}}, False),
        ({"chat": "x", "conversations": {"too_long": "drop"}}, False),
        ({"chat": "x", "conversations": {"too_long": "drop"}, "packing": PACKED}, True),
        ({"chat": "x", "conversations": {"too_long": "cut"}, "packing": PACKED}, False),
        ({"chat": "x", "conversations": {"too_long": "drop"}, "packing": {**PACKED, "method": "concatenate"}}, False),
        ({"conversations": {"mask": {"turns": "last"}}}, False),
        ({"chat": "x", "format": "megatron", "dtype": "int32"}, False),
        ({"grown": [1], "inputs": [["/a", 1, "1"], ["/b", 1, "1"]]}, True),
        ({"grown": [2, 1], "inputs": [["/a", 1, "1"], ["/b", 1, "1"], ["/c", 1, "1"]]}, False),
        ({"grown": [1, 1], "inputs": [["/a", 1, "1"], ["/b", 1, "1"]]}, False),
        ({"grown": [2], "inputs": [["/a", 1, "1"], ["/b", 1, "1"]]}, False),
    ],
)
def test_options_of_a_plan_that_belong_together(changes: dict[str, Any], is_valid: bool) -> None:
    facts = {**replace(ONE, format="bin", dtype="uint16").to_json(), **changes}
    if is_valid:
        assert json.loads(json.dumps(Plan.from_json(facts).to_json())) == facts
        return
    with pytest.raises(FormatError, match="not a plan of shards"):
        Plan.from_json(facts)


def test_a_plan_of_another_version_is_refused() -> None:
    for version in (1, 3, "2"):
        with pytest.raises(FormatError, match=f"x: version {version!r}; this Jeton reads version 2"):
            Plan.from_json({**ONE.to_json(), "version": version}, "x")
    for facts in ([], None, {}, {**ONE.to_json(), "version": None}):
        with pytest.raises(FormatError, match="not a plan of shards"):
            Plan.from_json(facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"reading": {**READING, "errors": "skip"}}, None),
        ({"inputs": (), "grown": (1,), "arguments": (("a", 1),)}, None),
        ({"tokenizer": "j1:" + "1" * 20, "dtype": "uint16"}, "with tok 'j1:0…', but this call has 'j1:111111111…'"),
        ({"task_bytes": 7}, "with task_bytes 10, but this call has 7"),
        ({"eos": 5}, "with append_eos unset, but this call has 5"),
        ({"bos": 5}, "with prepend_bos unset, but this call has 5"),
        ({"reading": {**READING, "field": "x"}}, "with field 'text', but this call has 'x'"),
        ({"reading": {**READING, "input_type": "text"}}, "with input_type unset, but this call has 'text'"),
        ({"packing": PACKED}, "with packing unset, but this call has {"),
        ({"chat": "x" * 200}, f"with chat unset, but this call has '{'x' * 99}…; pass the same, or another folder"),
        ({"chat": "x" * 98}, f"but this call has '{'x' * 98}'; pass"),
        ({"conversations": {"too_long": "drop"}}, "with too_long 'cut', but this call has 'drop'"),
        ({"conversations": {"mask": {"turns": "last"}}}, "with mask {}, but this call has {'turns': 'last'}"),
    ],
)
def test_a_folder_is_planned_with_one_set_of_options(changes: dict[str, Any], message: str | None) -> None:
    now = replace(ONE, **changes)
    if message is None:
        now.check_options(ONE, "out")
        return
    with pytest.raises(ConfigError) as caught:
        now.check_options(ONE, "out")
    found = str(caught.value).replace("tok=", "tok").replace("tokenizer 'j1", "tok 'j1")
    assert found.startswith("out was planned with ")
    assert message in found


def test_the_first_difference_of_packing_is_named() -> None:
    for name, value, option in (("length", 9, "pack"), ("method", "concatenate", "packing"), ("rest", "drop", "rest")):
        now, then = replace(ONE, packing={**PACKED, name: value}), replace(ONE, packing=PACKED)
        with pytest.raises(ConfigError) as caught:
            now.check_options(then, "out")
        assert caught.value.option == option
        assert f"{PACKED[name]!r}, but this call has {value!r}" in str(caught.value)


def files_of(*names: str, version: str = "1", size: int = 25) -> tuple[InputFile, ...]:
    return tuple(InputFile(name, size, version) for name in names)


@pytest.mark.parametrize(
    ("stored", "grown", "listed", "expected", "expected_grown"),
    [
        ("a b", (), "a b", "a b", ()),
        ("a b", (), "a b c", "a b c", (2,)),
        ("a c", (), "a b c d", "a c b d", (2,)),
        ("a c b", (2,), "a b c", "a c b", (2,)),
        ("a c b", (2,), "a b c d", "a c b d", (2, 3)),
        ("a a", (), "a a a", "a a a", (2,)),
        ("a b", (), "b a", "their order differs", None),
        ("a b", (), "a", "b is no longer one", None),
        ("a a", (), "a", "a is no longer one", None),
        ("b c a", (1,), "a b c", "their order differs", None),
    ],
)
def test_inputs_that_are_listed_again(
    stored: str, grown: tuple[int, ...], listed: str, expected: str, expected_grown: tuple[int, ...] | None
) -> None:
    then = replace(ONE, inputs=files_of(*stored.split()), grown=grown)
    now = replace(ONE, inputs=files_of(*listed.split()))
    if expected_grown is None:
        with pytest.raises(ConfigError, match=f"out was planned with other inputs: {expected}"):
            now.grown_from(then, "out")
        return
    found = now.grown_from(then, "out")
    assert [file.path for file in found.inputs] == expected.split()
    assert (found.grown, found.arguments) == (expected_grown, None)


def test_changed_inputs_keep_their_cuts_and_names() -> None:
    then = replace(ONE, inputs=(*files_of("a"), InputFile("b", 25, "1", 20)), arguments=(("x", 2),))
    now = replace(ONE, inputs=(InputFile("a", 30, "2"), *files_of("b", "c")), arguments=(("y", 3),))
    found = now.grown_from(then, "out")
    assert found.inputs == (InputFile("a", 30, "2", 25), InputFile("b", 25, "1", 20), *files_of("c"))
    assert found.arguments == (("x", 2), ("y", 1))
    assert found.argument_of == {"a": "x", "b": "x", "c": "y"}
    assert replace(found, arguments=None).argument_of == {}


def test_runs_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    files, names = files_of("a", "b", "c", "d"), {"a": "x", "b": "x", "c": "y", "d": "x"}
    assert named_runs(files, names) == (("x", 2), ("y", 1), ("x", 1))
    assert named_runs(files[:0], {}) == ()
    assert named_runs(files, {"a": "x"}) is None
    monkeypatch.setattr(MODULE, "MAX_ARGUMENTS", 2)
    assert named_runs(files, names) is not None
    monkeypatch.setattr(MODULE, "MAX_ARGUMENTS", 1)
    assert named_runs(files, names) is None


SHUFFLED = replace(ONE, inputs=files_of("/a.jsonl", "/b.jsonl", "/c.txt.gz"), shuffle=3)


@pytest.mark.parametrize(
    ("plan", "tasks", "shards", "generations"),
    [
        (replace(SHUFFLED, shuffle=None), 6, 6, [(range(6), range(6), 75)]),
        (SHUFFLED, 6, 15, [(range(6), range(15), 75)]),
        (replace(SHUFFLED, grown=(1,)), 7, 16, [(range(3), range(3), 25), (range(3, 7), range(3, 16), 50)]),
        (replace(SHUFFLED, shuffle=None, grown=(1,)), 6, 6, [(range(6), range(6), 75)]),
        (replace(SHUFFLED, inputs=files_of("/a", size=0)), 1, 1, [(range(1), range(1), 0)]),
        (replace(SHUFFLED, inputs=files_of("/a", size=30)), 1, 3, [(range(1), range(3), 30)]),
        (replace(SHUFFLED, inputs=files_of("/a", size=31)), 1, 4, [(range(1), range(4), 31)]),
    ],
)
def test_stages_of_a_plan(plan: Plan, tasks: int, shards: int, generations: list[Any]) -> None:
    assert (plan.num_tasks, plan.num_shards) == (tasks, shards)
    assert [tuple(one) for one in plan.generations] == generations
    names = ["shards"] if plan.shuffle is None else ["spool", "shuffle"]
    assert [stage.name for stage in plan.stages] == names
    assert [len(stage.tasks) for stage in plan.stages] == ([tasks] if plan.shuffle is None else [tasks, shards])
    assert sum(task.num_bytes for task in plan.stages[-1].tasks) == plan.num_bytes
    for number in range(shards):
        assert number in plan.generation_of(number, "done").buckets
    for number in range(tasks):
        assert number in plan.generation_of(number, "spool").tasks


def test_tasks_and_shards_have_a_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    for plan, size in ((replace(SHUFFLED, shuffle=None), 6), (SHUFFLED, 15)):
        monkeypatch.setattr(MODULE, "MAX_TASKS", size)
        assert replace(plan).num_shards == size
        monkeypatch.setattr(MODULE, "MAX_TASKS", size - 1)
        with pytest.raises(ConfigError, match=f"task_bytes=10 makes more than {size - 1} tasks"):
            replace(plan).num_shards  # noqa: B018
        with pytest.raises(ConfigError, match="makes more than"):
            replace(plan).stages  # noqa: B018


@pytest.mark.parametrize(
    ("changes", "first", "last"),
    [
        ({}, True, True),
        ({"arguments": (("x", 2),)}, True, True),
        ({"reading": {**READING, "errors": "skip"}}, True, True),
        ({"reading": {**READING, "field": "x"}}, False, False),
        ({"eos": 1}, False, False),
        ({"keep": ("a",)}, False, False),
        ({"inputs": files_of("/a.jsonl", "/b.jsonl", "/c.txt")}, True, True),
        ({"inputs": (*files_of("/a.jsonl"), InputFile("/b.jsonl", 25, "2"))}, True, False),
        ({"inputs": (InputFile("/a.jsonl", 25, "2"), *files_of("/b.jsonl"))}, False, True),
        ({"inputs": (InputFile("/z.jsonl", 25, "1"), *files_of("/b.jsonl"))}, False, True),
        ({"task_bytes": 11}, False, False),
        ({"grown": (1,)}, True, True),
        ({"shuffle": 4}, False, False),
    ],
)
def test_the_identity_of_a_task_has_all_that_determines_its_bytes(
    changes: dict[str, Any], first: bool, last: bool
) -> None:
    plan = replace(ONE, inputs=files_of("/a.jsonl", "/b.jsonl"))
    other = replace(plan, **changes)
    assert (plan.identity(0) == other.identity(0)) is first
    assert (plan.identity(plan.num_tasks - 1) == other.identity(plan.num_tasks - 1)) is last
    same_digest = not changes or "arguments" in changes or "grown" in changes
    assert (plan.digest == other.digest) is same_digest
    assert len({plan.identity(number) for number in range(plan.num_tasks)}) == plan.num_tasks


def test_the_order_of_options_does_not_change_the_digest() -> None:
    other = replace(ONE, reading=dict(reversed(READING.items())))
    assert (other.digest, other.identity(0)) == (ONE.digest, ONE.identity(0))


def test_a_remote_input_is_renewed() -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/renewed/a.txt", b"low")
    file = list_inputs(jeton.Corpus("memory://renewed/a.txt", errors="skip"))[0]
    assert (file.size, file.is_readable) == (3, True)
    assert renewed(file._replace(size=2)) == file


def test_the_identity_of_a_shuffled_shard_has_its_generation() -> None:
    plan = replace(ONE, inputs=files_of("/a.jsonl", "/b.jsonl"), shuffle=3, grown=(1,))
    assert plan.digest != replace(plan, grown=()).digest
    changed = replace(plan, inputs=(*files_of("/a.jsonl"), InputFile("/b.jsonl", 25, "2")))
    for number in range(plan.num_shards):
        is_first = number in plan.generations[0].buckets
        assert (plan.identity(number) == changed.identity(number)) is is_first
    for number in range(plan.num_tasks):
        is_first = number in plan.generations[0].tasks
        assert (plan.identity(number, "spool") == changed.identity(number, "spool")) is is_first
    assert plan.identity(0) != plan.identity(0, "spool")
    assert len({plan.identity(number) for number in range(plan.num_shards)}) == plan.num_shards
    fewer = replace(plan, inputs=files_of("/a.jsonl", "/b.jsonl", size=20))
    assert fewer.identity(0, "spool") != plan.identity(0, "spool")


def test_facts_of_the_shards_of_a_plan() -> None:
    assert (ONE.shard_facts.dtype, ONE.shard_facts.row_length) == ("int32", None)
    assert not ONE.shard_facts.has_mask
    assert replace(ONE, chat="x").shard_facts.has_mask
    packed = replace(ONE, packing=PACKED)
    assert (packed.shard_facts.row_length, packed.shard_facts.has_mask) == (8, LAYOUTS["megatron"].masks_padding)
    assert ONE.source_numbers is None
    names = {name for name, layout in LAYOUTS.items() if layout.has_sources}
    assert names
    for name in names:
        named = replace(ONE, format=name, inputs=files_of("/a", "/b"))
        assert named.source_numbers == {"/a": 0, "/b": 1}


def test_lines_are_not_cut_where_they_are_numbered() -> None:
    inputs = files_of("/a.jsonl", "/b.txt")
    reading = {**READING, "documents": "line"}
    plain = replace(ONE, inputs=inputs, reading=reading)
    assert plain.num_tasks == 5
    assert replace(plain, keep=("id",)).num_tasks == 4  # only the rows
    assert replace(plain, keep=("id",), reading={**reading, "input_type": "text"}).num_tasks == 2
    assert replace(plain, format="olmo", dtype="uint16").num_tasks == 2


def test_inputs_that_cannot_be_read_are_skipped_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low")
    inputs = (
        InputFile(str(tmp_path / "a.txt"), 3, "1"),
        InputFile("/b.txt", 0, "unreadable: no permission"),
        InputFile("/c.jsonl", 0, "unreadable: gone", 25),
    )
    plan = replace(ONE, inputs=inputs, reading={**READING, "errors": "skip"})
    skipped: list[tuple[Any, ...]] = []
    for task in plan.tasks:
        reader = plan.reader(task, on_skip=lambda *record: skipped.append(record))
        texts = [text for batch in reader.batches(1 << 20) for text in batch.texts]
        assert texts == ([b"low"] if task.number == 0 else [])
    assert [record[:2] for record in skipped] == [("file that cannot be read", name) for name in ("/b.txt", "/c.jsonl")]
    with pytest.raises(FormatError, match=r"^/b\.txt: no permission"):
        replace(plan, reading=READING).reader(plan.tasks[0])


@pytest.mark.parametrize("change", ["none", "size", "version", "missing", "unreadable"])
def test_inputs_are_those_that_were_planned(change: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low")
    file = list_inputs(jeton.Corpus(path))[0]
    if change == "unreadable":
        file = file._replace(size=0, version="unreadable: x")
    plan = replace(ONE, inputs=(file,))
    if change == "size":
        path.write_text("lower")
        os.utime(path, ns=(0, int(file.version) if file.version.isdigit() else 0))
    if change == "version":
        os.utime(path, ns=(0, 0))
    if change == "missing":
        path.unlink()
        with pytest.raises(FileNotFoundError):
            check_inputs(plan, plan.tasks[0])
        assert renewed(file) == file
        return
    if change in ("size", "version"):
        with pytest.raises(ShardError, match=r"has changed since it was planned \(3 bytes, .*; now \d bytes"):
            check_inputs(plan, plan.tasks[0])
        assert renewed(file) == list_inputs(jeton.Corpus(path))[0] != file
        return
    check_inputs(plan, plan.tasks[0])
    assert renewed(file) == (list_inputs(jeton.Corpus(path))[0] if change == "unreadable" else file)


def test_files_that_cannot_be_read_are_planned_if_they_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, loop = tmp_path / "a.txt", tmp_path / "loop.txt"
    path.write_text("low")
    loop.symlink_to(loop)
    file = list_inputs(jeton.Corpus(path))[0]
    assert renewed(file._replace(path=str(loop))) == file._replace(path=str(loop))
    assert renewed(file._replace(cut=5)) == file._replace(cut=5)
    monkeypatch.setattr(MODULE.os, "access", lambda *_: False)
    assert renewed(file._replace(version="1")) == file._replace(version="1")
    strict, skipped = (list_inputs(jeton.Corpus(path, errors=errors))[0] for errors in ("strict", "skip"))
    assert (strict, skipped[:2], skipped.is_readable) == (file, (str(path), 0), False)
    assert skipped.version.startswith("unreadable: Permission denied")

    def fails(file: str) -> None:
        raise OSError(errno.EIO, "passes")

    monkeypatch.setattr(MODULE, "identity_of", fails)
    with pytest.raises(OSError, match="passes"):
        renewed(file)


def test_a_policy_for_long_conversations_needs_rows() -> None:
    facts = {**replace(ONE, format="bin", dtype="uint16", chat="x").to_json(), "conversations": {"too_long": "drop"}}
    with pytest.raises(FormatError, match="without rows of best_fit"):
        Plan.from_json(facts)


def test_options_of_a_source_are_refused() -> None:
    assert places_of(jeton.Corpus(["a", Path("b"), jeton.Source("c")])) == ["a", Path("b"), "c"]
    assert places_of(jeton.Corpus("a")) == ["a"]
    for option in ({"field": "x"}, {"documents": "line"}, {"encoding": "utf-8"}, {"weight": 0.5}):
        with pytest.raises(ConfigError, match="of a Source is not supported"):
            places_of(jeton.Corpus([jeton.Source("a", **option)]))
    assert reading_of(jeton.Corpus("a")) == READING
    assert reading_of(jeton.Corpus("a", input_type="text")) == {**READING, "input_type": "text"}


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ((), None),
        (["a"], ("a",)),
        (["a", "b.c"], ("a", "b.c")),
        (["a", "b", "a"], "keep= has 'a', which is given twice"),
        (["a", ""], "keep= has '', an empty name"),
        ("a", "keep='a' is not a list"),
    ],
)
def test_names_of_fields_to_keep(keep: Any, expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(ConfigError, match=expected):
            _names(keep)
        return
    assert _names(keep) == expected


def test_ids_around_documents() -> None:
    special = {f"<{number}>": 300 + number for number in range(10)}
    tok = jeton.Tokenizer.from_merges({104: b"h"}, [], special_tokens=special).with_roles(bos="<1>")
    assert added_id(tok, "bos", True, "prepend_bos") == 301
    assert added_id(tok, "bos", False, "prepend_bos") is None
    assert added_id(tok, "bos", "<9>", "prepend_bos") == 309
    with pytest.raises(ConfigError, match="the tokenizer has no role eos") as caught:
        added_id(tok, "eos", True, "append_eos")
    assert caught.value.option == "append_eos"
    with pytest.raises(ConfigError, match=r"append_eos='h' is not a special token .* \(it has '<0>', .*, '<7>'\)$"):
        added_id(tok, "eos", "h", "append_eos")
    bare = jeton.Tokenizer.from_merges({104: b"h"}, [])
    with pytest.raises(ConfigError, match=r"\(it has none\)"):
        added_id(bare, "eos", "h", "append_eos")


@pytest.mark.parametrize(
    ("inputs", "errors", "expected"),
    [
        (files_of("a", "b"), "strict", ""),
        ((*files_of("a"), InputFile("b", 25, "2")), "strict", "1 input has changed"),
        (files_of("a", "b", version="2"), "strict", "2 inputs have changed"),
        (files_of("a", "b", "c"), "strict", "1 input is new"),
        (files_of("a", "b", "c", "d"), "skip", "2 inputs are new; errors='skip' instead of 'strict'"),
        ((*files_of("a"), InputFile("b", 25, "1", 20)), "strict", ""),
    ],
)
def test_changes_of_a_plan_in_words(inputs: tuple[InputFile, ...], errors: str, expected: str) -> None:
    stored = replace(ONE, inputs=files_of("a", "b"))
    assert difference_of(stored, replace(stored, inputs=inputs, reading={**READING, "errors": errors})) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "counts", "dtype": "uint16"}, "omit the tokenizer"),
        ({"format": "counts", "append_eos": True}, "omit the tokenizer"),
        ({"format": "counts", "prepend_bos": True}, "omit the tokenizer"),
        *(
            ({"format": "counts", name: value}, f"{name}= applies to formats of ids")
            for name, value in (
                *(("shuffle", 0), ("pack", 8), ("pad", "<|end|>"), ("chat", True), ("too_long", "drop")),
                *(("mask", {}), ("keep", ["a"])),
            )
        ),
        ({"special_tokens": ["<x>"]}, "are for format='counts'"),
        ({"too_long": "drop"}, "too_long= is for conversations"),
        ({"mask": {}}, "mask= is for conversations"),
        ({"shuffle": -1}, "shuffle=-1"),
        ({"shuffle": 1 << 64}, "shuffle="),
        ({"chat": True}, "chat=True is not supported for format 'megatron'"),
        ({"chat": True, "format": "bin", "append_eos": True}, "append_eos is not supported with chat=True"),
        ({"chat": True, "format": "bin", "prepend_bos": "<|begin|>"}, "prepend_bos is not supported with chat=True"),
        ({"chat": 1}, "chat=1"),
    ],
)
def test_options_that_do_not_belong_together(
    options: dict[str, Any], message: str, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("low")
    chat = tok.with_chat_template("{{ messages }}") if options.get("chat") is True else tok
    refused(message, tmp_path / "a.txt", tmp_path, None if options.get("format") == "counts" else chat, **options)


def test_conversations_are_rows(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    chat = tok.add_tokens(["<|im_start|>", "<|im_end|>"]).with_chat_template("chatml")
    for name in ("a.txt", "a.csv", "a.tsv"):
        (tmp_path / name).write_text("low")
        refused("reads conversations from .*not from .*a.", tmp_path / name, tmp_path, chat, chat=True, format="bin")
    (tmp_path / "a.jsonl").write_text("{}\n")
    plan = jeton.shards.plan(tmp_path / "a.jsonl", tmp_path / "out", chat, chat=True, format="bin")
    assert plan.reading["field"] == "messages"
    other = jeton.Corpus(tmp_path / "a.jsonl", field="turns")
    assert jeton.shards.plan(other, tmp_path / "more", chat, chat=True, format="bin").reading["field"] == "turns"


def test_progress_of_a_folder(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower\n" * 12)
    corpus = jeton.Corpus(tmp_path / "a.txt", documents="line")
    plan = jeton.shards.plan(corpus, tmp_path / "out", tok, task_bytes=10)
    found = jeton.shards.status(tmp_path / "out")
    assert vars(found) == dict.fromkeys(("skipped", "bytes_per_s", "seconds_left", "idle_s")) | {
        "folder": str(tmp_path / "out"),
        "done": 0,
        "total": 12,
        "bytes_done": 0,
        "bytes_total": 120,
        "merged": False,
        "missing": tuple(range(10)),
        "stage": "shards",
    }
    assert found.to_json() == {**vars(found), "missing": list(range(10))}
    assert not found.is_complete
    jeton.shards.run(tmp_path / "out", job=(1, 4), workers=1, progress=False)
    some = jeton.shards.status(tmp_path / "out", details=True)
    assert (some.done, some.bytes_done, len(some.missing), some.skipped) == (3, 30, 9, 0)
    assert some.bytes_per_s is None or some.seconds_left == pytest.approx(90 / some.bytes_per_s)
    assert some.idle_s is not None
    jeton.shards.run(tmp_path / "out", workers=1, progress=False)
    jeton.shards.merge(tmp_path / "out")
    every = jeton.shards.status(tmp_path / "out", details=True)
    assert every.is_complete
    assert (every.done, every.missing, every.merged) == (12, (), True)
    assert (every.bytes_per_s, every.seconds_left) == (None, 0.0)
    folder = ShardFolder(tmp_path / "out")
    assert missing_tasks(folder, plan, 0) == []
    assert stage_done(folder, plan, 0) == set(range(12))


def test_progress_of_a_shuffle(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower\n" * 12)
    corpus = jeton.Corpus(tmp_path / "a.txt", documents="line")
    plan = jeton.shards.plan(corpus, tmp_path / "out", tok, task_bytes=30, shuffle=1)
    folder = ShardFolder(tmp_path / "out")
    assert (plan.num_tasks, plan.num_shards) == (4, 4)
    assert (missing_tasks(folder, plan, 0), missing_tasks(folder, plan, 1)) == ([0, 1, 2, 3], [0, 1, 2, 3])
    jeton.shards.run(tmp_path / "out", workers=1, progress=False)
    assert (missing_tasks(folder, plan, 0), missing_tasks(folder, plan, 1)) == ([], [])
    status = jeton.shards.status(tmp_path / "out")
    assert (status.stage, status.done, status.total, status.bytes_done) == ("shuffle", 4, 4, 120)
    (tmp_path / "out" / "done" / "00002.json").unlink()
    assert (missing_tasks(folder, plan, 0), missing_tasks(folder, plan, 1)) == ([], [2])
    status = jeton.shards.status(tmp_path / "out")
    assert (status.stage, status.done, status.missing, status.bytes_done) == ("shuffle", 3, (2,), 90)
    jeton.shards.run(tmp_path / "out", workers=1, progress=False)
    jeton.shards.merge(tmp_path / "out")  # removes the spooled documents
    assert missing_tasks(folder, plan, 0) == []
    (tmp_path / "out" / "done" / "00002.json").unlink()
    assert missing_tasks(folder, plan, 0) == [0, 1, 2, 3]
    assert jeton.shards.status(tmp_path / "out").stage == "spool"


@pytest.mark.parametrize(("change", "level"), [("grow", "INFO"), ("change", "WARNING"), ("none", None)])
def test_another_plan_of_a_folder_is_logged(
    change: str, level: str | None, tok: jeton.Tokenizer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "jeton")
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "b.txt").write_text("low")
    jeton.shards.make(texts, tmp_path / "out", tok, progress=False)
    caplog.clear()
    (texts / ("b.txt" if change == "change" else "a.txt")).write_text("lower") if change != "none" else None
    plan = jeton.shards.plan(texts, tmp_path / "out", tok)
    found = [record.levelname for record in caplog.records if str(tmp_path / "out") in record.message]
    assert found == ([] if level is None else [level])
    assert plan.grown == ((1,) if change == "grow" else ())
    assert [Path(file.path).name for file in plan.inputs] == (["b.txt", "a.txt"] if change == "grow" else ["b.txt"])


def test_inputs_that_are_new_before_anything_is_complete(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "b.txt").write_text("low")
    jeton.shards.plan(texts, tmp_path / "out", tok)
    (texts / "a.txt").write_text("lower")
    plan = jeton.shards.plan(texts, tmp_path / "out", tok)
    assert ([Path(file.path).name for file in plan.inputs], plan.grown) == (["a.txt", "b.txt"], ())

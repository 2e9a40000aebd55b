"""Completions that no longer match the plan or the files: which are removed, and what stays."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.shards.folder import ShardFolder
from jeton.shards.plan import Plan
from jeton.shards.validity import change_plan, remove_invalid


def make(folder: Path, tok: jeton.Tokenizer, *, merged: bool = False, **options: Any) -> tuple[ShardFolder, Plan]:
    """Four tasks of three lines; the second line of the first task is not JSON, and skipped."""
    rows = [json.dumps({"text": f"low {number:02}"}) for number in range(12)]
    rows[1] = "x" * len(rows[1])
    (folder / "a.jsonl").write_text("".join(f"{row}\n" for row in rows))
    size = 3 * (len(rows[0]) + 1)
    corpus = jeton.Corpus(folder / "a.jsonl", errors="skip")
    plan = jeton.shards.plan(corpus, folder / "out", tok, task_bytes=size, **options)
    jeton.shards.run(folder / "out", workers=1, progress=False)
    if merged:
        jeton.shards.merge(folder / "out")
    return ShardFolder(folder / "out"), plan


def completions(folder: Path, name: str = "done") -> list[int]:
    return sorted(int(path.stem) for path in (folder / "out" / name).glob("*.json"))


@pytest.mark.parametrize("files", ["none", "sizes", "hashes"])
def test_valid_tasks_stay(files: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder, plan = make(tmp_path, tok, merged=True)
    tally, number = remove_invalid(folder, plan, files=files)
    assert number == 0
    assert tally.skipped == 1
    assert completions(tmp_path) == [0, 1, 2, 3]
    assert folder.has("manifest.json")
    assert remove_invalid(folder, plan, slice(1, None), files)[0].skipped == 0


@pytest.mark.parametrize(
    ("change", "files", "invalid"),
    [
        *(("completion", files, [1]) for files in ("none", "sizes", "hashes")),
        ("size", "none", []),
        ("size", "sizes", [1]),
        ("size", "hashes", [1]),
        ("byte", "none", []),
        ("byte", "sizes", []),
        ("byte", "hashes", [1]),
        ("missing", "none", []),
        ("missing", "sizes", [1]),
        ("rejects", "sizes", []),
        ("rejects", "hashes", [0]),
        ("no rejects", "hashes", [0]),
    ],
)
def test_changed_files_of_a_task(
    change: str, files: Any, invalid: list[int], tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    folder, plan = make(tmp_path, tok, merged=True)
    out = tmp_path / "out"
    shard = out / "shard-00001.bin"
    rejects = sorted((out / "rejects").glob("*"))
    data = shard.read_bytes()
    match change:
        case "completion":
            (out / "done" / "00001.json").write_text("{}")
        case "size":
            shard.write_bytes(data + b"x")
        case "byte":
            shard.write_bytes(bytes([data[0] ^ 1]) + data[1:])
        case "missing":
            shard.unlink()
        case "rejects":
            rejects[0].write_bytes(rejects[0].read_bytes()[::-1])
        case "no rejects":
            rejects[0].unlink()
    _, number = remove_invalid(folder, plan, files=files)
    assert number == len(invalid)
    assert completions(tmp_path) == sorted({0, 1, 2, 3} - {*invalid})
    assert folder.has("manifest.json") == (not invalid)


def test_only_tasks_of_a_share_are_checked(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder, plan = make(tmp_path, tok)
    for number in (0, 3):
        (tmp_path / "out" / "done" / f"{number:05}.json").write_text("{}")
    assert remove_invalid(folder, plan, slice(1, None, 2))[1] == 1
    assert completions(tmp_path) == [0, 1, 2]
    assert remove_invalid(folder, plan)[1] == 1
    assert completions(tmp_path) == [1, 2]


@pytest.mark.parametrize("files", ["none", "sizes", "hashes"])
def test_a_shuffle_spools_again_what_is_invalid(files: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder, plan = make(tmp_path, tok, shuffle=1)
    assert (completions(tmp_path, "spool"), completions(tmp_path)) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert remove_invalid(folder, plan, files=files)[1] == 0
    (tmp_path / "out" / "done" / "00002.json").write_text("{}")
    assert remove_invalid(folder, plan, files=files)[1] == 1
    assert (completions(tmp_path, "spool"), completions(tmp_path)) == ([0, 1, 2, 3], [0, 1, 3])
    (tmp_path / "out" / "spool" / "00001.json").write_text("{}")
    assert remove_invalid(folder, plan, files=files)[1] == 1 + 3
    assert (completions(tmp_path, "spool"), completions(tmp_path)) == ([0, 2, 3], [])


def test_spooled_documents_may_have_been_removed(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder, plan = make(tmp_path, tok, merged=True, shuffle=1)
    assert not [path for path in (tmp_path / "out" / "spool").iterdir() if path.suffix != ".json"]
    for files in ("sizes", "hashes"):
        assert remove_invalid(folder, plan, files=files)[1] == 0  # type: ignore[arg-type]
    assert (completions(tmp_path, "spool"), completions(tmp_path)) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert folder.has("manifest.json")


@pytest.mark.parametrize(("name", "left"), [("errors", [0, 1, 2, 3]), ("version", []), ("fewer", [])])
def test_tasks_that_both_plans_have_stay(name: str, left: list[int], tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder, plan = make(tmp_path, tok, merged=True)
    file = plan.inputs[0]
    match name:
        case "errors":
            other = replace(plan, eos=plan.eos)
        case "version":
            other = replace(plan, inputs=(file._replace(version="x"),))
        case _:
            other = replace(plan, inputs=(file._replace(size=3 * plan.task_bytes),))
    change_plan(folder, plan, other)
    assert completions(tmp_path) == left
    assert not folder.has("manifest.json")
    assert folder.load_plan() == other


def test_rejects_of_a_shuffle_must_be_there(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder, plan = make(tmp_path, tok, merged=True, shuffle=1)
    rejects = sorted((tmp_path / "out" / "rejects").glob("*"))
    assert len(rejects) == 1
    rejects[0].unlink()
    assert remove_invalid(folder, plan, files="sizes")[1] == 0
    assert remove_invalid(folder, plan, files="hashes")[1] == 1 + 4
    assert (completions(tmp_path, "spool"), completions(tmp_path)) == ([1, 2, 3], [])

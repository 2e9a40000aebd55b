"""Merging again, manifests that are not those of the shards, files that occur twice, and damaged indexes."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path

import numpy as np
import pytest

import jeton
from jeton.errors import ShardError

from .conftest import facts_of, rehash, rewrite

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": f"low lower {number}"}) + "\n" for number in range(40)))
    return path


def test_merging_without_join_removes_the_joined_files(rows: Path, tok: jeton.Tokenizer) -> None:
    out = rows.parent / "out"
    jeton.shards.make(rows, out, tok, task_bytes=300, join=True, progress=False)
    assert sorted(path.name for path in out.glob("joined.*")) == ["joined.bin", "joined.idx"]
    jeton.shards.merge(out, join=True)
    assert len(list(out.glob("joined.*"))) == 2
    jeton.shards.merge(out)
    assert not list(out.glob("joined.*"))
    assert "joined" not in json.loads((out / "manifest.json").read_bytes())
    assert jeton.shards.verify(out, progress=False).is_valid


@pytest.mark.parametrize("task_bytes", [150, 700, 100_000])
def test_a_file_that_occurs_twice_is_read_once(task_bytes: int, rows: Path, tok: jeton.Tokenizer) -> None:
    lines = rows.read_text().splitlines()
    lines[17] = "broken"
    rows.write_text("\n".join(lines) + "\n")
    other = rows.with_name("other.jsonl")
    other.write_text('{"text": "low"}\n')
    corpus, out = jeton.Corpus([rows, other, rows], errors="skip"), rows.parent / "out"
    logging.disable(logging.WARNING)
    try:
        report = jeton.shards.make(corpus, out, tok, task_bytes=task_bytes, progress=False)
    finally:
        logging.disable(logging.NOTSET)
    [(count, places)] = report.skipped.values()
    assert (report.documents, count) == (40, 1)
    assert list(places) == [f"{rows}:18"]


@pytest.mark.parametrize("options", [{}, {"pack": 8}], ids=str)
def test_a_shard_of_another_run_is_not_opened(options: dict[str, int], rows: Path, tok: jeton.Tokenizer) -> None:
    for name, text in (("out", rows.read_text()), ("other", rows.read_text() * 2)):
        rows.write_text(text)
        jeton.shards.make(rows, rows.parent / name, tok, progress=False, **options)
    for path in (rows.parent / "other").glob("shard-*"):
        (rows.parent / "out" / path.name).write_bytes(path.read_bytes())
    dataset = jeton.shards.open(rows.parent / "out")
    with pytest.raises(ShardError, match="merge again"):
        dataset[0]


def damage(out: Path, name: str, at: int, group: str) -> None:
    """Changes a byte of a file, and its hash in the manifest."""
    path = out / name
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    if group == "shard":
        rehash(out, name)
        return
    manifest = facts_of(out / "manifest.json")
    manifest["joined"][name]["sha256"] = hashlib.sha256(data).hexdigest()
    rewrite(out / "manifest.json", manifest)


@pytest.mark.parametrize("options", [{}, {"pack": 8}], ids=str)
@pytest.mark.parametrize("group", ["shard", "joined"])
@pytest.mark.parametrize(("column", "words"), [("lengths", "lengths and offsets"), ("documents", "one sequence each")])
def test_all_of_megatrons_index_is_verified(
    column: str, words: str, group: str, options: dict[str, int], rows: Path, tok: jeton.Tokenizer
) -> None:
    out = rows.parent / "out"
    jeton.shards.make(rows, out, tok, join=True, progress=False, **options)
    name = "shard-00000.idx" if group == "shard" else "joined.idx"
    sequences = int(np.frombuffer((out / name).read_bytes(), "<u8", 1, 18)[0])
    damage(out, name, 34 + (4 * 3 if column == "lengths" else 12 * sequences + 8 * 3), group)
    problem, *_ = jeton.shards.verify(out, progress=False).problems
    assert name in problem
    assert words in problem

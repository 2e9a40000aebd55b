"""Repeated merges, manifests of other shards, files that occur twice, and damaged indexes."""

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
    assert not list(out.glob("joined.*"))  # programs that read all .bin files would read them
    assert sorted(path.name for path in (out / "joined").iterdir()) == ["joined.bin", "joined.idx"]
    jeton.shards.merge(out, join=True)
    (out / "joined.bin").write_bytes(b"of an earlier version")
    assert len(list((out / "joined").iterdir())) == 2
    jeton.shards.merge(out)
    assert not list((out / "joined").iterdir())
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
    name = "shard-00000.idx" if group == "shard" else "joined/joined.idx"
    sequences = int(np.frombuffer((out / name).read_bytes(), "<u8", 1, 18)[0])
    damage(out, name, 34 + (4 * 3 if column == "lengths" else 12 * sequences + 8 * 3), group)
    problem, *_ = jeton.shards.verify(out, progress=False).problems
    assert name in problem
    assert words in problem


def test_the_joined_files_of_an_earlier_version_are_verified(rows: Path, tok: jeton.Tokenizer) -> None:
    out = rows.parent / "out"
    jeton.shards.make(rows, out, tok, task_bytes=300, join=True, progress=False)
    for path in (out / "joined").iterdir():
        path.rename(out / path.name)
    for name in ("manifest.json", "report.json"):
        facts = facts_of(out / name)
        joined = facts["joined"]
        names = [name.removeprefix("joined/") for name in joined]
        facts["joined"] = dict(zip(names, joined.values(), strict=True)) if isinstance(joined, dict) else names
        rewrite(out / name, facts)
    assert jeton.shards.verify(out, progress=False).problems == ()
    (out / "joined.bin").write_bytes(b"??")
    assert "joined.bin" in jeton.shards.verify(out, progress=False).problems[0]


def test_a_manifest_has_version_date_and_inputs(
    rows: Path, tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rows.parent / "more").mkdir()
    (rows.parent / "more" / "text.txt").write_text("low lower")
    out = rows.parent / "out"
    corpus = [rows, rows.parent / "more"]
    jeton.shards.make(corpus, out, tok, task_bytes=900, progress=False)
    first = (out / "manifest.json").read_bytes()
    manifest = facts_of(out / "manifest.json")
    assert (manifest["jeton"], manifest["date"]) == (jeton.__version__, "2023-11-14T22:13:20Z")
    assert manifest["input_root"] == f"{rows.parent}/"
    assert [shard["inputs"] for shard in manifest["shards"]] == [
        [{"path": "rows.jsonl", "start": 0, "end": 900}],
        [
            {"path": "rows.jsonl", "start": 900, "end": rows.stat().st_size},
            {"path": "more/text.txt"},
        ],
    ]
    monkeypatch.delenv("SOURCE_DATE_EPOCH")  # set by `conftest`
    jeton.shards.make(corpus, out, tok, task_bytes=900, progress=False)
    assert (out / "manifest.json").read_bytes() == first  # no shard was made since
    jeton.shards.merge(out, join=True)
    assert facts_of(out / "manifest.json")["date"] > "2026"
    assert jeton.shards.verify(out, progress=False).is_valid


def test_a_manifest_has_a_line_for_each_shard(rows: Path, tok: jeton.Tokenizer) -> None:
    out = rows.parent / "out"
    jeton.shards.make(rows, out, tok, task_bytes=900, progress=False)
    lines = (out / "manifest.json").read_text("utf-8").partition('"shards": [\n')[2].splitlines()
    shards = facts_of(out / "manifest.json")["shards"]
    assert len(shards) > 1
    assert [json.loads(line.strip().removesuffix(",")) for line in lines[: len(shards)]] == shards
    assert lines[len(shards)] == " ],"


def test_a_manifest_of_an_earlier_version_is_valid(rows: Path, tok: jeton.Tokenizer) -> None:
    """Such a manifest lacks version, date and inputs, and is valid; merging again adds them."""
    out = rows.parent / "out"
    jeton.shards.make(rows, out, tok, task_bytes=900, progress=False)
    whole = (out / "manifest.json").read_bytes()
    manifest = facts_of(out / "manifest.json")
    for name in ("jeton", "date", "input_root"):
        del manifest[name]
    for shard in manifest["shards"]:
        del shard["inputs"]
    rewrite(out / "manifest.json", manifest)
    assert jeton.shards.verify(out, progress=False).is_valid
    assert len(jeton.shards.open(out)) == 40
    jeton.shards.merge(out)
    assert (out / "manifest.json").read_bytes() == whole


def test_inputs_of_a_manifest_are_those_of_the_plan(rows: Path, tok: jeton.Tokenizer) -> None:
    out = rows.parent / "out"
    jeton.shards.make(rows, out, tok, task_bytes=900, progress=False)
    manifest = facts_of(out / "manifest.json")
    manifest["shards"][1]["inputs"][0]["start"] = 7
    rewrite(out / "manifest.json", manifest)
    [problem] = jeton.shards.verify(out, progress=False).problems
    assert "'shards' differs from that of the plan" in problem
    manifest["shards"][1]["inputs"] = [{"path": 3}]
    rewrite(out / "manifest.json", manifest)
    with pytest.raises(jeton.FormatError, match="in shard 1, its 'inputs' is not as expected"):
        jeton.shards.verify(out, progress=False)


def test_padding_uses_the_role_pad(rows: Path, tok: jeton.Tokenizer) -> None:
    padded = tok.add_tokens(["<|pad|>"]).with_roles(pad="<|pad|>")
    out = rows.parent / "out"
    jeton.shards.make(rows, out, padded, progress=False)
    ids = jeton.shards.open(out).take([1, 11]).padded(8).input_ids
    assert ids[0].tolist()[-1] == padded.special_tokens["<|pad|>"]
    manifest = facts_of(out / "manifest.json")
    rewrite(out / "manifest.json", {**manifest, "pad": 3})
    [problem] = jeton.shards.verify(out, progress=False).problems
    assert problem.endswith(f"its 'pad' is 3, but that of the tokenizer is {padded.pad_id}; merge again")
    jeton.shards.make(rows, rows.parent / "plain", tok, progress=False)
    with pytest.raises(jeton.errors.ConfigError, match="pass pad_id="):
        jeton.shards.open(rows.parent / "plain").take([1]).padded(8)


def test_reports_of_one_document_use_the_singular(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    report = jeton.shards.make(tmp_path / "a.txt", tmp_path / "out", tok, progress=False)
    assert repr(report) == "Report(1 document, 1 token, 1 shard of format megatron)"
    assert "| inputs | 1 file, 1 byte |" in report.to_markdown()

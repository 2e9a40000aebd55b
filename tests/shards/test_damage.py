"""Damaged, edited and hostile folders: `verify` finds every change, and every verb raises Jeton's errors only."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, FormatError, JetonError, ShardError
from jeton.shards.layouts import columns
from jeton.shards.merging import MADE
from jeton.shards.plan import Plan
from jeton.shards.sealed import sealed_json

from ..selection import amount
from .conftest import facts_of, rehash, rewrite
from .test_plan import READING

TOOL = Path(__file__).parents[2] / "tools" / "damage_shards.py"


def make(folder: Path, tok: jeton.Tokenizer, **options: Any) -> Path:
    """A folder of shards of a few short texts."""
    (folder / "a.txt").write_text("low lower\nnewest\nwide wider\n" * 8)
    options = {"format": "bin", "task_bytes": 100, "progress": False, **options}
    jeton.shards.make(jeton.Corpus(folder / "a.txt", documents="line"), folder / "out", tok, **options)
    return folder / "out"


def is_found(folder: Path) -> bool:
    try:
        return not jeton.shards.verify(folder, progress=False).is_valid
    except JetonError:
        return True


@pytest.mark.parametrize("options", [{}, {"shuffle": 1, "pack": 8}], ids=str)
def test_a_changed_byte_of_any_file_is_found(options: dict[str, Any], tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Files include the report, completions, plan, manifest and tokenizer."""
    folder = make(tmp_path, tok, **options)
    rng = np.random.default_rng(1)
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    assert {path.suffix for path in files} >= {".json", ".md", ".bin", ".documents"}
    for path in files:
        data = path.read_bytes()
        for at in [0, len(data) - 1, *rng.integers(0, len(data), amount(40, default=2)).tolist()]:
            changed = bytearray(data)
            changed[at] ^= int(rng.integers(1, 256))
            path.write_bytes(changed)
            assert is_found(folder), (path.name, at)
        path.write_bytes(data)
    assert jeton.shards.verify(folder, progress=False).is_valid


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "uint32"}, {"pad": 1}, {"tokenizer": "j1:0"}, {"format": "llmc"}, {"bos": 1}, {"eos": 2},
        {"empty": 1}, {"vocab_size": 9}, {"bytes": 1}, {"highest_id": 3}, {"shuffle": 9}, {"loss_mask": True},
        {"plan": "x"}, {"row_length": 4}, {"shards": []},
    ],
    ids=str,
)  # fmt: skip
def test_a_manifest_that_was_edited_is_found(change: dict[str, Any], tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """An edit is found by the digest, or, with a new digest, by comparison with the plan and the completions."""
    folder = make(tmp_path, tok, pack=8)
    path = folder / "manifest.json"
    facts = {**facts_of(path), **change}
    path.write_text(json.dumps(facts))
    assert is_found(folder)
    with pytest.raises(FormatError, match=r"manifest\.json: not a manifest of shards: its bytes have changed"):
        jeton.shards.open(folder)
    rewrite(path, facts)
    assert is_found(folder)


def test_a_missing_entry_of_a_manifest_is_found(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Entries are read by `open`, or compared with the plan and the completions."""
    path = make(tmp_path, tok, pack=8) / "manifest.json"
    whole = facts_of(path)
    for name in whole.keys() - MADE:
        rewrite(path, {key: value for key, value in whole.items() if key != name})
        assert is_found(path.parent), name


def test_a_file_whose_hash_differs_is_not_read(
    tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path, tok, format="arrow")
    path = folder / "shard-00001.arrow"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    read = columns.Arrow._read

    def checked(self: Any, pa: Any, path: Path, facts: Any) -> Any:
        assert path.name != "shard-00001.arrow"
        return read(self, pa, path, facts)

    monkeypatch.setattr(columns.Arrow, "_read", checked)
    (problem,) = jeton.shards.verify(folder, progress=False).problems
    assert "shard-00001.arrow: its bytes have changed" in problem


def test_offsets_of_an_arrow_shard_are_checked(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """They are checked even if the completion has the hash of the damaged file."""
    folder = make(tmp_path, tok, format="arrow", task_bytes=1000)
    path = folder / "shard-00000.arrow"
    data = path.read_bytes()
    lengths = [len(tok.encode(text)) for text in ("low lower", "newest", "wide wider")] * 8
    offsets = np.cumsum([0, *lengths]).astype("<i4")
    assert data.count(offsets.tobytes()) == 1
    at = data.index(offsets.tobytes()) + offsets.nbytes - 4
    path.write_bytes(data[:at] + struct.pack("<i", offsets[-1] + 1) + data[at + 4 :])
    rehash(folder, path.name)
    assert any("it cannot be read" in problem for problem in jeton.shards.verify(folder, progress=False).problems)


IDS = {"megatron": "bin", "bin": "bin", "llmc": "bin", "datatrove": "ds", "olmo": "npy"}


@pytest.mark.parametrize("format", IDS)
def test_missing_ids_are_an_error(format: str, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Half of the ids or of the document ends is missing, also with a manifest that has the new sizes."""
    folder = make(tmp_path, tok, format=format, task_bytes=1000)
    ends = "idx" if format == "megatron" else "ds.index" if format == "datatrove" else "documents"
    for suffix in (IDS[format], ends):
        path = folder / f"shard-00000.{suffix}"
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 8 * 4])
        manifest = (folder / "manifest.json").read_bytes(), (folder / "done" / "00000.json").read_bytes()
        for is_recorded in (False, True):
            if is_recorded:
                rehash(folder, path.name)
            for use in (lambda opened: opened[20], lambda opened: opened.take([20]), lambda opened: list(opened)):
                with pytest.raises(ShardError, match=r"shard-00000"):
                    use(jeton.shards.open(folder))
        path.write_bytes(data)
        (folder / "manifest.json").write_bytes(manifest[0])
        (folder / "done" / "00000.json").write_bytes(manifest[1])


@pytest.mark.parametrize("value", [0, 1, 1 << 40, (1 << 64) - 1])
@pytest.mark.parametrize("pack", [None, 8])
def test_ends_that_are_not_ascending_are_an_error(
    value: int, pack: int | None, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    folder = make(tmp_path, tok, task_bytes=1000, pack=pack)
    path = folder / "shard-00000.documents"
    ends = np.fromfile(path, "<u8")
    ends[5] = value
    ends.tofile(path)
    rehash(folder, path.name)
    opened = jeton.shards.open(folder)
    uses: list[Callable[[], object]] = [lambda: opened.take(range(len(opened))), lambda: list(opened)]
    if pack is not None:
        uses = [lambda: [rows.position_ids for rows in opened.rows(3)]]
    for use in uses:
        tracemalloc.start()
        with pytest.raises(ShardError, match=r"shard-00000\.bin"):
            use()
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()
    assert is_found(folder)


def test_ends_whose_differences_overflow_are_an_error(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder = make(tmp_path, tok, task_bytes=1000, pack=8)
    path = folder / "shard-00000.documents"
    ends = np.fromfile(path, "<u8")
    ends[:2] = (1 << 63) - 1, (1 << 64) - 2
    ends.tofile(path)
    rehash(folder, path.name)
    with pytest.raises(ShardError, match=r"shard-00000\.bin"):
        list(jeton.shards.open(folder).rows(3))
    assert any("not ascending" in problem for problem in jeton.shards.verify(folder, progress=False).problems)


def test_rows_that_share_a_document_are_an_error(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder = make(tmp_path, tok, task_bytes=1000, pack=8)
    path = folder / "shard-00000.documents"
    ends = np.fromfile(path, "<u8")
    np.setdiff1d(ends, [8]).tofile(path)
    rehash(folder, path.name)
    with pytest.raises(ShardError, match="begins in one row and ends in another"):
        list(jeton.shards.open(folder).rows(3))


WRONG: list[tuple[str, Any]] = [
    ("documents", "x"), ("documents", -1), ("documents", True), ("documents", 2**64), ("tokens", None), ("outputs", []),
    ("outputs", {}), ("outputs", {"../x.bin": {"bytes": 1, "sha256": "0" * 64}}), ("outputs", {"shard-00000.bin": 7}),
    ("outputs", {"shard-00000.bin": {"bytes": "1", "sha256": "0" * 64}}), ("seconds", {"encode": "x"}), ("seconds", 3),
    ("skipped", {"x": 1}), ("skipped", {"x": [1, 2]}), ("largest", [[1]]), ("largest", {}), ("replaced", {"a": "b"}),
    ("special", []), ("lines", {"a": None}), ("sources", {"a": [1, 2]}), ("highest_id", 1.5), ("empty", {}),
    ("input_bytes", None),
]  # fmt: skip


@pytest.mark.parametrize(("options", "stage"), [({}, "done"), ({"shuffle": 3}, "spool")], ids=str)
def test_a_completion_of_another_structure_is_damaged(
    options: dict[str, Any], stage: str, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    folder = make(tmp_path, tok, verify=False, task_bytes=1000, **options)
    path = folder / stage / "00000.json"
    facts = facts_of(path)
    for name, value in WRONG:
        rewrite(path, {**facts, name: value})
        with pytest.raises(ShardError, match=rf"00000\.json is damaged: its '{name}' is .*; jeton\.shards\.repair"):
            jeton.shards.merge(folder)
        assert is_found(folder)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"null", b'{"task": 0', b"[" * 100_000, b"\xff\xfe", b"7" * 5000]
)
def test_files_without_a_json_object_are_an_error(content: bytes, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder = make(tmp_path, tok, shuffle=1)
    verbs: dict[str, Callable[[Path], object]] = {
        "manifest.json": jeton.shards.open,
        "report.json": jeton.shards.report,
        "done/00000.json": jeton.shards.merge,
        "spool/00000.json": jeton.shards.merge,
        "plan.json": jeton.shards.status,
    }
    for name, verb in verbs.items():
        data = (folder / name).read_bytes()
        for changed in (content, sealed_json(content.decode("latin-1"))):
            (folder / name).write_bytes(changed)
            with pytest.raises((FormatError, ShardError), match=name):
                verb(folder)
            assert is_found(folder)
        (folder / name).write_bytes(data)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inputs", []), ("inputs", [["a"]]), ("inputs", ["abc"]), ("inputs", [["a", -1, ""]]),
        ("inputs", [["", 1, ""]]), ("inputs", [["a", True, ""]]), ("inputs", {}), ("reading", {"documents": "x"}),
        ("reading", {**READING, "errors": []}), ("reading", {**READING, "encoding": "zlib"}),
        ("reading", {**READING, "max_expansion": -1}), ("task_bytes", 1.5), ("task_bytes", 0), ("vocab_size", 1 << 40),
        ("vocab_size", 70_000), ("eos", 1 << 33), ("counting", {}), ("chat", 7), ("tokenizer", None), ("shuffle", True),
        ("unknown", 1),
    ],
    ids=str,
)  # fmt: skip
def test_a_plan_of_another_structure_is_refused(name: str, value: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder = make(tmp_path, tok)
    rewrite(folder / "plan.json", {**facts_of(folder / "plan.json"), name: value})
    for verb in (jeton.shards.status, jeton.shards.merge, jeton.shards.verify):
        with pytest.raises(FormatError, match=r"plan\.json: not a plan of shards"):
            verb(folder)


def test_the_number_of_tasks_is_limited(tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of a few bytes must not take hours and gigabytes."""
    folder = make(tmp_path, tok)
    for changes in (
        {"task_bytes": 1, "inputs": [["/a.jsonl", 1 << 40, ""]]},
        {"task_bytes": 1, "inputs": [["/a.txt", 1 << 62, ""]], "shuffle": 1, "reading": READING},
    ):
        rewrite(folder / "plan.json", {**facts_of(folder / "plan.json"), **changes})
        assert (folder / "plan.json").stat().st_size < 1000
        monkeypatch.setattr(sys.modules[Plan.__module__], "MAX_TASKS", 1000)  # for the duration of this test
        with pytest.raises(FormatError, match=r"task_bytes=1 makes more than 1,000 tasks"):
            jeton.shards.status(folder)
    (tmp_path / "a.txt").write_text("a\n" * 1000)
    with pytest.raises(ConfigError, match=r"task_bytes=1 makes more than 1,000 tasks.*; pass larger task_bytes="):
        jeton.shards.plan(jeton.Corpus(tmp_path / "a.txt", documents="line"), tmp_path / "new", tok, task_bytes=1)
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is known on Linux")
@pytest.mark.slow(reason="seconds; test_the_number_of_tasks_is_limited")
def test_the_largest_plan_takes_seconds(tmp_path: Path) -> None:
    facts = Plan((), READING, "bin", "uint16", 1, "j1:0", 300).to_json()
    facts["inputs"] = [["/a.jsonl", 1 << 18, ""]]
    rewrite(tmp_path / "plan.json", facts)
    code = (
        "import jeton, re, resource, sys; total = jeton.shards.status(sys.argv[1]).total; "
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]; "
        "print(total, peak, resource.getrusage(resource.RUSAGE_SELF).ru_utime)"
    )
    run = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    total, kilobytes, seconds = run.stdout.split()
    assert int(total) == 1 << 18
    assert int(kilobytes) < 500_000
    assert float(seconds) < 10


def test_plans_and_manifests_of_other_versions_are_refused(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder = make(tmp_path, tok)
    for name, verb in (("manifest.json", jeton.shards.open), ("plan.json", jeton.shards.status)):
        facts = facts_of(folder / name)
        for version, write in ((1, lambda path, facts: path.write_text(json.dumps(facts))), (9, rewrite)):
            write(folder / name, {**facts, "version": version})
            with pytest.raises(
                FormatError, match=rf"{name}: version {version}; this Jeton reads version 2: use the Jeton"
            ):
                verb(folder)
        rewrite(folder / name, facts)


def test_names_of_completions_are_those_of_tasks(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder = make(tmp_path, tok, task_bytes=1000)
    (folder / "done" / "00000.json").rename(folder / "done" / "0.json")
    shutil.copy(folder / "done" / "0.json", folder / "done" / "٠.json")
    assert jeton.shards.status(folder).done == 0
    with pytest.raises(ShardError, match="1 of 1 tasks are not complete"):
        jeton.shards.merge(folder)


def test_a_damaged_shard_is_not_joined(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    folder = make(tmp_path, tok, task_bytes=1000)
    path = folder / "shard-00000.documents"
    ends = np.fromfile(path, "<u8")
    ends[5] = 0
    ends.tofile(path)
    with pytest.raises(ShardError, match="not ascending"):
        jeton.shards.merge(folder, join=True)


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are Unicode")
def test_names_of_inputs_that_are_not_utf_8(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.jsonl"))
    path.write_text('{"text": "low lower"}\nnonsense\n')
    for format in ("bin", "olmo"):
        folder = tmp_path / format
        report = jeton.shards.make(
            jeton.Corpus(path, errors="skip"), folder, tok, format=format, pack=8, shuffle=1, progress=False
        )
        assert json.loads((folder / "plan.json").read_bytes())["inputs"][0][0] == str(path)
        assert jeton.shards.report(folder) == report
        assert list(report.sources) == [str(path)]
        assert "\\udcff.jsonl:2" in (folder / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow(reason="draws a figure; test_names_of_inputs_that_are_not_utf_8")
@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are Unicode")
def test_a_plot_of_names_that_are_not_utf_8(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.jsonl"))
    path.write_text('{"text": "low lower"}\n')
    jeton.shards.make(path, tmp_path / "out", tok, progress=False).plot(tmp_path / "report.svg")
    assert "a?.jsonl" in (tmp_path / "report.svg").read_text(encoding="utf-8")


def test_an_index_longer_than_its_file_is_refused(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """The Megatron index claims more sequences than its bytes can hold."""
    folder = make(tmp_path, tok, format="megatron", task_bytes=1000)
    path = folder / "shard-00000.idx"
    data = path.read_bytes()
    path.write_bytes(data[:18] + struct.pack("<QQ", 1 << 59, (1 << 59) + 1) + data[34:])
    rehash(folder, path.name)
    with pytest.raises(ShardError, match=r"shard-00000\.idx"):
        jeton.shards.open(folder)[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.slow(reason="a minute; the other tests of this file")
@pytest.mark.parametrize("mode", ["flips", "json", "arrow", "parquet"])
def test_random_damage_is_found(mode: str) -> None:
    """`JETON_DAMAGES`: number of trials of each layout."""
    number = os.environ.get("JETON_DAMAGES", "20")
    run = subprocess.run([sys.executable, TOOL, mode, "--number", number], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]

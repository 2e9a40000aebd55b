"""`verify` without inputs, with moved inputs, and with touched ones."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError

from .conftest import rehash, texts

OPTIONS: list[dict[str, Any]] = [{}, {"shuffle": 3}, {"pack": 16}, {"shuffle": 3, "pack": 16, "packing": "best_fit"}]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A folder of two files of rows."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, seed in (("a", 1), ("b", 2)):
        lines = [json.dumps({"text": text}) for text in texts(seed, 200)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return folder


def made(rows: Path, tok: jeton.Tokenizer, **options: Any) -> Path:
    out = rows.parent / "out"
    options = {"append_eos": True, "task_bytes": 3000, "progress": False, **options}
    jeton.shards.make(rows, out, tok, **options)
    return out


def verify(out: Path, **options: Any) -> jeton.shards.Verification:
    return jeton.shards.verify(out, progress=False, **options)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_shards_are_verified_without_inputs(options: dict[str, Any], rows: Path, tok: jeton.Tokenizer) -> None:
    out = made(rows, tok, **options)
    alone = verify(out, inputs=False)
    shutil.rmtree(rows)
    found = verify(out)
    assert found.is_valid
    assert (found.inputs, alone.inputs) == ("missing", "ignored")
    assert found.compared == alone.compared == 0
    if "pack" not in options:
        assert 16 < found.decoded == found.decoded_equal == alone.decoded
    required = verify(out, inputs=True)
    assert len(required.problems) == 4
    assert "a.jsonl" in required.problems[0]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_damage_is_found_without_inputs(options: dict[str, Any], rows: Path, tok: jeton.Tokenizer) -> None:
    out = made(rows, tok, **options)
    shutil.rmtree(rows)
    path = out / "shard-00000.bin"
    data = path.read_bytes()
    path.write_bytes(data[:-4] + b"\x00\x00" + data[-2:])
    assert ["its bytes have changed: the hash differs" in problem for problem in verify(out).problems] == [True]
    ids = np.frombuffer(data, "<u2").copy()
    ids[0] = tok.vocab_size + 5
    path.write_bytes(ids.tobytes())
    rehash(out, "shard-00000.bin")
    problem, *_ = verify(out).problems
    assert problem == f"shard-00000: its highest id is {tok.vocab_size + 5}, but the tokenizer has {tok.vocab_size} ids"


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_moved_inputs_are_compared(options: dict[str, Any], rows: Path, tok: jeton.Tokenizer) -> None:
    out = made(rows, tok, **options)
    expected = verify(out)
    other = rows.parent / "elsewhere" / "texts"
    shutil.copytree(rows, other)
    shutil.rmtree(rows)
    for old, new in ((str(rows), str(other)), (f"{rows.parent}/corpus/", f"{other}/"), (rows.parent, other.parent)):
        if old == rows.parent:
            (other.parent / "corpus").symlink_to(other)
        found = verify(out, moved={str(old): str(new)})
        assert found.is_valid, found.problems
        assert (found.compared, found.inputs, found.touched) == (expected.compared, "read", 0)
    with pytest.raises(ConfigError, match=r"moved=: no input is in /other"):
        verify(out, moved={"/other": "/mnt"})
    with pytest.raises(ConfigError, match=r"moved= has no effect with inputs=False"):
        verify(out, inputs=False, moved={str(rows): str(other)})


def test_metadata_of_moved_inputs_is_valid(rows: Path, tok: jeton.Tokenizer) -> None:
    """Metadata of text documents have the file name at the time of planning."""
    (rows / "c.txt").write_text("low lower\nlowest\n")
    out = rows.parent / "out"
    corpus = jeton.Corpus(rows, documents="line")
    jeton.shards.make(corpus, out, tok, keep=["text"], task_bytes=10**6, progress=False)
    rows.rename(rows.parent / "moved")
    found = verify(out, moved={str(rows): str(rows.parent / "moved")})
    assert found.is_valid, found.problems
    assert found.compared == found.documents


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_touched_input_is_valid(options: dict[str, Any], rows: Path, tok: jeton.Tokenizer) -> None:
    out = made(rows, tok, **options)
    before = verify(out)
    for path in rows.iterdir():
        os.utime(path, ns=(0, 12345))
    found = verify(out)
    assert found.is_valid, found.problems
    assert found.touched > 0 == before.touched
    assert found.compared >= before.compared


def test_an_input_of_the_same_size_and_other_content_is_found(rows: Path, tok: jeton.Tokenizer) -> None:
    """A change at the end of a task is also found, after the batch that is compared for untouched files."""
    out = made(rows, tok, task_bytes=10**6)
    path = rows / "b.jsonl"
    data = path.read_bytes()
    at = data.rindex(b"low")
    path.write_bytes(data[:at] + b"new" + data[at + 3 :])
    [problem] = verify(out).problems
    assert problem == "shard-00000: its ids differ from those of its source"
    path.write_bytes(data[:-1])
    [problem] = verify(out).problems
    assert f"{path} has {len(data) - 1:,} bytes, but had {len(data):,} when it was planned" in problem
    assert "inputs=False" in problem


def test_a_document_missing_from_its_source_is_found(rows: Path, tok: jeton.Tokenizer) -> None:
    """The source loses its last row, and keeps its size."""
    out = made(rows, tok, task_bytes=10**6)
    for path in rows.iterdir():
        text = path.read_bytes()
        rest = text.rpartition(b"\n")[0]
        path.write_bytes(rest + b"\n" + b" " * (len(text) - len(rest) - 1))
    assert len(verify(out).problems) == 1

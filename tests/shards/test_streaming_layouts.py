"""MDS and litdata: the bytes of a shard and of its index, made here from the layout tables of their libraries.

`tools/read_shards.py` compares whole folders with the libraries themselves.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, ShardError
from jeton.shards.layouts import LAYOUTS, shard_facts, streaming

from .conftest import EOS, facts_of, rehash
from .test_layouts import TEXTS, documents, make, rows

__all__ = ["documents", "rows"]  # fixtures


def head(sizes: list[int], gap: int = 0) -> bytes:
    """Number of samples, and their offsets."""
    start = 4 * (len(sizes) + 2) + gap
    return struct.pack(f"<{len(sizes) + 2}I", len(sizes), *itertools.accumulate(sizes, initial=start))


def config(names: list[str], encodings: list[str], sizes: list[int | None]) -> dict[str, Any]:
    return {
        "version": 2,
        "format": "mds",
        "compression": None,
        "hashes": ["sha256"],
        "size_limit": None,
        "column_names": names,
        "column_encodings": encodings,
        "column_sizes": sizes,
    }


@pytest.mark.parametrize(("dtype", "letter"), [("int32", "i"), ("uint16", "H")])
def test_mds_files(dtype: str, letter: str, rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]) -> None:
    folder = make(rows, tok, "mds", dtype=dtype)
    samples = []
    for ids in documents:
        array = bytes([4, len(ids)]) + struct.pack(f"<{len(ids)}{letter}", *ids)  # one dimension, of one byte
        samples.append(struct.pack("<I", len(array)) + array)
    about = config(["tokens"], [f"ndarray:{dtype}"], [None])
    text = json.dumps(about, sort_keys=True).encode()
    expected = head(list(map(len, samples)), len(text)) + text + b"".join(samples)
    data = (folder / "shard-00000.mds").read_bytes()
    assert data == expected
    raw = {"basename": "shard-00000.mds", "bytes": len(data), "hashes": {"sha256": hashlib.sha256(data).hexdigest()}}
    shard = {**about, "raw_data": raw, "samples": len(TEXTS), "zip_data": None}
    assert json.loads((folder / "index.json").read_bytes()) == {"version": 2, "shards": [shard]}


def test_shapes_of_mds_take_the_fewest_bytes() -> None:
    assert streaming._shape(255) == b"\x04\xff"
    assert streaming._shape(256) == b"\x05\x00\x01"
    assert streaming._shape(65_536) == b"\x06\x00\x00\x01\x00"


def test_packed_mds_files(rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]) -> None:
    folder = make(rows, tok, "mds", pack=8)
    ids = list(itertools.chain.from_iterable(documents))
    places = list(itertools.chain.from_iterable(range(len(ids)) for ids in documents))
    padding = -len(ids) % 8
    mask = [1] * len(ids) + [0] * padding
    firsts = []  # positions begin again at rows
    for at in range(len(ids)):
        firsts.append(0 if at % 8 == 0 or places[at] == 0 else firsts[-1] + 1)
    ids, firsts = ids + [EOS] * padding, firsts + list(range(padding))
    samples = [
        struct.pack("<8B8i8i", *mask[at : at + 8], *firsts[at : at + 8], *ids[at : at + 8])
        for at in range(0, len(ids), 8)
    ]
    names, kinds = ["loss_mask", "position_ids", "tokens"], ["ndarray:uint8:8", "ndarray:int32:8", "ndarray:int32:8"]
    text = json.dumps(config(names, kinds, [8, 32, 32]), sort_keys=True).encode()
    expected = head([72] * len(samples), len(text)) + text + b"".join(samples)
    assert (folder / "shard-00000.mds").read_bytes() == expected


@pytest.mark.parametrize(("dtype", "code", "letter"), [("int32", 16, "i"), ("uint16", 20, "H")])
def test_litdata_files(
    dtype: str, code: int, letter: str, rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]
) -> None:
    folder = make(rows, tok, "litdata", dtype=dtype)
    size, ids = struct.calcsize(letter), list(itertools.chain.from_iterable(documents))
    expected = head([size * len(ids) for ids in documents]) + struct.pack(f"<{len(ids)}{letter}", *ids)
    assert (folder / "shard-00000.bin").read_bytes() == expected
    index = json.loads((folder / "index.json").read_bytes())
    [chunk] = index["chunks"]
    assert chunk == {"chunk_bytes": len(expected), "chunk_size": 4, "dim": len(ids), "filename": "shard-00000.bin"}
    assert index["config"]["data_format"] == [f"no_header_tensor:{code}"]
    assert [ids.tolist() for ids in jeton.shards.open(folder)] == documents


def test_packed_litdata_files(rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]) -> None:
    folder = make(rows, tok, "litdata", pack=8, packing="best_fit")
    opened = jeton.shards.open(folder)
    (packed,) = opened.rows(100)
    [chunk] = json.loads((folder / "index.json").read_bytes())["chunks"]
    assert (chunk["chunk_size"], chunk["dim"]) == (len(opened), 8 * len(opened))
    data = (folder / "shard-00000.bin").read_bytes()
    assert np.frombuffer(data[4 * (len(opened) + 2) :], "<i4").reshape(-1, 8).tolist() == packed.ids.tolist()


@pytest.mark.parametrize(("format", "entries"), [("mds", "shards"), ("litdata", "chunks")])
def test_shards_without_rows_are_not_named(format: str, entries: str, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    for name, text in (("0.txt", "low"), ("1.txt", "low lower " * 20)):
        (tmp_path / name).write_text(text)
    options = {"pack": 16, "rest": "drop", "task_bytes": 3, "progress": False, "append_eos": True}
    folder = tmp_path / "out"
    jeton.shards.make([tmp_path / "0.txt", tmp_path / "1.txt"], folder, tok, format=format, **options)
    shards = facts_of(folder / "manifest.json")["shards"]
    assert [bool(shard["rows"]) for shard in shards] == [False, True]
    [entry] = json.loads((folder / "index.json").read_bytes())[entries]
    assert "shard-00001" in json.dumps(entry)
    assert jeton.shards.verify(folder, progress=False).is_valid


@pytest.mark.parametrize("options", [{}, {"pack": 16}, {"shuffle": 5}, {"shuffle": 5, "pack": 16}], ids=str)
@pytest.mark.parametrize("format", ["mds", "litdata"])
def test_documents_are_those_of_other_formats(
    format: str, options: dict[str, Any], corpus: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    """Shards of many tasks, some without documents; the index omits those."""
    (tmp_path / "empty.txt").write_text("")
    options = {"append_eos": True, "progress": False, "task_bytes": 3000, **options}
    inputs = [corpus, tmp_path / "empty.txt"]
    for name, folder in ((format, "out"), ("bin", "plain")):
        jeton.shards.make(inputs, tmp_path / folder, tok, format=name, **options)
    manifest = facts_of(tmp_path / "out" / "manifest.json")
    layout = LAYOUTS[format]
    facts = shard_facts(
        manifest["dtype"], manifest["tokenizer"], manifest.get("row_length"), manifest.get("loss_mask", False)
    )
    plain = jeton.shards.open(tmp_path / "plain")
    index = json.loads((tmp_path / "out" / "index.json").read_bytes())
    for number, shard in enumerate(manifest["shards"]):
        found, expected = layout.read(tmp_path / "out", f"shard-{number:05}", facts), plain.shard(number)
        assert found.tokens.tolist() == expected.tokens.tolist()
        assert np.array_equal(found.ends, expected.ends)
        named = [entry for entry in index["chunks" if format == "litdata" else "shards"] if str(number) in str(entry)]
        assert bool(named) or not shard["documents"]
    assert list(manifest["index_files"]) == ["index.json"]
    (tmp_path / "out" / "index.json").write_bytes(b"{}")
    [problem] = jeton.shards.verify(tmp_path / "out", progress=False).problems
    assert problem.endswith(
        f"index.json: it has 2 bytes, expected {manifest['index_files']['index.json']['bytes']:,}; merge again"
    )
    jeton.shards.merge(tmp_path / "out")
    assert jeton.shards.verify(tmp_path / "out", progress=False).is_valid


def test_conversations_are_stored_in_mds_and_refused_in_litdata(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    template = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    chat = tok.with_chat_template(template)
    (tmp_path / "a.jsonl").write_text('{"messages": [{"role": "user", "content": "low lower"}]}\n' * 3)
    options: dict[str, Any] = {"chat": True, "progress": False}
    jeton.shards.make(tmp_path / "a.jsonl", tmp_path / "out", chat, format="mds", **options)
    found = LAYOUTS["mds"].read(tmp_path / "out", "shard-00000", shard_facts("int32", "", None, True))
    assert found[1].tolist() == chat.encode("low lower")
    assert found.mask is not None
    assert found.mask.tolist() == [1] * len(found.tokens)
    with pytest.raises(ConfigError, match="not supported for format 'litdata', which has no loss mask"):
        jeton.shards.plan(tmp_path / "a.jsonl", tmp_path / "other", chat, format="litdata", chat=True)


@pytest.mark.parametrize("options", [{}, {"pack": 8}], ids=str)
@pytest.mark.parametrize("format", ["mds", "litdata"])
def test_every_damaged_byte_of_a_head_is_an_error_or_other_ids(
    format: str, options: dict[str, Any], rows: Path, tok: jeton.Tokenizer
) -> None:
    folder = make(rows, tok, format, **options)
    name = "shard-00000.mds" if format == "mds" else "shard-00000.bin"
    data = (folder / name).read_bytes()
    facts = shard_facts("int32", "", options.get("pack"), format == "mds" and bool(options))
    before = LAYOUTS[format].read(folder, "shard-00000", facts)
    whole = before.tokens.tolist(), before.ends.tolist(), None if before.mask is None else before.mask.tolist()
    for at in range(len(data)):
        (folder / name).write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            found = LAYOUTS[format].read(folder, "shard-00000", facts)
            found.check("shard-00000")
        except ShardError:
            continue
        mask = None if found.mask is None else found.mask.tolist()
        assert (found.tokens.tolist(), found.ends.tolist(), mask) != whole, at
    for end in (0, 3, 4, 11, len(data) - 1):
        (folder / name).write_bytes(data[:end])
        with pytest.raises(ShardError):
            LAYOUTS[format].read(folder, "shard-00000", facts)
    (folder / name).write_bytes(data)
    rehash(folder, name)
    assert jeton.shards.verify(folder, progress=False).is_valid


@pytest.mark.parametrize("format", ["mds", "litdata"])
def test_files_have_less_than_4_gib(
    format: str, rows: Path, tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "MAX_BYTES", 50)
    with pytest.raises(
        jeton.UnsupportedFeatureError, match=f"a file of {format} must be smaller than 4 GiB; pass smaller"
    ):
        make(rows, tok, format)

"""Items of `jeton.shards.open` and `take`: ids, masks and positions in each format; several folders as one."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, ShardError

from .conftest import EOS
from .plain import SUFFIXES, ids_of_folder, rows_of
from .test_conversations import TEMPLATE, conversations

FORMATS = list(SUFFIXES)
LENGTH = 50


def make(corpus: Path, folder: Path, tok: jeton.Tokenizer, **options: Any) -> Path:
    defaults = {"append_eos": True, "task_bytes": 3000, "progress": False, "verify": False}
    jeton.shards.make(corpus, folder, tok, **{**defaults, **options})
    return folder


@pytest.fixture
def chat_tok(tok: jeton.Tokenizer) -> jeton.Tokenizer:
    pytest.importorskip("jinja2")
    return tok.with_chat_template(TEMPLATE)


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps({"messages": one}) + "\n" for one in conversations(5, 60)))
    return path


@pytest.mark.parametrize("method", ["concatenate", "best_fit"])
@pytest.mark.parametrize("format", FORMATS)
def test_rows_have_positions_and_padding_is_masked(
    format: str, method: str, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    # Padding is eos, which also ends each document, so ids alone do not show it.
    make(corpus, tmp_path, tok, format=format, pack=LENGTH, packing=method)
    opened = jeton.shards.open(tmp_path)
    expected = rows_of(ids_of_folder(tmp_path), LENGTH)
    assert sum(row.mask.count(0) for row in expected) > 0
    found = [
        (tuple(row["input_ids"].tolist()), tuple(row["loss_mask"].tolist()), tuple(row["position_ids"].tolist()))
        for row in opened
    ]
    assert found == expected
    assert [tuple(row["loss_mask"].tolist()) for row in (opened[3], opened[-1])] == [
        expected[3].mask,
        expected[-1].mask,
    ]
    masks = [tuple(row) for rows in opened.rows(7) for row in rows.loss_mask.tolist()]
    assert masks == [row.mask for row in expected]
    chosen = np.random.default_rng(1).integers(-len(opened), len(opened), 40)
    padded = opened.take(chosen).padded()
    for name, column in (("input_ids", 0), ("loss_mask", 1), ("position_ids", 2)):
        assert [tuple(row) for row in padded[name].tolist()] == [expected[index][column] for index in chosen.tolist()]


def test_documents_with_the_padding_id_are_not_masked(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("low\n" * 5)
    lines = jeton.Corpus(tmp_path / "lines.txt", documents="line")
    options = {"prepend_bos": "<|end|>", "append_eos": "<|begin|>", "pad": "<|end|>", "pack": 4, "progress": False}
    jeton.shards.make(lines, tmp_path / "out", tok, format="bin", **options)
    rows = list(jeton.shards.open(tmp_path / "out"))
    assert [row["input_ids"].tolist()[-1] for row in rows].count(EOS) == 2  # one of them is the bos of a document
    assert [row["loss_mask"].tolist() for row in rows] == [[1] * 4] * (len(rows) - 1) + [[1, 1, 1, 0]]


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "megatron"])
def test_conversations_have_their_mask(format: str, chats: Path, chat_tok: jeton.Tokenizer, tmp_path: Path) -> None:
    options: dict[str, Any] = {"chat": True, "append_eos": False, "format": format}
    folder = make(chats, tmp_path / "a", chat_tok, **options)
    expected = ids_of_folder(folder)
    opened = jeton.shards.open(folder)
    assert {len({id.mask for id in document}) for document in expected} == {1, 2}
    for index in (*range(20), -1):
        item = opened[index]
        assert list(item) == ["input_ids", "loss_mask"]
        assert [column.tolist() for column in item.values()] == [
            [id.id for id in expected[index]],
            [id.mask for id in expected[index]],
        ]
    chosen = [4, -1, 0, 4, 30]
    batch = opened.take(chosen)
    assert batch.loss_mask is not None
    assert batch.position_ids is None
    assert batch.loss_mask.tolist() == [id.mask for index in chosen for id in expected[index]]
    padded = batch.padded(pad_id=0)
    assert (padded["loss_mask"].sum(), "position_ids" in padded) == (batch.loss_mask.sum(), False)
    assert [len(row) for row in batch.to_dict()["loss_mask"]] == [len(expected[index]) for index in chosen]
    make(chats, tmp_path / "b", chat_tok, pack=64, packing="best_fit", **options)
    packed = list(jeton.shards.open(tmp_path / "b"))
    assert [tuple(map(tuple, map(np.ndarray.tolist, row.values()))) for row in packed] == [
        (row.ids, row.positions, row.mask) for row in rows_of(ids_of_folder(tmp_path / "b"), 64)
    ]


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_items_are_writable_copies_on_request(
    dtype: str, corpus: Path, chats: Path, tok: jeton.Tokenizer, chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    plain = make(corpus, tmp_path / "plain", tok, format="bin")
    masked = make(chats, tmp_path / "masked", chat_tok, chat=True, append_eos=False, format="bin")
    packed = make(corpus, tmp_path / "packed", tok, format="olmo", pack=LENGTH)
    for folder in (plain, masked, packed):
        views, copies = jeton.shards.open(folder), jeton.shards.open(folder, dtype=dtype)
        assert (views.dtype.name, copies.dtype.name) == ("uint16", dtype)
        item, view = copies[1], views[1]
        if folder is plain:
            item, view = {"input_ids": item}, {"input_ids": view}
        assert item["input_ids"].dtype == dtype
        for name, column in item.items():
            assert np.array_equal(column, view[name])
            column[:] = 0
        arrays = [next(copies.batches(16)), next(iter(copies.take([0])))]
        arrays += [next(copies.rows(2)).ids, next(copies.rows(2)).loss_mask] if folder is packed else []
        for array in arrays:
            array[:] = 0
        assert next(copies.batches(16)).dtype == dtype
        assert pickle.loads(pickle.dumps(copies))[0].__class__ is copies[0].__class__
        assert pickle.loads(pickle.dumps(copies)).dtype == dtype
        assert views[1]["input_ids" if folder is not plain else slice(None)].any()
        assert not views.shard(0).tokens.flags.writeable
    for wrong in ("uint16", "float32", 7):
        with pytest.raises(ConfigError, match="dtype="):
            jeton.shards.open(plain, dtype=wrong)  # type: ignore[arg-type]


def test_several_folders_open_as_one(
    corpus: Path, tok: jeton.Tokenizer, documents: list[list[int]], tmp_path: Path
) -> None:
    paths = [
        make(corpus / "a.jsonl", tmp_path / "a", tok, format="megatron", dtype="int32"),
        make(corpus / "c.parquet", tmp_path / "c", tok, format="bin"),
        make(corpus / "b.jsonl.gz", tmp_path / "b", tok, format="datatrove"),
    ]
    ones = [jeton.shards.open(path) for path in paths]
    opened = jeton.shards.open(paths)
    expected = [ids.tolist() for one in ones for ids in one]
    assert [ids.tolist() for ids in opened] == expected
    assert (len(opened), opened.num_tokens) == (len(expected), sum(map(len, expected)))
    assert opened.num_shards == sum(one.num_shards for one in ones)
    assert opened.folders == tuple(paths)
    chosen = np.random.default_rng(0).permutation(len(opened))
    assert [ids.tolist() for ids in opened.take(chosen)] == [expected[index] for index in chosen.tolist()]
    assert [opened[index].tolist() for index in (-1, 0, len(ones[0]))] == [
        expected[-1],
        expected[0],
        expected[len(ones[0])],
    ]
    flat = [id for ids in expected for id in ids]
    assert [id for ids in opened.batches(100) for id in ids.tolist()] == flat[: len(flat) // 100 * 100]
    again = pickle.loads(pickle.dumps(opened))
    assert again.folders == opened.folders
    assert "megatron and bin and datatrove" in repr(opened)
    assert opened.dtype == np.result_type("i4", "u2")
    assert len(jeton.shards.open(iter(paths[:1]))) == len(ones[0])


def test_folders_of_conversations_and_documents_open_as_one(
    corpus: Path, chats: Path, tok: jeton.Tokenizer, chat_tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    plain = make(corpus / "a.jsonl", tmp_path / "plain", chat_tok, format="bin")
    chat = make(chats, tmp_path / "chat", chat_tok, chat=True, append_eos=False, format="bin")
    opened = jeton.shards.open([plain, chat])
    number = len(jeton.shards.open(plain))
    assert opened[0]["loss_mask"].all()
    assert [item["loss_mask"].tolist() for item in opened[number:]] == [
        item["loss_mask"].tolist() for item in jeton.shards.open(chat)
    ]
    batch = opened.take([number + 1, 0])
    assert batch.loss_mask is not None
    assert batch.loss_mask.tolist() == [*opened[number + 1]["loss_mask"].tolist(), *opened[0]["loss_mask"].tolist()]


def test_incompatible_folders_are_refused(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    first = make(corpus / "a.jsonl", tmp_path / "first", tok)
    other = tok.add_tokens(["<|other|>"])
    for name, match, tokenizer, options in (
        ("tokenizer", "the tokenizer is j1:", other, {}),
        ("rows", "ids of a row is none in the first and 50", tok, {"pack": LENGTH}),
        ("eos", "the id after each document is 280 in the first and none", tok, {"append_eos": False}),
        ("bos", "the id before each document is none in the first and 281", tok, {"prepend_bos": True}),
    ):
        second = make(corpus / "c.parquet", tmp_path / name, tokenizer, **options)
        with pytest.raises(ConfigError, match=f"first and .*{name} cannot be read as one: {match}"):
            jeton.shards.open([first, second])
    with pytest.raises(ConfigError, match="is given twice"):
        jeton.shards.open([first, tmp_path / "rows" / ".." / "first"])
    for wrong in ([], 3, None):
        with pytest.raises(ConfigError, match="a folder, or several"):
            jeton.shards.open(wrong)  # type: ignore[arg-type]


def test_other_origins_are_an_error(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    from .conftest import rehash

    make(corpus, tmp_path, tok, format="bin", pack=LENGTH, packing="best_fit")
    path = tmp_path / "shard-00000.origins"
    path.write_bytes(path.read_bytes()[:-12])
    rehash(tmp_path, path.name)
    with pytest.raises(ShardError, match="origins of pieces"):
        list(jeton.shards.open(tmp_path))

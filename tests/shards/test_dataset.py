"""`jeton.shards.open`: sequences of documents, and batches of one length."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, FormatError, ShardError, UnsupportedFeatureError
from jeton.shards import opened as opened_module

from .conftest import rewrite


@pytest.fixture(params=["megatron", "bin", "llmc", "datatrove", "olmo"])
def opened(
    request: pytest.FixtureRequest, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> jeton.shards.ShardDataset:
    options = {"append_eos": True, "progress": False, "verify": False, "task_bytes": 2000}
    jeton.shards.make(corpus, tmp_path, tok, format=request.param, **options)
    return jeton.shards.open(tmp_path)


def test_a_dataset_is_a_sequence_of_documents(opened: jeton.shards.ShardDataset, documents: list[list[int]]) -> None:
    assert len(opened) == len(documents)
    assert [ids.tolist() for ids in opened] == documents
    assert [opened[index].tolist() for index in range(-5, 5)] == [documents[index] for index in range(-5, 5)]
    assert [ids.tolist() for ids in opened[10:200:7]] == documents[10:200:7]
    for index in (len(documents), -len(documents) - 1):
        with pytest.raises(IndexError):
            opened[index]


def test_batches_have_the_given_length(opened: jeton.shards.ShardDataset, documents: list[list[int]]) -> None:
    ids = np.concatenate(list(map(np.array, documents)))
    assert opened.num_tokens == len(ids)
    for length in (1, 7, 1000, len(ids), len(ids) + 1):
        batches = list(opened.batches(length))
        assert len(batches) == len(ids) // length
        assert np.array_equal(np.concatenate([[], *batches]), ids[: len(batches) * length])
        assert {len(batch) for batch in batches} <= {length}


def test_few_shards_stay_open(
    opened: jeton.shards.ShardDataset, documents: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened_module, "MOST_OPEN", 2)
    assert [opened[index].tolist() for index in range(0, len(documents), 50)] == documents[::50]
    assert len(opened._shards.is_open) <= 2


def test_a_pickled_dataset_reads_documents(opened: jeton.shards.ShardDataset) -> None:
    again = pickle.loads(pickle.dumps(opened))
    assert np.array_equal(again[3], opened[3])


def test_arrays_are_read_only_views(opened: jeton.shards.ShardDataset) -> None:
    with pytest.raises(ValueError, match="read-only"):
        opened[0][:] = 0


def test_folders_that_cannot_be_opened_are_refused(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.plan(corpus, tmp_path / "a", tok)
    with pytest.raises(ShardError, match="no manifest"):
        jeton.shards.open(tmp_path / "a")
    jeton.shards.make(corpus, tmp_path / "b", tok, format="parquet", progress=False, verify=False)
    with pytest.raises(UnsupportedFeatureError, match="use datasets or pyarrow"):
        jeton.shards.open(tmp_path / "b")
    (tmp_path / "b" / "manifest.json").write_text("{}")
    with pytest.raises(FormatError, match="not a manifest"):
        jeton.shards.open(tmp_path / "b")


def test_an_unknown_manifest_is_refused(opened: jeton.shards.ShardDataset, tmp_path: Path) -> None:
    for change, match in (
        ({"format": "new"}, "not a manifest .*'format' is 'new'"),
        ({"version": 9}, r"version 9; this"),
    ):
        rewrite(tmp_path / "manifest.json", {**opened.manifest, **change})
        with pytest.raises(FormatError, match=match):
            jeton.shards.open(tmp_path)
    with pytest.raises(FormatError, match=r"manifest\.json: version 9"):
        jeton.shards.verify(tmp_path, progress=False)


def test_the_least_recently_used_shard_is_closed(
    opened: jeton.shards.ShardDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened_module, "MOST_OPEN", 2)
    for number in (0, 1, 0, 2):
        opened.shard(number)
    assert list(opened._shards.is_open) == [0, 2]


def test_documents_of_a_shard_are_indexed_from_both_ends(opened: jeton.shards.ShardDataset) -> None:
    shard = opened.shard(0)
    assert shard[-1].tolist() == shard[len(shard) - 1].tolist() != []
    assert shard[-len(shard)].tolist() == shard[0].tolist()
    for index in (len(shard), -len(shard) - 1):
        with pytest.raises(IndexError, match=f"document {index} is out of range"):
            shard[index]


def test_documents_are_taken_by_many_indices(opened: jeton.shards.ShardDataset, documents: list[list[int]]) -> None:
    chosen = np.random.default_rng(0).integers(-len(documents), len(documents), 500)
    batch = opened.take(chosen)
    assert [ids.tolist() for ids in batch] == [documents[index] for index in chosen.tolist()]
    assert [ids.tolist() for ids in opened.take(range(len(documents)))] == documents
    assert len(opened.take([])) == 0
    assert opened.take([len(documents) - 1])[0].tolist() == documents[-1]


@pytest.mark.parametrize(
    "wrong", [[0, 10_000_000], [-10_000_000], np.array([2**64 - 1, 10_000_000], np.uint64)], ids=str
)
def test_an_index_out_of_range_is_named(opened: jeton.shards.ShardDataset, wrong: Any) -> None:
    with pytest.raises(IndexError, match=r"document -?1\d+ is out of range"):
        opened.take(wrong)


@pytest.mark.parametrize("wrong", [3, [0.5], ["0"], [[0]], [[0], [0, 1]], None], ids=str)
def test_invalid_indices_are_refused(opened: jeton.shards.ShardDataset, wrong: Any) -> None:
    with pytest.raises(ConfigError, match="indices"):
        opened.take(wrong)

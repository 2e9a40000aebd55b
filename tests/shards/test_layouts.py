"""Each format, byte for byte, against files made from the layout tables of its own library; and joined shards."""

from __future__ import annotations

import csv
import gc
import gzip
import itertools
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, ShardError
from jeton.shards.layouts import LAYOUTS, raw

from .conftest import EOS, ids_of, stored, tables

TEXTS = ["low lower", "newest 日本", "x", "wide wider widest"]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    return path


@pytest.fixture
def documents(tok: jeton.Tokenizer) -> list[list[int]]:  # type: ignore[no-redef]
    return [[*tok.encode(text), EOS] for text in TEXTS]


def make(rows: Path, tok: jeton.Tokenizer, format: str, **options: Any) -> Path:
    folder = rows.parent / "out"
    options = {"append_eos": True, "progress": False, **options}
    jeton.shards.make(jeton.Corpus(rows, documents="line"), folder, tok, format=format, **options)
    return folder


def flat(documents: list[list[int]]) -> list[int]:
    return list(itertools.chain.from_iterable(documents))


def ends(documents: list[list[int]]) -> list[int]:
    return list(itertools.accumulate(map(len, documents)))


@pytest.mark.parametrize(("dtype", "code", "letter"), [("uint16", 8, "H"), ("int32", 4, "i")])
def test_megatron_files(
    dtype: str, code: int, letter: str, rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]
) -> None:
    folder = make(rows, tok, "megatron", dtype=dtype)
    ids, size, number = flat(documents), struct.calcsize(letter), len(documents)
    assert (folder / "shard-00000.bin").read_bytes() == struct.pack(f"<{len(ids)}{letter}", *ids)
    index = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, number, number + 1)
    index += struct.pack(f"<{number}i", *map(len, documents))
    index += struct.pack(f"<{number}q", *(size * end for end in [0, *ends(documents)[:-1]]))
    index += struct.pack(f"<{number + 1}q", *range(number + 1))
    assert (folder / "shard-00000.idx").read_bytes() == index
    assert len(index) == 42 + 20 * number


def test_nanogpt_files(rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]) -> None:
    folder = make(rows, tok, "bin")
    assert ids_of(folder, "<u2") == flat(documents)
    assert np.fromfile(folder / "shard-00000.documents", "<u8").tolist() == ends(documents)


@pytest.mark.parametrize(("dtype", "head"), [("uint16", (20240520, 1)), ("uint32", (20240801, 7))])
def test_llm_c_files(
    dtype: str, head: tuple[int, int], rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]
) -> None:
    folder = make(rows, tok, "llmc", dtype=dtype)
    data = (folder / "shard-00000.bin").read_bytes()
    ids = flat(documents)
    assert data[:1024] == struct.pack("<256i", *head, len(ids), *[0] * 253)
    assert np.frombuffer(data[1024:], np.dtype(dtype).newbyteorder("<")).tolist() == ids


def test_llm_c_has_less_than_2_31_tokens(rows: Path, tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw.LlmC, "MAX_TOKENS", 5)
    with pytest.raises(jeton.UnsupportedFeatureError, match=r"a file of llm\.c has at most 5"):
        make(rows, tok, "llmc")


def test_datatrove_files(rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]) -> None:
    folder = make(rows, tok, "datatrove")
    assert ids_of(folder, "<u2") == flat(documents)
    assert np.fromfile(folder / "shard-00000.ds.index", "<u8").tolist() == ends(documents)
    total = len(flat(documents))
    assert (folder / "shard-00000.ds.metadata").read_text() == f"{tok.fingerprint}|2\n{total}\n{total}.0 T"


def test_datatrove_reads_document_ends(rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]) -> None:
    merger = pytest.importorskip("datatrove.pipeline.tokens.merger")
    folder = make(rows, tok, "datatrove")
    with (folder / "shard-00000.ds.index").open("rb") as file:
        found = merger.load_doc_ends(file)
    assert found.tolist() == ends(documents)


def test_olmo_files(rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]) -> None:
    rows.write_text("\n".join(["", *TEXTS]), encoding="utf-8")
    folder = make(rows, tok, "olmo", task_bytes=10)
    assert ids_of(folder, "<u2") == flat(documents)
    table = list(csv.reader(gzip.decompress((folder / "shard-00000.csv.gz").read_bytes()).decode().splitlines()))
    bounds = [0, *ends(documents)]
    assert table == [
        [str(bounds[index]), str(bounds[index + 1]), f"{rows}:{index + 2}", str(rows), str(index + 2)]
        for index in range(len(documents))
    ]


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_parquet_and_arrow_have_columns_of_ids(
    format: str, rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]
) -> None:
    import pyarrow as pa

    folder = make(rows, tok, format)
    (table,) = tables(folder)
    assert table.schema.field("input_ids").type == pa.list_(pa.int32())
    assert table["input_ids"].to_pylist() == documents


def test_datasets_reads_arrow(rows: Path, tok: jeton.Tokenizer, documents: list[list[int]]) -> None:
    datasets = pytest.importorskip("datasets")
    folder = make(rows, tok, "arrow")
    assert datasets.Dataset.from_file(str(folder / "shard-00000.arrow"))["input_ids"][:] == documents


@pytest.mark.parametrize("format", ["megatron", "bin", "llmc"])
def test_joined_shards_are_those_of_one_task(format: str, rows: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    options: dict[str, Any] = {"format": format, "append_eos": True, "progress": False}
    corpus = jeton.Corpus(rows, documents="line")
    jeton.shards.make(corpus, tmp_path / "many", tok, task_bytes=7, join=True, **options)
    jeton.shards.make(corpus, tmp_path / "one", tok, **options)
    joined = sorted((tmp_path / "many" / "joined").iterdir())
    assert joined
    for path in joined:
        alone = tmp_path / "one" / path.name.replace("joined", "shard-00000")
        assert path.read_bytes() == alone.read_bytes(), path.name


def test_the_index_does_not_depend_on_blocks(
    rows: Path, tok: jeton.Tokenizer, documents: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from jeton.shards.layouts import base, megatron

    expected = make(rows, tok, "megatron", join=True)
    files = {path.name: path.read_bytes() for path in expected.glob("*.idx")}
    for module in (base, megatron):
        monkeypatch.setattr(module, "BLOCK", 2)
    (rows.parent / "out").rename(rows.parent / "first")
    again = make(rows, tok, "megatron", join=True)
    assert {path.name: path.read_bytes() for path in again.glob("*.idx")} == files
    assert stored(again) == documents


class TestTypes:
    """Types of ids: the option dtype."""

    def test_auto_chooses_the_smallest_dtype(self) -> None:
        from jeton.shards.layouts import LAYOUTS

        assert [LAYOUTS["megatron"].dtype("auto", size) for size in (65499, 65500)] == ["uint16", "int32"]
        assert [LAYOUTS["bin"].dtype("auto", size) for size in (65536, 65537)] == ["uint16", "uint32"]

    def test_a_dtype_too_small_for_the_ids_is_refused(self, rows: Path, tok: jeton.Tokenizer) -> None:
        big = jeton.Tokenizer.from_merges({97: b"a"}, [], special_tokens={"<|end|>": 65536})
        with pytest.raises(ConfigError, match="holds ids up to 65,535, but the tokenizer has ids up to 65,536"):
            jeton.shards.plan(rows, rows.parent / "out", big, dtype="uint16")
        assert not (rows.parent / "out").exists()

    def test_a_dtype_that_the_format_lacks_is_refused(self, rows: Path, tok: jeton.Tokenizer) -> None:
        with pytest.raises(
            ConfigError, match="uint32' is not a type of the format megatron; types: auto, uint16, int32"
        ):
            jeton.shards.plan(rows, rows.parent / "out", tok, dtype="uint32")


@pytest.mark.parametrize("format", ["parquet", "datatrove", "olmo"])
def test_join_is_refused_where_readers_take_folders(format: str, rows: Path, tok: jeton.Tokenizer) -> None:
    with pytest.raises(ConfigError, match=f"not supported for format '{format}'"):
        make(rows, tok, format, join=True)


def test_damaged_indexes_are_errors(rows: Path, tok: jeton.Tokenizer) -> None:
    folder = make(rows, tok, "megatron")
    index = folder / "shard-00000.idx"
    data = index.read_bytes()
    for damaged in (b"", data[:20], b"X" + data[1:], data[:9] + b"\2" + data[10:], data[:18] + b"\xff" * 7 + data[25:]):
        index.write_bytes(damaged)
        with pytest.raises(ShardError):
            len(jeton.shards.open(folder)[0])
        assert not jeton.shards.verify(folder, progress=False).is_valid


def test_metric_prefixes_have_three_digits() -> None:
    found = [raw._metric(number) for number in (0, 7, 56, 999, 1000, 1234, 45_678, 999_499, 123_456_789, 10**12)]
    assert found == [
        "0.00 T",
        "7.00 T",
        "56.0 T",
        "999 T",
        "1.00 kT",
        "1.23 kT",
        "45.7 kT",
        "999 kT",
        "123 MT",
        "1.00 TT",
    ]


@pytest.mark.parametrize("options", [{"format": "llmc"}, {"pack": 16}, {"shuffle": 1}], ids=str)
def test_ids_are_held_on_the_disk_of_the_output(
    options: dict[str, Any], corpus: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Temporary files are not in TMPDIR, which may be small."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    jeton.shards.make(corpus, tmp_path / "out", tok, progress=False, verify=False, **options)
    assert {path.suffix for path in (tmp_path / "out").iterdir()} >= {".bin", ".json"}


@pytest.mark.parametrize("format", list(LAYOUTS))
def test_an_error_leaves_no_open_file(
    format: str, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressors freed after the error would write into closed files."""
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    (tmp_path / "a.jsonl").write_text('{"text": "low"}\n' * 10 + "{\n")
    with pytest.raises(jeton.JetonError, match=r"a\.jsonl:11"):
        jeton.shards.make(tmp_path / "a.jsonl", tmp_path / "out", tok, format=format, progress=False)
    gc.collect()
    assert [found.exc_value for found in ignored] == []


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_format_without_its_package_is_refused(
    format: str, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(jeton.errors.MissingDependencyError, match="needs the package pyarrow"):
        jeton.shards.plan(corpus, tmp_path / "out", tok, format=format)
    assert not (tmp_path / "out").exists()

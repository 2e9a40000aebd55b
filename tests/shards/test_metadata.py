"""Metadata of documents: the fields of their records, in every format, in the order of the shards."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError, FormatError, ShardError
from jeton.shards.collecting import NO_TASK, read_origins

from .conftest import digest, facts_of, rehash, stored, texts
from .test_identity import IDS

KEEP = ["id", "meta.url", "tags.0", "seldom"]
Record = dict[str, Any]


def record(name: str, number: int) -> Record:
    """A record without its text; `seldom` is missing in most."""
    facts = {"id": f"{name}-{number}", "meta": {"url": f"https://x.org/ä/{number}"}, "tags": [number, None]}
    return facts | ({"seldom": [1.5, {"a": "\ud800"}]} if number % 7 == 0 else {})


def kept(facts: Record) -> Record:
    found = {"id": facts["id"], "meta.url": facts["meta"]["url"], "tags.0": facts["tags"][0]}
    return found | ({"seldom": facts["seldom"]} if "seldom" in facts else {})


@pytest.fixture(scope="module")
def records(
    tmp_path_factory: pytest.TempPathFactory, tok: jeton.Tokenizer
) -> tuple[Path, list[tuple[list[int], Record]]]:
    """A folder of all kinds of files, and ids and metadata of each document that has tokens, by a plain reader."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("records")
    expected: list[tuple[str, Record]] = []
    for name, seed, number in (("a.jsonl", 1, 120), ("b.jsonl.gz", 2, 60), ("c.parquet", 3, 90)):
        rows = [{**record(name, index), "text": text} for index, text in enumerate(texts(seed, number))]
        if name.endswith(".parquet"):
            rows = [{**row, "seldom": "rare" if "seldom" in row else None} for row in rows]
            pq.write_table(pa.Table.from_pylist(rows), folder / name, row_group_size=20)
        else:
            data = "".join(json.dumps(row) + "\n" for row in rows).encode()
            (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        expected += [(row["text"], kept(row)) for row in rows]
    rows = [{**record("d", index), "text": text} for index, text in enumerate(texts(4, 40))]
    (folder / "d.json").write_text(json.dumps(rows))
    expected += [(row["text"], kept(row)) for row in rows]
    (folder / "e.csv").write_text('id,text,tags\n7,"low, new",x\n8,wide,\n')
    expected += [("low, new", {"id": "7"}), ("wide", {"id": "8"})]
    tables = [{"id": number, "text": text, "meta": {"url": "u"}} for number, text in enumerate(texts(5, 30))]
    table = pa.Table.from_pylist(tables)
    with pa.OSFile(str(folder / "f.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    expected += [(row["text"], {"id": row["id"], "meta.url": "u"}) for row in tables]
    members = {"a.txt": "low", "a.json": '{"id": 3}', "b.txt": "new", "c.json": '{"id": 4, "text": "lowest"}'}
    with tarfile.open(folder / "g.tar", "w") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    place = {"file": str(folder / "g.tar"), "number": 2}
    expected += [("low", {"id": 3}), ("new", place), ("lowest", {"id": 4})]
    for name, text in (("h.txt", "low"), ("i.txt", "new low\nlower")):
        (folder / name).write_text(text)
        expected.append((text, {"file": str(folder / name)}))
    return folder, [([*tok.encode(text), 280], facts) for text, facts in expected if text]


def make(corpus: Any, folder: Path, tok: jeton.Tokenizer, **options: Any) -> jeton.shards.Report:
    options = {"append_eos": True, "progress": False, "task_bytes": 4000, "keep": KEEP, **options}
    return jeton.shards.make(corpus, folder, tok, **options)


@pytest.mark.parametrize("format", IDS)
def test_every_format_has_the_metadata(format: str, records: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    corpus, expected = records
    report = make(corpus, tmp_path / "out", tok, format=format)
    found = jeton.shards.metadata(tmp_path / "out")
    assert list(zip(stored(tmp_path / "out"), found, strict=True)) == expected
    assert found[-1] == expected[-1][1]
    assert found[3:5] == [facts for _, facts in expected[3:5]]
    # Records without tokens are read, too.
    assert report.kept
    assert all(report.kept[name] >= sum(name in facts for _, facts in expected) > 0 for name in KEEP)
    assert report == jeton.shards.report(tmp_path / "out")
    make(corpus, tmp_path / "again", tok, format=format, workers=1)
    assert digest(tmp_path / "out") == digest(tmp_path / "again")
    with pytest.raises(IndexError, match="document 400 is out of range"):
        found[400]


@pytest.mark.parametrize("format", ["bin", "olmo"])
def test_shuffled_documents_keep_their_metadata(
    format: str, records: Any, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    corpus, expected = records
    make(corpus, tmp_path / "out", tok, format=format, shuffle=3)
    dataset = jeton.shards.open(tmp_path / "out")
    found = [(ids.tolist(), dataset.metadata(index)) for index, ids in enumerate(dataset)]
    assert found != expected
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("shuffle", [None, 3])
@pytest.mark.parametrize("packing", ["concatenate", "best_fit"])
@pytest.mark.parametrize("format", ["bin", "olmo"])
def test_rows_have_the_metadata_of_their_documents(
    format: str, packing: str, shuffle: int | None, records: Any, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    corpus, _ = records
    options = {"format": format, "shuffle": shuffle, "pack": 16, "packing": packing}
    make(corpus, tmp_path / "out", tok, **options)
    make(corpus, tmp_path / "plain", tok, format=format)  # documents are numbered like their origins
    plain, manifest = jeton.shards.metadata(tmp_path / "plain"), facts_of(tmp_path / "plain" / "manifest.json")
    starts = [sum(shard["documents"] for shard in manifest["shards"][:task]) for task in range(len(manifest["shards"]))]
    dataset = jeton.shards.open(tmp_path / "out")
    row = 0
    for shard in range(dataset.num_shards):
        origins, at = read_origins(tmp_path / "out", f"shard-{shard:05}").tolist(), 0
        ends = dataset.shard(shard).ends.tolist()
        for end in range(16, len(dataset.shard(shard).tokens) + 1, 16):
            pieces = []
            while at < len(ends) and ends[at] <= end:
                if origins[at][0] != NO_TASK:
                    pieces.append(plain[starts[origins[at][0]] + origins[at][1]])
                at += 1
            assert dataset.metadata(row) == pieces
            row += 1
    assert row == len(dataset) == len(jeton.shards.metadata(tmp_path / "out"))


def test_conversations_have_metadata(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    chat_tok = tok.add_tokens(["<|im_start|>", "<|im_end|>"]).with_chat_template("chatml")
    turns = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "new"}]
    rows = [{"id": number, "messages": turns * (1 + number)} for number in range(6)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = {"chat": True, "append_eos": False, "pack": 64, "packing": "best_fit", "too_long": "split"}
    report = make(tmp_path / "a.jsonl", tmp_path / "out", chat_tok, keep=["id"], format="bin", **options)
    assert report.conversations
    assert report.conversations["split"] > 0
    ids = [one["id"] for row in jeton.shards.metadata(tmp_path / "out") for one in row]
    assert set(ids) == set(range(6))
    assert report.kept == {"id": 6}
    assert len(ids) > 6


def test_lines_of_a_text_have_numbers_of_the_file(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{'low ' * (number % 3)}\n" for number in range(1, 300)))
    make(jeton.Corpus(tmp_path / "a.txt", documents="line"), tmp_path / "out", tok, task_bytes=100, format="bin")
    numbers = [found["number"] for found in jeton.shards.metadata(tmp_path / "out")]
    assert numbers == [number for number in range(1, 300) if number % 3]


def test_joined_shards_have_joined_metadata(records: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    corpus, expected = records
    make(corpus, tmp_path / "out", tok, join=True)
    lines = (tmp_path / "out" / "joined" / "joined.metadata.jsonl").read_bytes().splitlines()
    assert list(map(json.loads, lines)) == [facts for _, facts in expected]
    assert jeton.shards.verify(tmp_path / "out", progress=False).is_valid
    jeton.shards.merge(tmp_path / "out")
    assert not (tmp_path / "out" / "joined" / "joined.metadata.jsonl").exists()


def test_a_field_that_no_record_has_is_reported(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('\ufeff{"text": "low", "id": 1}\n\n{"text": "new"}\n', encoding="utf-8")
    report = make(tmp_path / "a.jsonl", tmp_path / "out", tok, keep=["id", "idd"])
    assert list(jeton.shards.metadata(tmp_path / "out")) == [{"id": 1}, {}]
    assert report.complaints() == ["no record has the field 'idd' that was to be kept"]
    assert "| records with id | 1 |" in report.to_markdown()


def test_unreadable_fields_are_an_error_or_skipped(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    rows = ['{"text": "low", "id": 1}', f'{{"text": "new", "id": {"9" * 5000}}}', '{"text": "wide", "id": 3}']
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    with pytest.raises(FormatError, match=r"a\.jsonl:2: its fields cannot be kept"):
        make(tmp_path / "a.jsonl", tmp_path / "strict", tok, keep=["id"])
    corpus = jeton.Corpus(tmp_path / "a.jsonl", errors="skip")
    report = make(corpus, tmp_path / "out", tok, keep=["id"], format="bin")
    assert report.skipped == {"fields that cannot be read": (1, (f"{tmp_path}/a.jsonl:2",))}
    assert [found["id"] for found in jeton.shards.metadata(tmp_path / "out")] == [1, 3]


def test_values_of_tables_that_json_does_not_have(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    import datetime

    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"text": "low", "at": datetime.date(2024, 5, 1), "raw": b"\xffx"}, {"text": None, "at": None, "raw": None}]
    pq.write_table(pa.Table.from_pylist([*rows, {"text": "new", "at": None, "raw": b"y"}]), tmp_path / "a.parquet")
    corpus = jeton.Corpus(tmp_path / "a.parquet", errors="skip")
    make(corpus, tmp_path / "out", tok, keep=["at", "raw"])
    assert list(jeton.shards.metadata(tmp_path / "out")) == [
        {"at": "2024-05-01", "raw": "\udcffx"},
        {"at": None, "raw": "y"},
    ]
    report = make(corpus, tmp_path / "other", tok, keep=["url"])
    assert list(jeton.shards.metadata(tmp_path / "other")) == [{}, {}]
    assert report.kept == {"url": 0}


def test_damaged_metadata_is_found(records: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    corpus, _ = records
    make(corpus, tmp_path / "out", tok, format="bin")
    path = tmp_path / "out" / "shard-00000.metadata.jsonl"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"a.jsonl-3", b"a.jsonl-4"))
    assert "hash differs" in jeton.shards.verify(tmp_path / "out", progress=False).problems[0]
    rehash(tmp_path / "out", path.name)
    assert "it differs from that of its source" in jeton.shards.verify(tmp_path / "out", progress=False).problems[0]
    path.write_bytes(data[: data.rindex(b"\n", 0, -1) + 1])
    rehash(tmp_path / "out", path.name)
    assert ": lines " in jeton.shards.verify(tmp_path / "out", progress=False).problems[0]
    with pytest.raises(ShardError, match=r"it has \d+ lines, but the manifest says \d+ items"):
        jeton.shards.metadata(tmp_path / "out")[0]


def test_invalid_uses_of_metadata_are_refused(records: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    corpus, _ = records
    make(corpus, tmp_path / "out", tok, keep=[])
    with pytest.raises(ConfigError, match="its documents have no metadata; pass keep"):
        jeton.shards.open(tmp_path / "out").metadata(0)
    with pytest.raises(ConfigError, match=r"was planned with keep unset, but this call has \('id',\)"):
        make(corpus, tmp_path / "out", tok, keep=["id"])
    with pytest.raises(ConfigError, match="keep= has 'id', which is given twice"):
        make(corpus, tmp_path / "other", tok, keep=["id", "id"])
    with pytest.raises(ConfigError, match="keep= has '', an empty name"):
        make(corpus, tmp_path / "other", tok, keep=[""])
    with pytest.raises(ConfigError, match=r"keep='id' is not a list of strings"):
        make(corpus, tmp_path / "other", tok, keep="id")
    with pytest.raises(ConfigError, match="keep= applies to formats of ids"):
        jeton.shards.plan(corpus, tmp_path / "counts", format="counts", keep=["id"])


def test_metadata_of_several_folders_are_read_as_one(records: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    import pickle

    corpus, expected = records
    for name in ("a", "b"):
        make(corpus, tmp_path / name, tok, format="bin")
    dataset = jeton.shards.open([tmp_path / "a", tmp_path / "b"])
    facts = [facts for _, facts in expected]
    assert [dataset.metadata(index) for index in range(len(dataset))] == facts * 2
    found = pickle.loads(pickle.dumps(jeton.shards.metadata([tmp_path / "b", tmp_path / "a"])))
    assert (len(found), found[-1]) == (len(dataset), facts[-1])

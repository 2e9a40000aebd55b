"""Folders in the forms of published corpora: every document is read once, in its format, and other files are reported.

Each case writes a folder, names the files that are read, with a plain reader for each, and what is reported. The
documents are read in three ways: one by one, in batches, and by the tasks of a plan that cuts files.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import random
import tarfile
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import jeton
from jeton.corpus import Corpus, Source, open_corpus
from jeton.corpus.kinds import json_content
from jeton.corpus.listing import Lister
from jeton.errors import ConfigError, FormatError, InvalidTextError, UnsupportedFeatureError
from jeton.shards.plan import Plan, list_inputs, reading_of

Reader = Callable[[Path], Iterable[str]]
Write = Callable[[Path], object]

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 24),
}


# ── plain readers ───────────────────────────────────────────────────────────────────────────────────────────────────


def plain(path: Path) -> bytes:
    return UNPACK.get(path.suffix, bytes)(path.read_bytes())


def text(path: Path) -> list[str]:
    return [plain(path).decode()]


def rows(get: Callable[[Any], str] = lambda row: row["text"]) -> Reader:
    return lambda path: [get(json.loads(line)) for line in plain(path).decode().split("\n") if line.strip()]


def array(path: Path) -> list[str]:
    return [row["text"] for row in json.loads(plain(path))]


def table(column: Callable[[Any], str] = lambda row: row["text"]) -> Reader:
    return lambda path: [column(row) for row in pq.read_table(path).to_pylist()]


def arrow(path: Path) -> list[str]:
    data = path.read_bytes()
    opened = pa.ipc.open_file(data) if data.startswith(b"ARROW1") else pa.ipc.open_stream(data)
    return opened.read_all()["text"].to_pylist()


def separated(delimiter: str) -> Reader:
    def read(path: Path) -> list[str]:
        lines = io.StringIO(plain(path).decode("utf-8-sig"), newline="")
        return [row["text"] for row in csv.DictReader(lines, delimiter=delimiter)]

    return read


def members(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        contents = {one.name: archive.extractfile(one).read().decode() for one in archive if one.isfile()}  # type: ignore[union-attr]
    keys = dict.fromkeys(name.partition(".")[0] for name in contents)
    return [
        contents[f"{key}.txt"] if f"{key}.txt" in contents else json.loads(contents[f"{key}.json"])["text"]
        for key in keys
        if f"{key}.txt" in contents or f"{key}.json" in contents
    ]


# ── writers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

rng = random.Random(47)


def words(number: int) -> list[str]:
    return [
        " ".join(rng.choices(["low", "lower\n", "新", "ä", '"q"', "a,b", "\t"], k=1 + rng.randrange(9)))
        for _ in range(number)
    ]


def lines(*given: object, suffix: str = "") -> Write:
    data = b"".join(
        (one if isinstance(one, bytes) else json.dumps(one, ensure_ascii=False).encode()) + b"\n" for one in given
    )
    return lambda path: path.write_bytes(PACK[suffix](data))


def texts_as(make: Callable[[str], object], number: int = 20, suffix: str = "") -> Write:
    return lines(*map(make, words(number)), suffix=suffix)


def row(text: str) -> dict[str, object]:
    return {"id": 1, "text": text, "metadata": {"source": "cc"}}


def put(data: str | bytes, suffix: str = "") -> Write:
    return lambda path: path.write_bytes(PACK[suffix](data.encode() if isinstance(data, str) else data))


def csv_of(delimiter: str, bom: bytes = b"", suffix: str = "") -> Write:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerows([["id", "text"], *([number, text] for number, text in enumerate(words(20)))])
    return put(bom + out.getvalue().encode(), suffix)


def parquet(**columns: Any) -> Write:
    return lambda path: pq.write_table(pa.table(columns), path, row_group_size=3)


def ipc(is_file: bool) -> Write:
    def write(path: Path) -> None:
        made = pa.table({"id": list(range(20)), "text": words(20)})
        with (pa.ipc.new_file if is_file else pa.ipc.new_stream)(str(path), made.schema) as writer:
            writer.write_table(made, max_chunksize=7)

    return write


def tar(suffix: str = "", **contents: str) -> Write:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
    return put(out.getvalue(), suffix)


def link(target: str) -> Write:
    return lambda path: path.symlink_to(target, target_is_directory=True)


def dataset(number: int = 30, shards: int = 2) -> Write:
    def write(path: Path) -> None:
        datasets = pytest.importorskip("datasets")
        datasets.Dataset.from_dict({"id": list(range(number)), "text": words(number)}).save_to_disk(
            path, num_shards=shards
        )

    return write


def cached(path: Path) -> None:
    """A dataset with the cached result of a `map` beside its files."""
    dataset()(path)
    ipc(is_file=False)(path / "cache-0123456789abcdef.arrow")


def counts(path: Path) -> None:
    path.mkdir()
    jeton.count_pretokens(["low lower"], progress=False).save(path / "shard-00000.jtc")


# ── cases ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Case:
    """A folder.

    Attributes:
        files: name -> its writer, in order.
        read: name of each file that is read -> its plain reader, in the order of reading.
        unread: kind -> names.
        options: of `Corpus`.
        skipped: kind -> number of skipped records.
    """

    files: Mapping[str, Write]
    read: Mapping[str, Reader]
    unread: Mapping[str, list[str]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)


METADATA: dict[str, Write] = {
    "README.md": put("# A corpus\n"),
    "LICENSE": put("MIT"),
    "SHA256SUMS": put("0123  a.txt\n"),
    "a.txt.sha256": put("0123"),
    "dataset_info.json": put('{\n  "features": {"text": {"dtype": "string"}}\n}'),
    "plan.json": put('{"version": 2, "inputs": []}'),
    "report.md": put("| a |"),
    "stats.csv": put("lang,documents\nen,3\n"),
    "languages.json": put('["en", "de"]'),
}
REPORTED = {
    "without suffix": ["LICENSE", "SHA256SUMS"],
    ".md": ["README.md", "report.md"],
    ".sha256": ["a.txt.sha256"],
    "JSON without rows": ["dataset_info.json", "languages.json", "plan.json"],
    ".csv without the field 'text'": ["stats.csv"],
}

CASES: dict[str, Case] = {
    "text": Case(
        {"b.txt": put("b"), "a/z.text": put("é\n"), "c.txt": put("")}, {"a/z.text": text, "b.txt": text, "c.txt": text}
    ),
    "packed text": Case(
        {f"{n}.txt{s}": put(f"text {n}\n" * 9, s) for n, s in enumerate(PACK)},
        {f"{n}.txt{s}": text for n, s in enumerate(PACK)},
    ),
    "jsonl": Case({"a.jsonl": texts_as(row, 200), "b.ndjson": texts_as(row)}, {"a.jsonl": rows(), "b.ndjson": rows()}),
    "packed jsonl": Case(
        {f"{n}.jsonl{s}": texts_as(row, suffix=s) for n, s in enumerate(PACK)},
        {f"{n}.jsonl{s}": rows() for n, s in enumerate(PACK)},
    ),
    "C4": Case(
        {
            f"en/c4-train.{n:05}-of-01024.json.gz": texts_as(
                lambda t: {"text": t, "timestamp": "2019", "url": "u"}, 50, ".gz"
            )
            for n in range(3)
        },
        {f"en/c4-train.{n:05}-of-01024.json.gz": rows() for n in range(3)},
    ),
    "Dolma": Case(
        {
            "v1/books-0000.json.gz": texts_as(row, 40, ".gz"),
            "v1/wiki-0000.json.zst": texts_as(row, 40, ".zst"),
            "README.md": put("#"),
        },
        {"v1/books-0000.json.gz": rows(), "v1/wiki-0000.json.zst": rows()},
        {".md": ["README.md"]},
    ),
    "rows in .json": Case(
        {"train.json": texts_as(row, 300), "one.json": lines({"text": "one"})},
        {"one.json": rows(), "train.json": rows()},
    ),
    "array in .json": Case(
        {
            "a.json": put(json.dumps([row(t) for t in words(30)])),
            "b.json": put(json.dumps([row(t) for t in words(30)], indent=2), ""),
            "c.json": put("[]"),
        },
        {"a.json": array, "b.json": array, "c.json": array},
    ),
    "large array": Case(
        {
            "a.json.gz": put(
                json.dumps(
                    [{"text": t * 9000, "n": [1.5, {"x": None}]} for t in words(30)], ensure_ascii=False, indent=1
                ),
                ".gz",
            )
        },
        {"a.json.gz": array},
        options={"max_expansion": None},
    ),
    "metadata": Case({**METADATA, "a.jsonl": texts_as(row)}, {"a.jsonl": rows()}, REPORTED),
    "empty .json": Case(
        {"a.json": put(""), "b.json": put("\n\n"), "c.txt": put("c")},
        {"a.json": rows(), "b.json": rows(), "c.txt": text},
    ),
    "csv": Case(
        {"a.csv": csv_of(","), "b.csv.gz": csv_of(",", suffix=".gz")},
        {"a.csv": separated(","), "b.csv.gz": separated(",")},
    ),
    "csv with a byte order mark": Case({"a.csv": csv_of(",", b"\xef\xbb\xbf")}, {"a.csv": separated(",")}),
    "tsv": Case({"a.tsv": csv_of("\t"), "b.txt": put("b")}, {"a.tsv": separated("\t"), "b.txt": text}),
    "csv without the field": Case(
        {"a.csv": csv_of(","), "index.csv": put("id,title\n1,x\n"), "empty.csv": put("")},
        {"a.csv": separated(",")},
        {".csv without the field 'text'": ["empty.csv", "index.csv"]},
    ),
    "parquet": Case(
        {"a.parquet": parquet(id=list(range(40)), text=words(40)), "_SUCCESS": put("")},
        {"a.parquet": table()},
        {"without suffix": ["_SUCCESS"]},
    ),
    "nested parquet": Case(
        {"a.parquet": parquet(content=[{"title": "t", "body": t} for t in words(20)])},
        {"a.parquet": table(lambda row: row["content"]["body"])},
        options={"field": "content.body"},
    ),
    "a list in parquet": Case(
        {"a.parquet": parquet(text=[[t, "other"] for t in words(20)])},
        {"a.parquet": table(lambda row: row["text"][0])},
        options={"field": "text.0"},
    ),
    "nested rows": Case(
        {
            "a.jsonl": texts_as(lambda t: {"content": {"body": t}}),
            "b.jsonl": texts_as(lambda t: {"content.body": t, "content": {"body": "no"}}),
        },
        {"a.jsonl": rows(lambda row: row["content"]["body"]), "b.jsonl": rows(lambda row: row["content.body"])},
        options={"field": "content.body"},
    ),
    "a list in rows": Case(
        {"a.jsonl": texts_as(lambda t: {"text": [t, "x"]}), "b.json": put(json.dumps([{"text": ["a"]}]))},
        {"a.jsonl": rows(lambda row: row["text"][0]), "b.json": lambda path: ["a"]},
        options={"field": "text.0"},
    ),
    "a list in rows, too short": Case(
        {"a.jsonl": lines({"text": ["a"]}, {"text": []}, {"text": ["b"]})},
        {"a.jsonl": lambda path: ["a", "b"]},
        options={"field": "text.0", "errors": "skip"},
        skipped={"without the field 'text.0'": 1},
    ),
    "datasets": Case(
        {"train": dataset()},
        {"train/data-00000-of-00002.arrow": arrow, "train/data-00001-of-00002.arrow": arrow},
        {"JSON without rows": ["train/dataset_info.json", "train/state.json"]},
    ),
    "datasets with caches": Case(
        {"set": cached},
        {"set/data-00000-of-00002.arrow": arrow, "set/data-00001-of-00002.arrow": arrow},
        {
            ".arrow that is not in state.json": ["set/cache-0123456789abcdef.arrow"],
            "JSON without rows": ["set/dataset_info.json", "set/state.json"],
        },
    ),
    "arrow": Case({"a.arrow": ipc(True), "b.arrow": ipc(False)}, {"a.arrow": arrow, "b.arrow": arrow}),
    "WebDataset": Case(
        {
            "000.tar": tar(
                **{"a/0.txt": "zero", "a/0.json": '{"id": 0}', "a/1.txt": "ein\n", "a/1.json": "{}", "a/1.jpg": "JPG"}
            ),
            "001.tar": tar(**{f"{n}.json": json.dumps({"text": t}) for n, t in enumerate(words(9))}),
        },
        {"000.tar": members, "001.tar": members},
        {".json in .tar": ["a/0.json", "a/1.json"], ".jpg in .tar": ["a/1.jpg"]},
    ),
    "packed WebDataset": Case(
        {f"{n}.tar{s}": tar(s, **{f"{k}.txt": t * 300 for k, t in enumerate(words(9))}) for n, s in enumerate(PACK)},
        {f"{n}.tar{s}": members for n, s in list(enumerate(PACK))[:2]}
        | {f"{n}.tar{s}": members for n, s in list(enumerate(PACK))[2:4]}
        | {"4.tar.zst": lambda path: packed_members(path)},
    ),
    "linked folders": Case(
        {"real/a.txt": put("a"), "z": link("real"), "out": lambda path: elsewhere(path)},
        {"out/b.txt": text, "out/sub/c.txt": text, "real/a.txt": text},
        {"link to a folder that is read already": ["z"]},
    ),
    "cycles": Case(
        {
            "a/b/c.txt": put("c"),
            "a/b/up": link("../.."),
            "a/b/above": link("../../.."),
            "a/self": link("../a"),
            "d": link("a/b"),
        },
        {"a/b/c.txt": text},
        {"link to a folder that is read already": ["a/b/up", "a/self", "d"], "link to a folder above": ["a/b/above"]},
    ),
    "linked files": Case(
        {"2024.jsonl": texts_as(row), "latest.jsonl": link("2024.jsonl")},
        {"2024.jsonl": rows()},
        {"read already": ["latest.jsonl"]},
    ),
    "dangling links": Case(
        {"a.txt": put("a"), "gone.txt": link("nowhere"), "loop.jsonl": link("loop.jsonl")},
        {"a.txt": text},
        options={"errors": "skip"},
        skipped={"file that cannot be read": 2},
    ),
    "hidden files": Case(
        {"a.txt": put("a"), ".DS_Store": put(b"\0"), ".git/config": put("x"), "b/.cache.txt": put("y")},
        {"a.txt": text},
        {"hidden": [".DS_Store", ".git", "b/.cache.txt"]},
    ),
    "binary files": Case(
        {
            "a.txt": put("a"),
            "b.bin": put(b"\0\1"),
            "c.npy": put(b"\x93NUMPY"),
            "d.zip": put(b"PK\3\4"),
            "e.tokenizer": put("x"),
        },
        {"a.txt": text},
        {".bin": ["b.bin"], ".npy": ["c.npy"], ".zip": ["d.zip"], ".tokenizer": ["e.tokenizer"]},
    ),
    "counts beside text": Case(
        {"a.txt": put("a"), "counts": counts}, {"a.txt": text}, {".jtc": ["counts/shard-00000.jtc"]}
    ),
    "source code": Case(
        {"a.py": put("import b\n"), "b.rs": put("fn b() {}\n"), "README.md": put("#"), "data.json": put('{"a": 1}')},
        {"a.py": text, "b.rs": text},
        options={"include": ["*.py", "*.rs"]},
    ),
    "Markdown that is named": Case(
        {"docs/a.md": put("a"), "docs/old/b.md": put("b"), "README.md": put("r"), "c.txt": put("c")},
        {"docs/a.md": text},
        options={"include": ["docs/*"], "exclude": ["docs/old/*"]},
    ),
    "excluded": Case(
        {"a.jsonl": texts_as(row), "test.jsonl": texts_as(row)}, {"a.jsonl": rows()}, options={"exclude": ["test*"]}
    ),
    "all files as text": Case(
        {"a.json": put('{"a": 1}'), "b": put("b"), "c.csv": put("x,y\n")},
        {"a.json": text, "b": text, "c.csv": text},
        options={"input_type": "text"},
    ),
    "files without suffix": Case(
        {"AA/wiki_00": texts_as(row), "AB/wiki_00": texts_as(row, 100)},
        {"AA/wiki_00": rows(), "AB/wiki_00": rows()},
        options={"input_type": "jsonl"},
    ),
    "a damaged first row": Case(
        {"a.json": lines(b'{"text": "cut', *map(row, ["x", "y"]))},
        {"a.json": lambda path: ["x", "y"]},
        options={"errors": "skip"},
        skipped={"not a JSON row": 1},
    ),
    "a damaged array": Case(
        {"a.json": put('[{"text": "a"}, {"text": 3}, {"text": "b"}, {"text"'), "b.txt": put("b")},
        {"a.json": lambda path: ["a", "b"], "b.txt": text},
        options={"errors": "skip"},
        skipped={"without a string in 'text'": 1, "file that cannot be read": 1},
    ),
    "a damaged csv": Case(
        {"a.csv": put('text,id\na,1\nb\n"c",3\n"d" x,4\n')},
        {"a.csv": lambda path: ["a", "c"]},
        options={"errors": "skip"},
        skipped={"without a value for each column": 1, "file that cannot be read": 1},
    ),
    "another encoding": Case(
        {
            "a.txt": put("天气".encode("gb18030")),
            "b.json": put(json.dumps([{"text": "很好"}], ensure_ascii=False).encode("gb18030")),
            "c.csv": put("text\n好\n".encode("gb18030")),
        },
        {"a.txt": lambda path: ["天气"], "b.json": lambda path: ["很好"], "c.csv": lambda path: ["好"]},
        options={"encoding": "gb18030"},
    ),
}


def packed_members(path: Path) -> list[str]:
    unpacked = path.with_suffix(".unpacked")
    unpacked.write_bytes(plain(path))
    try:
        return members(unpacked)
    finally:
        unpacked.unlink()


def elsewhere(path: Path) -> None:
    """A link to a folder outside of the corpus."""
    target = path.parent.parent / "outside"
    (target / "sub").mkdir(parents=True)
    (target / "b.txt").write_text("b")
    (target / "sub" / "c.txt").write_text("c")
    path.symlink_to(target, target_is_directory=True)


def made(case: Case, tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    for name, write in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
    return folder


def tasks_of(corpus: Corpus) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Documents read by the tasks of a plan; the records that a task skipped follow its documents."""
    plan = Plan(list_inputs(corpus), reading_of(corpus), "megatron", "int32", 400, "j1:0", 300)
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    for task in plan.tasks:
        reader = plan.reader(task)
        for batch in reader.batches():
            for one in batch.texts:
                yield one.decode(), {}
        yield "", {kind: skipped.count for kind, skipped in reader.skipped.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_folder_is_read_by_the_formats_of_its_files(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    case = CASES[name]
    folder = made(case, tmp_path)
    expected = [document for file, read in case.read.items() for document in read(folder / file)]
    corpus = Corpus(folder, **case.options)
    reader = open_corpus(corpus)
    assert [document.data.decode() for document in reader] == expected
    assert {kind: skipped.count for kind, skipped in reader.skipped.items()} == case.skipped
    assert [text.decode() for batch in reader.batches() for text in batch.texts] == expected
    reader.log_complaints()
    in_tars = {kind: names for kind, names in case.unread.items() if kind.endswith("in .tar")}
    in_folder = {kind: names for kind, names in case.unread.items() if kind not in in_tars}
    listing = corpus.listing()
    assert {one.kind: list(one.names) for one in listing.unread} == in_folder
    assert all(one.count == len(one.names) for one in listing.unread)
    reports = [record.getMessage() for record in caplog.records if "not read: " in record.getMessage()]
    assert len(reports) == bool(in_folder) + bool(in_tars)
    for kind, names in case.unread.items():
        assert any(f"{len(names)} {kind} ({', '.join(names)})" in report for report in reports)
    found = list(tasks_of(corpus))
    assert [document for document, _ in found if document] == [document for document in expected if document]
    skipped: dict[str, int] = {}
    for _, some in found:
        for kind, count in some.items():
            skipped[kind] = skipped.get(kind, 0) + count
    assert skipped == case.skipped


def test_at_least_thirty_folders_are_tested() -> None:
    assert len(CASES) >= 30


def names(corpus: Corpus, folder: Path) -> list[str]:
    return [os.path.relpath(file, folder) for file in corpus.listing().files]


class TestNamed:
    """Files that are named, by a path or a glob."""

    def test_named_metadata_files_are_read(self, tmp_path: Path) -> None:
        folder = made(CASES["metadata"], tmp_path)
        for name in ("README.md", "LICENSE", "SHA256SUMS", "report.md"):
            assert [document.data for document in open_corpus(folder / name)] == [(folder / name).read_bytes()]
        with pytest.raises(FormatError, match=r"stats\.csv: no column 'text' \(there are: 'lang', 'documents'\)"):
            list(open_corpus(folder / "stats.csv"))
        assert [one.data for one in open_corpus(folder / "stats.csv", field="lang")] == [b"en"]

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("dataset_info.json", "one JSON object; convert it to JSON Lines, or pass input_type=text"),
            ("languages.json", "neither rows of JSON nor an array of objects"),
            ("plan.json", "the row has no field 'text'"),
        ],
    )
    def test_metadata_is_refused(self, name: str, words: str, tmp_path: Path) -> None:
        folder = made(CASES["metadata"], tmp_path)
        with pytest.raises(FormatError, match=words):
            list(open_corpus(folder / name))
        assert [one.data for one in open_corpus(folder / name, input_type="text")] == [(folder / name).read_bytes()]

    @pytest.mark.parametrize("name", ["a.zip", "a.pdf", "a.jtc", "a.tgz"])
    def test_unsupported_files_are_refused_before_reading(self, name: str, tmp_path: Path) -> None:
        (tmp_path / name).write_bytes(b"x")
        (tmp_path / "a.txt").write_text("a")
        with pytest.raises(UnsupportedFeatureError, match=f"{name[1:]} files are not read as a corpus"):
            open_corpus([tmp_path / "a.txt", tmp_path / name])
        corpus = open_corpus([tmp_path / "a.txt", tmp_path / name], errors="skip")
        assert [one.data for one in corpus] == [b"a"]
        assert corpus.num_skipped == 1

    def test_globs_skip_metadata_unless_they_name_it(self, tmp_path: Path) -> None:
        folder = made(CASES["metadata"], tmp_path)
        for pattern in ("*", "**", "**/*", "*.*", "?*"):
            assert names(Corpus(f"{folder}/{pattern}"), folder) == ["a.jsonl"]
        assert names(Corpus(f"{folder}/*.md"), folder) == ["README.md", "report.md"]
        assert names(Corpus(f"{folder}/[!d]*.json*"), folder) == ["a.jsonl", "languages.json", "plan.json"]
        with pytest.raises(FormatError, match=r"dataset_info\.json: one JSON object"):
            list(open_corpus(f"{folder}/*.json"))

    def test_files_in_several_places_are_read_once(self, tmp_path: Path) -> None:
        folder = made(CASES["text"], tmp_path)
        places = [folder, folder / "a", f"{folder}/**/*.text", folder / "b.txt", folder / "." / "b.txt"]
        corpus = Corpus([Source(place) for place in places])
        assert names(corpus, folder) == ["a/z.text", "b.txt", "c.txt"]
        assert [str(one) for one in corpus.listing().unread] == [
            f"4 read already (z.text, {folder}/a/z.text, {folder}/b.txt, {folder}/b.txt)"
        ]
        assert len(list(open_corpus(corpus))) == 3

    def test_a_file_has_one_weight(self, tmp_path: Path) -> None:
        folder = made(CASES["text"], tmp_path)
        with pytest.raises(ConfigError, match=r"b\.txt belongs to two sources with different weights"):
            open_corpus([Source(folder), Source(folder / "b.txt", weight=2)])
        by_line = [Source(folder / "b.txt"), Source(folder / "b.txt", documents="line")]
        assert len(list(open_corpus(by_line))) == 2


def test_the_error_for_a_folder_without_texts_lists_its_files(tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"2 \.md \(a\.md, b\.md\), 1 JSON without rows \(c\.json\)"):
        open_corpus(tmp_path)
    with pytest.raises(FileNotFoundError, match="include and exclude leave"):
        open_corpus(tmp_path, include=["*.txt"])


def test_many_files_are_counted_and_five_are_named(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}.md").write_text("")
    (tmp_path / "a.txt").write_text("a")
    (unread,) = Corpus(tmp_path).listing().unread
    assert (unread.kind, unread.count, unread.names) == (".md", 12, tuple(f"{number:02}.md" for number in range(5)))
    assert str(unread) == "12 .md (00.md, 01.md, 02.md, 03.md, 04.md, …)"


@pytest.mark.parametrize("options", [{"include": "*.md"}, {"exclude": [1]}, {"input_type": "xml"}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        Corpus(["a"], **options)


def test_a_selection_of_a_dataset_is_refused(tmp_path: Path) -> None:
    dataset()(tmp_path / "set")
    state = json.loads((tmp_path / "set" / "state.json").read_text())
    (tmp_path / "set" / "state.json").write_text(json.dumps({**state, "_indices_files": [{"filename": "i.arrow"}]}))
    with pytest.raises(FormatError, match="a selection of rows"):
        open_corpus(tmp_path)


class TestUrls:
    @pytest.fixture
    def memory(self) -> Iterator[Any]:
        import fsspec

        system = fsspec.filesystem("memory")
        yield system
        system.store.clear()

    def test_a_folder_is_read_as_a_local_one(self, memory: Any, tmp_path: Path) -> None:
        folder = made(CASES["metadata"], tmp_path)
        dataset()(folder / "set")
        for path in folder.rglob("*"):
            if path.is_file():
                memory.pipe(f"/c/{path.relative_to(folder)}", path.read_bytes())
        remote, local = Corpus("memory://c"), Corpus(folder)
        assert remote.listing().unread == local.listing().unread
        expected = [document.data for document in open_corpus(local)]
        assert [document.data for document in open_corpus(remote)] == expected
        assert len(expected) == 50
        assert list_inputs(remote)[0].path == "memory:///c/a.jsonl"
        assert [Path(name).name for name in Corpus("memory://c", include=["*.md"]).listing().files] == [
            "README.md", "report.md",
        ]  # fmt: skip
        assert len(Corpus("memory://c/*").listing().files) == 3
        assert len(Corpus("memory://c/*.md").listing().files) == 2


class TestDamage:
    """A truncated or changed file never yields other documents without an error."""

    @pytest.mark.parametrize(
        ("name", "write"),
        [
            ("a.json", put(json.dumps([row(t) for t in words(6)]))),
            ("a.tar", tar(**{"0.txt": "zero", "1.txt": "x" * 600, "2.json": '{"text": "two"}'})),
            ("a.arrow", ipc(True)),
        ],
    )
    def test_a_file_that_is_cut_is_an_error(self, name: str, write: Write, tmp_path: Path) -> None:
        path = tmp_path / name
        write(path)
        whole = path.read_bytes()
        expected = [document.data for document in open_corpus(path)]
        end = len(whole) if name != "a.tar" else whole.rindex(b"}") + 512
        for length in range(1, end, max(1, end // 60)):
            path.write_bytes(whole[:length])
            with pytest.raises(FormatError, match=name):
                list(open_corpus(path))
            some = [document.data for document in open_corpus(path, errors="skip")]
            assert some == expected[: len(some)]

    def test_a_tar_with_changed_bytes_causes_no_unknown_error(self, tmp_path: Path) -> None:
        path = tmp_path / "a.tar"
        tar(**{"0.txt": "zero", "1.txt": "x" * 600, "2.json": '{"text": "two"}'})(path)
        whole = path.read_bytes()
        for at in [*range(0, 3600, 41), *range(124, 160, 2), *range(512 + 124, 512 + 160, 3)]:
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
            list(open_corpus(path, errors="skip"))  # any other exception fails the test

    def test_two_tars_in_one_file_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "a.tar"
        tar(**{"0.txt": "zero"})(path)
        path.write_bytes(path.read_bytes() * 2)
        with pytest.raises(FormatError, match="there is more data after its end"):
            list(open_corpus(path))

    def test_text_after_an_array_is_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        for data in ('[{"text": "a"}] 1', '[{"text": "a"} {"text": "b"}]', '[{"text": "a"},]', '[{"text": "a", 1}]'):
            path.write_text(data)
            with pytest.raises(FormatError, match="not a valid array of JSON, at character"):
                list(open_corpus(path))

    def test_bytes_that_are_not_utf8(self, tmp_path: Path) -> None:
        array, table = tmp_path / "a.json", tmp_path / "a.csv"
        array.write_bytes(b'[{"text": "caf\xe9"}, {"text": "b"}]')
        table.write_bytes(b"text\ncaf\xe9\nb\n")
        for path in (array, table):
            with pytest.raises(InvalidTextError, match=r"byte 3 \(0xe9\) is not valid UTF-8"):
                list(open_corpus(path))
            assert [one.data.decode() for one in open_corpus(path, errors="replace")] == ["caf\ufffd", "b"]
            assert [one.data.decode() for one in open_corpus(path, errors="skip")] == ["b"]


def test_json_is_recognized_by_content(tmp_path: Path) -> None:
    cases = {
        b'{"text": "a"}\n{"text": "b"}\n': "rows",
        b'\xef\xbb\xbf\n {"text": "a"}\r\n\r\n{"text": "b"}': "rows",
        b'{"text": "a"}': "row",
        b'{"text": "a"}\n\n': "row",
        b'{"text": "cut\n{"text": "b"}\n': "rows",
        b'{"text": "' + b"x" * 200_000 + b'"}\n{"text": "b"}': "rows",
        b'{\n "a": [\n  {"b": 1},\n  {}\n ]\n}': "object",
        b'{"a": {\n  "b": 1}}': "object",
        b'[{"text": "a"}]': "array",
        b'\n[\n\n{"text": "a"}\n]': "array",
        b"[]": "array",
        b'{"a": "' + b"x" * 200_000 + b'"}\n': "row",
        b'{"a": "' + b"x" * ((1 << 16) - 10) + b'"}\n': "row",
        b'{"a": "' + b"x" * ((1 << 16) - 9) + b'"}\n{"a": 1}': "rows",
        b'["a", "b"]\n["c"]': "other",
        b"[1, 2]": "other",
        b"plain text": "other",
        b'"a"\n"b"': "other",
        b"": "empty",
        b" \n\n": "empty",
    }
    for data, expected in cases.items():
        content, _, stream = json_content(io.BytesIO(data))
        assert (content, stream.read()) == (expected, data)


def test_the_content_of_an_array_is_known_from_its_first_bytes() -> None:
    stream = io.BytesIO(b'[{"text": "' + b"x" * 10_000_000)
    assert json_content(stream)[0] == "array"
    assert stream.tell() < 200_000


def test_an_array_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[" + ",".join(json.dumps({"text": "x" * 2000}) for _ in range(8000)) + "]")
    tracemalloc.start()
    try:
        number = sum(len(batch) for batch in open_corpus(path).batches(1 << 20))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert number == 8000
    assert peak < 12 << 20 < path.stat().st_size


def test_a_file_is_listed_once_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("a")
    (tmp_path / "linked").symlink_to("real")
    lister = Lister()
    assert lister.add(tmp_path / "linked") == [str(tmp_path / "linked" / "a.txt")]
    assert lister.add(tmp_path / "real") == []

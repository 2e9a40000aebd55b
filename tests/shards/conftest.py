"""A corpus of every kind of file, a small tokenizer, and the expected content of shards."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton

EOS = 280  # of the tokenizer below
TABLES = ("parquet", "arrow", "mds")  # formats that `tables` reads and `jeton.shards.open` does not
WORDS = ["low", "lower", "new", " newest", "\n", "日本", "ä", "<|end|>", "wide", "  ", "x" * 40]


@pytest.fixture(autouse=True)
def date() -> Iterator[None]:
    """Gives all manifests one date, also those of subprocesses, because they are compared byte for byte."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        yield


@pytest.fixture(scope="session")
def tok() -> jeton.Tokenizer:
    made = jeton.train(["low lower lowest new newer newest wide wider widest 日本語"] * 3, 280, progress=False)
    return made.add_tokens(["<|end|>", "<|begin|>"]).with_roles(eos="<|end|>", bos="<|begin|>")


def texts(seed: int, number: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(12))) for _ in range(number)]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows, compressed rows, a table, and small texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("corpus")
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts(1, 300)))
    rows = "\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in texts(2, 100))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    pq.write_table(pa.table({"text": texts(3, 200)}), folder / "c.parquet", row_group_size=30)
    (folder / "d").mkdir()
    for number, text in enumerate(texts(4, 20)):
        (folder / "d" / f"{number:02}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def documents(corpus: Path, tok: jeton.Tokenizer) -> list[list[int]]:
    """Ids of each document that has tokens, with eos, encoded one by one on the slow path."""
    from jeton.corpus import open_corpus

    return [[*tok.encode(document.data), EOS] for document in open_corpus(corpus) if document.data]


def digest(folder: Path) -> str:
    """Hash of all shards and the manifest."""
    sha = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(("report", ".")):
            sha.update(path.name.encode() + path.read_bytes())
    return sha.hexdigest()


def stored(folder: Path) -> list[list[int]]:
    """Ids of each document of a folder of shards, by `jeton.shards.open` or pyarrow."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    if manifest["format"] not in TABLES:
        items = jeton.shards.open(folder)
        return [(item["input_ids"] if isinstance(item, dict) else item).tolist() for item in items]
    return [row for table in tables(folder) for row in table["input_ids"].to_pylist()]


def tables(folder: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("shard-*")):
        if path.suffix == ".parquet":
            yield pq.read_table(path)
        elif path.suffix == ".arrow":
            with pa.memory_map(str(path)) as file:
                yield pa.ipc.open_stream(file).read_all()
        elif path.suffix == ".mds":
            yield pa.table(mds_columns(path))


def mds_columns(path: Path) -> dict[str, list[list[int]]]:
    """Columns of a file of MDS, sample by sample; ``tokens`` as ``input_ids``."""
    data = path.read_bytes()
    number = int.from_bytes(data[:4], "little")
    offsets = np.frombuffer(data, "<u4", number + 1, 4).tolist()
    config = json.loads(data[4 * (number + 2) : offsets[0]])
    encodings = [encoding.split(":") for encoding in config["column_encodings"]]
    columns: dict[str, list[list[int]]] = {name: [] for name in config["column_names"]}
    for start, end in itertools.pairwise(offsets):
        at, sizes = start, config["column_sizes"]
        if None in sizes:
            sizes = np.frombuffer(data, "<u4", len(columns), at).tolist()
            at += 4 * len(columns)
        for (name, values), (_, dtype, *shape), size in zip(columns.items(), encodings, sizes, strict=True):
            head = 0 if shape else 1 + (1 << (data[at] & 3))
            values.append(np.frombuffer(data[at + head : at + size], dtype).tolist())
            assert len(values[-1]) == int(shape[0] if shape else int.from_bytes(data[at + 1 : at + head], "little")), (
                name
            )
            at += size
        assert at == end
    columns["input_ids"] = columns.pop("tokens")
    return columns


def facts_of(path: Path) -> dict[str, Any]:
    """The content of a file of JSON, without its digest."""
    from jeton.shards.sealed import unsealed_json

    return unsealed_json(path.read_bytes())


def rewrite(path: Path, facts: dict[str, Any]) -> None:
    """Writes a file of JSON with its digest."""
    from jeton.shards.sealed import sealed_json

    path.write_bytes(sealed_json(json.dumps(facts)))


def rehash(folder: Path, name: str) -> None:
    """Records size and hash of a changed file of a shard, as if its task had written it."""
    data = (folder / name).read_bytes()
    done = folder / "done" / f"{int(name[6:11]):05}.json"
    facts = facts_of(done)
    facts["outputs"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    rewrite(done, facts)
    manifest = facts_of(folder / "manifest.json")
    manifest["shards"][facts["task"]]["files"] = facts["outputs"]
    rewrite(folder / "manifest.json", manifest)


def ids_of(folder: Path, dtype: str) -> list[int]:
    """All ids of the files of ids, read without Jeton."""
    return [
        id
        for path in sorted(folder.glob("shard-*"))
        if path.suffix in (".bin", ".ds", ".npy")
        for id in np.fromfile(path, dtype).tolist()
    ]

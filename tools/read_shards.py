"""Reads shards with the programs that train on them, and compares the results with the ids of the documents.

    python tools/read_shards.py make FOLDER                     shards of all formats, and expected.json
    PYTHON tools/read_shards.py read FOLDER [--only READER]     in an environment with the readers; it needs no Jeton

`make` writes random documents, and encodes them one by one for `expected.json`. `read` prints a line for each reader:
its version, what was compared, and whether it was equal. The exit code is 4 if anything differs. A reader that is not
installed is reported, and not compared. To create the environment: ``pip install torch megatron-core ai2-olmo-core
datatrove mosaicml-streaming litdata datasets``, with their dependencies, or with ``--no-deps`` and the packages that
they import.

    megatron   megatron.core.datasets.indexed_dataset.IndexedDataset: every sequence; and its `IndexedDatasetBuilder`
               writes the same bytes
    olmo       olmo_core.data.NumpyFSLDataset (rows of the concatenated ids, loss mask), and each document, at the
               position that the .csv.gz table gives
    datatrove  datatrove.utils.dataset.DatatroveFolderDataset, with which nanotron reads shards: rows and positions
    mds        streaming.StreamingDataset, with the hashes; and its `MDSWriter` writes the same bytes
    litdata    litdata.StreamingDataset with TokensLoader: blocks; and its writer makes the same bytes
    axolotl    the functions with which axolotl loads tokenized data: datasets.Dataset.from_file for the format arrow,
               datasets.load_dataset for parquet; all columns
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.metadata
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DIFFERENT = 4
ROW = 32
FORMATS = ("megatron", "olmo", "datatrove", "mds", "litdata", "arrow", "parquet")


# ── make ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def make(folder: Path) -> None:
    """Writes the shards, and the results that readers should return."""
    import jeton

    rng = random.Random(1)  # noqa: S311
    words = ["low", "lower", "newest", "wide", "日本", "ä", "\n", "  ", "x" * 30]
    texts = [" ".join(rng.choices(words, k=rng.randrange(1, 300))) for _ in range(400)]
    (folder / "rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    tok = jeton.default()
    eos = tok.eos_id
    documents = [[*tok.encode(text), eos] for text in texts]
    options: dict[str, Any] = {"append_eos": True, "task_bytes": 60_000, "progress": False}
    for name in FORMATS:
        jeton.shards.make(folder / "rows.jsonl", folder / name, tok, format=name, **options)
        packed = {"pack": ROW, "packing": "best_fit", "shuffle": 3}
        jeton.shards.make(folder / "rows.jsonl", folder / f"{name}-packed", tok, format=name, **packed, **options)
    opened = jeton.shards.open(folder / "litdata-packed")
    rows = list(opened.rows(1))
    parquet = _parquet_rows(folder / "parquet-packed")
    check("rows of Parquet and litdata", [row["input_ids"] for row in parquet], [row.ids[0].tolist() for row in rows])
    shards = jeton.shards.open(folder / "megatron").manifest["shards"]
    # Tasks of the format `olmo` do not split a file, because the table of this format stores line numbers. Tasks of the
    # other formats split files, so they cover other ranges of the input, and yield other packed rows.
    olmo_rows = [rows.ids[0].tolist() for rows in jeton.shards.open(folder / "olmo-packed").rows(1)]
    expected = {
        "documents": documents,
        "rows": parquet,
        "olmo_rows": olmo_rows,
        "shards": [shard["documents"] for shard in shards],
        "dtypes": {name: json.loads((folder / name / "manifest.json").read_bytes())["dtype"] for name in FORMATS},
        "eos": eos,
    }
    (folder / "expected.json").write_text(json.dumps(expected))
    print(
        f"{len(documents)} documents, {sum(map(len, documents)):,} ids, {len(rows)} rows of {ROW}, {len(shards)} shards"
    )


def _parquet_rows(folder: Path) -> list[dict[str, list[int]]]:
    import pyarrow.parquet as pq

    return [row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


# ── read ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Expected:
    """Results that readers should return.

    Attributes:
        documents: ids of each document.
        rows: columns of each packed row.
        olmo_rows: ids of each packed row of OLMo's shards.
        shards: number of documents of each shard.
        dtypes: format -> type of its ids.
        eos: id of the eos token.
    """

    def __init__(self, folder: Path) -> None:
        facts = json.loads((folder / "expected.json").read_bytes())
        self.documents: list[list[int]] = facts["documents"]
        self.rows: list[dict[str, list[int]]] = facts["rows"]
        self.olmo_rows: list[list[int]] = facts["olmo_rows"]
        self.shards: list[int] = facts["shards"]
        self.dtypes: dict[str, str] = facts["dtypes"]
        self.eos: int = facts["eos"]

    def by_shard(self) -> list[list[list[int]]]:
        """Returns the documents of each shard."""
        found, at = [], 0
        for number in self.shards:
            found.append(self.documents[at : at + number])
            at += number
        return found


def check(label: str, found: Any, expected: Any) -> str:
    """Raises an error if two values differ; returns a line for the report."""
    if found != expected:
        raise AssertionError(f"{label} differ")
    return label


def same_bytes(label: str, pairs: list[tuple[Path, Path]]) -> str:
    """Raises an error if files differ; returns a line for the report."""
    for ours, theirs in pairs:
        if ours.read_bytes() != theirs.read_bytes():
            raise AssertionError(f"{label}: {ours.name} has other bytes than {theirs.name} of the library")
    return f"{label}: {sum(ours.stat().st_size for ours, _ in pairs):,} bytes equal"


def flat(lists: list[list[int]]) -> list[int]:
    """Concatenates the items of all lists."""
    return [item for one in lists for item in one]


def megatron(folder: Path, expected: Expected) -> list[str]:
    """Reads the shards with Megatron's indexed dataset, and writes them again with its builder."""
    import torch
    from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder

    documents, pairs = [], []
    with tempfile.TemporaryDirectory() as place:
        for number, own in enumerate(expected.by_shard()):
            stem, written = folder / "megatron" / f"shard-{number:05}", Path(place, str(number))
            dataset = IndexedDataset(str(stem))
            documents += [dataset[at].tolist() for at in range(len(dataset))]
            dtype = np.dtype(expected.dtypes["megatron"]).type
            builder = IndexedDatasetBuilder(f"{written}.bin", dtype=dtype)
            for ids in own:
                builder.add_document(torch.tensor(ids), [len(ids)])
            builder.finalize(f"{written}.idx")
            pairs += [(Path(f"{stem}.{end}"), Path(f"{written}.{end}")) for end in ("bin", "idx")]
        results = [
            check(f"{len(documents)} sequences", documents, expected.documents),
            same_bytes("IndexedDatasetBuilder", pairs),
        ]
    rows = []
    for path in sorted((folder / "megatron-packed").glob("*.idx")):
        dataset = IndexedDataset(str(path.with_suffix("")))
        rows += [dataset[at].tolist() for at in range(len(dataset))]
    return [*results, check(f"{len(rows)} packed rows", rows, [row["input_ids"] for row in expected.rows])]


def olmo(folder: Path, expected: Expected) -> list[str]:
    """Reads the shards with OLMo-core's datasets of fixed length."""
    from olmo_core.data import NumpyFSLDataset

    dtype = np.dtype(expected.dtypes["olmo"])
    paths = sorted((folder / "olmo").glob("*.npy"))
    documents = []
    for path in paths:
        ids = np.memmap(path, dtype, "r")
        with gzip.open(path.with_suffix(".csv.gz"), "rt") as file:
            documents += [ids[int(row[0]) : int(row[1])].tolist() for row in csv.reader(file)]
    results = [check(f"{len(documents)} documents by the table", documents, expected.documents)]
    for name in ("olmo", "olmo-packed"):
        paths = sorted((folder / name).glob("*.npy"))
        dataset = NumpyFSLDataset(
            *paths, sequence_length=ROW, pad_token_id=expected.eos, eos_token_id=expected.eos,
            vocab_size=1 << 17, dtype=dtype.type,
        )  # fmt: skip
        found = [dataset[at]["input_ids"].tolist() for at in range(len(dataset))]
        rows = blocks(flat(expected.documents), ROW) if name == "olmo" else expected.olmo_rows
        results.append(check(f"{len(found)} rows of {name}", found, rows))
    return results


def blocks(ids: list[int], size: int) -> list[list[int]]:
    """Splits ids into whole blocks."""
    return [ids[at : at + size] for at in range(0, len(ids) - size + 1, size)]


def datatrove(folder: Path, expected: Expected) -> list[str]:
    """Reads the shards with datatrove's dataset. For a given length n, this dataset returns rows of n + 1 ids."""
    from datatrove.utils.dataset import DatatroveFolderDataset

    size = np.dtype(expected.dtypes["datatrove"]).itemsize
    results = []
    for name, rows in (
        ("datatrove", [own for shard in expected.by_shard() for own in blocks(flat(shard), ROW)]),
        ("datatrove-packed", [row["input_ids"] for row in expected.rows]),
    ):
        dataset = DatatroveFolderDataset(str(folder / name), ROW - 1, token_size=size, return_positions=True)
        items = [dataset[at] for at in range(len(dataset))]
        found = [item["input_ids"].tolist() for item in items]
        results.append(check(f"{len(found)} rows of {name}", found, rows))
        if name == "datatrove-packed":
            places = [item["positions"].tolist() for item in items]
            results.append(check("positions", places, [row["position_ids"] for row in expected.rows]))
    return results


def mds(folder: Path, expected: Expected) -> list[str]:
    """Reads the shards with mosaicml-streaming's dataset, and writes them again with its writer."""
    from streaming import MDSWriter, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    dataset = StreamingDataset(local=str(folder / "mds"), batch_size=1, shuffle=False, validate_hash="sha256")
    found = [dataset[at]["tokens"].tolist() for at in range(len(dataset))]
    results = [check(f"{len(found)} samples", found, expected.documents)]
    clean_stale_shared_memory()
    dataset = StreamingDataset(local=str(folder / "mds-packed"), batch_size=1, shuffle=False, validate_hash="sha256")
    names = {"tokens": "input_ids", "position_ids": "position_ids", "loss_mask": "loss_mask"}
    rows = [{ours: dataset[at][name].tolist() for name, ours in names.items()} for at in range(len(dataset))]
    results.append(check(f"{len(rows)} packed rows with positions and loss mask", rows, expected.rows))
    pairs = []
    with tempfile.TemporaryDirectory() as place:
        for number, own in enumerate(expected.by_shard()):
            out = Path(place, str(number))
            with MDSWriter(
                columns={"tokens": "ndarray:int32"}, out=str(out), hashes=["sha256"], size_limit=None
            ) as writer:
                for ids in own:
                    writer.write({"tokens": np.array(ids, np.int32)})
            pairs.append((folder / "mds" / f"shard-{number:05}.mds", out / "shard.00000.mds"))
            index = json.loads((out / "index.json").read_bytes())["shards"][0]
            index["raw_data"]["basename"] = f"shard-{number:05}.mds"
            check("index", json.loads((folder / "mds" / "index.json").read_bytes())["shards"][number], index)
        return [*results, same_bytes("MDSWriter", pairs), "index equal but for names"]


def litdata(folder: Path, expected: Expected) -> list[str]:
    """Reads the shards with litdata's dataset, and writes them again with its writer."""
    import litdata as library
    import torch
    from litdata.streaming.cache import Cache
    from litdata.streaming.item_loader import TokensLoader

    results = []
    for name, rows in (
        ("litdata", [own for shard in expected.by_shard() for own in blocks(flat(shard), ROW)]),
        ("litdata-packed", [row["input_ids"] for row in expected.rows]),
    ):
        dataset = library.StreamingDataset(str(folder / name), item_loader=TokensLoader(block_size=ROW), shuffle=False)
        found = [dataset[at].tolist() for at in range(len(dataset))]
        results.append(check(f"{len(found)} blocks of {name}", found, rows))
        ordered = [block.tolist() for block in dataset]
        results.append(check("iterated blocks", ordered, rows))
    pairs = []
    with tempfile.TemporaryDirectory() as place:
        for number, own in enumerate(expected.by_shard()):
            out = Path(place, str(number))
            cache = Cache(str(out), chunk_bytes="1GB", item_loader=TokensLoader(block_size=ROW))
            for at, ids in enumerate(own):
                cache[at] = torch.tensor(ids, dtype=torch.int32)
            cache.done()
            cache.merge()
            pairs.append((folder / "litdata" / f"shard-{number:05}.bin", out / "chunk-0-0.bin"))
        return [*results, same_bytes("writer", pairs)]


def axolotl(folder: Path, expected: Expected) -> list[str]:
    """Reads the shards with `datasets`, which axolotl uses to load tokenized data."""
    import datasets

    results = []
    for name, rows in (
        ("arrow", [{"input_ids": ids} for ids in expected.documents]),
        ("arrow-packed", expected.rows),
        ("parquet", [{"input_ids": ids} for ids in expected.documents]),
        ("parquet-packed", expected.rows),
    ):
        files = sorted(map(str, (folder / name).glob("shard-*." + name.partition("-")[0])))
        if name.startswith("arrow"):
            loaded = datasets.concatenate_datasets([datasets.Dataset.from_file(file) for file in files])
        else:
            cache = tempfile.mkdtemp()
            loaded = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=cache)
            shutil.rmtree(cache)
        results.append(check(f"{len(rows)} rows of {name}, all columns", [dict(row) for row in loaded], rows))
    return results


READERS: dict[str, tuple[str, Callable[[Path, Expected], list[str]]]] = {
    "megatron": ("megatron-core", megatron),
    "olmo": ("ai2-olmo-core", olmo),
    "datatrove": ("datatrove", datatrove),
    "mds": ("mosaicml-streaming", mds),
    "litdata": ("litdata", litdata),
    "axolotl": ("datasets", axolotl),
}


def read(folder: Path, only: str | None) -> int:
    """Runs the readers; returns the exit code."""
    expected, code = Expected(folder), 0
    for name, (package, reader) in READERS.items():
        if only not in (None, name):
            continue
        try:
            label = f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            print(f"{package}: not installed", flush=True)
            continue
        try:
            results = reader(folder, expected)
        except (ImportError, AssertionError) as error:
            print(f"{label}: {type(error).__name__}: {error}", flush=True)
            code = DIFFERENT
        else:
            print(f"{label}: {'; '.join(results)}", flush=True)
    return code


def main() -> int:
    """Runs the selected command; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["make", "read"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=tuple(READERS))
    arguments = parser.parse_args()
    if arguments.command == "make":
        arguments.folder.mkdir(parents=True)
        make(arguments.folder)
        return 0
    return read(arguments.folder, arguments.only)


if __name__ == "__main__":
    sys.exit(main())

"""Speed of `jeton.shards.open` for each format that it maps: sequences of one length, and documents in random order.

``JETON_TEST_DATA=… python benchmarks/shards_reading.py`` makes shards of 150 MB of documents of about 2 KB in each
format, then reads them in processes of their own, in turns: all ids in sequences of 2,048, each copied as a training
program does; 300,000 documents one by one in random order, by index and by `take`; all with files in memory. Medians
of rounds. The ids of all formats are compared first.

``--loader`` measures `jeton.shards.loader` instead: an epoch of shuffled batches with all of their arrays, for
documents and packed rows, with 0 and 2 workers, after its rows have been compared with those of the dataset. The rate
is that of ``input_ids``, as int64, in seconds and in processor seconds of the process.

Parquet and Arrow are not in it: `open` refuses them, and their own libraries read them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness import record
from shard_inputs import write_inputs

import jeton

FORMATS = ("megatron", "bin", "llmc", "datatrove", "olmo")
LENGTH = 2_048
RANDOM = 300_000
AT_A_TIME = 256
SHAPES = ((2_048, 8), (4_096, 16))  # ids of a row, rows of a batch
LOADED = {  # options of the shards that the loader reads
    "bin": {"format": "bin"},
    "bin-uint32": {"format": "bin", "dtype": "uint32"},
    "bin-packed": {"format": "bin", "pack": 2_048, "packing": "best_fit"},
    "megatron-packed": {"format": "megatron", "pack": 2_048},
}
LOADER_COLUMNS = (
    *("shards", "dtype", "rows", "batch", "workers", "tokens", "rounds"),
    *("gb_per_s", "gb_per_cpu_s", "million_ids_per_s"),
)
COLUMNS = (
    *("format", "dtype", "documents", "tokens", "rounds"),
    *("sequential_gb_per_s", "random_documents_per_s", "taken_documents_per_s"),
)


def measure(output: Path) -> dict[str, float]:
    """In a process: reads the shards of a folder. Files and their first shard are warm."""
    dataset = jeton.shards.open(output)
    target = np.empty(LENGTH, dataset.dtype)
    for _ in range(2):
        began, count = time.perf_counter(), 0
        for ids in dataset.batches(LENGTH):
            np.copyto(target, ids)
            count += 1
        sequential = count * target.nbytes / (time.perf_counter() - began) / 1e9
    order = np.random.default_rng(0).integers(0, len(dataset), RANDOM)
    indices = order.tolist()
    began, ids = time.perf_counter(), 0
    for index in indices:
        ids += len(dataset[index])
    by_index = RANDOM / (time.perf_counter() - began)
    began, taken = time.perf_counter(), 0
    for start in range(0, RANDOM, AT_A_TIME):
        taken += len(dataset.take(order[start : start + AT_A_TIME]).ids)
    by_take = RANDOM / (time.perf_counter() - began)
    if ids != taken:
        raise SystemExit("take returns other documents")
    return {
        "sequential_gb_per_s": sequential,
        "random_documents_per_s": by_index,
        "taken_documents_per_s": by_take,
    }


def measure_loader(output: Path, rows: int, batch: int, workers: int) -> dict[str, float]:
    """In a process: an epoch of batches. Files are warm."""
    dataset = jeton.shards.open(output)
    batches = jeton.shards.loader(dataset, rows, batch, workers=workers)
    expected = sum(zlib.crc32(ids.astype("<i8")) for ids in dataset.batches(rows))
    if expected != sum(zlib.crc32(row) for made in batches for row in made["input_ids"]):
        raise SystemExit("the loader has other rows")
    began, processor, ids = time.perf_counter(), time.process_time(), 0
    for made in batches:
        ids += made["input_ids"].size
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    return {
        "gb_per_s": 8 * ids / seconds / 1e9,
        "gb_per_cpu_s": 8 * ids / processor / 1e9,
        "million_ids_per_s": ids / seconds / 1e6,
    }


def loader_rows(folder: Path, inputs: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """Yields the rows of the record of the loader."""
    cells = []
    for name, options in LOADED.items():
        made = {"append_eos": True, "task_bytes": 20_000_000, "verify": False, "progress": False, **options}
        jeton.shards.make(inputs, folder / name, jeton.default(), **made)
        shapes = [shape for shape in SHAPES if options.get("pack", shape[0]) == shape[0]]
        cells += [(name, *shape, workers) for shape in shapes for workers in (0, 2)]
    found: dict[Any, list[dict[str, float]]] = {cell: [] for cell in cells}
    for _ in range(rounds):
        for (name, *options), runs in found.items():
            command = [sys.executable, __file__, "--one", str(folder / name), "--options", *map(str, options)]
            runs.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    for cell, runs in found.items():
        dataset = jeton.shards.open(folder / cell[0])
        facts = (cell[0], dataset.dtype.name, *cell[1:], dataset.num_tokens, rounds)
        speeds = (round(median(run[column] for run in runs), 2) for column in LOADER_COLUMNS[7:])
        yield dict(zip(LOADER_COLUMNS, (*facts, *speeds), strict=True))


def digest(output: Path) -> str:
    """Hash of all ids as uint32, and of the lengths of documents."""
    dataset, sha = jeton.shards.open(output), hashlib.sha256()
    for ids in dataset:
        sha.update(ids.astype("<u4").tobytes() + len(ids).to_bytes(8, "little"))
    return sha.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=FORMATS)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--loader", action="store_true", help="measure jeton.shards.loader")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--options", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.options:
        print(json.dumps(measure_loader(Path(options.one), *options.options)))
        return
    if options.one:
        print(json.dumps(measure(Path(options.one))))
        return
    formats = options.only or FORMATS
    complete = options.megabytes == parser.get_default("megabytes") and not options.only and options.rounds >= 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = write_inputs(folder / "inputs", options.megabytes, 8, ("jsonl",))
        if options.loader:
            rows = list(loader_rows(folder, inputs["jsonl"], options.rounds))
            for row in rows:
                print(json.dumps(row), flush=True)
            path = options.output or record.destination("shards-loader", complete=complete)
            record.write(path, LOADER_COLUMNS, rows)
            print(f"written to {path}", file=sys.stderr)
            return
        made = {"append_eos": True, "task_bytes": 20_000_000, "verify": False, "progress": False}
        for format in formats:
            jeton.shards.make(inputs["jsonl"], folder / format, jeton.default(), format=format, **made)
        if len({digest(folder / format) for format in formats}) > 1:
            sys.exit("the ids of the formats differ")
        found: dict[str, list[dict[str, float]]] = {format: [] for format in formats}
        for _ in range(options.rounds):
            for format, runs in found.items():
                command = [sys.executable, __file__, "--one", str(folder / format)]
                runs.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        rows = []
        for format, runs in found.items():
            dataset = jeton.shards.open(folder / format)
            facts = {"format": format, "dtype": dataset.dtype.name, "documents": len(dataset)}
            speeds = {column: round(median(run[column] for run in runs), 2) for column in COLUMNS[5:]}
            rows.append({**facts, "tokens": dataset.num_tokens, "rounds": options.rounds, **speeds})
            print(json.dumps(rows[-1]), flush=True)
    path = options.output or record.destination("shards-reading", complete=complete)
    record.write(path, COLUMNS, rows)
    print(f"written to {path}", file=sys.stderr)


if __name__ == "__main__":
    main()

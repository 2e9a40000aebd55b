"""Speed of `jeton.shards.open` for each format that it maps: sequences of one length, and documents in random order.

``JETON_TEST_DATA=… python benchmarks/shards_reading.py`` makes shards of 150 MB of documents of about 2 KB in each
format, then reads them in processes of their own, in turns: all ids in sequences of 2,048, each copied as a training
program does; 300,000 documents one by one in random order, by index and by `take`; all with files in memory. Medians
of rounds. The ids of all formats are compared first.

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
from pathlib import Path
from statistics import median

import numpy as np
from harness import record
from shard_inputs import write_inputs

import jeton

FORMATS = ("megatron", "bin", "llmc", "datatrove", "olmo")
LENGTH = 2_048
RANDOM = 300_000
AT_A_TIME = 256
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
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(Path(options.one))))
        return
    formats = options.only or FORMATS
    complete = options.megabytes == parser.get_default("megabytes") and not options.only and options.rounds >= 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = write_inputs(folder / "inputs", options.megabytes, 8, ("jsonl",))
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

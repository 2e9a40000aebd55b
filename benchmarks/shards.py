"""Shards: speed of reading, parsing, encoding and writing together, beside encoding alone.

``JETON_TEST_DATA=… python benchmarks/shards.py`` writes documents of about 2 KB of the four corpora as JSONL, Parquet
and Zstandard, eight files each, and makes Megatron shards of them. Beside it `encode_batch` encodes the same documents,
in memory, with as many threads. Each in its own process, in turns; medians of rounds. Plan, merge and verification are
not timed; fsync is ("sync") and is left out of the ratio.

First, the ids are compared: the shards must have those of `encode_batch`, each document followed by eos.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from corpora import CORPORA, MEGABYTE, corpus, whole_characters
from harness import record

import jeton
from jeton.corpus import open_corpus

NUM_FILES = 8
DOCUMENT = 2_000
COLUMNS = (
    *("input", "megabytes", "threads", "tokens", "wall_s", "cpu_s", "encode_batch_wall_s", "encode_batch_cpu_s"),
    *("cpu_ratio", "wall_ratio", "read_s", "parse_s", "encode_s", "write_s", "sync_s", "peak_mb"),
)


def texts_of(megabytes: float) -> list[str]:
    """Documents of all corpora, repeated with a number if the corpora are smaller."""
    limit = int(megabytes * MEGABYTE / len(CORPORA))
    texts: list[str] = []
    for name in CORPORA:
        text = whole_characters(corpus(name, limit), limit).decode()
        size = held = 0
        pieces = [text[start : start + DOCUMENT] for start in range(0, len(text), DOCUMENT)]
        total = len(text.encode())
        while held + total * (size + 1) <= limit or not size:
            # Each repetition begins in another place of the documents, so that no text occurs twice.
            texts += pieces if not size else [f"{size} {piece[size:]}" for piece in pieces]
            size += 1
    return texts


def write_inputs(folder: Path, texts: list[str]) -> dict[str, Path]:
    """Writes the documents in each format; returns format -> folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zstandard

    places = {name: folder / name for name in ("jsonl", "parquet", "zstd")}
    for place in places.values():
        place.mkdir()
    share = -(-len(texts) // NUM_FILES)
    for number in range(NUM_FILES):
        own = texts[number * share : (number + 1) * share]
        rows = "".join(json.dumps({"text": text, "id": index}) + "\n" for index, text in enumerate(own)).encode()
        (places["jsonl"] / f"{number}.jsonl").write_bytes(rows)
        (places["zstd"] / f"{number}.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(rows))
        pq.write_table(pa.table({"text": own}), places["parquet"] / f"{number}.parquet", row_group_size=2_000)
    return places


def run_one(arguments: list[str]) -> dict[str, Any]:
    """Runs this file in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def measure(what: str, corpus: Path, output: Path, threads: int) -> dict[str, Any]:
    """In a process: times `shards.run`, or `encode_batch`."""
    tok = jeton.default()
    tok._core.make_tables()
    tok.encode("A sentence that starts everything.")
    if what == "shards":
        jeton.shards.plan(corpus, output, tok, append_eos=True, task_bytes=8_000_000)
        began = time.perf_counter(), time.process_time()
        jeton.shards.run(output, workers=threads, progress=False)
    else:
        texts = [document.data for document in open_corpus(corpus)]
        began = time.perf_counter(), time.process_time()
        tok.encode_batch(texts, threads=threads, special="none")
    facts = {"wall": time.perf_counter() - began[0], "cpu": time.process_time() - began[1]}
    return {**facts, "peak_mb": peak_mb()}


def peak_mb() -> float:
    """Peak memory of this process. The `ru_maxrss` of a child is at least the memory of the parent that forked it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:  # not Linux
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def compare(corpus: Path, output: Path) -> int:
    """Compares the ids of shards with those of `encode_batch`; returns their number.

    Raises:
        SystemExit: they differ.
    """
    jeton.shards.merge(output)
    tok, dataset = jeton.default(), jeton.shards.open(output)
    batch = tok.encode_batch([document.data for document in open_corpus(corpus)], special="none")
    lengths = np.diff(batch.offsets)
    lengths = lengths[lengths > 0]
    expected = np.insert(batch.ids, np.cumsum(lengths), tok.eos_id)
    found = np.concatenate([dataset.shard(number).tokens for number in range(dataset.num_shards)])
    if not np.array_equal(found, expected):
        print(f"{output}: the ids differ", file=sys.stderr)
        sys.exit(4)
    return len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=150)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=("jsonl", "parquet", "zstd"))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # shards or encode, corpus, output
    options = parser.parse_args()
    if options.one:
        what, source, output = options.one
        print(json.dumps(measure(what, Path(source), Path(output), options.threads)))
        return
    complete = options.megabytes == parser.get_default("megabytes") and not options.only and options.rounds >= 3
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        places = write_inputs(Path(folder), texts_of(options.megabytes))
        for name in options.only or places:
            rows.append(measure_input(name, places[name], Path(folder), options.threads, options.rounds))
            print(json.dumps(rows[-1]))
    path = options.output or record.destination("shards", complete=complete)
    record.write(path, COLUMNS, rows)
    print(f"written to {path}", file=sys.stderr)


def measure_input(name: str, corpus: Path, folder: Path, threads: int, rounds: int) -> dict[str, Any]:
    """Measures one format, in turns with `encode_batch`."""
    found: dict[str, list[dict[str, Any]]] = {"shards": [], "encode": []}
    stages: list[dict[str, float]] = []
    for number in range(rounds):
        output = folder / f"{name}-{number}"
        for what in found:
            arguments = ["--threads", str(threads), "--one", what, str(corpus), str(output)]
            found[what].append(run_one(arguments))
        done = [json.loads(path.read_bytes()) for path in (output / "done").iterdir()]
        stages.append({stage: sum(facts["seconds"].get(stage, 0.0) for facts in done) for stage in done[0]["seconds"]})
    tokens = compare(corpus, folder / f"{name}-0")

    def median(what: str, key: str) -> float:
        return statistics.median(facts[key] for facts in found[what])

    seconds = {stage: statistics.median(one[stage] for one in stages) for stage in stages[0]}
    wall, cpu = median("shards", "wall"), median("shards", "cpu")
    encode_wall, encode_cpu = median("encode", "wall"), median("encode", "cpu")
    num_bytes = sum(facts["bytes"] for facts in done)
    row: dict[str, Any] = {
        "input": name,
        "megabytes": round(num_bytes / MEGABYTE, 1),
        "threads": threads,
        "tokens": tokens,
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        "encode_batch_wall_s": round(encode_wall, 3),
        "encode_batch_cpu_s": round(encode_cpu, 3),
        "cpu_ratio": round(encode_cpu / cpu, 3),
        "wall_ratio": round(encode_wall / (wall - seconds["sync"] / threads), 3),
        "peak_mb": round(median("shards", "peak_mb")),
    }
    return {**row, **{f"{stage}_s": round(value, 3) for stage, value in seconds.items()}}


if __name__ == "__main__":
    main()

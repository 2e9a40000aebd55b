"""Time and memory of shards by the size of the corpus, up to 5 GB.

    JETON_TEST_DATA=… python benchmarks/shards_linear.py --data FOLDER

Writes 5 GB of documents as JSON Lines in files of 62.5 MB, each pass over the corpora perturbed anew, and makes
Megatron shards of a tenth, a fifth, a half and all of them, then shuffled ones. Each run is a process of its own:
processor time per byte must not grow with the size, nor peak memory. Other work on the machine slows a processor down,
so before and after each run `encode_batch` encodes 16 MB: ``relative`` is the time per byte as a multiple of its. The
folder needs 3.5 times the size; finished sizes stay there, and the same call resumes after them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from corpora import CORPORA, MEGABYTE, corpus
from harness import record
from shard_inputs import write_inputs
from shard_runs import peak_mb

SIZES = (0.5, 1.0, 2.5, 5.0)
FILE_MB = 62.5
TASK_BYTES = 64_000_000
SAMPLE = 8_000  # documents
STAGES = ("read", "parse", "encode", "gather", "write", "sync")  # of all tasks; gather: of a shuffle
COLUMNS = (
    *("gigabytes", "shuffled", "threads", "documents", "tokens", "tasks"),
    *("cpu_s", "cpu_ns_per_byte", "encode_batch_ns_per_byte", "relative", "wall_s", "merge_s", "peak_mb"),
    *(f"{stage}_ns_per_byte" for stage in STAGES),
)


def one(files: list[str], output: Path, threads: int, shuffle: int | None) -> dict[str, Any]:
    """In a process: makes shards of some files."""
    import time

    import jeton

    tok = jeton.default()
    options = {"append_eos": True, "task_bytes": TASK_BYTES, "shuffle": shuffle}
    plan = jeton.shards.plan([Path(file) for file in files], output, tok, **options)
    began = time.perf_counter(), time.process_time()
    jeton.shards.run(output, workers=threads, progress=False)
    wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    merging = time.perf_counter()
    report = jeton.shards.merge(output)
    return {
        "gigabytes": round(report.bytes / 1e9, 2),
        "shuffled": shuffle is not None,
        "threads": threads,
        "documents": report.documents,
        "tokens": report.tokens,
        "tasks": plan.num_tasks,
        "cpu_s": round(cpu, 2),
        "cpu_ns_per_byte": round(cpu / report.bytes * 1e9, 2),
        "wall_s": round(wall, 2),
        "merge_s": round(time.perf_counter() - merging, 2),
        "peak_mb": round(peak_mb()),
        **{f"{name}_ns_per_byte": round(value / report.bytes * 1e9, 2) for name, value in report.seconds.items()},
    }


def calibrate(file: Path, threads: int) -> float:
    """In a process: processor time of `encode_batch`, nanoseconds for each byte of some documents; median of five."""
    import time

    import jeton

    tok = jeton.default()
    with file.open(encoding="utf-8") as rows:
        texts = [json.loads(row)["text"] for row in islice(rows, SAMPLE)]
    num_bytes, found = sum(len(text.encode()) for text in texts), []
    for _ in range(5):
        began = time.process_time()
        tok.encode_batch(texts, threads=threads, special="none")
        found.append((time.process_time() - began) / num_bytes * 1e9)
    return median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=list(SIZES))
    parser.add_argument("--prepare", action="store_true", help="write the documents, and measure nothing")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # gigabytes, shuffle, output
    options = parser.parse_args()
    inputs = options.data / "inputs" / "jsonl"
    if options.one:
        size, shuffle, output = options.one
        if not float(size):
            print(calibrate(min(inputs.iterdir()), options.threads))
            return
        files = sorted(map(str, inputs.iterdir()))
        files = files[:: len(files) // round(float(size) * 1000 / FILE_MB)]  # evenly, as the kinds of text are not
        print(json.dumps(one(files, Path(output), options.threads, int(shuffle) if shuffle else None)))
        return
    if not inputs.exists():
        shutil.rmtree(options.data / "unfinished", ignore_errors=True)
        most = max(options.gigabytes) * 1000
        whole = sum(min(len(corpus(name, int(most * MEGABYTE))), int(most * MEGABYTE / 4)) for name in CORPORA)
        print(f"the corpora have {whole / MEGABYTE:.0f} MB; the rest is perturbed", file=sys.stderr)
        write_inputs(options.data / "unfinished", most, round(most / FILE_MB), ("jsonl",))
        (options.data / "unfinished").rename(options.data / "inputs")
    if options.prepare:
        return
    rows = []
    for shuffle in ("", "7"):
        for size in options.gigabytes:
            done, output = options.data / f"done-{size:g}-{shuffle}.json", options.data / "out"
            if not done.exists():
                shutil.rmtree(output, ignore_errors=True)
                command = [sys.executable, __file__, "--data", str(options.data), "--threads", str(options.threads)]
                before, row, after = (
                    json.loads(
                        subprocess.run(
                            [*command, "--one", *given], stdout=subprocess.PIPE, text=True, check=True
                        ).stdout
                    )
                    for given in (("0", "", ""), (str(size), shuffle, str(output)), ("0", "", ""))
                )
                speed = (before + after) / 2
                more = {
                    "encode_batch_ns_per_byte": round(speed, 2),
                    "relative": round(row["cpu_ns_per_byte"] / speed, 2),
                }
                done.write_text(json.dumps({**row, **more}))
                shutil.rmtree(output)
            rows.append(json.loads(done.read_text()))
            print(json.dumps(rows[-1]), flush=True)
    complete = (*options.gigabytes,) == SIZES
    path = options.output or record.destination("shards-linear", complete=complete)
    record.write(path, COLUMNS, rows)
    print(f"written to {path}", file=sys.stderr)


if __name__ == "__main__":
    main()

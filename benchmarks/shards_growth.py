"""A corpus of 5 GB as shards, a tenth more, verification and an epoch of the loader: time and memory of each step.

    JETON_TEST_DATA=… python benchmarks/shards_growth.py --data FOLDER

Writes 55 files of JSON Lines with 100 MB of text each, in documents of 60 characters to some millions
(`shard_inputs.write_mixed`). Shards are made of 50 files, the others are added, and one run over all must give the same
files. Then they are verified without the inputs, and the loader reads an epoch. Finally 200 MB of the same kind go
through other libraries (`shard_pipelines.py`), whose ids must be equal.

Each step is a process of its own. ``cpu_s`` has all threads, imports too; ``peak_mb`` is the highest memory with
files that are mapped, of which the system takes pages back when it needs them, and ``peak_anonymous_mb`` without.
``load`` is the load average of the machine at the start of the step, ``encode_batch_ns_per_byte`` the speed of the
processor then, as in `shards_linear.py`. The folder needs 13 GB; finished steps stay there, and the same
call resumes after them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from harness import record
from harness.environments import EngineSetup, interpreter
from shard_inputs import write_mixed
from shard_pipelines import PIPELINES
from shard_runs import peak_mb
from shards_linear import calibrate

import jeton
from shards import ENVIRONMENTS, measure_input, measure_pipeline, write_vocabulary

FILES, ADDED = 50, 5
FILE_MB = 100.0
PEER_MB, PEER_FILES = 200.0, 8
PEERS = ("datatrove", "datasets")
LAYOUTS = {
    "bin": {"format": "bin"},
    "bin-packed": {"format": "bin", "pack": 2_048, "packing": "best_fit"},
}
SHAPES = {"bin": ((2_048, 8), (4_096, 64)), "bin-packed": ((2_048, 8),)}
COLUMNS = (
    *("step", "shards", "megabytes", "documents", "tokens", "cpu_s", "wall_s", "peak_mb", "peak_anonymous_mb"),
    *("gb_per_cpu_s", "gb_per_s", "times_slower_cpu", "times_slower", "load", "encode_batch_ns_per_byte"),
)

Facts = dict[str, Any]


def make(files: list[Path], output: Path, layout: str, threads: int) -> Facts:
    """Makes shards, or adds to those that are there."""
    if output.exists():
        report = jeton.shards.add(output, files, workers=threads, verify=False, progress=False)
    else:
        options = {"append_eos": True, "verify": False, "progress": False, **LAYOUTS[layout]}
        report = jeton.shards.make(files, output, jeton.default(), workers=threads, **options)
    return {"documents": report.documents, "tokens": report.tokens, "bytes": report.bytes}


def verify(output: Path) -> Facts:
    """Verifies shards without the inputs."""
    found = jeton.shards.verify(output, inputs=False, progress=False)
    if not found.is_valid:
        raise SystemExit(f"{output}: {found.problems}")
    return {"documents": found.documents, "tokens": found.tokens}


def load(output: Path, rows: int, batch: int, workers: int) -> Facts:
    """Reads an epoch of the loader. The rate is that of ``input_ids``."""
    dataset = jeton.shards.open(output)
    loader = jeton.shards.loader(dataset, rows, batch, workers=workers)
    began, processor, ids = time.perf_counter(), time.process_time(), 0
    for made in loader:
        ids += made["input_ids"].size
    wall, cpu = time.perf_counter() - began, time.process_time() - processor
    if ids != loader.num_rows * rows or dataset.num_tokens - ids >= rows:
        raise SystemExit(f"{output}: {ids:,} ids of {dataset.num_tokens:,}")
    speeds = {"gb_per_cpu_s": 8 * ids / cpu / 1e9, "gb_per_s": 8 * ids / wall / 1e9}
    return {"tokens": ids, **{name: round(speed, 2) for name, speed in speeds.items()}}


def measured(what: str, arguments: list[Any]) -> Facts:
    """In a process: runs a step, and samples the anonymous memory of the process."""
    is_over, peak = threading.Event(), 0

    def sample() -> None:
        nonlocal peak
        while not is_over.wait(0.05):
            status = Path("/proc/self/status").read_text(encoding="ascii")
            peak = max(peak, int(status.partition("RssAnon:")[2].split()[0]))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        began = time.perf_counter()
        facts = {"make": make, "verify": verify, "load": load}[what](*arguments)
        wall = time.perf_counter() - began
    finally:
        is_over.set()
        sampler.join()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return facts | {
        "cpu_s": round(sum(one.ru_utime + one.ru_stime for one in used), 2),
        "wall_s": round(wall, 2),
        "peak_mb": round(max(peak_mb(), used[1].ru_maxrss / 1024)),
        "peak_anonymous_mb": round(peak / 1024),
    }


def step(place: Path, name: str, what: str, *arguments: Any) -> Facts:
    """The row of a step, from an earlier call or measured now."""
    done = place / "done" / f"{name.replace(' ', '-')}.json"
    if not done.exists():
        command = [sys.executable, __file__, "--data", str(place), "--one"]
        speed = subprocess.run([*command, "calibrate"], stdout=subprocess.PIPE, check=True)
        found: Facts = {"step": name, "load": round(os.getloadavg()[0], 1)}
        given = json.dumps([what, *arguments], default=str)
        made = subprocess.run([*command, given], stdout=subprocess.PIPE, check=True)
        found |= json.loads(made.stdout) | {"encode_batch_ns_per_byte": round(float(speed.stdout), 2)}
        done.parent.mkdir(exist_ok=True)
        done.write_text(json.dumps(found))
    print(done.read_text(), flush=True)
    return dict(json.loads(done.read_text()))


def hashes(output: Path) -> dict[str, str]:
    """File of shards → hash."""
    facts = json.loads((output / "manifest.json").read_bytes())
    return {name: file["sha256"] for shard in facts["shards"] for name, file in shard["files"].items()}


def grow(place: Path, layout: str, threads: int) -> list[Facts]:
    """All steps of one layout; removes the shards.

    Raises:
        SystemExit: the shards of `add` are not those of one run.
    """
    files = sorted((place / "inputs").iterdir())
    old, new, output, whole = files[:FILES], files[FILES:], place / layout, place / f"{layout}-whole"
    rows = []
    if not (place / "done" / f"add-{layout}.json").exists():
        for folder in (output, whole):
            shutil.rmtree(folder, ignore_errors=True)
    for name, given, folder in (("make", old, output), ("add", new, output), ("make all", files, whole)):
        rows.append(step(place, f"{name} {layout}", "make", given, folder, layout, threads))
    if whole.exists() and hashes(output) != hashes(whole):
        sys.exit(f"{layout}: the shards of add are not those of one run")
    shutil.rmtree(whole, ignore_errors=True)
    rows.append(step(place, f"verify {layout}", "verify", output))
    for size, batch in SHAPES[layout]:
        for workers in (0, 2):
            name = f"load {layout} {batch}x{size} workers={workers}"
            rows.append(step(place, name, "load", output, size, batch, workers))
    for row in rows:
        row["shards"] = layout
        row["step"] = row["step"].replace(f" {layout}", "")
    rows[1]["megabytes"] = round((rows[1].pop("bytes") - rows[0]["bytes"]) / 1e6)
    for row in (rows[0], rows[2]):
        row["megabytes"] = round(row.pop("bytes") / 1e6)
    return rows


def peers(place: Path, environments: Path, threads: int, rounds: int) -> list[Facts]:
    """Jeton and the other libraries on 200 MB."""
    done = place / "done" / "peers.json"
    if not done.exists():
        corpus, vocab = place / "small", write_vocabulary(place)
        if not corpus.exists():
            write_mixed(place / "unfinished", PEER_MB, PEER_FILES)
            (place / "unfinished").rename(corpus)
        shutil.rmtree(place / "out", ignore_errors=True)
        pythons = {name: interpreter(EngineSetup(name, "", PIPELINES[name]), environments) for name in PEERS}
        before = round(os.getloadavg()[0], 1)
        own = measure_input("jsonl", corpus, vocab, place, threads, rounds)
        found = [own, *(measure_pipeline(name, pythons[name], corpus, vocab, place, own, 1) for name in PEERS)]
        rows = []
        for row in found:
            wall, cpu = (row["whole_s"], row["whole_cpu_s"]) if row is own else (row["wall_s"], row["cpu_s"])
            kept = {name: row[name] for name in ("tokens", "megabytes", "peak_mb")}
            kept |= {name: row[name] for name in ("times_slower", "times_slower_cpu") if name in row}
            rows.append(
                {"step": row["engine"], "shards": "megatron", "load": before, "cpu_s": cpu, "wall_s": wall, **kept}
            )
        done.write_text(json.dumps(rows))
    print(done.read_text(), flush=True)
    return list(json.loads(done.read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--file-megabytes", type=float, default=FILE_MB, help="of text in a file; less: no record")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="of Jeton on 200 MB")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        if options.one == "calibrate":
            print(calibrate(min((options.data / "inputs").iterdir()), options.threads))
            return
        what, *arguments = json.loads(options.one)
        if what == "make":
            arguments[:2] = [Path(file) for file in arguments[0]], Path(arguments[1])
        else:
            arguments[0] = Path(arguments[0])
        print(json.dumps(measured(what, arguments)))
        return
    place = options.data
    if not (place / "inputs").exists():
        shutil.rmtree(place / "unfinished", ignore_errors=True)
        write_mixed(place / "unfinished", options.file_megabytes * (FILES + ADDED), FILES + ADDED)
        (place / "unfinished").rename(place / "inputs")
    rows = []
    for layout in LAYOUTS:
        rows += grow(place, layout, options.threads)
    rows += peers(place, options.environments, options.threads, options.rounds)
    path = options.output or record.destination("shards-growth", complete=options.file_megabytes == FILE_MB)
    record.write(path, COLUMNS, rows)
    print(f"written to {path}", file=sys.stderr)


if __name__ == "__main__":
    main()

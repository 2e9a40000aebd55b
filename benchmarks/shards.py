"""Shards: speed of reading, parsing, encoding and writing together, beside encoding alone and other libraries.

``JETON_TEST_DATA=… python benchmarks/shards.py`` writes documents of about 2 KB of the four corpora as JSON Lines,
Parquet and Zstandard, eight files each, and makes Megatron shards of them. Beside it `encode_batch` encodes the same
documents, in memory, with as many threads: each in its own process, in turns, medians of rounds (`shard_runs.py`).
``--pipelines`` also runs those of other libraries (`shard_pipelines.py`) on the JSON Lines, in turns with Jeton's.

With ``--data FOLDER`` inputs and finished cells (one input of one size, or one library) stay there, and the same call
resumes after them; ``--prepare`` writes the inputs and makes the environments only.

    times_slower     wall time of a library / ``whole_s``: both with imports, reading the tokenizer, starting workers,
                     and without flushing to disk, which the others do not do
    wall_ratio       wall time of `encode_batch` / that of `shards.run` without flushing
    cpu_ratio        likewise of processor time, flushing included

First, the ids are compared: the shards must have those of `encode_batch`, each document followed by eos, and so must
the files of the other libraries.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from corpora import MEGABYTE
from harness import record
from harness.environments import EngineSetup, interpreter
from harness.sessions import run_session
from shard_inputs import INPUTS, write_inputs
from shard_pipelines import PIPELINES

import jeton
from jeton._core import pattern_text
from jeton.corpus import open_corpus

NUM_FILES = 8
SIZES = (150.0, 500.0)
ENVIRONMENTS = record.ROOT / "target" / "benchmarks" / "environments"
STAGES = ("read", "parse", "encode", "write", "sync")
COLUMNS = (
    *("engine", "input", "megabytes", "threads", "rounds", "tokens", "wall_s", "megabytes_per_s", "cpu_s"),
    *("whole_s", "whole_cpu_s", "times_slower", "times_slower_cpu"),
    *("encode_batch_wall_s", "encode_batch_cpu_s", "wall_ratio", "cpu_ratio"),
    *(f"{stage}_s" for stage in STAGES),
    "peak_mb",
)

Facts = dict[str, Any]


def run(what: str, corpus: Path, output: Path, vocab: Path, threads: int) -> Facts:
    """One run of Jeton in a process of its own, with the seconds of each stage; the output stays."""
    script = str(Path(__file__).with_name("shard_runs.py"))
    command = [sys.executable, script, what, str(corpus), str(output), str(vocab), str(threads)]
    found = dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    if what == "shards":
        done = [json.loads(path.read_bytes()) for path in (output / "done").iterdir()]
        found |= {f"{stage}_s": sum(facts["seconds"].get(stage, 0.0) for facts in done) for stage in STAGES}
        found["bytes"] = sum(facts["bytes"] for facts in done)
        found["whole"] -= found["sync_s"] / threads
    return found


def write_vocabulary(folder: Path) -> Path:
    """Writes the tokenizer for all libraries; returns a file with the paths and facts of it."""
    tok = jeton.default()
    tok.save(folder / "tokenizer.json")
    tok.save(folder / "ranks.tiktoken", accept_loss=["pattern", "special_tokens", "chat_template"])
    facts = {
        "json": str(folder / "tokenizer.json"),
        "ranks": str(folder / "ranks.tiktoken"),
        "pattern": pattern_text("o200k"),
        "eos": tok.eos_id,
    }
    (folder / "vocabulary.json").write_text(json.dumps(facts), "utf-8")
    return folder / "vocabulary.json"


def compare(corpus: Path, output: Path) -> tuple[int, str]:
    """Compares the ids of shards with those of `encode_batch`; returns their number and the hash of the ids as int32.

    Raises:
        SystemExit: they differ.
    """
    tok, dataset = jeton.default(), jeton.shards.open(output)
    batch = tok.encode_batch([document.data for document in open_corpus(corpus)], special="none")
    lengths = np.diff(batch.offsets)
    lengths = lengths[lengths > 0]
    expected = np.insert(batch.ids, np.cumsum(lengths), tok.eos_id)
    found = np.concatenate([dataset.shard(number).tokens for number in range(dataset.num_shards)])
    if not np.array_equal(found, expected):
        print(f"{output}: the ids differ", file=sys.stderr)
        sys.exit(4)
    return len(found), hashlib.sha256(found.astype("<i4").tobytes()).hexdigest()


def medians(found: list[Facts], *names: str) -> list[float]:
    """Median of each value."""
    return [median(facts[name] for facts in found) for name in names]


def measure_input(name: str, corpus: Path, vocab: Path, folder: Path, threads: int, rounds: int) -> Facts:
    """Measures one format, in turns with `encode_batch`; returns the row, with the hash of the ids."""
    found: dict[str, list[Facts]] = {"shards": [], "encode": []}
    for number in range(rounds):
        output = folder / "out"
        for what, runs in found.items():
            runs.append(run(what, corpus, output, vocab, threads))
        if not number:
            tokens, digest = compare(corpus, output)
        shutil.rmtree(output)
    shards, encode = found["shards"], found["encode"]
    wall, cpu, whole, whole_cpu, sync, peak = medians(shards, "wall", "cpu", "whole", "whole_cpu", "sync_s", "peak_mb")
    encode_wall, encode_cpu = medians(encode, "wall", "cpu")
    megabytes = shards[0]["bytes"] / MEGABYTE
    return {
        "engine": f"jeton {jeton.__version__}",
        "input": name,
        "megabytes": round(megabytes, 1),
        "threads": threads,
        "rounds": rounds,
        "tokens": tokens,
        "digest": digest,
        "wall_s": round(wall, 3),
        "megabytes_per_s": round(megabytes / wall, 1),
        "cpu_s": round(cpu, 3),
        "whole_s": round(whole, 3),
        "whole_cpu_s": round(whole_cpu, 3),
        "encode_batch_wall_s": round(encode_wall, 3),
        "encode_batch_cpu_s": round(encode_cpu, 3),
        "wall_ratio": round(encode_wall / (wall - sync / threads), 3),
        "cpu_ratio": round(encode_cpu / cpu, 3),
        **{f"{stage}_s": round(medians(shards, f"{stage}_s")[0], 3) for stage in STAGES},
        "peak_mb": round(peak),
    }


def measure_pipeline(
    name: str, python: Path, corpus: Path, vocab: Path, folder: Path, own: Facts, rounds: int
) -> Facts:
    """Measures the pipeline of another library, in turns with Jeton's.

    Raises:
        SystemExit: it failed, or its ids differ.
    """
    output, threads = folder / "out", own["threads"]
    script = str(Path(__file__).with_name("shard_pipelines.py"))
    command = [str(python), script, name, str(corpus), str(output), str(vocab), str(threads)]
    shards, others = [], []
    for _ in range(rounds):
        shards.append(run("shards", corpus, output, vocab, threads))
        shutil.rmtree(output)
        done = run_session(command, folder, output.with_suffix(".end"))
        if done.status:
            sys.exit(f"{name} failed:\n{done.errors[-3000:]}")
        others.append(json.loads(done.output.splitlines()[-1]) | {"cpu": done.cpu, "peak_mb": done.peak_mb})
        shutil.rmtree(output)
        if others[-1]["digest"] != own["digest"]:
            print(f"{name}: {others[-1]['tokens']:,} ids, which are not the {own['tokens']:,}", file=sys.stderr)
            sys.exit(4)
    (wall, cpu), (whole, whole_cpu) = medians(others, "wall", "cpu"), medians(shards, "whole", "whole_cpu")
    return {
        "engine": PIPELINES[name][0].replace("==", " ")
        if name != "megatron"
        else "megatron's recipe, tokenizers 0.23.3",
        "input": "jsonl",
        **{column: own[column] for column in ("megabytes", "threads", "tokens")},
        "rounds": rounds,
        "wall_s": round(wall, 2),
        "megabytes_per_s": round(own["megabytes"] / wall, 1),
        "cpu_s": round(cpu, 2),
        "whole_s": round(whole, 3),
        "whole_cpu_s": round(whole_cpu, 3),
        "times_slower": round(wall / whole, 1),
        "times_slower_cpu": round(cpu / whole_cpu, 1),
        "peak_mb": round(median(facts["peak_mb"] for facts in others)),
    }


def cell(path: Path, measure: Callable[[], Facts]) -> Facts:
    """The row of a cell, from an earlier call or measured now."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        row = measure()
        path.with_suffix(".tmp").write_text(json.dumps(row), "utf-8")
        path.with_suffix(".tmp").replace(path)
        print(json.dumps(row), flush=True)
    return dict(json.loads(path.read_text("utf-8")))


def inputs_of(folder: Path, megabytes: float) -> dict[str, Path]:
    """The inputs of a size, from an earlier call or made now."""
    if not (folder / "inputs").exists():
        shutil.rmtree(folder / "unfinished", ignore_errors=True)
        write_inputs(folder / "unfinished", megabytes, NUM_FILES)
        (folder / "unfinished").rename(folder / "inputs")
    return {name: folder / "inputs" / name for name in INPUTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, nargs="+", default=list(SIZES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=INPUTS)
    parser.add_argument("--pipelines", nargs="*", choices=tuple(PIPELINES), help="other libraries; without a name: all")
    parser.add_argument("--pipeline-rounds", type=int, default=1, help="rounds of the others; tiktoken has --rounds")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--data", type=Path, help="folder for inputs and finished cells")
    parser.add_argument("--prepare", action="store_true", help="make inputs and environments, and measure nothing")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.pipelines is not None and options.only and "jsonl" not in options.only:
        parser.error("--pipelines compares with jsonl: add it to --only")
    names = [] if options.pipelines is None else options.pipelines or list(PIPELINES)
    complete = (
        (*options.megabytes,) == SIZES and not options.only and options.rounds >= 3 and len(names) >= len(PIPELINES)
    )
    rows = []
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        vocab = write_vocabulary(folder)
        pythons = {name: interpreter(EngineSetup(name, "", PIPELINES[name]), options.environments) for name in names}
        for megabytes in options.megabytes:
            place = folder / f"{megabytes:g}"
            inputs = inputs_of(place, megabytes)
            if options.prepare:
                continue
            shutil.rmtree(place / "out", ignore_errors=True)  # of a call that was interrupted
            common = (vocab, place)
            for name in options.only or INPUTS:
                arguments = (name, inputs[name], *common, options.threads, options.rounds)
                rows.append(cell(place / "cells" / f"{name}.json", lambda given=arguments: measure_input(*given)))
            own = cell(place / "cells" / "jsonl.json", dict) if names else {}
            for name in names:
                rounds = options.rounds if name == "tiktoken" else options.pipeline_rounds
                given = (name, pythons[name], inputs["jsonl"], *common, own, rounds)
                rows.append(cell(place / "cells" / f"{name}.json", lambda given=given: measure_pipeline(*given)))
    if options.prepare:
        return
    path = options.output or record.destination("shards", complete=complete)
    record.write(path, COLUMNS, ({name: row[name] for name in COLUMNS if name in row} for row in rows))
    print(f"written to {path}", file=sys.stderr)


if __name__ == "__main__":
    main()

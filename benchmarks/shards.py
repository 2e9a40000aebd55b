"""Shards: speed of reading, parsing, encoding and writing together, beside encoding alone and other libraries.

``JETON_TEST_DATA=… python benchmarks/shards.py`` writes documents of about 2 KB of the four corpora as JSONL, Parquet
and Zstandard, eight files each, and makes Megatron shards of them. Beside it `encode_batch` encodes the same documents,
in memory, with as many threads. Each in its own process, in turns; medians of rounds. Plan, merge and verification are
not timed; fsync is ("sync") and is left out of the ratio. Then the shards are read.

``--pipelines`` also runs those of other libraries (`shard_pipelines.py`) on the JSONL files, once each.

First, the ids are compared: the shards must have those of `encode_batch`, each document followed by eos, and so must
the files of the other libraries.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
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
from harness.environments import EngineSetup, interpreter
from shard_pipelines import PIPELINES

import jeton
from jeton._core import pattern_text
from jeton.corpus import open_corpus

NUM_FILES = 8
DOCUMENT = 2_000
ENVIRONMENTS = record.ROOT / "target" / "benchmarks" / "environments"
COLUMNS = (
    *("engine", "input", "megabytes", "threads", "tokens", "wall_s", "megabytes_per_s", "times_slower", "cpu_s"),
    *("encode_batch_wall_s", "encode_batch_cpu_s", "cpu_ratio", "wall_ratio"),
    *("read_s", "parse_s", "encode_s", "write_s", "sync_s", "peak_mb"),
    *("sequential_gb_per_s", "random_documents_per_s"),
)


def texts_of(megabytes: float) -> list[str]:
    """Documents of all corpora; if these are smaller, also perturbed copies, so that no text occurs twice."""
    limit = int(megabytes * MEGABYTE / len(CORPORA))
    texts: list[str] = []
    for number, name in enumerate(CORPORA):
        text = whole_characters(corpus(name, limit), limit).decode()
        pieces = [text[start : start + DOCUMENT] for start in range(0, len(text), DOCUMENT)]
        texts += pieces
        size = len(text.encode())
        held, chance = size, random.Random(number)
        while held + size <= limit:
            texts += [perturbed(piece, pieces, chance) for piece in pieces]
            held += size
    return texts


def perturbed(text: str, others: list[str], chance: random.Random) -> str:
    """A copy with some short ranges replaced by text from elsewhere."""
    parts, at = [], 0
    while at < len(text):
        step = chance.randrange(40, 200)
        other = others[chance.randrange(len(others))]
        start = chance.randrange(len(other))
        parts += [text[at : at + step], other[start : start + 6]]
        at += step + 6
    return "".join(parts)


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


def write_vocabulary(folder: Path) -> Path:
    """Writes the tokenizer for other libraries; returns a file with the paths and facts of it."""
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


def measure_pipeline(
    name: str, python: Path, corpus: Path, vocab: Path, digest: str, own: dict[str, Any]
) -> dict[str, Any]:
    """Runs the pipeline of another library once.

    Raises:
        SystemExit: its ids differ.
    """
    output = corpus.parent / f"pipeline-{name}"
    script = str(Path(__file__).with_name("shard_pipelines.py"))
    command = [str(python), script, name, str(corpus), str(output), str(vocab), str(own["threads"])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    shutil.rmtree(output)
    if found["digest"] != digest:
        print(f"{name}: the ids differ ({found['tokens']:,} tokens, expected {own['tokens']:,})", file=sys.stderr)
        sys.exit(4)
    return {
        "engine": PIPELINES[name][0].replace("==", " ")
        if name != "megatron"
        else "megatron's recipe, tokenizers 0.23.3",
        "input": "jsonl",
        **{column: own[column] for column in ("megabytes", "threads", "tokens")},
        "wall_s": round(found["wall"], 2),
        "megabytes_per_s": round(own["megabytes"] / found["wall"], 1),
        "times_slower": round(found["wall"] / own["wall_s"], 1),
        "cpu_s": round(found["cpu"], 2),
    }


def measure_reading(output: Path) -> dict[str, float]:
    """Reads the ids of shards in sequences of 2,048, each copied, and documents in random order."""
    dataset = jeton.shards.open(output)
    target = np.empty(2_048, dataset.dtype)
    began, count = time.perf_counter(), 0
    for ids in dataset.batches(len(target)):
        np.copyto(target, ids)
        count += 1
    sequential = count * target.nbytes / (time.perf_counter() - began) / 1e9
    order = np.random.default_rng(0).integers(0, len(dataset), 300_000).tolist()
    dataset[0]
    began = time.perf_counter()
    for index in order:
        dataset[index]
    return {
        "sequential_gb_per_s": round(sequential, 2),
        "random_documents_per_s": round(len(order) / (time.perf_counter() - began)),
    }


def compare(corpus: Path, output: Path) -> tuple[int, str]:
    """Compares the ids of shards with those of `encode_batch`; returns their number and the hash of the ids as int32.

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
    return len(found), hashlib.sha256(found.astype("<i4").tobytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=150)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=("jsonl", "parquet", "zstd"))
    parser.add_argument("--pipelines", nargs="*", choices=tuple(PIPELINES), help="other libraries; without a name: all")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
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
            row, digest = measure_input(name, places[name], Path(folder), options.threads, options.rounds)
            rows.append(row)
            print(json.dumps(row), flush=True)
        if options.pipelines is not None:
            vocab = write_vocabulary(Path(folder))
            for name in options.pipelines or PIPELINES:
                python = interpreter(EngineSetup(name, "", PIPELINES[name]), options.environments)
                row = measure_pipeline(name, python, places["jsonl"], vocab, digest, rows[0])
                rows.append(row)
                print(json.dumps(row), flush=True)
    path = options.output or record.destination("shards", complete=complete)
    record.write(path, COLUMNS, rows)
    print(f"written to {path}", file=sys.stderr)


def measure_input(name: str, corpus: Path, folder: Path, threads: int, rounds: int) -> tuple[dict[str, Any], str]:
    """Measures one format, in turns with `encode_batch`; returns the row, and the hash of the ids."""
    found: dict[str, list[dict[str, Any]]] = {"shards": [], "encode": []}
    stages: list[dict[str, float]] = []
    for number in range(rounds):
        output = folder / f"{name}-{number}"
        for what in found:
            arguments = ["--threads", str(threads), "--one", what, str(corpus), str(output)]
            found[what].append(run_one(arguments))
        done = [json.loads(path.read_bytes()) for path in (output / "done").iterdir()]
        stages.append({stage: sum(facts["seconds"].get(stage, 0.0) for facts in done) for stage in done[0]["seconds"]})
    tokens, digest = compare(corpus, folder / f"{name}-0")
    reading = measure_reading(folder / f"{name}-0")
    for number in range(rounds):
        shutil.rmtree(folder / f"{name}-{number}")

    def median(what: str, key: str) -> float:
        return statistics.median(facts[key] for facts in found[what])

    seconds = {stage: statistics.median(one[stage] for one in stages) for stage in stages[0]}
    wall, cpu = median("shards", "wall"), median("shards", "cpu")
    encode_wall, encode_cpu = median("encode", "wall"), median("encode", "cpu")
    num_bytes = sum(facts["bytes"] for facts in done)
    row: dict[str, Any] = {
        "engine": f"jeton {jeton.__version__}",
        "input": name,
        "megabytes": round(num_bytes / MEGABYTE, 1),
        "threads": threads,
        "tokens": tokens,
        "wall_s": round(wall, 3),
        "megabytes_per_s": round(num_bytes / MEGABYTE / wall, 1),
        "cpu_s": round(cpu, 3),
        "encode_batch_wall_s": round(encode_wall, 3),
        "encode_batch_cpu_s": round(encode_cpu, 3),
        "cpu_ratio": round(encode_cpu / cpu, 3),
        "wall_ratio": round(encode_wall / (wall - seconds["sync"] / threads), 3),
        "peak_mb": round(median("shards", "peak_mb")),
    }
    return {**row, **reading, **{f"{stage}_s": round(value, 3) for stage, value in seconds.items()}}, digest


if __name__ == "__main__":
    main()

"""Worker process of one measurement, in the engine's environment: a job on stdin, a result on stdout.

Timed: from `str` objects in memory to ids in the engine's form. Not timed: startup, imports, loading (unless measured),
reading of texts, encoding of a first sentence with the measured call, which starts threads and builds lazy tables, and
conversion of results. Each phase creates new `str` objects, since CPython caches the UTF-8 of a string.

Left out: comparison. The result has a digest of all ids, which the parent process compares.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.metadata
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import numpy as np  # noqa: E402
from engines.base import Unsupported, of_lists  # noqa: E402

SENTENCE = "A tokenizer cuts text into tokens, and a model reads their numbers."
DOCUMENT = 2_000  # bytes
FORMS = ("ranks", "json", "model")
BLOCK = 1_000_000  # bytes
BATCH = 1_000  # texts
FEW = 4_000  # texts of 1 KB, and calls
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
HAN = range(0x4E00, 0x9FA6)


def main() -> int:
    job = json.load(sys.stdin)
    try:
        answer = in_thread(job) if job.get("stack_kib") else work(job)
    except Unsupported as reason:
        answer = {"unsupported": str(reason)}
    except BaseException as error:  # a Rust panic is not an Exception
        answer = {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    return 0


def in_thread(job: dict[str, Any]) -> dict[str, Any]:
    """Runs the job with a small stack, which overflows if an engine recurses over the text."""
    answers: list[dict[str, Any]] = []

    def run() -> None:
        try:
            answers.append(work(job))
        except BaseException as error:
            answers.append({"failed": f"{type(error).__name__}: {str(error)[:200]}"})

    threading.stack_size(job["stack_kib"] * 1024)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return answers[0]


def work(job: dict[str, Any]) -> dict[str, Any]:
    if job["kind"] not in ("load", "footprint"):
        os.environ["JETON_TABLES"] = "always"  # setting of a server: tables are built before the first text
    os.environ |= job.get("environment", {})
    adapter = importlib.import_module(f"engines.{job['adapter']}")
    if job["kind"] == "footprint":
        vocab = {key: path for key, path in job["vocab"].items() if key == job["form"] or key not in FORMS}
        job["vocab"] = vocab | {"jeton": vocab[job["form"]]}
    gc.collect()
    bare = resident_mib()
    clock = Clock()
    engine = adapter.Engine(job["vocab"], job["threads"])
    job["load_mib"] = resident_mib() - bare
    if job["kind"] != "footprint":
        engine.encode_one(SENTENCE)
    loaded = clock.read()
    before = resident_mib()
    phases = {"load": loaded} if job["kind"] == "load" else KINDS[job["kind"]](engine, job)
    return {
        "version": importlib.metadata.version(job["distribution"]),
        "phases": phases,
        "peak_mib": peak_mib(),
        "resident_mib": before,
    }


class Clock:
    """CPU time of all threads, and wall time."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> dict[str, Any]:
        return {"cpu": time.process_time() - self.cpu, "wall": time.perf_counter() - self.wall}


# ── kinds of jobs ─────────────────────────────────────────────────────────────────────────────────────────────────


def encode_texts(engine: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Encodes texts, one for each phase: as a batch of documents of about 2 KB, or as one document."""
    phases = {}
    if job["split"]:
        engine.encode_batch([SENTENCE])
    for name, path in job["texts"]:
        text = read(path)
        docs = documents(text) if job["split"] else []
        clock = Clock()
        result = engine.encode_batch(docs) if job["split"] else engine.encode_one(text)
        times = clock.read()
        ids, counts = engine.batch_ids(result) if job["split"] else one(result)
        phases[name] = {**times, "bytes": Path(path).stat().st_size, **facts(ids, counts)}
        if job.get("dump"):
            np.savez(job["dump"] + f".{name}", ids=ids, counts=counts)
        del result, ids, counts, docs, text
    return phases


def call_often(engine: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Encodes lists of texts, one list for each phase, with one call for each text."""
    call: Callable[[str], Any] = {
        "list": engine.list_call,
        "array": engine.array_call,
        "count": engine.count_call,
    }[job["call"]]()
    call(SENTENCE)
    phases = {}
    for name, path in job["texts"]:
        texts = documents(read(path)) if job["kind"] == "counts" else json.loads(read(path))
        results: list[Any] = []
        keep = results.append
        clock = Clock()
        for text in texts:
            keep(call(text))
        times = clock.read()
        if job["call"] == "count":
            ids, counts = np.zeros(0, np.uint32), np.array(results, np.int64)
        else:
            ids = np.concatenate([np.asarray(result, np.uint32) for result in results])
            counts = np.array([len(result) for result in results], np.int64)
        size = sum(len(text.encode()) for text in texts)
        phases[name] = {**times, "bytes": size, "calls": len(texts), **facts(ids, counts)}
        if job.get("dump"):
            np.savez(job["dump"] + f".{name}", ids=ids, counts=counts)
    return phases


def batches(engine: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Encodes lists of 1,000 short texts, to lists or to arrays."""
    call, convert = {
        "lists": (engine.lists_call(), of_lists),
        "array": (engine.encode_batch, engine.batch_ids),
    }[job["form"]]
    call([SENTENCE])
    phases = {}
    for name, path in job["texts"]:
        texts = json.loads(read(path))
        parts = [texts[at : at + BATCH] for at in range(0, len(texts), BATCH)]
        results = []
        clock = Clock()
        for part in parts:
            results.append(call(part))
        times = clock.read()
        converted = [convert(result) for result in results]
        ids, counts = (np.concatenate(column) for column in zip(*converted, strict=True))
        size = sum(len(text.encode()) for text in texts)
        phases[name] = {**times, "bytes": size, "calls": len(texts), **facts(ids, counts)}
    return phases


def decode_few(engine: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Decodes a few ids in each call, to text."""
    call = engine.few_ids_call()
    call(np.asarray(engine.encode_one(SENTENCE)).tolist())
    phases = {}
    for name, path in job["texts"]:
        texts = json.loads(read(path))[:FEW]
        ids = [id for text in texts for id in np.asarray(engine.encode_one(text)).tolist()]
        number = job["number"]
        parts = [ids[at : at + number] for at in range(0, min(len(ids), FEW * number), number)]
        results = []
        keep = results.append
        clock = Clock()
        for part in parts:
            keep(call(part))
        times = clock.read()
        digest = hashlib.sha256(json.dumps(results).encode()).hexdigest()
        size = sum(map(len, results))
        phases[name] = {**times, "bytes": size, "calls": len(parts), "ids": len(ids), "digest": digest}
    return phases


def decode(engine: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Decodes the ids of a text and checks the bytes. A few ids are decoded before, to build tables."""
    data = Path(job["texts"][0][1]).read_bytes()
    ids, _ = one(engine.encode_one(data.decode("utf-8")))
    engine.decode_call(ids[:10])()
    call = engine.decode_call(ids)
    clock = Clock()
    decoded = call()
    times = clock.read()
    decoded = decoded.encode("utf-8") if isinstance(decoded, str) else decoded
    digest = hashlib.sha256(decoded).hexdigest()
    return {"decode": {**times, "bytes": len(data), "ids": len(ids), "digest": digest, "exact": decoded == data}}


def much_text(engine: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Measures resident memory after encoding text without repetition, block by block."""
    clock, digest, total, num_ids, early = Clock(), hashlib.sha256(), 0, 0, 0.0
    start = resident_mib()
    for text, size in unlike_blocks([path for _, path in job["texts"]], job["total"]):
        ids, counts = engine.batch_ids(engine.encode_batch(documents(text)))
        digest.update(ids.tobytes())
        total, num_ids = total + size, num_ids + len(ids)
        del ids, counts, text
        if not early and total >= job["total"] / 10:
            gc.collect()
            early = resident_mib() - start
    gc.collect()
    growth = {"growth_mib": resident_mib() - start, "early_mib": early}
    return {"memory": {**clock.read(), **growth, "bytes": total, "ids": num_ids, "digest": digest.hexdigest()}}


def footprint(engine: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Growth of resident memory: by loading, a first text, 10 MB in one thread, and the same in two more threads."""
    grown = {"load": job["load_mib"]}
    digest = hashlib.sha256()

    def growth(work: Callable[[], None]) -> float:
        gc.collect()
        start = resident_mib()
        work()
        gc.collect()
        return resident_mib() - start

    def encode(docs: list[str]) -> None:
        for at in range(0, len(docs), 10):
            ids, _ = engine.batch_ids(engine.encode_batch(docs[at : at + 10]))
            digest.update(ids.tobytes())

    def encode_in_threads(*parts: list[str]) -> None:
        threads = [threading.Thread(target=encode, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    first, second = (documents(read(path)) for _, path in job["texts"][:2])
    grown["first text"] = growth(lambda: encode([SENTENCE]))
    grown["10 MB"] = growth(lambda: encode(first))
    common = {"cpu": 0.0, "wall": 0.0, "digest": digest.hexdigest()}
    grown["second thread"] = growth(lambda: encode_in_threads(second[::2], second[1::2]))
    return {phase: {**common, "growth_mib": value} for phase, value in grown.items()}


KINDS = {
    "texts": encode_texts,
    "calls": call_often,
    "counts": call_often,
    "batches": batches,
    "few ids": decode_few,
    "decode": decode,
    "memory": much_text,
    "footprint": footprint,
}


# ── texts and facts ───────────────────────────────────────────────────────────────────────────────────────────────


def read(path: str) -> str:
    return Path(path).read_bytes().decode("utf-8")


def documents(text: str) -> list[str]:
    """Splits into documents of whole lines, each of at least 2 KB."""
    found: list[str] = []
    lines: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        lines.append(line)
        size += len(line) if line.isascii() else len(line.encode())
        if size >= DOCUMENT:
            found.append("".join(lines))
            lines, size = [], 0
    return [*found, "".join(lines)] if lines else found


def unlike_blocks(paths: list[str], total: int) -> Iterator[tuple[str, int]]:
    """Blocks of the texts, repeated with other letters: each repetition shifts letters in their alphabet."""
    done = turn = 0
    while done < total:
        tables = str.maketrans(moved(ALPHABET, turn) | moved(ALPHABET.upper(), turn) | moved(map(chr, HAN), 37 * turn))
        for path in paths:
            with open(path, encoding="utf-8", newline="\n") as file:
                while done < total and (text := file.read(BLOCK) + file.readline()):
                    block = text.translate(tables) if turn else text
                    size = len(block.encode())
                    done += size
                    yield block, size
        turn += 1


def moved(letters: Any, by: int) -> dict[str, str]:
    given = list(letters)
    return {letter: given[(i + by) % len(given)] for i, letter in enumerate(given)}


def one(result: Any) -> tuple[Any, Any]:
    ids = np.asarray(result, dtype=np.uint32)
    return ids, np.array([len(ids)], np.int64)


def facts(ids: Any, counts: Any) -> dict[str, Any]:
    digest = hashlib.sha256(np.ascontiguousarray(ids, dtype="<u4").tobytes())
    digest.update(np.ascontiguousarray(counts, dtype="<i8").tobytes())
    return {"ids": int(counts.sum()), "digest": digest.hexdigest()}


def resident_mib() -> float:
    return from_status("VmRSS:") or peak_mib()


def peak_mib() -> float:
    """Peak memory in MiB. On Linux `ru_maxrss` includes the parent's peak, so it is not used there."""
    return from_status("VmHWM:") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2  # bytes, on macOS


def from_status(field: str) -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith(field))


if __name__ == "__main__":
    sys.exit(main())

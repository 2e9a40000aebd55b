"""One run of Jeton for `shards.py`, in a process of its own, as `shard_pipelines.py` is for other libraries.

    shard_runs.py shards CORPUS OUTPUT VOCABULARY THREADS      all of `jeton.shards`, without verification
    shard_runs.py encode CORPUS OUTPUT VOCABULARY THREADS      `encode_batch` on the same documents, from memory

``whole`` is the wall time of everything that a process does after its start: imports, reading the tokenizer, plan, run
and merge. ``wall`` and ``cpu`` are those of `shards.run` alone, or of `encode_batch` alone, with a tokenizer that has
its tables.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

SETTLED = "A sentence that starts everything."
NUM_TASKS = 40  # at least: with fewer, one thread waits for the other at the end


def run_shards(corpus: Path, output: Path, vocab: dict[str, Any], threads: int) -> tuple[float, float]:
    """Makes shards; returns wall and processor time of `run`."""
    import jeton

    tok = jeton.load(vocab["json"])
    task_bytes = sum(path.stat().st_size for path in corpus.iterdir()) // NUM_TASKS
    jeton.shards.plan(corpus, output, tok, append_eos=True, task_bytes=task_bytes)
    tok._core.make_tables()
    tok.encode(SETTLED)
    began = time.perf_counter(), time.process_time()
    jeton.shards.run(output, workers=threads, progress=False)
    found = time.perf_counter() - began[0], time.process_time() - began[1]
    jeton.shards.merge(output)
    return found


def run_encode(corpus: Path, output: Path, vocab: dict[str, Any], threads: int) -> tuple[float, float]:
    """Encodes the documents in memory."""
    import jeton
    from jeton.corpus import open_corpus

    tok = jeton.load(vocab["json"])
    texts = [document.data for document in open_corpus(corpus)]
    tok._core.make_tables()
    tok.encode(SETTLED)
    began = time.perf_counter(), time.process_time()
    tok.encode_batch(texts, threads=threads, special="none")
    return time.perf_counter() - began[0], time.process_time() - began[1]


def peak_mb() -> float:
    """Peak memory of this process. The `ru_maxrss` of a child is at least the memory of the parent that forked it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:  # not Linux
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main() -> None:
    what, corpus, output, vocab, threads = sys.argv[1:]
    facts = json.loads(Path(vocab).read_text("utf-8"))
    began = time.perf_counter()
    wall, cpu = {"shards": run_shards, "encode": run_encode}[what](Path(corpus), Path(output), facts, int(threads))
    whole = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    facts = {"wall": wall, "cpu": cpu, "whole": whole, "whole_cpu": used.ru_utime + used.ru_stime, "peak_mb": peak_mb()}
    print(json.dumps(facts))


if __name__ == "__main__":
    main()

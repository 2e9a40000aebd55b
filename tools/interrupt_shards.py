"""Interrupts the making of shards many times, and compares the result with that of an uninterrupted run.

    python tools/interrupt_shards.py kills --number 180          kill -9 in plan, spool, shuffle and merge
    python tools/interrupt_shards.py jobs --number 1000          jobs of two arrays: failures, repeats, any order

Both modes make shuffled shards from generated documents, packed by best fit. ``kills`` kills the process that makes the
shards at a random moment of a random stage, and starts another process in the same folder. After at most 11 kills, a
process runs to the end, and its shards are compared. The next kills begin with an empty folder. ``jobs`` runs an array
of jobs for each stage. Each job has its own process, and the order is random. Some jobs are killed, some run twice;
killed and failed jobs are repeated afterwards. Prints the stages of the kills, and the digests. Needs `os.fork`: a
forked process does not import the modules again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jeton

STAGES = ("plan", "spool", "shuffle", "merge")
OPTIONS: dict[str, Any] = {"append_eos": True, "shuffle": 7, "pack": 512, "packing": "best_fit"}


def write_corpus(path: Path, documents: int) -> None:
    """Writes rows of random words."""
    rng = random.Random(1)  # noqa: S311
    words = ["".join(rng.choices("abcdefghijklmnopqrst", k=rng.randrange(2, 9))) for _ in range(2000)]
    with path.open("w") as file:
        for _ in range(documents):
            text = " ".join(rng.choices(words, k=min(int(rng.expovariate(1 / 60)) + 1, 2000)))
            file.write(json.dumps({"text": text}) + "\n")


def digest(folder: Path) -> str:
    """Returns the hash of the names and bytes of the shards and the manifest."""
    sha = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(("report", ".")):
            sha.update(path.name.encode() + path.read_bytes())
    return sha.hexdigest()[:16]


def child(work: Callable[[Callable[[str], None]], None]) -> tuple[int, int]:
    """Starts `work` in a new process; returns the process id, and a pipe with the first two letters of each stage."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    os.close(reading)
    try:
        work(lambda stage: void(os.write(writing, stage[:2].encode())))
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def void(value: object) -> None:
    """Ignores a value."""


def make(corpus: Path, folder: Path, tok: jeton.Tokenizer, task_bytes: int, report: Callable[[str], None]) -> None:
    """Makes shards in the calling process; calls `report` when a stage begins."""
    begun = set()

    def progress(event: jeton.ProgressEvent) -> None:
        stage = "merge" if event.stage == "shuffle" and event.done == event.total else event.stage
        if stage not in begun:
            begun.add(stage)
            report(stage)

    report("plan")
    jeton.shards.make(corpus, folder, tok, workers=2, verify=False, progress=progress, task_bytes=task_bytes, **OPTIONS)


def durations(made: Callable[[Callable[[str], None]], None]) -> dict[str, float]:
    """Returns the seconds of each stage of a whole run."""
    process, pipe = child(made)
    began: list[tuple[str, float]] = []
    while data := os.read(pipe, 2):
        began.append((data.decode(), time.perf_counter()))
    os.close(pipe)
    os.waitpid(process, 0)
    ends = [*(moment for _, moment in began[1:]), time.perf_counter()]
    return {stage: end - moment for (stage, moment), end in zip(began, ends, strict=True)}


def kill_in(made: Callable[[Callable[[str], None]], None], stage: str, delay: float) -> str | None:
    """Kills a process `delay` seconds after a stage begins.

    Returns:
        The stage in which the process was killed, or None if the process ended before the kill.
    """
    process, pipe = child(made)
    at, deadline = "", None
    while True:
        timeout = None if deadline is None else max(deadline - time.perf_counter(), 0)
        if not select.select([pipe], [], [], timeout)[0]:
            os.kill(process, signal.SIGKILL)
            break
        data = os.read(pipe, 2).decode()
        if not data:
            break
        at = data
        if at == stage[:2]:
            deadline = time.perf_counter() + delay
    os.close(pipe)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        return next(name for name in STAGES if name[:2] == at)
    if status:
        raise SystemExit("a process failed")
    return None


def kills(number: int, seed: int, folder: Path, corpus: Path, tok: jeton.Tokenizer, task_bytes: int) -> bool:
    """Kills processes in random stages; returns True if all digests are equal."""
    rng = random.Random(seed)  # noqa: S311

    def made(place: Path) -> Callable[[Callable[[str], None]], None]:
        return lambda report: make(corpus, place, tok, task_bytes, report)

    seconds = durations(made(folder / "whole"))
    expected, found, where = digest(folder / "whole"), Counter[str](), Counter[str]()
    print(f"uninterrupted: {expected}; seconds { ({stage: round(value, 3) for stage, value in seconds.items()}) }")
    trial = 0
    while where.total() < number:
        place = folder / f"out-{trial}"
        for _ in range(rng.randrange(1, 12)):
            stage = rng.choice(STAGES)
            killed = kill_in(made(place), stage, rng.uniform(0, seconds.get(stage[:2], 0.01)))
            if killed is None:
                break
            where[killed] += 1
        process, pipe = child(made(place))
        os.waitpid(process, 0)
        os.close(pipe)
        found[digest(place)] += 1
        left = [path.name for path in (*place.rglob(".*.tmp"), *place.glob("spool/*.bin"))]
        if left:
            print("left behind:", left)
            return False
        shutil.rmtree(place)
        trial += 1
        print(f"{where.total()} kills in {trial} folders", file=sys.stderr, flush=True)
    print(f"{where.total()} kills: {dict(where)}; {trial} folders: {dict(found)}")
    return set(found) == {expected}


def jobs(number: int, seed: int, folder: Path, corpus: Path, tok: jeton.Tokenizer, task_bytes: int) -> bool:
    """Runs the arrays of jobs in random order, some jobs twice; jobs that fail or are killed are repeated.

    Returns:
        True if the digest of the shards equals that of an uninterrupted run.
    """
    rng = random.Random(seed)  # noqa: S311
    make(corpus, folder / "whole", tok, task_bytes, void)
    place, expected = folder / "out", digest(folder / "whole")
    plan = jeton.shards.plan(corpus, place, tok, task_bytes=task_bytes, **OPTIONS)
    outcome = Counter[str]()
    for stage in plan.stages:
        order = [*range(number), *rng.sample(range(number), number // 5)]
        rng.shuffle(order)
        while order:
            failed = []
            for job in order:
                process, pipe = child(
                    lambda _, job=job, stage=stage: void(
                        jeton.shards.run(place, job=(job, number), stage=stage.name, workers=1, progress=False)
                    )
                )
                if rng.random() < 0.15:
                    time.sleep(rng.uniform(0, 0.03))
                    os.kill(process, signal.SIGKILL)
                _, status = os.waitpid(process, 0)
                os.close(pipe)
                outcome["killed" if os.WIFSIGNALED(status) else "failed" if status else "ended"] += 1
                if status:
                    failed.append(job)
            order = failed
    jeton.shards.merge(place)
    found = digest(place)
    print(f"{plan.num_tasks} + {plan.num_shards} tasks, {number} jobs for each stage: {dict(outcome)}")
    print(f"digest {found}, of one run {expected}; verified: {jeton.shards.verify(place, progress=False).is_valid}")
    return found == expected


def main() -> int:
    """Runs the selected mode; returns 1 if the shards differ."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # gives all manifests the same date, because they are compared
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["kills", "jobs"])
    parser.add_argument("--number", type=int, default=180)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--tasks", type=int, help="default: 40 for kills, the number of jobs for jobs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = folder / "rows.jsonl"
        write_corpus(corpus, options.documents)
        tasks = options.tasks or (40 if options.mode == "kills" else options.number)
        task_bytes = -(-corpus.stat().st_size // tasks)
        run = kills if options.mode == "kills" else jobs
        equal = run(options.number, options.seed, folder, corpus, jeton.default(), task_bytes)
    print("equal" if equal else "DIFFERENT")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

"""Runs workers one at a time and reads their results. No worker outlives the benchmark."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .environments import EngineSetup

__all__ = ["Found", "Machinery", "start", "startup_seconds"]

WORKER = Path(__file__).resolve().parent / "worker.py"


@dataclass(frozen=True)
class Found:
    """Result of a worker: figures of each phase, or an error."""

    phases: dict[str, dict[str, Any]]
    version: str = ""
    peak_mib: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class Machinery:
    """Interpreters of the engines, and settings common to all workers."""

    pythons: dict[str, Path]
    setups: dict[str, EngineSetup]
    simd: str | None
    limit: float

    def run(self, engine: str, job: dict[str, Any], threads: int) -> Found:
        """Runs one measurement. A worker that exceeds the time limit is killed, which is its result."""
        setup = self.setups[engine]
        given = {**job, "adapter": setup.adapter, "distribution": setup.distribution, "threads": threads}
        environment = {
            **os.environ,
            "RAYON_NUM_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
            "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        environment.pop("PYTHONPATH", None)
        if engine == "jeton" and self.simd:
            environment["JETON_SIMD"] = self.simd
        worker = subprocess.Popen(
            [self.pythons[engine], WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        try:
            said, complained = worker.communicate(json.dumps(given), timeout=self.limit)
        except subprocess.TimeoutExpired:
            return Found({}, problem=f"not done after {self.limit:.0f} s")
        finally:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
        if worker.returncode < 0:
            return Found({}, problem=f"ended by signal {-worker.returncode}")
        try:
            answer = json.loads(said)
        except ValueError:
            return Found({}, problem=f"ended with {worker.returncode}: {complained.strip()[-300:]}")
        if "phases" not in answer:
            return Found({}, problem=answer.get("unsupported") or answer["failed"])
        return Found(answer["phases"], answer["version"], answer["peak_mib"])


def startup_seconds(python: Path, code: str) -> dict[str, float]:
    """Time of a Python process that runs this code, including startup."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([python, "-c", code], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "wall": wall}


def start(python: Path, code: str) -> dict[str, Any]:
    """Times of a program of `starts`, with modules compiled before, as installed ones are.

    Raises:
        RuntimeError: it failed; with the end of its output.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["RAYON_NUM_THREADS"] = "1"
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=environment)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    *times, digest = json.loads(done.stdout)
    found: dict[str, Any] = {"digest": digest}
    for name, begin, end in zip(("import", "load", "first text"), times[:-1], times[1:], strict=True):
        found[name] = {"cpu": end[0] - begin[0], "wall": end[1] - begin[1]}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return found | {"process": {"cpu": cpu, "wall": wall}}

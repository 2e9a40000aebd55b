"""Fuzzes the code that reads files, encodes and decodes, one target after another, on the stable toolchain.

    python tools/fuzz.py --minutes 60
    python tools/fuzz.py --minutes 5 --target pipeline --seed 7
    python tools/fuzz.py --coverage --minutes 60 --target pipeline

Builds the crate in `fuzz/` and runs each of its targets. Each file format is also read with `jeton.load`
(`fuzz/loaders.py`, which needs Jeton installed). All targets run in processes with limited memory. Prints a table.
Findings are minimized and written to ``fuzz/findings/``, which git ignores. When a finding is fixed, it is moved to
``testdata/fuzz/``, where tests replay it (see ``testdata/fuzz/index.toml``).

With ``--coverage``, libFuzzer runs the same targets and is guided by branch coverage. The build has AddressSanitizer,
debug assertions and overflow checks. Minutes are then CPU time, and `jeton.load` is left out. The corpus of libFuzzer
is in ``fuzz/corpus/``, which git ignores. It starts from the targets' seeds, ``testdata/fuzz/`` and
``testdata/hostile/``, and grows with each run. The build needs Linux, a C++ compiler, and the stable toolchain with
``RUSTC_BOOTSTRAP=1``, which this script sets.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sanitize import instrumented

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 4 << 30
# Target -> weight by which it gets time; other targets have 1. Slow targets with many features have a higher weight.
WEIGHTS = {"pipeline": 6.0, "regex": 1.5, "load-tokenizer_json": 3.0, "load-sentencepiece": 2.0}
# Comparisons are not traced (`-sanitizer-coverage-trace-compares`), since tracing took half of the pipeline's time. The
# dictionaries of `fuzz/src/mutate`, one for each format, supply the values that tracing would find.
COVERAGE = (
    "-Cpasses=sancov-module", "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters", "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cdebug-assertions=yes", "-Coverflow-checks=yes",
)  # fmt: skip
# Target -> maximum bytes of an input for libFuzzer. Long inputs make the pipeline slow, and the generator of this
# target yields at most 24 kB.
LONGEST = {"pipeline": 1 << 14}
# Target -> files of `testdata/hostile/` that it gets as inputs.
HOSTILE = {"hf_json": "*.json", "sentencepiece": "*.model", "ranks": "*.tiktoken", "tekken": "*.tekken"}
LOADERS = ("tokenizer_json", "ranks", "sentencepiece", "tekken", "vocab_txt", "gpt2_pair", "config")


def build(coverage: bool) -> dict[str, Path]:
    """Compiles the fuzzer; returns name of a program -> its path."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "jeton-fuzz", "--message-format", "json"]
    environment = None
    if coverage:
        options, environment = instrumented("address", *COVERAGE)
        command += ["--features", "coverage", *options]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    made = [json.loads(line).get("executable") for line in built.stdout.splitlines()]
    return {Path(path).name: Path(path) for path in made if path}


def limit() -> None:
    """Limits the memory of a run; called in the child process."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def once(command: list[str], target: str, seconds: float, seed: int, findings: Path) -> dict[str, Any]:
    """Runs one process; returns its report, or a finding if the process crashed."""
    options = ["--seconds", str(seconds), "--seed", str(seed), "--findings", str(findings)]
    try:
        done = subprocess.run(
            [*command, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit,
            timeout=seconds + 300, check=False,
        )  # fmt: skip
        code, output = done.returncode, done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired as expired:
        code, output = 124, (expired.stdout or b"").decode("utf-8", "replace")
    lines = output.splitlines()
    print("\n".join(line for line in lines if not line.startswith("{")), end="\n" if len(lines) > 1 else "")
    if code == 0 and lines and lines[-1].startswith("{"):
        return json.loads(lines[-1])  # type: ignore[no-any-return]
    what = f"exit {code}: {lines[-1][:200] if lines else ''}"
    current = findings / "current"
    if current.exists():
        kept = findings / f"{target}-died-{seed}.found"
        current.rename(kept)
        what += f" ({kept})"
    print(f"FINDING {target} {what}")
    return {"executions": 0, "fine": 0, "findings": [what]}


def fuzz(target: str, fuzzer: Path, seconds: float, seed: int) -> dict[str, Any]:
    """Runs a target for a given time, with another seed after each crash."""
    findings = ROOT / "fuzz" / "findings" / target
    findings.mkdir(parents=True, exist_ok=True)
    if target.startswith("load-"):
        script = [sys.executable, str(ROOT / "fuzz" / "loaders.py"), "run", target.removeprefix("load-")]
        command = [*script, "--fuzzer", str(fuzzer)]
    else:
        command = [str(fuzzer), "run", target]
    row: dict[str, Any] = {"target": target, "executions": 0, "fine": 0, "findings": []}
    began = time.monotonic()
    while (left := seconds - (time.monotonic() - began)) > 1 or not row["executions"]:
        part = once(command, target, max(left, 1), seed, findings)
        for name in ("executions", "fine", "findings"):
            row[name] += part[name]
        seed += 1000
        if len(row["findings"]) > 20:
            break
    row["seconds"] = time.monotonic() - began
    return row


def guide(target: str, programs: dict[str, Path], seconds: float, seed: int) -> dict[str, Any]:
    """Runs a target under libFuzzer for `seconds` of CPU time, or until a finding."""
    corpus, findings = ROOT / "fuzz" / "corpus" / target, ROOT / "fuzz" / "findings" / target
    findings.mkdir(parents=True, exist_ok=True)
    if not corpus.exists():
        kept = [*(ROOT / "testdata" / "fuzz").glob(f"{target}/*")]
        if target in HOSTILE:
            kept += (ROOT / "testdata" / "hostile").glob(HOSTILE[target])
        command = [programs["jeton-fuzz"], "seeds", target, "--findings", corpus, "--seed", str(seed), *sorted(kept)]
        subprocess.run(command, check=True)
    row: dict[str, Any] = {"target": target, "executions": 0, "fine": 0, "findings": []}
    log = findings / "libfuzzer.log"
    began = processor_seconds()
    # libFuzzer limits wall time, which is longer than CPU time on a shared machine. So libFuzzer is started again until
    # the CPU time is used up.
    while (left := seconds - (processor_seconds() - began)) > 10 or not row["executions"]:
        options = {
            "max_total_time": max(int(left), 1), "seed": seed, "timeout": 300, "rss_limit_mb": MOST_BYTES >> 20,
            "malloc_limit_mb": 2048, "max_len": LONGEST.get(target, 1 << 16), "artifact_prefix": f"{findings}/",
            "print_final_stats": 1,
        }  # fmt: skip
        command = [programs["coverage"], *(f"-{name}={value}" for name, value in options.items()), corpus]
        print(f"JETON_FUZZ_TARGET={target}", *command, flush=True)
        with log.open("wb") as file:
            done = subprocess.run(command, env={**os.environ, "JETON_FUZZ_TARGET": target}, stderr=file, check=False)
        lines = log.read_text("utf-8", "replace").splitlines()
        row["executions"] += sum(int(line.split()[1]) for line in lines if line.startswith("stat::number_of_executed"))
        if done.returncode:
            row["findings"].append(f"exit {done.returncode}: see {log}")
            print(f"FINDING {target}", *lines[-60:], sep="\n")
            break
        seed += 1
    return {**row, "fine": row["executions"], "seconds": processor_seconds() - began}


def processor_seconds() -> float:
    """Returns the CPU time (user and system) of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Runs the selected targets; returns 1 if there are findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10, help="total time of all targets")
    parser.add_argument("--target", action="append", help="only this target (repeatable)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--coverage", action="store_true", help="use libFuzzer, guided by coverage, with AddressSanitizer"
    )
    parser.add_argument("--list", action="store_true", help="list the targets, and exit")
    arguments = parser.parse_args()
    programs = build(arguments.coverage)
    fuzzer = programs["jeton-fuzz"]
    known = subprocess.run([str(fuzzer), "list"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    if not arguments.coverage:
        known += [f"load-{kind}" for kind in LOADERS]
    if arguments.list:
        print("\n".join(known))
        return 0
    targets = arguments.target or known
    if unknown := set(targets) - set(known):
        parser.error(f"there is no target {', '.join(sorted(unknown))}; targets: {', '.join(known)}")
    weights = {target: WEIGHTS.get(target, 1.0) for target in targets}
    unit = arguments.minutes * 60 / sum(weights.values())
    if arguments.coverage:
        rows = [guide(target, programs, unit * weight, arguments.seed) for target, weight in weights.items()]
    else:
        rows = [fuzz(target, fuzzer, unit * weight, arguments.seed) for target, weight in weights.items()]
    print(f"\n{'target':<22}{'seconds':>9}{'executions':>13}{'a second':>10}{'fine':>12}{'findings':>10}")
    for row in rows:
        speed = row["executions"] / row["seconds"]
        print(
            f"{row['target']:<22}{row['seconds']:>9.0f}{row['executions']:>13,}{speed:>10,.0f}{row['fine']:>12,}{len(row['findings']):>10}"
        )
    minutes, executions = sum(row["seconds"] for row in rows) / 60, sum(row["executions"] for row in rows)
    findings = [what for row in rows for what in row["findings"]]
    print(
        f"\nseed {arguments.seed}: {minutes:.1f} minutes, {executions:,} executions, {len(findings)} kinds of findings"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

"""Fuzzes every reader, encode and decode, one target after the other, on the stable toolchain.

    python tools/fuzz.py --minutes 60
    python tools/fuzz.py --minutes 5 --target pipeline --seed 7

Builds `fuzz/` (a crate of its own, in no wheel), runs each of its targets, and each kind of file through `jeton.load`
(`fuzz/loaders.py`, for which Jeton has to be installed), as processes with limited memory, and prints a table. A
finding is made small and written to ``fuzz/findings/``, which git ignores; one that was worth a repair moves to
``testdata/fuzz/``, where tests replay it for ever (see ``testdata/fuzz/index.toml``).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 4 << 30
# Targets that do more in one run, and have more to find, get more time.
WEIGHTS = {"pipeline": 6.0, "regex": 1.5, "load-tokenizer_json": 3.0, "load-sentencepiece": 2.0}
LOADERS = ("tokenizer_json", "ranks", "sentencepiece", "tekken", "vocab_txt", "gpt2_pair", "config")


def build() -> Path:
    """Compiles the fuzzer; its path."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "jeton-fuzz", "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    made = [json.loads(line).get("executable") for line in built.stdout.splitlines()]
    return next(Path(path) for path in made if path)


def limit() -> None:
    """Memory that a run cannot pass; runs in the child."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def once(command: list[str], target: str, seconds: float, seed: int, findings: Path) -> dict[str, Any]:
    """One process; what it reports, or what is left of it when it died."""
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
    """Runs a target until its time is over, again with another seed where a process died."""
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


def main() -> int:
    """Runs what was asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10, help="for all targets together")
    parser.add_argument("--target", action="append", help="only this one; may be given again")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="the targets")
    arguments = parser.parse_args()
    fuzzer = build()
    known = subprocess.run([str(fuzzer), "list"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    known += [f"load-{kind}" for kind in LOADERS]
    if arguments.list:
        print("\n".join(known))
        return 0
    targets = arguments.target or known
    if unknown := set(targets) - set(known):
        parser.error(f"there is no target {', '.join(sorted(unknown))}; targets: {', '.join(known)}")
    weights = {target: WEIGHTS.get(target, 1.0) for target in targets}
    unit = arguments.minutes * 60 / sum(weights.values())
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

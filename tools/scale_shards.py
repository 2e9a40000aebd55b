"""Simulates the plan and the merge of a corpus of many terabytes; measures time, memory, and sizes of files.

    python tools/scale_shards.py [--terabytes 15] [--tasks 100000] [--files 15000] [--folder /dev/shm]

The inputs and the shards are sparse files of the right sizes, and the completion files are copies of the file of a real
task. So listing, planning, status and merging do the same work as for a real corpus. No text is read. Each step runs in
a process of its own. The folder needs about 1 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jeton
from jeton.shards.folder import ShardFolder
from jeton.shards.sealed import sealed_json, unsealed_json

BYTES_PER_TOKEN = 4.0  # average of the simulated shards
STEPS = {
    "plan": "jeton.shards.plan({inputs!r}, {out!r}, jeton.default(), append_eos=True, task_bytes={task_bytes})",
    "status": "jeton.shards.status({out!r})",
    "merge": "jeton.shards.merge({out!r})",
}


def sparse(path: Path, size: int) -> None:
    """Creates a file of a given size that takes no disk space."""
    with path.open("wb") as file:
        file.truncate(size)


def sample(folder: Path) -> dict[str, object]:
    """Makes shards of a small corpus, and returns the content of the task's completion file."""
    rows = (json.dumps({"text": f"document {number} " * 40}) for number in range(2000))
    (folder / "sample.jsonl").write_text("\n".join(rows))
    jeton.shards.make(
        folder / "sample.jsonl", folder / "sample", jeton.default(), append_eos=True, verify=False, progress=False
    )
    return unsealed_json((folder / "sample" / "done" / "00000.json").read_bytes())


def write_done(out: Path, facts: dict[str, object]) -> int:
    """Writes the completion files and the shards of all tasks; returns the size of one completion file."""
    folder = ShardFolder(out)
    plan = folder.load_plan()
    size = 0
    for task in plan.tasks:
        tokens, stem = int(task.num_bytes / BYTES_PER_TOKEN), folder.stem(task.number)
        sizes = {f"{stem}.bin": 4 * tokens, f"{stem}.idx": 42 + 20 * (task.num_bytes // 4000)}
        paths = [plan.inputs[piece.input].path for piece in task.pieces]
        row = [task.num_bytes // 4000, task.num_bytes, tokens]
        facts |= {
            "task": task.number,
            "identity": plan.identity(task.number),
            "errors": "strict",
            "documents": row[0],
            "bytes": row[1],
            "tokens": tokens,
            "input_bytes": task.num_bytes,
            "outputs": {name: {"bytes": size, "sha256": f"{task.number:064x}"} for name, size in sizes.items()},
            "largest": [[9000 + number, path, 17] for number, path in enumerate(paths * 3)][:3],
            "lines": dict.fromkeys(paths, row[0]),
            "sources": {str(Path(path).parent) + "/": row for path in paths},
        }
        data = sealed_json(json.dumps(facts))
        size = max(size, len(data))
        (out / "done" / f"{task.number:05}.json").write_bytes(data)
        for name, length in sizes.items():
            sparse(out / name, length)
    return size


def main() -> None:
    """Runs the steps, and prints a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terabytes", type=float, default=15)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=15_000)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    total = int(arguments.terabytes * 1e12)
    with tempfile.TemporaryDirectory(prefix="jeton-scale-", dir=arguments.folder) as name:
        top = Path(name)
        inputs, out = top / "corpus", top / "out"
        for number in range(arguments.files):
            folder = inputs / f"source-{number % 20:02}"
            folder.mkdir(parents=True, exist_ok=True)
            sparse(folder / f"part-{number:06}.jsonl", total // arguments.files)
        options = {"inputs": str(inputs), "out": str(out), "task_bytes": -(-total // arguments.tasks)}
        for step, call in STEPS.items():
            if step == "status":
                print(f"a completion has up to {write_done(out, sample(top)):,} bytes", flush=True)
            script = f"import jeton, logging\n{call.format(**options)}"
            subprocess.run([sys.executable, "-c", "import jeton; jeton.default()"], check=True)  # warms caches
            began = time.perf_counter()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", script], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            wall, peak = time.perf_counter() - began, after.ru_maxrss / 1024
            print(f"{step:7} {wall:6.1f} s, {cpu:6.1f} s of processor time, {peak:,.0f} MiB at most so far", flush=True)
        plan = ShardFolder(out).load_plan()
        sizes = ", ".join(f"{path.name} {path.stat().st_size:,} bytes" for path in sorted(out.glob("*.json")))
        print(f"{plan.num_bytes / 1e12:.1f} TB, {len(plan.inputs):,} files, {plan.num_tasks:,} tasks; {sizes}")


if __name__ == "__main__":
    main()

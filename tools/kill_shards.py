"""Kills `jeton.shards.make` at random moments, and compares what the last run completes with an undisturbed run.

    python tools/kill_shards.py [--runner threads|processes|ray] [--kills 180] [--seed 1]

A process with its children is killed (SIGKILL) after a random time and started again, until it ends by itself; then a
new folder begins. With Ray, the driver of a cluster of three nodes on this machine is killed. Prints how many kills
found the folder in which state. The exit code is 4 if a byte differs.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jeton

DIFFERENT = 4
OPTIONS = {"append_eos": True, "task_bytes": 100_000, "join": True, "verify": False, "progress": False}
SCRIPT = """
import sys
import jeton
if __name__ == "__main__":
    corpus, output, runner, address = sys.argv[1:]
    options = {options!r}
    if address:
        options["ray_address"] = address
    jeton.shards.make(corpus, output, jeton.default(), workers=None if address else 2, runner=runner, **options)
"""


def write_corpus(path: Path, rows: int) -> None:
    """Rows of pseudorandom words."""
    rng = random.Random(2)  # noqa: S311
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randrange(1, 9))) for _ in range(2000)]
    lines = (json.dumps({"text": " ".join(rng.choices(words, k=rng.randrange(1, 200)))}) for _ in range(rows))
    path.write_text("\n".join(lines))


@contextmanager
def cluster(runner: str) -> Iterator[str]:
    """Address of a Ray cluster of three nodes; empty for the other runners."""
    if runner != "ray":
        yield ""
        return
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 << 20}
    made = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    for _ in range(2):
        made.add_node(**node)
    made.wait_for_nodes()
    try:
        yield made.address
    finally:
        made.shutdown()


def state(folder: Path) -> str:
    """What a kill interrupted."""
    if not (folder / "plan.json").exists():
        return "before or in plan"
    if (folder / "report.md").exists():
        return "after merge"
    status = jeton.shards.status(folder)
    return "in merge, or between" if status.is_complete else "in run" if status.done else "at the start of run"


def names(folder: Path) -> list[str]:
    """Files that the plan determines."""
    return sorted(path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith("report"))


def main() -> None:
    """Runs, kills and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runner", choices=["threads", "processes", "ray"], default="threads")
    parser.add_argument("--kills", type=int, default=180)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng, kills, folders = random.Random(arguments.seed), Counter[str](), 0  # noqa: S311
    with tempfile.TemporaryDirectory(prefix="jeton-kill-") as name, cluster(arguments.runner) as address:
        top = Path(name)
        write_corpus(top / "rows.jsonl", 3000)
        (top / "make.py").write_text(SCRIPT.format(options=OPTIONS))
        began = time.monotonic()
        command = [sys.executable, top / "make.py", top / "rows.jsonl", top / "whole", arguments.runner, address]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        span = time.monotonic() - began
        while sum(kills.values()) < arguments.kills:
            folder, folders = top / f"out-{folders}", folders + 1
            ended = False
            while not ended:
                command = [sys.executable, top / "make.py", top / "rows.jsonl", folder, arguments.runner, address]
                enough = sum(kills.values()) >= arguments.kills
                with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as process:
                    try:
                        process.wait(None if enough else rng.uniform(0.2, 1.1) * span)
                    except subprocess.TimeoutExpired:
                        kills[state(folder)] += 1
                        os.killpg(process.pid, signal.SIGKILL)
                    ended = process.wait() == 0
            left = [path.name for path in folder.glob(".*.tmp")]
            _, differ, lost = filecmp.cmpfiles(top / "whole", folder, names(top / "whole"), shallow=False)
            if differ or lost or left or names(folder) != names(top / "whole"):
                print(f"{folder.name}: differ {differ}, missing {lost}, temporary files {left}")
                raise SystemExit(DIFFERENT)
            shutil.rmtree(folder)
    found = ", ".join(f"{count} {what}" for what, count in sorted(kills.items()))
    print(f"{arguments.runner}: {sum(kills.values())} kills ({found}); {folders} folders, all with the same bytes")


if __name__ == "__main__":
    main()

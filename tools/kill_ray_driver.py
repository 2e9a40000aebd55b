"""Kills the driver of `jeton.shards.make` on a Ray cluster at random moments, and compares the completed shards.

    python tools/kill_ray_driver.py [--kills 20] [--seed 1]

The cluster has three nodes on this machine. A driver is killed (SIGKILL) after a random time and started again on the
same folder, until it ends by itself. This is repeated with new folders, up to the given number of kills. Prints how
often each step was interrupted. The exit code is 4 if the completed shards differ in any byte from shards made by
threads of this machine. `tools/interrupt_shards.py` does the same for the local runners.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from ray.cluster_utils import Cluster

import jeton

DIFFERENT = 4
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}
OPTIONS = {"append_eos": True, "task_bytes": 30_000, "join": True, "verify": False, "progress": False}
SCRIPT = """
import sys
import jeton
corpus, output, address = sys.argv[1:]
jeton.shards.make(corpus, output, jeton.default(), runner="ray", ray_address=address, **{options!r})
"""


def write_corpus(path: Path, rows: int) -> None:
    """Writes rows of pseudorandom words."""
    rng = random.Random(2)  # noqa: S311
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randrange(1, 9))) for _ in range(2000)]
    lines = (json.dumps({"text": " ".join(rng.choices(words, k=rng.randrange(1, 200)))}) for _ in range(rows))
    path.write_text("\n".join(lines))


def state(folder: Path) -> str:
    """Returns the step that a kill interrupted."""
    if not (folder / "plan.json").exists():
        return "before or in plan"
    if (folder / "report.md").exists():
        return "after merge"
    status = jeton.shards.status(folder)
    return "in merge" if status.is_complete else "in run" if status.done else "at the start of run"


def names(folder: Path) -> list[str]:
    """Returns the names of the files whose content depends only on the plan: all except the report."""
    return sorted(path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith("report"))


def complete(top: Path, folder: Path, address: str, span: float, left: int, rng: random.Random) -> Counter[str]:
    """Runs a driver until it ends by itself, with up to `left` kills; returns how often each step was interrupted."""
    kills = Counter[str]()
    command = [sys.executable, top / "make.py", top / "rows.jsonl", folder, address]
    while True:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(rng.uniform(0.3, 1.05) * span if kills.total() < left else None)
            except subprocess.TimeoutExpired:
                kills[state(folder)] += 1
                process.kill()
            if process.wait() == 0:
                return kills


def main() -> None:
    """Kills drivers, and compares the completed shards."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng, kills, folders = random.Random(arguments.seed), Counter[str](), 0  # noqa: S311
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    with tempfile.TemporaryDirectory(prefix="jeton-kill-") as name:
        top = Path(name)
        write_corpus(top / "rows.jsonl", 2000)
        (top / "make.py").write_text(SCRIPT.format(options=OPTIONS))
        jeton.shards.make(top / "rows.jsonl", top / "whole", jeton.default(), **OPTIONS)
        began = time.monotonic()
        complete(top, top / "first", cluster.address, 0, 0, rng)
        span = time.monotonic() - began
        while kills.total() < arguments.kills:
            folder, folders = top / f"out-{folders}", folders + 1
            kills += complete(top, folder, cluster.address, span, arguments.kills - kills.total(), rng)
            _, differ, lost = filecmp.cmpfiles(top / "whole", folder, names(top / "whole"), shallow=False)
            temporary = [path.name for path in folder.glob(".*.tmp")]
            if differ or lost or temporary or names(folder) != names(top / "whole"):
                print(f"{folder.name}: differ {differ}, missing {lost}, temporary files {temporary}")
                raise SystemExit(DIFFERENT)
            shutil.rmtree(folder)
            print(f"{kills.total()} kills of {folders} folders so far", flush=True)
    cluster.shutdown()
    found = ", ".join(f"{count} {what}" for what, count in sorted(kills.items()))
    print(f"{kills.total()} kills ({found}) of {folders} folders, all with the bytes of the local runner")


if __name__ == "__main__":
    main()

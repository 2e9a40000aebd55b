"""Cost of memory limits: training without a limit, and with limits from the peak memory down to a tenth of it.

``JETON_TEST_DATA=… python benchmarks/memory.py`` trains each rule without a limit, measures its additional peak memory,
then trains with each tenth of it, and replaces ``record/memory-limit.csv`` and ``docs/pictures/memory-limit.svg``. Each
training runs in a new process, and all of a rule must give the same tokenizer. Seconds are CPU time (user and system),
which other load affects little; page faults are minor ones. ``--draw RECORD`` only draws.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from corpora import CORPORA, MEGABYTE, whole_characters
from harness import record

ROOT = Path(__file__).resolve().parent.parent
RULES: dict[str, dict[str, Any]] = {
    "bpe": {},
    "hf": {"preset": "hf"},
    "char": {"level": "char", "pattern": "whitespace"},
}
STYLES = {"bpe": ("#0072B2", "o"), "hf": ("#E69F00", "s"), "char": ("#009E73", "^")}
WORKER = """
import json, re, resource, sys, time
import jeton
path, limit, options = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
jeton.train(["a few words"], 260, progress=False)
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_minflt, time.monotonic()
open("/proc/self/clear_refs", "w").write("5")
before, began = peak(), used()
tok = jeton.train(path, 8000, threads=2, progress=False, limits=jeton.Limits(memory_limit=limit), **options)
cpu, faults, wall = (now - then for now, then in zip(used(), began))
print(json.dumps([cpu, wall, faults, peak() - before, tok.fingerprint]))
"""
COLUMNS = ("rule", "tenths", "limit_bytes", "cpu_seconds", "wall_seconds", "page_faults", "peak_bytes", "fingerprint")


def measure(megabytes: float, rounds: int) -> list[dict[str, Any]]:
    """Measures all rows of the record."""
    folder = os.environ.get("JETON_TEST_DATA")
    if not folder:
        raise SystemExit("set JETON_TEST_DATA to the folder of the corpora")
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "corpus.txt")
        with path.open("wb") as out:
            for name in CORPORA:
                size = int(megabytes * MEGABYTE / len(CORPORA))
                with lzma.open(Path(folder, "corpora", f"{name}.txt.xz")) as file:
                    out.write(whole_characters(file.read(size + 8), size))
        for rule, options in RULES.items():
            need = 0
            for tenths in (None, *range(10, 0, -1)):
                limit = 1 << 40 if tenths is None else max(need * tenths // 10, 1 << 20)
                command = [sys.executable, "-c", WORKER, str(path), json.dumps(limit), json.dumps(options)]
                runs = [json.loads(subprocess.check_output(command)) for _ in range(rounds)]
                cpu, wall, faults, peak, fingerprint = min(runs)
                need = need or peak
                row = (
                    rule,
                    tenths or "",
                    limit if tenths else "",
                    f"{cpu:.3f}",
                    f"{wall:.3f}",
                    faults,
                    peak,
                    fingerprint,
                )
                rows.append(dict(zip(COLUMNS, row, strict=True)))
                print(*row[:-1], flush=True)
            if len({row["fingerprint"] for row in rows if row["rule"] == rule}) != 1:
                raise SystemExit(f"{rule}: a limit changed the tokenizer")
    return rows


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Plots seconds by limit, a line for each rule."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "jeton", "font.size": 10})
    figure, axes = plt.subplots(figsize=(7, 4))
    for rule, (color, marker) in STYLES.items():
        own = [row for row in rows if row["rule"] == rule]
        need = int(own[0]["peak_bytes"]) / MEGABYTE
        seconds = [float(row["cpu_seconds"]) for row in own]
        axes.plot(range(len(own)), seconds, color=color, marker=marker, label=f"{rule} (need {need:.0f} MB)")
    axes.set_xticks(range(11), ["none", *(f"{tenth / 10:.1f}" for tenth in range(10, 0, -1))])
    axes.set_xlabel("memory_limit, as a share of the need")
    axes.set_ylabel("processor seconds")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=9.0)
    parser.add_argument("--rounds", type=int, default=3, help="number of runs, of which the fastest is used")
    parser.add_argument("--draw", type=Path, metavar="RECORD", help="only draw this record")
    parser.add_argument("--output", type=Path, help="output file (default: replace the record)")
    asked = parser.parse_args()
    path = asked.draw
    if path is None:
        path = asked.output or record.destination("memory-limit", complete=True)
        record.write(path, COLUMNS, measure(asked.megabytes, asked.rounds))
    with path.open(encoding="utf-8", newline="") as file:
        draw(list(csv.DictReader(file)), ROOT / "docs" / "pictures" / "memory-limit.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Cost of memory limits: training without a limit, and with limits from the peak memory down to a tenth of it.

``JETON_TEST_DATA=… python benchmarks/memory.py`` trains each case without a limit, measures its additional peak memory,
then trains with each tenth of it, and replaces ``record/memory-limit.csv`` and ``docs/pictures/memory-limit.svg``. Each
training runs in a new process, and all of a case must give the same tokenizer. Seconds are CPU time (user and system),
which other load affects little; page faults are minor ones; written bytes are those that were sent to the disk.
``--cases`` measures some cases and updates their rows. ``--draw RECORD`` only draws.

The corpora have 172 MB. Larger ones repeat them, with the letters of three tenths of all files replaced by others of
the same kind, differently in each repetition, so that the number of distinct pretokens grows as in new text.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from corpora import CORPORA, MEGABYTE, corpus, whole_characters
from harness import record

ROOT = Path(__file__).resolve().parent.parent
FILE_CHARACTERS = 400_000
NEW_FILES = 0.3


class Case(NamedTuple):
    """One line of the plot."""

    megabytes: int
    vocab_size: int
    options: dict[str, Any]
    color: str
    marker: str


CASES = {
    "bpe": Case(9, 8_000, {}, "#0072B2", "o"),
    "hf": Case(9, 8_000, {"preset": "hf"}, "#E69F00", "s"),
    "char": Case(9, 8_000, {"level": "char", "pattern": "whitespace"}, "#009E73", "^"),
    "bpe 72 MB": Case(72, 32_000, {}, "#CC79A7", "D"),
    "bpe 574 MB": Case(574, 32_000, {}, "#D55E00", "v"),
}
WORKER = """
import json, re, resource, sys, time
import jeton
path, limit, size, options = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
jeton.train(["a few words"], 260, progress=False)
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    written = int(re.search(r"\\nwrite_bytes:\\s+(\\d+)", open("/proc/self/io").read())[1])
    return usage.ru_utime + usage.ru_stime, usage.ru_minflt, written, time.monotonic()
open("/proc/self/clear_refs", "w").write("5")
before, began = peak(), used()
tok = jeton.train(path, size, threads=2, progress=False, limits=jeton.Limits(memory_limit=limit), **options)
cpu, faults, written, wall = (now - then for now, then in zip(used(), began))
print(json.dumps([cpu, wall, faults, written, peak() - before, tok.fingerprint]))
"""
COLUMNS = (
    "case",
    "tenths",
    "limit_bytes",
    "cpu_seconds",
    "wall_seconds",
    "page_faults",
    "written_bytes",
    "peak_bytes",
    "fingerprint",
)


def write_corpus(folder: Path, megabytes: int) -> None:
    """Writes a corpus in files of about a megabyte, the four kinds of text in turns."""
    texts = [corpus(name, megabytes * MEGABYTE).decode("utf-8", "ignore") for name in CORPORA]
    pieces = [[text[at : at + FILE_CHARACTERS] for at in range(0, len(text), FILE_CHARACTERS)] for text in texts]
    if megabytes * MEGABYTE < sum(len(text) for text in texts) // 4:  # the beginning of each
        size = megabytes * MEGABYTE // len(CORPORA)
        pieces = [[whole_characters(text[:size].encode(), size).decode()] for text in texts]
    turns = sorted((at / len(own), kind, at) for kind, own in enumerate(pieces) for at in range(len(own)))
    alike: dict[tuple[int, bool, bool, int], list[str]] = {}
    for letter in sorted({letter for text in texts for letter in set(text) if letter.isalpha()}):
        key = (len(letter.encode()), letter.lower() in "aeiou", letter.isupper(), ord(letter) >> 8)
        alike.setdefault(key, []).append(letter)
    left, number = megabytes * MEGABYTE, count()
    for repetition in count():
        rng, table = random.Random(repetition), {}
        for letters in alike.values():
            table.update(zip(map(ord, letters), rng.sample(letters, len(letters)), strict=True))
        for _, kind, at in turns:
            text = pieces[kind][at]
            if repetition and rng.random() < NEW_FILES:
                text = text.translate(table)
            data = whole_characters(text.encode(), left)
            (folder / f"{next(number):05}.txt").write_bytes(data)
            left -= len(data)
            if left < 4:  # less than a character
                return


def measure(name: str, rounds: int) -> list[dict[str, Any]]:
    """Measures the rows of a case."""
    rows = []
    case = CASES[name]
    with tempfile.TemporaryDirectory() as temporary:
        write_corpus(Path(temporary), case.megabytes)
        need = 0
        for tenths in (None, *range(10, 0, -1)):
            limit = 1 << 40 if tenths is None else max(need * tenths // 10, 1 << 20)
            command = [sys.executable, "-c", WORKER, temporary, json.dumps(limit), str(case.vocab_size)]
            command.append(json.dumps(case.options))
            runs = [json.loads(subprocess.check_output(command)) for _ in range(rounds)]
            cpu, wall, faults, written, peak, fingerprint = min(runs)
            need = need or peak
            times = (f"{cpu:.3f}", f"{wall:.3f}")
            row = (name, tenths or "", limit if tenths else "", *times, faults, written, peak, fingerprint)
            rows.append(dict(zip(COLUMNS, row, strict=True)))
            print(*row[:-1], flush=True)
    if len({row["fingerprint"] for row in rows}) != 1:
        raise SystemExit(f"{name}: a limit changed the tokenizer")
    return rows


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Plots processor time, as a multiple of that without a limit, and memory, as a multiple of the limit."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "jeton", "font.size": 10})
    figure, (times, memory) = plt.subplots(1, 2, figsize=(10, 4))
    for name, case in CASES.items():
        own = [row for row in rows if row["case"] == name]
        if not own:
            continue
        need, seconds = int(own[0]["peak_bytes"]), float(own[0]["cpu_seconds"])
        factors = [float(row["cpu_seconds"]) / seconds for row in own]
        label = f"{name} (need {need / MEGABYTE:.0f} MB, {seconds:.1f} s)"
        times.plot(range(len(own)), factors, color=case.color, marker=case.marker, label=label)
        peaks = [int(row["peak_bytes"]) / need for row in own]
        memory.plot(range(len(own)), peaks, color=case.color, marker=case.marker)
    memory.plot(
        range(1, 11), [tenth / 10 for tenth in range(10, 0, -1)], color="#888888", linestyle="--", label="limit"
    )
    times.set_ylabel("processor time / without a limit")
    memory.set_ylabel("peak memory / need")
    for axes in (times, memory):
        axes.set_xticks(range(11), ["none", *(f"{tenth / 10:.1f}" for tenth in range(10, 0, -1))])
        axes.set_xlabel("memory_limit / need")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color="#dddddd")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=1, help="number of runs, of which the fastest is used")
    parser.add_argument("--draw", type=Path, metavar="RECORD", help="only draw this record")
    parser.add_argument("--output", type=Path, help="output file (default: replace the record)")
    asked = parser.parse_args()
    path = asked.draw
    if path is None:
        if not os.environ.get("JETON_TEST_DATA"):
            raise SystemExit("set JETON_TEST_DATA to the folder of the corpora")
        path = asked.output or record.destination("memory-limit", complete=True)
        for name in asked.cases:
            rows = measure(name, asked.rounds)
            if (len(asked.cases) == len(CASES) and name == asked.cases[0]) or not path.exists():
                record.write(path, COLUMNS, rows)
            else:
                record.update(path, COLUMNS, rows, order=list(CASES))
    with path.open(encoding="utf-8", newline="") as file:
        draw(list(csv.DictReader(file)), ROOT / "docs" / "pictures" / "memory-limit.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())

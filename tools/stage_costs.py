"""Measures instructions and cache misses of each stage of encoding, with valgrind's simulator.

``JETON_TEST_DATA=… python tools/stage_costs.py LABEL=FOLDER… --output costs.csv`` measures builds of Jeton. Each folder
has ``jeton`` with an extension module that was not stripped: ``CARGO_PROFILE_RELEASE_STRIP=none cargo build --release
-p jeton-python``, copied to ``jeton/_core.abi3.so``. Jeton's dependencies must be installed for the interpreter.

Callgrind counts instructions and simulates two levels of caches; the last level gets the geometry of L2. It does not
support AVX-512, so the AVX2 path runs. The simulated caches have no prefetcher. A software prefetch does not count as
an access; the miss is counted at the load that follows it. The number of misses is therefore the number of cache lines
that are fetched, and does not show the time spent waiting for them.

Costs are attributed by instruction. The address of an instruction has one or more frames: a function, and the functions
that are inlined there. The innermost frame in a source file of Jeton gives the file and function that `STAGES` maps to
a stage. Instructions without such a frame, for example those of libc and Python, get the stage `OTHER`.

Needs valgrind and llvm-symbolizer.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

GEOMETRIES = {  # L1d cache and last-level cache, each as (size in bytes, number of ways, line size in bytes)
    "32 KiB/1 MiB": ("32768,8,64", "1048576,8,64"),  # as in Zen 4
    "48 KiB/2 MiB": ("49152,12,64", "2097152,16,64"),  # as in Golden Cove
}
TEXTS = ("english", "code", "chinese", "languages")
PHASES = ("unseen", "again")
VOCABULARIES = ("cl100k_base.tiktoken", "o200k_base.tiktoken")
BYTES = 600_000  # bytes of each half of a text
MEASURED = "*__pymethod_encode_batch__*"

# (file, function) -> stage; the first match is used. Some names are from earlier versions.
STAGES = [
    (r"pretokenize/|regex/", "", "pretoken starts"),
    (r"util/simd/block|simd/block", "", "pretoken starts"),
    (r"encode/(batch)\.rs", r"make_keys", "keys"),
    (r"encode/(batch)\.rs", r"probe_cache|look_again", "pretoken cache"),
    (r"encode/(batch)\.rs", r"probe|look|no_ids", "token table"),
    (r"encode/(batch)\.rs", r"write", "writing ids"),
    (
        r"encode/(pretoken_cache|hot)\.rs",
        r"put|allocate|close_gap|make_room|grow|keep_size|stay",
        "inserting into caches",
    ),
    (r"encode/(pretoken_cache|hot)\.rs", "", "pretoken cache"),
    (r"encode/(long_pretoken_cache|memo)\.rs", r"put|append_to_ring|lay|grow|keep_size|stay", "inserting into caches"),
    (r"encode/(long_pretoken_cache|memo|caches)\.rs", "", "caches of long pretokens"),
    (r"encode/(token_table|words)\.rs", r"new|of$|hash", "keys"),
    (r"encode/(token_table|words)\.rs", r"put|remove|double", "inserting into caches"),
    (r"encode/(token_table|words)\.rs", "", "token table"),
    (r"util/short_key|short_key", "", "keys"),
    (r"encode/mod\.rs", r"write|append", "writing ids"),
    (r"encode/", "", "boundaries and control"),
    (r"model/|vocab/", "", "merging"),
    (r"util/(utf8|text)|/utf8\.rs|simdutf8|jeton-python/src/arguments|texts?\.rs", "", "UTF-8 in"),
    (r"crates/jeton", "", "boundaries and control"),
]
OTHER = "libc and Python"
COLUMNS = (
    "date",
    "processor",
    "build",
    "vocabulary",
    "text",
    "phase",
    "caches",
    "stage",
    "instructions_per_byte",
    "l1_misses_per_kb",
    "l2_misses_per_kb",
)

DRIVER = """
import sys
import jeton
vocabulary, phase, first, second = sys.argv[1:]
size = 2_000
halves = [open(path, encoding="utf-8").read() for path in (first, second)]
halves = [[half[at : at + size] for at in range(0, len(half), size)] for half in halves]
tok = jeton.load(vocabulary)
for doc in halves[0] if phase == "unseen" else halves[0] + halves[1]:
    tok.encode_array(doc, threads=1)  # another function than the one whose costs are collected
tok.encode_batch(halves[1], threads=1)
"""


def halves(name: str, size: int) -> tuple[str, str]:
    """Returns two consecutive texts of about `size` bytes; for ``languages``, each has a part from every language."""
    data = Path(os.environ["JETON_TEST_DATA"])
    if name == "languages":
        texts = [path.read_text("utf-8", "ignore") for path in sorted((data / "udhr").glob("*.txt"))]
        share = size // len(texts)
        cut = [[text.encode()[at : at + share].decode("utf-8", "ignore") for at in (0, share)] for text in texts]
        joined = ["".join(half) for half in zip(*cut, strict=True)]
    else:
        raw = lzma.decompress((data / "corpora" / f"{name}.txt.xz").read_bytes())
        start = len(raw) // 2
        joined = [raw[at : at + size].decode("utf-8", "ignore") for at in (start, start + size)]
    first, second = (half.encode()[:size].decode("utf-8", "ignore") for half in joined)
    return first, second


def simulate(packages: Path, arguments: list[str], geometry: tuple[str, str], output: Path) -> None:
    """Runs the driver under callgrind."""
    command = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--cache-sim=yes", f"--D1={geometry[0]}"]
    command += [f"--LL={geometry[1]}", "--collect-atstart=no", f"--toggle-collect={MEASURED}"]
    command += ["--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={output}"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(packages),
        "JETON_SIMD": "avx2",
        "JETON_TABLES": "always",
        "PYTHONHASHSEED": "0",
    }
    command += [sys.executable, "-c", DRIVER, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:8])} …: {done.stderr[-2000:]}")


def costs(dump: Path) -> Iterator[tuple[str, int, tuple[int, int, int]]]:
    """Yields object file, address and (instructions, L1 misses of data, L2 misses of data) from a dump."""
    events: list[str] = []
    binary, after_call = "", False
    with dump.open() as lines:
        for line in lines:
            if line.startswith("events:"):
                events = line.split()[1:]
            elif line.startswith("ob="):
                binary = line[3:].strip()
            elif line.startswith("calls="):
                after_call = True
            elif line[:2] == "0x":
                if not after_call:  # the line after `calls=` has the inclusive costs of the called function
                    address, _, *values = line.split()
                    cost = dict(zip(events, map(int, values), strict=False))
                    misses = [cost.get(f"{level}mr", 0) + cost.get(f"{level}mw", 0) for level in ("D1", "DL")]
                    yield binary, int(address, 16), (cost.get("Ir", 0), misses[0], misses[1])
                after_call = False


def stages_of(library: Path, addresses: list[int]) -> dict[int, str]:
    """Returns the stage of each address."""
    command = ["llvm-symbolizer", f"--obj={library}", "--output-style=JSON", "--inlines"]
    done = subprocess.run(command, input="\n".join(map(hex, addresses)), capture_output=True, text=True, check=True)
    found = {}
    for line, address in zip(done.stdout.splitlines(), addresses, strict=True):
        frames = json.loads(line)["Symbol"]
        own = [frame for frame in frames if "crates/jeton" in frame["FileName"]]
        found[address] = stage(own[0]["FileName"], own[0]["FunctionName"]) if own else OTHER
    return found


def stage(file: str, function: str) -> str:
    """Returns the stage of a function."""
    name = re.sub(r"(<[^<>]*>)+", "", function).rsplit("::", 1)[-1]
    for of_file, of_function, found in STAGES:
        if re.search(of_file, file) and re.search(f"^({of_function})" if of_function else "", name):
            return found
    return OTHER


def measure(packages: Path, cell: tuple[str, str, str, str], size: int) -> dict[str, list[float]]:
    """Measures a cell (vocabulary, text, phase, caches).

    Returns:
        Stage -> instructions per byte, L1 misses per KB, and L2 misses per KB.
    """
    vocabulary, text, phase, caches = cell
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, str(half)) for half in range(2)]
        for path, half in zip(paths, halves(text, size), strict=True):
            path.write_text(half, "utf-8")
        dump = Path(folder, "dump")
        source = Path(os.environ["JETON_TEST_DATA"], "vocabs", vocabulary)
        simulate(packages, [str(source), phase, *map(str, paths)], GEOMETRIES[caches], dump)
        return by_stage(dump, next((packages / "jeton").glob("_core*.so")), paths[1].stat().st_size)


def by_stage(dump: Path, library: Path, num_bytes: int) -> dict[str, list[float]]:
    """Returns stage -> instructions per byte of text, L1 data misses per KB, and L2 data misses per KB."""
    by_address: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    outside = [0, 0, 0]
    for binary, address, cost in costs(dump):
        target = by_address[address] if binary.endswith(library.name) else outside
        for kind in range(3):
            target[kind] += cost[kind]
    stages = stages_of(library, sorted(by_address))
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for found, each in [*((stages[address], cost) for address, cost in by_address.items()), (OTHER, outside)]:
        for kind in range(3):
            sums[found][kind] += each[kind] / num_bytes * (1 if kind == 0 else 1000)
    sums["all"] = [sum(row[kind] for row in sums.values()) for kind in range(3)]
    return dict(sums)


def tables(record: Path) -> str:
    """Returns the Markdown tables of a record, one for each vocabulary, text, phase and geometry."""
    cells: dict[tuple[str, ...], dict[str, dict[str, list[str]]]] = defaultdict(lambda: defaultdict(dict))
    with record.open(newline="") as file:
        for row in csv.DictReader(file):
            values = [f"{float(row[column]):.1f}" for column in COLUMNS[-3:]]
            cells[tuple(row[column] for column in COLUMNS[3:7])][row["stage"]][row["build"]] = values
    lines = []
    for cell, by_stage in cells.items():
        builds = list(dict.fromkeys(build for values in by_stage.values() for build in values))
        units = ("instructions per byte", "L1 misses per KB", "L2 misses per KB")
        lines += [
            ", ".join(cell),
            "",
            "| stage | " + " | ".join(f"{unit}, {build}" for unit in units for build in builds) + " |",
            "|---|" + "---:|" * (3 * len(builds)),
        ]
        for name, by_build in by_stage.items():
            figures = [by_build.get(build, ["–"] * 3)[kind] for kind in range(3) for build in builds]
            lines.append(f"| {name} | " + " | ".join(figures) + " |")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("builds", nargs="*", metavar="LABEL=FOLDER")
    parser.add_argument("--texts", nargs="+", default=TEXTS, choices=TEXTS)
    parser.add_argument("--vocabularies", nargs="+", default=VOCABULARIES)
    parser.add_argument("--caches", nargs="+", default=list(GEOMETRIES), choices=list(GEOMETRIES))
    parser.add_argument("--bytes", type=int, default=BYTES, help="of the measured text")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at a time")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--tables", action="store_true", help="print tables of --output, and measure nothing")
    asked = parser.parse_args()
    if asked.tables:
        print(tables(asked.output))
        return 0
    cells = list(product(asked.vocabularies, asked.texts, PHASES, asked.caches))
    runs = list(product(cells, asked.builds))

    def run(job: tuple[tuple[str, str, str, str], str]) -> dict[str, list[float]]:
        return measure(Path(job[1].partition("=")[2]).resolve(), job[0], asked.bytes)

    with asked.output.open("w", newline="") as file, ThreadPoolExecutor(asked.jobs) as pool:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for (cell, build), rows in zip(runs, pool.map(run, runs), strict=True):
            facts = (build.partition("=")[0], cell[0].split(".")[0], *cell[1:])
            stamp = (datetime.datetime.now(datetime.UTC).date().isoformat(), "callgrind, AVX2")
            for name, row in sorted(rows.items(), key=lambda item: -item[1][0]):
                writer.writerow([*stamp, *facts, name, *(f"{value:.3f}" for value in row)])
            print(*facts, *(f"{value:.2f}" for value in rows["all"]), flush=True)
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

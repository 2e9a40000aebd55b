"""Encoding speed and memory of Jeton and its peers, on unseen text, with equal ids.

``JETON_TEST_DATA=… python benchmarks/encoding.py`` runs all cases, prints a table with figures and targets,
and replaces ``record/encoding.csv``. Each measurement is a process in the engine's environment (environments.toml).
Compared engines alternate in rounds, and medians are reported. All ids are compared in every round: if they differ, the
first difference is printed instead of times, the other cases continue, and the exit code is 4.

``--load`` measures beside a neighbor on each core that keeps the memory busy (harness/load.py). ``--held-out`` measures
the ranges of the corpora that other runs leave out, and that were not used for tuning.

Left out: training (training.py), pictures (pictures.py).
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora import CORPORA
from harness import record, report
from harness.cases import Case, cases
from harness.environments import JETON, engines, interpreter
from harness.load import neighbors
from harness.measure import Machinery
from harness.summary import summary
from harness.targets import Conditions
from harness.texts import Texts
from harness.turns import Bench, Different
from harness.vocabularies import Vocabularies

DIFFERENT, FAILED, INTERRUPTED = 4, 1, 130
MEGABYTES = 20.0


def main() -> int:
    options, parser = arguments()
    models = {path.stem: path for path in sorted(options.models.glob("*.json"))} if options.models else {}
    everything = cases(options.threads, os.cpu_count() or 1, models)
    chosen = [trimmed for case in everything if (trimmed := trim(case, options))]
    if not chosen:
        parser.error("no case is left; --list shows their names")
    if options.summary:
        print(*summary(read_record(options.summary)), sep="\n")
        return 0
    if options.list:
        print(*(f"{case.name}: {', '.join(turn.name for turn in case.turns)}" for case in chosen), sep="\n")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM also ends the worker
    data = os.environ.get("JETON_TEST_DATA")
    if not data:
        parser.error("set JETON_TEST_DATA to the folder that holds vocabs/, corpora/ and udhr/")
    wanted = {turn.engine for case in chosen for turn in case.turns}
    setups = engines()
    try:
        pythons = {name: interpreter(setups[name], options.environments) for name in setups if name in wanted}
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return FAILED
    complete = not (options.only or options.engines or options.models) and options.megabytes == MEGABYTES
    conditions = [options.simd, "load" if options.load else None, "held-out" if options.held_out else None]
    name = "-".join(filter(None, ["encoding", *conditions]))
    output = options.output or record.destination(name, complete=complete)
    partial = output.with_name(output.name + ".partial")
    earlier = read_record(partial) if options.resume and partial.exists() else []
    done = {row["case"] for row in earlier}
    chosen = [case for case in chosen if case.name not in done]
    with tempfile.TemporaryDirectory(prefix="jeton-bench-") as name:
        folder = Path(name)
        texts = Texts(Path(data), folder, options.megabytes, held_out=options.held_out)
        machinery = Machinery(pythons, setups, options.simd, options.limit)
        bench = Bench(machinery, texts, Vocabularies(Path(data), folder, models), options.rounds)
        bench.total = sum(len(case.turns) * bench.rounds_of(case) for case in chosen)
        try:
            with neighbors(os.cpu_count() or 1 if options.load else 0):
                code = run(bench, chosen, options, partial, earlier)
        except KeyboardInterrupt:
            print(f"\ninterrupted; results are in {partial}, and --resume continues", file=sys.stderr)
            return INTERRUPTED
    partial.replace(output)
    print(f"\nrecorded in {output}")
    return code


def run(
    bench: Bench, chosen: list[Case], options: argparse.Namespace, output: Path, earlier: list[dict[str, Any]]
) -> int:
    """Runs the cases; prints and records each when it is done. Cases in `earlier` are not repeated."""
    different: list[str] = []
    failed: list[str] = []
    rows = list(earlier)
    with open(output, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*record.STAMP, "megabytes", "held_out", *report.COLUMNS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(earlier)
        for case in chosen:
            try:
                results = bench.take_turns(case)
            except Different as difference:
                different.append(str(difference))
                print(f"\n{difference}\n  so no times", flush=True)
                continue
            threads = "" if case.row == "threads" else f"{options.threads} thread{'s' * (options.threads > 1)}, "
            note = f"{threads}{bench.rounds_of(case)} round{'s' * (bench.rounds_of(case) > 1)}"
            note += ", neighbors on all cores" * options.load + ", held-out text" * options.held_out
            conditions = Conditions(options.simd, options.load)
            print(*report.table(case, results, conditions, note), sep="\n", flush=True)
            failed += [f"{case.name}: {why}" for who, why in report.problems(results).items() if who.startswith(JETON)]
            common = {**record.stamp(), "megabytes": options.megabytes, "held_out": options.held_out}
            found = [{**common, **row} for row in report.rows(case, results, conditions)]
            rows += found
            writer.writerows(found)
            file.flush()
    print(*summary(rows), sep="\n")
    for title, lines in (("failed", failed), ("different", different)):
        if lines:
            print(f"{title}:", *lines, sep="\n  ")
    return DIFFERENT if different else FAILED if failed else 0


def read_record(path: Path) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def trim(case: Case, options: argparse.Namespace) -> Case | None:
    """Reduces a case to the selected engines; None if it is not selected."""
    if options.only and not any(part in case.name for part in options.only):
        return None
    if options.held_out and (case.text not in CORPORA or "halves" not in case.turns[0].text):
        return None
    turns = tuple(turn for turn in case.turns if not options.engines or turn.engine in options.engines)
    return replace(case, turns=turns) if turns else None


def arguments() -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases whose name contains one of these")
    parser.add_argument(
        "--engines", nargs="+", metavar="NAME", choices=list(engines()), help="engines to run (default: all)"
    )
    parser.add_argument(
        "--models", type=Path, metavar="FOLDER", help="adds a case for each tokenizer.json, as NAME.json"
    )
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds")
    parser.add_argument("--megabytes", type=float, default=MEGABYTES, help="size of each corpus; records have 20")
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="number of threads of all engines, except in cases that compare numbers of threads",
    )
    parser.add_argument("--simd", choices=("avx512", "avx2", "portable"), help="maximum instruction set of Jeton")
    parser.add_argument("--load", action="store_true", help="beside a process on each core that copies memory")
    parser.add_argument("--held-out", action="store_true", help="ranges of the corpora that other runs leave out")
    parser.add_argument("--limit", type=float, default=300.0, help="timeout of a measurement in seconds")
    parser.add_argument("--output", type=Path, help="output file (default: a complete run replaces its record)")
    default = Path.home() / ".cache" / "jeton-bench"
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run")
    parser.add_argument("--environments", type=Path, default=default, help="folder of the virtual environments")
    parser.add_argument("--summary", type=Path, metavar="RECORD", help="print the table of an earlier run, and exit")
    parser.add_argument("--list", action="store_true", help="list the cases, and exit")
    return parser.parse_args(), parser


if __name__ == "__main__":
    sys.exit(main())

"""Records of benchmarks: one CSV file each in ``benchmarks/record/``, which a complete run replaces.

Each row has the day and the processor it was measured on. A run of some cases, some engines or a part of the corpora
is not a record; it is written to ``target/benchmarks/``, which git ignores, unless ``--output`` names a file.
"""

from __future__ import annotations

import csv
import datetime
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "benchmarks" / "record"
STAMP = ("date", "processor")


def destination(name: str, *, complete: bool) -> Path:
    """Returns the default output file of a run."""
    folder = RECORDS if complete else ROOT / "target" / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.csv"


def stamp() -> dict[str, str]:
    """Returns the columns `STAMP` of rows measured now."""
    return {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "processor": processor()}


def processor() -> str:
    """Returns the processor's name, its widest vector instructions and the number of usable threads."""
    facts: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            facts.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    name = facts.get("model name") or platform.processor() or platform.machine()
    flags = facts.get("flags", "").split()
    vectors = next((label for flag, label in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    return ", ".join(filter(None, (name, vectors, f"{os.cpu_count()} threads")))


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows, each with its stamp."""
    now = stamp()
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*STAMP, *columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**now, **row} for row in rows)


def update(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, order: Sequence[str]) -> None:
    """Replaces the rows of a record whose first column is that of one of `rows`; others keep their stamp.

    Args:
        path: the record.
        columns: its columns without the stamp.
        rows: the new rows.
        order: values of the first column, in the order of the record.
    """
    key, now = columns[0], stamp()
    with open(path, encoding="utf-8", newline="") as file:
        old = list(csv.DictReader(file))
    new = {row[key] for row in rows}
    merged = [*(row for row in old if row[key] not in new), *({**now, **row} for row in rows)]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*STAMP, *columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(merged, key=lambda row: order.index(row[key])))

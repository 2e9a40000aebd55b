"""Summary of a record by the table of targets: number of figures in each row, and the lowest."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["summary"]

RISING = ("faster", "threads")
TOLD = {
    "faster": "× best peer",
    "share": "of the peer's time",
    "at most": "itself",
    "threads": "× one thread",
    "linear": "× per MB at 1 MB",
}


def summary(record: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each row and phase, then all figures that miss their bound."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in record:
        if row.get("ratio"):
            groups.setdefault((row["row"], row["phase"], row["comparison"]), []).append(row)
    yield ""
    yield f"{'':<28}{'figures':>8}{'least good':>12}{'median':>9}{'best':>9}{'at least':>10}{'goal':>7}{'under':>7}"
    for (name, phase, kind), rows in groups.items():
        bounded = [row for row in rows if row["verdict"]] or rows
        values = sorted((float(row["ratio"]) for row in bounded), reverse=kind not in RISING)
        middle = statistics.median(values)
        least, goal = bounded[0].get("at_least", ""), bounded[0].get("goal", "")
        under = sum(row["verdict"] == "UNDER" for row in bounded) if bounded[0]["verdict"] else ""
        yield (
            f"{name + ', ' + phase if phase != name else name:<28}{len(values):>8}{values[0]:>12.2f}{middle:>9.2f}"
            f"{values[-1]:>9.2f}{least:>10}{goal:>7}{under:>7}  {TOLD[kind]}"
        )
    under_all = [row for rows in groups.values() for row in rows if row["verdict"] == "UNDER"]
    if under_all:
        yield ""
        yield f"under what has to be reached, {len(under_all)}:"
    for row in under_all:
        rival = f" {row['compared_with']}" if row["compared_with"] else ""
        yield f"  {row['case']}, {row['phase']}: {float(row['ratio']):.2f}{rival}, has to be {row['at_least']}"

"""Converts results to figures, comparisons, a table and rows of the record."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .cases import Case, Turn
from .environments import JETON
from .measure import Found
from .targets import Conditions, Target, target

__all__ = ["COLUMNS", "Judged", "Results", "judged", "problems", "rows", "table"]

Results = dict[Turn, list[Found]]  # rounds, in order

COLUMNS = (
    *(
        "case",
        "row",
        "vocab",
        "text",
        "engine",
        "version",
        "label",
        "threads",
        "simd",
        "load",
        "phase",
        "rounds",
        "bytes",
    ),
    *("ids", "digest", "unit", "clock", "median", "fastest", "slowest", "cpu_seconds", "wall_seconds", "peak_mib"),
    *("compared_with", "comparison", "ratio", "at_least", "goal", "verdict", "problem"),
)


@dataclass(frozen=True)
class Judged:
    """A figure of Jeton with the figures it is compared with."""

    turn: Turn
    phase: str
    rival: str
    bound: Target
    value: float

    @property
    def verdict(self) -> str:
        return self.bound.verdict(self.value)

    def __str__(self) -> str:
        told = {
            "faster": f"{self.value:.2f} × {self.rival}",
            "share": f"{self.value:.2f} of {self.rival}'s time",
            "at most": f"{self.value:.1f}",
            "threads": f"{self.value:.2f} × one thread",
            "linear": f"{self.value:.2f} × the time per MB of {self.rival}",
        }[self.bound.kind]
        name = f"{self.phase}, {self.turn.label}" if self.turn.label else self.phase
        if self.bound.least is None:
            return f"{name}: {told}"
        sign = "≥" if self.bound.kind in ("faster", "threads") else "≤"
        return f"{name}: {told}; at least {sign} {self.bound.least:g}, goal {sign} {self.bound.goal:g}: {self.verdict}"


# ── figures ───────────────────────────────────────────────────────────────────────────────────────────────────────


def figures(case: Case, rounds: list[Found], phase: str) -> list[float]:
    return [figure(case, found.phases[phase]) for found in rounds if phase in found.phases]


def figure(case: Case, facts: dict[str, Any]) -> float:
    seconds = facts[case.clock]
    if case.unit == "MB/s":
        return float(facts["bytes"] / 1e6 / max(seconds, 1e-9))
    if case.unit == "ms/MB":
        return float(seconds * 1e3 / (facts["bytes"] / 1e6))
    if case.unit == "µs":
        return float(seconds * 1e6 / facts["calls"])
    return float(facts["growth_mib"] if case.unit == "MiB" else seconds * 1e3)


def phases(results: Results) -> list[str]:
    return list(dict.fromkeys(phase for rounds in results.values() for found in rounds for phase in found.phases))


def judged(case: Case, results: Results, conditions: Conditions) -> Iterator[Judged]:
    """All figures of Jeton that can be compared."""
    median = {
        (turn, phase): statistics.median(values)
        for turn, rounds in results.items()
        for phase in phases(results)
        if (values := figures(case, rounds, phase))
    }
    rising = case.unit == "MB/s"
    for (turn, phase), ours in median.items():
        if turn.engine != JETON:
            continue
        bound = target(case.row, phase, conditions)
        first = next(other for other in case.turns if other.engine == JETON)
        if bound.kind == "at most":
            yield Judged(turn, phase, "", bound, ours)
        elif bound.kind == "linear":
            if turn is case.turns[-1] and (first, phase) in median:
                yield Judged(turn, phase, first.label, bound, ours / median[first, phase])
        elif bound.kind == "threads":
            if turn is not first and (first, phase) in median:
                asked = bound if turn.threads == 2 else Target(bound.kind)
                yield Judged(turn, phase, first.label, asked, ours / median[first, phase])
        else:
            rivals = {
                other.engine: value
                for (other, its), value in median.items()
                if its == phase and other.engine in case.rivals and other.threads == turn.threads
            }
            if rivals:
                best = (max if rising else min)(rivals, key=rivals.__getitem__)
                faster = ours / rivals[best] if rising else rivals[best] / ours
                yield Judged(turn, phase, best, bound, 1 / faster if bound.kind == "share" else faster)


def problems(results: Results) -> dict[str, str]:
    """Engines without a figure, with the reason."""
    return {
        turn.name: " ".join(found.problem.split())
        for turn, rounds in results.items()
        for found in rounds[:1]
        if found.problem
    }


# ── the table and the record ──────────────────────────────────────────────────────────────────────────────────────


def table(case: Case, results: Results, conditions: Conditions, threads_note: str) -> Iterator[str]:
    """Output for a case: a block, or a line for each worst case."""
    if case.row in ("worst", "length"):
        yield line(case, results, conditions)
        return
    names = phases(results)
    yield ""
    yield f"{case.name} ({case.unit}, {'CPU' if case.clock == 'cpu' else 'wall'} time, {threads_note})"
    if names:
        yield f"  {'':<34}" + "".join(f"{name:>26}" for name in names) + f"{'peak MiB':>10}"
    for turn, rounds in results.items():
        if rounds[0].problem:
            continue
        title = ", ".join(filter(None, (f"{turn.engine.split()[0]} {rounds[0].version}", turn.label)))
        peak = statistics.median(found.peak_mib for found in rounds)
        yield (
            f"  {title:<34}"
            + "".join(f"{cell(figures(case, rounds, name)):>26}" for name in names)
            + (f"{peak:>10.0f}" if peak else "")
        )
    for one in judged(case, results, conditions):
        yield f"  {one}"
    for name, problem in problems(results).items():
        yield f"  without {name}: {problem}"


def line(case: Case, results: Results, conditions: Conditions) -> str:
    parts = []
    for turn, rounds in results.items():
        values = figures(case, rounds, "cold")
        parts.append(f"{turn.label or turn.engine} {short(statistics.median(values)) if values else 'none'}")
    verdict = ", ".join(map(str, judged(case, results, conditions)))
    whys = "".join(f" · without {name}: {why[:60]}" for name, why in problems(results).items())
    return f"{case.name} ({case.unit}): {' · '.join(parts)} · {verdict}{whys}"


def cell(values: list[float]) -> str:
    if not values:
        return ""
    return f"{short(statistics.median(values))} ({short(min(values))}–{short(max(values))})"


def short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def rows(case: Case, results: Results, conditions: Conditions) -> Iterator[dict[str, Any]]:
    """Rows of the record: one for each turn and phase, and one for each turn without figures."""
    compared = {(one.turn, one.phase): one for one in judged(case, results, conditions)}
    for turn, rounds in results.items():
        common = {
            "case": case.name,
            "row": case.row,
            "vocab": case.vocab,
            "text": case.text,
            "engine": turn.engine,
            "version": rounds[0].version,
            "label": turn.label,
            "threads": turn.threads,
            "simd": (conditions.simd or "") if turn.engine == JETON else "",
            "load": conditions.load,
            "unit": case.unit,
            "clock": case.clock,
            "rounds": len(rounds),
        }
        if rounds[0].problem:
            yield {**common, "problem": " ".join(rounds[0].problem.split())}
            continue
        for phase, facts in rounds[0].phases.items():
            values = figures(case, rounds, phase)
            yield {
                **common,
                "phase": phase,
                "bytes": facts.get("bytes", ""),
                "ids": facts.get("ids", ""),
                "digest": facts.get("digest", "")[:16],
                "median": f"{statistics.median(values):.6g}",
                "fastest": f"{(max if case.unit == 'MB/s' else min)(values):.6g}",
                "slowest": f"{(min if case.unit == 'MB/s' else max)(values):.6g}",
                "cpu_seconds": f"{statistics.median(found.phases[phase]['cpu'] for found in rounds):.6g}",
                "wall_seconds": f"{statistics.median(found.phases[phase]['wall'] for found in rounds):.6g}",
                "peak_mib": f"{statistics.median(found.peak_mib for found in rounds):.0f}",
                **comparison(compared.get((turn, phase))),
            }


def comparison(one: Judged | None) -> dict[str, Any]:
    if one is None:
        return {}
    bounds = (
        {"at_least": "", "goal": ""}
        if one.bound.least is None
        else {"at_least": one.bound.least, "goal": one.bound.goal}
    )
    return {
        "compared_with": one.rival,
        "comparison": one.bound.kind,
        "ratio": f"{one.value:.4g}",
        **bounds,
        "verdict": one.verdict,
    }

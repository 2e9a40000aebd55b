"""Plots a `Report`, given as JSON: bytes per token and tokens by source, the largest documents, skipped records."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..drawing.figures import COLORS, drawable, figure_suffix, make_figure, save_figure

__all__ = ["plot_report"]

ROW_INCHES, PANEL_INCHES = 0.24, 0.9  # inches: height of a bar, and of a panel without bars
MAX_NAME = 48  # maximum length of a name; of longer names, only the end is shown, because the beginnings are alike
BLUE, ORANGE, RED = COLORS[0], COLORS[1], COLORS[6]


def plot_report(report: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Draws a panel of bars for each table that the report has."""
    suffix = figure_suffix(path)
    panels = list(_panels(report))
    heights = [PANEL_INCHES + ROW_INCHES * len(rows) for _, rows, _, _ in panels]
    with make_figure((7.5, sum(heights) + 0.3)) as figure:
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for each, (label, rows, color, digits) in zip(axes, panels, strict=True):
            _bars(each, label, rows, color, digits)
        ids = "tokens" if report["tokenizer"] else "pretokens"
        figure.suptitle(f"{report['documents']:,} documents, {report['tokens']:,} {ids}", x=0.01, ha="left")
        save_figure(figure, path, suffix)


def _panels(report: Mapping[str, Any]) -> Any:
    """Yields, for each panel, the label, rows, color, and number of decimals."""
    sources = report["sources"] or {"all": report}
    ids = "token" if report["tokenizer"] else "pretoken"
    yield f"bytes per {ids}", [(name, each["bytes_per_token"] or 0.0) for name, each in sources.items()], BLUE, 3
    yield f"{ids}s", [(name, each["tokens"]) for name, each in sources.items()], BLUE, 0
    if report["largest"]:
        yield "tokens of the largest documents", [(place, tokens) for tokens, place in report["largest"]], ORANGE, 0
    if report["skipped"]:
        yield "skipped records", [(kind, count) for kind, (count, _) in report["skipped"].items()], RED, 0


def _bars(axes: Any, label: str, rows: Sequence[tuple[str, float]], color: str, digits: int) -> None:
    lines = range(len(rows))
    values = [value for _, value in rows]
    bars = axes.barh(lines, values, 0.7, color=color)
    axes.bar_label(bars, [f"{value:,.{digits}f}" for value in values], padding=3)
    axes.set_yticks(lines, [_literal(name) for name, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, max(*values, 1e-9, 0) * 1.18)  # leaves space for the numbers beside the bars
    axes.set_xlabel(label)
    axes.ticklabel_format(axis="x", style="plain")
    axes.xaxis.set_major_formatter(lambda value, position: f"{value:,.{0 if value == int(value) else 1}f}")


def _literal(name: str) -> str:
    """Returns a name, escaped so that matplotlib does not read `$` as mathematics; of a long name, only the end."""
    shown = name if len(name) <= MAX_NAME else "…" + name[1 - MAX_NAME :]
    return drawable(shown).replace("$", r"\$")

"""Plot of a `CorpusComparison`: a matrix of the agreement of any two tokenizers, and token frequencies by rank."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..drawing.figures import COLORS, LINES, figure_suffix, labels, make_figure, save_figure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["plot_comparison"]

MAX_POINTS = 400  # points of a curve; more would not be visible, because the axis of ranks is logarithmic


def plot_comparison(
    names: Sequence[str],
    agreement: Sequence[Sequence[float]],
    frequencies: Sequence[NDArray[np.int64]],
    path: str | os.PathLike[str],
) -> None:
    """Draws the agreement and the frequencies as two panels, side by side."""
    suffix = figure_suffix(path)
    shown = labels(names)
    with make_figure((9.5, 4.2)) as figure:
        matrix, ranks = figure.subplots(1, 2, width_ratios=(1, 1.25))
        _draw_matrix(matrix, shown, agreement)
        _draw_ranks(ranks, shown, frequencies)
        save_figure(figure, path, suffix)


def _draw_matrix(axes: Any, names: Sequence[str], agreement: Sequence[Sequence[float]]) -> None:
    axes.imshow(agreement, cmap="Blues", vmin=0, vmax=1.3)
    for row, values in enumerate(agreement):
        for column, value in enumerate(values):
            color = "white" if value > 0.8 else "black"
            axes.text(column, row, f"{value:.1%}", ha="center", va="center", color=color)
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("token boundaries in common (F1)", loc="left")


def _draw_ranks(axes: Any, names: Sequence[str], frequencies: Sequence[NDArray[np.int64]]) -> None:
    import numpy as np

    for index, (name, counts) in enumerate(zip(names, frequencies, strict=True)):
        used = np.sort(counts[counts > 0])[::-1]
        if not len(used):
            continue
        ranks = np.unique(np.geomspace(1, len(used), min(len(used), MAX_POINTS)).astype(np.int64))
        color, line = COLORS[index % len(COLORS)], LINES[index % len(LINES)]
        axes.plot(ranks, used[ranks - 1] / used.sum(), line, color=color, label=name, linewidth=1.4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rank of the id")
    axes.set_ylabel("share of all tokens")
    axes.grid()
    if axes.lines:
        axes.legend(frameon=False)
    axes.set_title("frequency by rank", loc="left")

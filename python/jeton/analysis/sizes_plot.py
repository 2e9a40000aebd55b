"""Plot of `Sizes`: bytes per token by vocabulary size and, if known, the number of parameters in a panel below."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..drawing.figures import COLORS, figure_suffix, make_figure, save_figure

__all__ = ["plot_sizes"]


def plot_sizes(
    ratios: Mapping[int, float],
    curve: Mapping[int, float],
    parameters: Sequence[int],
    held_out_bytes: int,
    path: str | os.PathLike[str],
) -> None:
    """Writes a figure of bytes per token by vocabulary size and, if known, the number of parameters in a panel below.

    Args:
        ratios: vocabulary size -> bytes per token, drawn as points.
        curve: vocabulary size -> bytes per token, drawn as a line through the points.
        parameters: number of parameters of each point; empty if unknown.
        held_out_bytes: number of bytes of the text that was measured.
        path: path of the file.
    """
    suffix = figure_suffix(path)
    with make_figure((7, 5.5 if parameters else 3.6)) as figure:
        axes = figure.subplots(2 if parameters else 1, 1, sharex=True, squeeze=False)[:, 0]
        axes[0].plot([*curve], [*curve.values()], color=COLORS[0])
        axes[0].plot([*ratios], [*ratios.values()], "o", color=COLORS[0])
        axes[0].set_ylabel("bytes per token")
        axes[0].set_title(f"on {held_out_bytes / 1e6:,.1f} MB of text that was not trained on", loc="left")
        if parameters:
            axes[1].plot([*ratios], [number / 1e6 for number in parameters], "o-", color=COLORS[1])
            axes[1].set_ylabel("embedding and head,\nmillions of parameters")
        for each in axes:
            each.set_xscale("log", base=2)
            each.grid()
        axes[-1].set_xticks([*ratios], [f"{size:,}" for size in ratios])
        axes[-1].minorticks_off()
        axes[-1].set_xlabel("vocabulary size")
        save_figure(figure, path, suffix)

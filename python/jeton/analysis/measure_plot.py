"""Plot of a `MeasureTable`: bytes per token by source, a color for each tokenizer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..drawing.figures import COLORS, MARKERS, figure_suffix, labels, make_figure, save_figure

__all__ = ["plot_table"]

# Height of a source's row, and maximum height, in inches: matplotlib refuses images of more than 2^16 pixels.
ROW_INCHES, MAX_INCHES = 0.28, 400


def plot_table(sources: Sequence[str], ratios: Mapping[str, Sequence[float]], path: str | os.PathLike[str]) -> None:
    """Draws a line for each source, the first one on top, with a marker for each tokenizer.

    Args:
        sources: names of the sources.
        ratios: tokenizer -> bytes per token of each source.
        path: path of the file.
    """
    suffix = figure_suffix(path)
    height = min(1.3 + ROW_INCHES * len(sources), MAX_INCHES)
    with make_figure((7, height)) as figure:
        axes = figure.subplots()
        lines = range(len(sources))
        names = labels([*ratios])
        for index, (name, values) in enumerate(zip(names, ratios.values(), strict=True)):
            color, marker = COLORS[index % len(COLORS)], MARKERS[index % len(MARKERS)]
            axes.plot(values, lines, marker, color=color, label=name, alpha=0.85)
        axes.set_yticks(list(lines), labels(sources))
        axes.set_ylim(len(sources) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("bytes per token")
        axes.grid()
        if len(ratios) > 1:
            longest = max(map(len, names))
            figure.legend(
                loc="outside upper left", ncols=1 if longest > 30 else 2 if longest > 16 else 3, frameon=False
            )
        save_figure(figure, path, suffix)

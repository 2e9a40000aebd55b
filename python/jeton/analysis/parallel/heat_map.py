"""Heat map of a `LanguageTable`: languages by script, a column for each tokenizer, in panels side by side.

The shade is the logarithm of the relative number of tokens. Each cell has its number, so that the map can be read in
black and white.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..figures import figure_suffix, literal, make_figure, save_figure
from .texts import Language

__all__ = ["plot_languages"]

ASPECT = 2**0.5  # width over height of a sheet of paper
MAX_PANELS = 12
# Inches of a row, of a column, of the names of languages, and around the panels.
ROW, COLUMN, NAME, HEAD, FOOT, MARGIN = 0.135, 0.30, 1.5, 0.75, 0.55, 0.15
POINTS = 5.5  # size of the font
MAX_SHADE = 12.0  # relative tokens of the darkest shade
SHADES = ("#ffffff", "#d7e5f3", "#9fc3e3", "#5c93c8", "#2a62a5", "#0b2f66")
TICKS = (0.5, 1, 2, 4, 8, 12)

_Row = tuple[str, tuple[float, ...] | None]  # a name and its numbers; a heading has none


def plot_languages(
    scripts: Mapping[str, Sequence[Language]],
    relative: Mapping[Language, tuple[float, ...]],
    baseline: str,
    tokenizers: Sequence[str],
    path: str | os.PathLike[str],
) -> None:
    """Draws the map.

    Args:
        scripts: script -> its languages, in the order of the map.
        relative: language -> relative number of tokens by tokenizer.
        baseline: name of the language that they are relative to.
        tokenizers: names.
        path: of the file.
    """
    suffix = figure_suffix(path)
    rows = _rows(scripts, relative)
    names = [literal(name) for name in tokenizers]
    panel = NAME + COLUMN * len(names)
    num_panels = _num_panels(len(rows), panel)
    num_rows = math.ceil(len(rows) / num_panels)
    width, height = _inches(len(rows), panel, num_panels)
    with make_figure((width, height)) as figure:
        figure.set_layout_engine("none")  # all sizes are known, and measuring thousands of texts takes seconds
        colors, norm = _colors()
        for number in range(num_panels):
            left = MARGIN + number * panel + NAME
            box = (left / width, FOOT / height, COLUMN * len(names) / width, num_rows * ROW / height)
            some = rows[number * num_rows : (number + 1) * num_rows]
            _draw(figure.add_axes(box), some, num_rows, names, colors, norm)
        _draw_scale(figure, (width, height), f"tokens relative to {literal(baseline)}, parallel text", colors, norm)
        save_figure(figure, path, suffix)


def _inches(num_rows: int, panel: float, num_panels: int) -> tuple[float, float]:
    """Width and height of the map."""
    return panel * num_panels + 2 * MARGIN, math.ceil(num_rows / num_panels) * ROW + HEAD + FOOT


def _num_panels(num_rows: int, panel: float) -> int:
    """Number of panels with which the map fits best on a sheet of paper."""

    def misfit(number: int) -> float:
        width, height = _inches(num_rows, panel, number)
        return abs(math.log(width / height / ASPECT))

    return min(range(1, MAX_PANELS + 1), key=misfit)


def _rows(scripts: Mapping[str, Sequence[Language]], relative: Mapping[Language, tuple[float, ...]]) -> list[_Row]:
    """Lines of the map: scripts of one language, then the languages of each script."""
    single = [languages[0] for languages in scripts.values() if len(languages) == 1]
    rows: list[_Row] = [("Scripts of one language", None)] if single else []
    rows += [(language.name, relative[language]) for language in single]
    for script, languages in scripts.items():
        if len(languages) > 1:
            rows.append((f"{script.replace('_', ' ')} script", None))
            ordered = sorted(languages, key=lambda language: (-relative[language][0], language.name))
            rows += [(language.name, relative[language]) for language in ordered]
    return rows


def _draw_scale(figure: Any, inches: tuple[float, float], label: str, colors: Any, norm: Any) -> None:
    from matplotlib.cm import ScalarMappable

    width, height = inches
    long = min(3.0, width - 2 * MARGIN)
    axes = figure.add_axes(((width - long) / 2 / width, 0.36 / height, long / width, 0.07 / height))
    bar = figure.colorbar(ScalarMappable(norm, colors), cax=axes, orientation="horizontal")
    bar.minorticks_off()
    bar.set_ticks(TICKS, labels=[f"{tick:g}" for tick in TICKS])
    axes.tick_params(labelsize=POINTS + 0.5, length=2, pad=1)
    bar.set_label(label, fontsize=POINTS + 1, labelpad=1)
    bar.outline.set_linewidth(0.4)


def _colors() -> tuple[Any, Any]:
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    return LinearSegmentedColormap.from_list("tokens", SHADES), LogNorm(TICKS[0], MAX_SHADE, clip=True)


def _draw(axes: Any, rows: list[_Row], num_rows: int, names: list[str], colors: Any, norm: Any) -> None:
    """Draws a panel; all panels have the same height."""
    import numpy as np

    values = np.array([cells or (np.nan,) * len(names) for _, cells in rows])
    shades = colors(norm(values))  # [rows, tokenizers, RGBA]
    shades[np.isnan(values)] = 0  # transparent
    dark = shades[..., :3] @ (0.299, 0.587, 0.114) < 0.55
    bottom, right = len(rows) - 0.5, len(names) - 0.5
    axes.imshow(shades, extent=(-0.5, right, bottom, -0.5), aspect="auto", interpolation="none")
    for at, (name, cells) in enumerate(rows):
        weight = "bold" if cells is None else "normal"
        axes.text(-0.6, at, literal(name), ha="right", va="center", fontsize=POINTS, fontweight=weight)
        for column, value in enumerate(cells or ()):
            text, color = f"{value:.1f}" if value < 99.95 else f"{value:.0f}", "white" if dark[at, column] else "black"
            axes.text(column, at, text, ha="center", va="center", fontsize=POINTS, color=color)
    axes.set_xlim(-0.5, right)
    axes.set_ylim(num_rows - 0.5, -0.5)
    axes.set_yticks([])
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(names)), names, rotation=50, ha="left", rotation_mode="anchor", fontsize=POINTS + 0.5)
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)

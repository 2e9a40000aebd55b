"""Heat map of a `LanguageTable`: languages by script, a column for each tokenizer, in panels side by side.

The shade of a cell shows the logarithm of the relative number of tokens. Each cell also shows the number, so that the
map can be read in black and white.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ...drawing.display_width import display_width
from ...drawing.figures import POINTS, figure_suffix, labels, literal, make_figure, save_figure
from .texts import Language

__all__ = ["plot_languages"]

ASPECT = 2**0.5  # desired ratio of the map's width to its height: that of a sheet in landscape format
MAX_PANELS = 12
# Inches: height of a row, width of a column, height of the color scale, gap between panels, margin around them.
ROW, COLUMN, FOOT, GAP, MARGIN = 0.19, 0.42, 0.8, 0.2, 0.15
LETTER = 0.6 * POINTS / 72  # inches: upper bound of the average width of a letter in the font
SLOPE = 50  # degrees by which the names of tokenizers are rotated
MAX_SHADE = 12.0  # relative number of tokens at which the shade is darkest
SHADES = ("#ffffff", "#d7e5f3", "#9fc3e3", "#5c93c8", "#2a62a5", "#0b2f66")
TICKS = (0.5, 1, 2, 4, 8, 12)

_Row = tuple[str, tuple[float, ...] | None]  # a name and its numbers; a heading has None


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
        relative: language -> for each tokenizer, the number of tokens relative to the baseline.
        baseline: name of the language that the others are compared with.
        tokenizers: names of the tokenizers.
        path: path of the file.
    """
    suffix = figure_suffix(path)
    rows = _rows(scripts, relative)
    names = labels(tokenizers)
    name_width = LETTER * max(display_width(name) for name, _ in rows) + 0.1
    longest = LETTER * max(map(display_width, names))
    head = longest * math.sin(math.radians(SLOPE)) + 0.25
    overhang = longest * math.cos(math.radians(SLOPE))  # how far a rotated name reaches beyond the last column
    panel = name_width + COLUMN * len(names) + max(GAP, overhang - name_width)

    def inches(panels: list[list[_Row]]) -> tuple[float, float]:
        most = max(map(len, panels))
        return panel * len(panels) + max(overhang, GAP) + 2 * MARGIN, most * ROW + head + FOOT

    def misfit(panels: list[list[_Row]]) -> float:
        width, height = inches(panels)
        return abs(math.log(width / height / ASPECT))

    panels = min((_panels(rows, number) for number in range(1, MAX_PANELS + 1)), key=misfit)
    num_rows = max(map(len, panels))
    width, height = inches(panels)
    with make_figure((width, height)) as figure:
        figure.set_layout_engine("none")  # all sizes are known, and measuring thousands of texts takes seconds
        colors, norm = _colors()
        for number, some in enumerate(panels):
            left = MARGIN + number * panel + name_width
            box = (left / width, FOOT / height, COLUMN * len(names) / width, num_rows * ROW / height)
            _draw(figure.add_axes(box), some, num_rows, names, colors, norm)
        _draw_scale(figure, (width, height), f"tokens relative to {literal(baseline)}, parallel text", colors, norm)
        save_figure(figure, path, suffix)


def _panels(rows: list[_Row], number: int) -> list[list[_Row]]:
    """Divides the rows among panels. No panel ends with a heading; each part of a divided script has two or more rows.

    Examples:
        >>> rows = [("Latin script", None), ("French", (1.0,)), ("Cyrillic script", None), ("Russian", (2.0,))]
        >>> [[name for name, _ in panel] for panel in _panels(rows, 2)]
        [['Latin script', 'French'], ['Cyrillic script', 'Russian']]
    """
    panels: list[list[_Row]] = []
    start = 0
    while start < len(rows):
        end = start + math.ceil((len(rows) - start) / max(number - len(panels), 1))
        if end < len(rows):
            is_heading = [cells is None for _, cells in rows]
            if is_heading[end - 1]:
                end -= 1  # keep the heading together with its languages
            elif end - 2 > start and is_heading[end - 2] and not is_heading[end]:
                end -= 2  # keep more than one row below a heading
            elif end + 1 == len(rows) or is_heading[end + 1]:
                end += 1  # a script's last row must not go to the next panel alone
            end = max(end, start + 2)
        panels.append(rows[start:end])
        start = end
    return panels


def _rows(scripts: Mapping[str, Sequence[Language]], relative: Mapping[Language, tuple[float, ...]]) -> list[_Row]:
    """Returns the rows: first the languages that are alone in their script, then each remaining script's languages."""
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
    axes = figure.add_axes(((width - long) / 2 / width, 0.55 / height, long / width, 0.09 / height))
    bar = figure.colorbar(ScalarMappable(norm, colors), cax=axes, orientation="horizontal")
    bar.minorticks_off()
    bar.set_ticks(TICKS, labels=[f"{tick:g}" for tick in TICKS])
    axes.tick_params(labelsize=POINTS, length=2, pad=1)
    bar.set_label(label, labelpad=1)
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
        axes.text(-0.6, at, literal(name), ha="right", va="center", fontweight=weight)
        for column, value in enumerate(cells or ()):
            text, color = f"{value:.1f}" if value < 99.95 else f"{value:.0f}", "white" if dark[at, column] else "black"
            axes.text(column, at, text, ha="center", va="center", color=color)
    axes.set_xlim(-0.5, right)
    axes.set_ylim(num_rows - 0.5, -0.5)
    axes.set_yticks([])
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(names)), names, rotation=SLOPE, ha="left", rotation_mode="anchor")
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)

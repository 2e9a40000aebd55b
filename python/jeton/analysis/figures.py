"""Figures of matplotlib, an optional dependency: checks, settings that make files reproducible, and saving."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..drawing.display_width import elided
from ..errors import ConfigError
from ..util.arguments import file_path
from ..util.atomic import write_atomically
from ..util.optional import import_optional

__all__ = ["COLORS", "MARKERS", "figure_suffix", "literal", "make_figure", "save_figure"]

FORMATS = (".png", ".svg", ".pdf")
# Of series. The markers distinguish them in black and white.
COLORS = ("#1f5fa8", "#b3541e", "#3c7d3c", "#7a4fa3", "#9a7b1d", "#4a8c93", "#a8326a", "#5a5a5a")
MARKERS = "osD^vP*X"
MAX_NAME = 48  # columns of a name


def figure_suffix(path: str | os.PathLike[str]) -> str:
    """Suffix of the path of a plot, in lower case.

    Raises:
        ConfigError: no format of a plot.
    """
    suffix = Path(file_path(path, "path")).suffix.lower()
    if suffix not in FORMATS:
        raise ConfigError(f"{os.fspath(path)}: a plot ends in {', '.join(FORMATS)}", option="plot")
    return suffix


@contextmanager
def make_figure(inches: tuple[float, float]) -> Iterator[Any]:
    """Yields an empty figure; it is drawn and saved inside of the block, which has the settings.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    figure = import_optional("matplotlib.figure", "a plot", "plot")
    with import_optional("matplotlib", "a plot", "plot").rc_context({"svg.hashsalt": "jeton", "font.size": 9}):
        yield figure.Figure(figsize=inches, layout="constrained")


def save_figure(figure: Any, path: str | os.PathLike[str], suffix: str) -> None:
    """Writes a figure, whole or not at all, and without a date: the same figure is the same file."""
    with write_atomically(path, streams=True) as file:
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        figure.savefig(file, format=suffix[1:], dpi=150, metadata=metadata)


def drawable(name: str) -> str:
    """A name without lone surrogates, which names of files that are not UTF-8 have, and which matplotlib refuses.

    Examples:
        >>> drawable("a\\udcff.txt")
        'a?.txt'
    """
    return name.encode("utf-8", "replace").decode()


def literal(name: str) -> str:
    """A name as matplotlib shows it: shortened, without mathematics, and not hidden by an underscore at its start.

    Examples:
        >>> print(literal("US$"))
        US\\$
    """
    shown = elided(drawable(name), MAX_NAME).replace("$", r"\$")
    return "\u200b" + shown if shown.startswith("_") else shown

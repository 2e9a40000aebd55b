"""Figures of matplotlib, an optional dependency: checks, settings that make files reproducible, and saving."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..arguments import file_path
from ..atomic import write_atomically
from ..errors import ConfigError, MissingDependencyError

__all__ = ["figure_suffix", "make_figure", "save_figure"]

FORMATS = (".png", ".svg", ".pdf")


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
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        message = "a plot needs the package matplotlib: pip install 'jeton[plot]'"
        raise MissingDependencyError(message, extra="plot") from None
    with mpl.rc_context({"svg.hashsalt": "jeton", "font.size": 9}):
        yield Figure(figsize=inches, layout="constrained")


def save_figure(figure: Any, path: str | os.PathLike[str], suffix: str) -> None:
    """Writes a figure, whole or not at all, and without a date: the same figure is the same file."""
    with write_atomically(path) as file:
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        figure.savefig(file, format=suffix[1:], dpi=150, metadata=metadata)

"""Matplotlib figures (an optional dependency) in one style for print. Adds labels and a source note, and saves files.

Text has a size of 9 points. In SVG, text consists of paths, so it looks the same in every program. Adjacent series
differ in lightness and in marker or line style, so figures can be read in gray. The file is reproducible: a figure that
is drawn again on the same day (or with the same ``SOURCE_DATE_EPOCH``) gives identical bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from ..errors import ConfigError
from ..util.arguments import file_path
from ..util.atomic import write_atomically
from ..util.optional import import_optional
from .display_width import elided

__all__ = ["COLORS", "LINES", "MARKERS", "POINTS", "figure_suffix", "labels", "literal", "make_figure", "save_figure"]

FORMATS = (".png", ".svg", ".pdf")
POINTS = 9  # size of the font in points
# Styles of series. For print in gray, adjacent colors differ in lightness; adjacent markers and lines differ in shape.
COLORS = ("#1f5fa8", "#d0803c", "#255c25", "#a585c9", "#6b5410", "#6fb0b6", "#8a1f52", "#8a8a8a")
MARKERS = "osD^vP*X"
LINES = ("-", "--", ":", "-.")
# Stems of file names that are the same for all tokenizers. A file with such a name is labeled by its folder.
_COMMON = {"tokenizer", "tokenizer_config", "vocab", "merges", "spiece", "sentencepiece.bpe", "tekken", "model"}
_STYLE = {
    "svg.hashsalt": "jeton",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,  # TrueType, so that text of the PDF can be searched and edited
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # part of matplotlib, so the same on every machine
    "font.size": POINTS,
    "axes.titlesize": POINTS,
    "axes.labelsize": POINTS,
    "xtick.labelsize": POINTS,
    "ytick.labelsize": POINTS,
    "legend.fontsize": POINTS,
    "figure.titlesize": POINTS,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
}
MAX_NAME = 48  # maximum width of a name in columns


def figure_suffix(path: str | os.PathLike[str]) -> str:
    """Returns the suffix of a plot's path, in lower case.

    Raises:
        ConfigError: the suffix is not a format of plots.
    """
    suffix = Path(file_path(path, "path")).suffix.lower()
    if suffix not in FORMATS:
        raise ConfigError(f"{os.fspath(path)}: a plot ends in {', '.join(FORMATS)}", option="plot")
    return suffix


@contextmanager
def make_figure(inches: tuple[float, float]) -> Iterator[Any]:
    """Yields an empty figure. Draw and save it inside the ``with`` block, where the style is set.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    figure = import_optional("matplotlib.figure", "a plot", "plot")
    with import_optional("matplotlib", "a plot", "plot").rc_context(_STYLE):
        yield figure.Figure(figsize=inches, layout="constrained")


def save_figure(figure: Any, path: str | os.PathLike[str], suffix: str) -> None:
    """Writes a figure with a source note, atomically; the metadata of the file contains no time."""
    note = _source_note()
    if figure.get_layout_engine() is None:
        figure.text(0.995, 0.005, note, ha="right", va="bottom", fontsize=POINTS - 2, color="#5a5a5a")
    else:
        figure.supxlabel(note, x=0.995, ha="right", fontsize=POINTS - 2, color="#5a5a5a")
    with write_atomically(path, streams=True) as file:
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        figure.savefig(file, format=suffix[1:], dpi=150, metadata=metadata)


def _source_note() -> str:
    """Returns the source note of a figure: program, version and day."""
    from .. import __version__

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        day = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        what = "no number of seconds since 1970, as the date of a figure is"
        raise ConfigError(f"the environment's SOURCE_DATE_EPOCH={epoch!r:.60} is {what}") from None
    return f"Jeton {__version__}, {day:%Y-%m-%d}"


def labels(names: Sequence[str]) -> list[str]:
    """Returns short labels of series: the stem of a file, or its folder if the file's name is a common one.

    Labels that would be equal keep more of their paths.

    Examples:
        >>> labels(["models/qwen/tokenizer.json", "o200k_base.tiktoken", "gpt-4o"])
        ['qwen', 'o200k_base', 'gpt-4o']
        >>> labels(["a/my.json", "b/my.json"])
        ['a/my', 'b/my']
        >>> labels(["my.json", "my.model"])
        ['my.json', 'my.model']
    """
    found = [_stem(name) for name in names]
    for depth in range(2, 9):
        repeated = {label for label in found if found.count(label) > 1}
        if not repeated:
            break
        found = [_stem(name, depth) if label in repeated else label for name, label in zip(names, found, strict=True)]
    # Files that differ only in their suffixes, and paths with a long common end, still have equal labels. They are
    # labeled by their full names.
    found = [name if found.count(label) > 1 else label for name, label in zip(names, found, strict=True)]
    return [literal(label) for label in found]


def _stem(name: str, depth: int = 1) -> str:
    """Returns the last `depth` components of a path, without the file's suffix. Keeps names that are not paths."""
    path = PurePath(name)
    has_suffix = path.suffix in (".json", ".model", ".tiktoken", ".txt", ".gguf", ".jsonl", ".zst", ".gz", ".parquet")
    if not has_suffix and (len(path.parts) == 1 or ":" in name):
        return name
    parts = [*path.parts[:-1], path.stem if has_suffix else path.name]
    if len(parts) > 1 and parts[-1] in _COMMON:
        parts.pop()
    return "/".join(parts[-depth:])


def drawable(name: str) -> str:
    """Replaces lone surrogates in a name, because matplotlib rejects them. File names that are not UTF-8 contain them.

    Examples:
        >>> drawable("a\\udcff.txt")
        'a?.txt'
    """
    return name.encode("utf-8", "replace").decode()


def literal(name: str) -> str:
    """Returns a name in a form that matplotlib shows literally: shortened, ``$`` and a leading underscore escaped.

    Examples:
        >>> print(literal("US$"))
        US\\$
    """
    shown = elided(drawable(name), MAX_NAME).replace("$", r"\$")
    return "\u200b" + shown if shown.startswith("_") else shown

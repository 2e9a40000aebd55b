"""Output of `Sizes`: a text table with bars, and a plot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .figures import figure_suffix, make_figure, save_figure

if TYPE_CHECKING:
    from .sizes import VocabSize

__all__ = ["draw_sizes", "plot_sizes"]

BAR_CELLS = 24
EIGHTHS = " ▏▎▍▌▋▊▉"


def draw_sizes(rows: Sequence[VocabSize]) -> Iterator[str]:
    """Yields a header and a line per size; the bars show bytes per token, from 0."""
    with_cost = rows[0].parameters is not None
    yield f"{'vocabulary':>10} {'bytes/token':>12}  {'':<{BAR_CELLS}} {'tokens':>9}" + (" parameters" * with_cost)
    most = max(row.bytes_per_token for row in rows)
    before: int | None = None
    for row in rows:
        change = "" if before is None else f"{row.tokens / before - 1:+.1%}"
        line = f"{row.vocab_size:>10,} {row.bytes_per_token:>12.3f}  {_bar(row.bytes_per_token / most)} {change:>9}"
        yield line + (f" {_short(row.parameters):>10}" if row.parameters is not None else "")
        before = row.tokens


def plot_sizes(
    rows: Sequence[VocabSize],
    curve: tuple[Sequence[int], Sequence[float]],
    held_out_bytes: int,
    path: str | os.PathLike[str],
) -> None:
    """Plots bytes per token against size and, if known, the number of parameters below it."""
    suffix = figure_suffix(path)
    with_cost = rows[0].parameters is not None
    with make_figure((7, 5.5 if with_cost else 3.6)) as figure:
        axes = figure.subplots(2 if with_cost else 1, 1, sharex=True, squeeze=False)[:, 0]
        axes[0].plot(*curve, color="#1f5fa8")
        axes[0].plot([row.vocab_size for row in rows], [row.bytes_per_token for row in rows], "o", color="#1f5fa8")
        axes[0].set_ylabel("bytes per token")
        axes[0].set_title(f"on {held_out_bytes / 1e6:,.1f} MB of text that was not trained on", loc="left", fontsize=9)
        if with_cost:
            millions = [(row.parameters or 0) / 1e6 for row in rows]
            axes[1].plot([row.vocab_size for row in rows], millions, "o-", color="#b3541e")
            axes[1].set_ylabel("embedding and head,\nmillions of parameters")
        for each in axes:
            each.set_xscale("log", base=2)
            each.grid(alpha=0.3)
            each.spines[["top", "right"]].set_visible(False)
        axes[-1].set_xticks([row.vocab_size for row in rows], [f"{row.vocab_size:,}" for row in rows])
        axes[-1].minorticks_off()
        axes[-1].set_xlabel("vocabulary size")
        save_figure(figure, path, suffix)


def _bar(share: float) -> str:
    cells, eighth = divmod(round(share * BAR_CELLS * 8), 8)
    return ("█" * cells + (EIGHTHS[eighth] if eighth else "")).ljust(BAR_CELLS)


def _short(parameters: int) -> str:
    """Number of parameters in thousands, millions or billions."""
    unit, divisor = next(
        (unit, size) for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)) if parameters >= size or unit == "k"
    )
    return f"{parameters / divisor:,.1f} {unit}"

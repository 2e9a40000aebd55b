"""Report on counts: frequent pretokens, scripts, and growth of the number of distinct pretokens.

The growth is exact, because counts store the position of each pretoken's first occurrence in the corpus.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from .. import _core
from ..drawing import quoted
from .dropped import DroppedPretokens

__all__ = ["CountsReport", "ScriptShare", "counts_report"]

POINTS = 32  # number of points of the growth curve


class ScriptShare(NamedTuple):
    """Statistics of the pretokens of one script. A pretoken has the script of its first character that has a script."""

    script: str
    distinct: int
    occurrences: int
    bytes: int


@dataclass(frozen=True)
class CountsReport:
    """Statistics of the pretokens of a corpus.

    Attributes:
        documents, corpus_bytes: size of the corpus.
        distinct, total: number of pretokens, without and with repetition.
        once: number of distinct pretokens with a count of 1.
        top: most frequent pretokens: (pretoken, count).
        scripts: shares by script, in descending order of bytes; ``None`` for pretokens without a script (digits,
            punctuation, white space).
        growth: points (n, number of distinct pretokens in the first n bytes of the corpus); the last point is the whole
            corpus. Empty for counts that were not made from text.
        heaps: parameters (k, beta) of Heaps' law, number of distinct pretokens = k · bytes^beta, fitted to `growth` by
            least squares of the logarithms; None if there are too few points.
        dropped: facts about dropped rare pretokens.

    Examples:
        >>> import jeton
        >>> report = jeton.count_pretokens(["to be or not to be"], pattern="gpt2").report(top=1)
        >>> print(report)
        documents                        1
        bytes                           18
        pretokens                        6
        distinct                         5
        occur once                       4  (80.0% of the distinct)
        <BLANKLINE>
               count   share  pretoken
                   2  33.33%  ' be'
        <BLANKLINE>
        script          distinct         count   share of bytes
        Latin                  5             6          100.00%
    """

    documents: int
    corpus_bytes: int
    distinct: int
    total: int
    once: int
    top: list[tuple[bytes, int]]
    scripts: list[ScriptShare]
    growth: list[tuple[int, int]]
    heaps: tuple[float, float] | None
    dropped: DroppedPretokens | None

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON; invalid UTF-8 in pretokens becomes U+FFFD.

        Examples:
            >>> import jeton
            >>> jeton.training.Counts.from_mapping({"low": 5}).report().to_json()["top"]
            [['low', 5]]
        """
        facts = asdict(self)
        facts["top"] = [[pretoken.decode("utf-8", "replace"), count] for pretoken, count in self.top]
        facts["scripts"] = [share._asdict() for share in self.scripts]
        parsed: dict[str, Any] = json.loads(json.dumps(facts))
        return parsed

    def __str__(self) -> str:
        rare = self.once / self.distinct if self.distinct else 0.0
        lines = [
            f"documents    {self.documents:>21,}",
            f"bytes        {self.corpus_bytes:>21,}",
            f"pretokens    {self.total:>21,}",
            f"distinct     {self.distinct:>21,}",
            f"occur once   {self.once:>21,}  ({rare:.1%} of the distinct)",
        ]
        if self.dropped is not None:
            lines.append(f"dropped      {self.dropped.occurrences:>21,}  (under {self.dropped.min_count} occurrences)")
        if self.heaps is not None:
            k, beta = self.heaps
            lines.append(f"grow as      {k:.3g} · bytes^{beta:.3f}")
        total, bytes_ = max(self.total, 1), max(sum(share.bytes for share in self.scripts), 1)
        lines += ["", f"{'count':>12}   share  pretoken"]
        lines += [f"{count:>12,} {count / total:>7.2%}  {quoted(pretoken)}" for pretoken, count in self.top]
        lines += ["", f"{'script':<12}{'distinct':>12}{'count':>14}   share of bytes"]
        for share in self.scripts:
            part = share.bytes / bytes_
            lines.append(f"{share.script:<12}{share.distinct:>12,}{share.occurrences:>14,}{part:>17.2%}")
        return "\n".join(lines)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Plots the growth of distinct pretokens on logarithmic axes; the path ends in .png, .svg or .pdf.

        Raises:
            ConfigError: the path has another suffix.
            MissingDependencyError: matplotlib is not installed.
        """
        from ..drawing.figures import COLORS, figure_suffix, make_figure, save_figure

        suffix = figure_suffix(path)
        points = [point for point in self.growth if min(point) > 0]
        sizes = [size for size, _ in points]
        with make_figure((6, 4)) as figure:
            axes = figure.subplots()
            axes.loglog(sizes, [number for _, number in points], marker=".", color=COLORS[0], label="counted")
            if self.heaps is not None:
                k, beta = self.heaps
                fitted = [k * size**beta for size in sizes]
                axes.loglog(sizes, fitted, "--", color=COLORS[1], label=f"{k:.3g} · bytes^{beta:.3f}")
            axes.set_xlabel("bytes of the corpus")
            axes.set_ylabel("distinct pretokens")
            axes.legend(frameon=False)
            axes.grid()
            save_figure(figure, path, suffix)


def counts_report(
    core: _core.Counts,
    documents: int,
    corpus_bytes: int,
    dropped: DroppedPretokens | None,
    top: list[tuple[bytes, int]],
    *,
    made_from_text: bool,
) -> CountsReport:
    """Implements `Counts.report`."""
    growth = _growth(core, corpus_bytes) if made_from_text and corpus_bytes else []
    return CountsReport(
        documents=documents,
        corpus_bytes=corpus_bytes,
        distinct=len(core),
        total=core.total,
        once=core.num_with(1),
        top=top,
        scripts=[ScriptShare(*share) for share in core.scripts()],
        growth=growth,
        heaps=_heaps(growth),
        dropped=dropped,
    )


def _growth(core: _core.Counts, total: int) -> list[tuple[int, int]]:
    """Returns the number of distinct pretokens at logarithmically spaced positions: (bytes, pretokens)."""
    steps = {round(total ** (step / POINTS)) for step in range(POINTS // 4, POINTS)} | {total}
    at = sorted(step for step in steps if 0 < step <= total)
    return list(zip(at, core.distinct_before([step * core.end // total for step in at]), strict=True))


def _heaps(growth: list[tuple[int, int]]) -> tuple[float, float] | None:
    """Fits k and beta of Heaps' law by least squares of the logarithms; None with fewer than 4 points.

    Source: Heaps 1978, Information Retrieval, section 7.5.
    """
    points = [(math.log(x), math.log(y)) for x, y in growth if x > 1000 and y > 0]
    if len(points) < 4:
        return None
    mean_x, mean_y = (math.fsum(values) / len(points) for values in zip(*points, strict=True))
    spread = math.fsum((x - mean_x) ** 2 for x, _ in points)
    beta = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return math.exp(mean_y - beta * mean_x), beta

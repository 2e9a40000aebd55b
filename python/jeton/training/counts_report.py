"""What counts say about a corpus: its frequent pretokens, its scripts, and how its pretokens grow.

The growth is exact: every pretoken knows the place in the corpus where it was first met.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..drawing import quoted
from ..errors import MissingDependencyError
from .counted import Counts, Dropped

__all__ = ["CountsReport", "ScriptShare", "report"]

POINTS = 32  # of the curve


class ScriptShare(NamedTuple):
    """What of the counts is in one script: pretokens by their first character that has one."""

    script: str
    distinct: int
    occurrences: int
    bytes: int


@dataclass(frozen=True)
class CountsReport:
    """A corpus by its pretokens.

    Attributes:
        documents, corpus_bytes: what was counted.
        distinct, total: pretokens, without and with repetition.
        once: how many occur once only.
        top: the most frequent: (pretoken, count).
        scripts: shares by script, by falling bytes; ``None`` is what has no script (digits, punctuation, white space).
        growth: (bytes of the corpus, distinct pretokens met up to there), of which the last is the whole corpus; empty
            where counts were not made from a text.
        heaps: (k, beta) of the curve k · bytes^beta through `growth` by least squares of the logarithms; None where
            there are too few points.
        dropped: what was left out because it is rare.

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
    dropped: Dropped | None

    def to_json(self) -> dict[str, Any]:
        """The same as JSON; pretokens that are not UTF-8 have U+FFFD in them.

        Examples:
            >>> Counts.from_mapping({"low": 5}).report().to_json()["top"]
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
        """Draws the growth of distinct pretokens, both axes logarithmic; the suffix says the format (.svg, .png).

        Raises:
            MissingDependencyError: matplotlib is not there.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingDependencyError("a plot needs matplotlib: pip install 'jeton[plot]'", extra="plot") from None
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.add_subplot()
        points = [point for point in self.growth if min(point) > 0]
        axes.loglog([x for x, _ in points], [y for _, y in points], marker=".", label="counted")
        if self.heaps is not None:
            k, beta = self.heaps
            axes.loglog(
                [x for x, _ in points], [k * x**beta for x, _ in points], "--", label=f"{k:.3g} · bytes^{beta:.3f}"
            )
        axes.set_xlabel("bytes of the corpus")
        axes.set_ylabel("distinct pretokens")
        axes.legend()
        axes.grid(alpha=0.3)
        figure.savefig(os.fspath(path))


def report(counts: Counts, top: int = 20) -> CountsReport:
    """Describes counts; what `Counts.report` does."""
    core, growth = counts._core, _growth(counts)
    return CountsReport(
        documents=counts.documents,
        corpus_bytes=counts.corpus_bytes,
        distinct=len(counts),
        total=counts.total,
        once=core.num_with(1),
        top=counts.most_common(top),
        scripts=[ScriptShare(*share) for share in core.scripts()],
        growth=growth,
        heaps=_heaps(growth),
        dropped=counts.dropped,
    )


def _growth(counts: Counts) -> list[tuple[int, int]]:
    """Distinct pretokens at bytes that are evenly spread over the logarithms."""
    total, end = counts.corpus_bytes, counts._core.end
    if counts.stages is None or not total:
        return []
    steps = {round(total ** (step / POINTS)) for step in range(POINTS // 4, POINTS)} | {total}
    at = sorted(step for step in steps if 0 < step <= total)
    return list(zip(at, counts._core.distinct_before([step * end // total for step in at]), strict=True))


def _heaps(growth: list[tuple[int, int]]) -> tuple[float, float] | None:
    """K and beta of Heaps' law, by least squares of the logarithms.

    Source: Heaps 1978, Information Retrieval, section 7.5.
    """
    points = [(math.log(x), math.log(y)) for x, y in growth if x > 1000 and y > 0]
    if len(points) < 4:
        return None
    mean_x, mean_y = (math.fsum(values) / len(points) for values in zip(*points, strict=True))
    spread = math.fsum((x - mean_x) ** 2 for x, _ in points)
    beta = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return math.exp(mean_y - beta * mean_x), beta

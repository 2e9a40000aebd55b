"""Counts of the calls that ran on Jeton and of the calls that fell back to the original tokenizer, by call shape."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from typing import Any

__all__ = ["Stats", "fell_back", "of_process", "ran"]

logger = logging.getLogger("jeton.integrations")

# (method, shape, reason) → number of calls; the reason is None for calls that ran on Jeton
Counts = dict[tuple[str, str, str | None], int]

_ALL: list[Counts] = []
_LOGGED: set[tuple[str, str | None]] = set()


@dataclass(frozen=True)
class Stats:
    """Counters of the calls of one tokenizer, or of all tokenizers of a process.

    Attributes:
        on_jeton: number of calls that ran on Jeton.
        fallbacks: number of calls that ran on the original, by call shape and reason.
        shapes: number of calls that ran on Jeton, by call shape.

    Examples:
        >>> Stats(9, {"encode batch: sanitize_control_tokens": 1}, {"encode batch": 9}).share
        0.9
    """

    on_jeton: int
    fallbacks: dict[str, int]
    shapes: dict[str, int]

    @property
    def share(self) -> float:
        """Fraction of the calls that ran on Jeton; 1 if there was no call."""
        total = self.on_jeton + sum(self.fallbacks.values())
        return self.on_jeton / total if total else 1.0

    def to_json(self) -> dict[str, Any]:
        """Returns the counts as JSON."""
        return {"on_jeton": self.on_jeton, "share": self.share, "fallbacks": self.fallbacks, "shapes": self.shapes}

    def __repr__(self) -> str:
        lines = [f"{self.on_jeton:,} calls on Jeton ({self.share:.1%})"]
        lines += [f"  {count:,} on the original: {shape}" for shape, count in self.fallbacks.items()]
        return "\n".join(lines)


def new_counts() -> Counts:
    """Creates the call counters of a tokenizer and registers them for the totals of `of_process`."""
    counts: Counts = {}
    _ALL.append(counts)
    return counts


def of_counts(*tokenizers: Counts) -> Stats:
    """Sums the call counts of tokenizers."""
    shapes: Counter[str] = Counter()
    fallbacks: Counter[str] = Counter()
    for counts in tokenizers:
        for (method, shape, reason), count in list(counts.items()):
            name = f"{method} {shape}".strip()
            if reason is None:
                shapes[name] += count
            else:
                fallbacks[f"{name}: {reason}"] += count
    return Stats(sum(shapes.values()), dict(fallbacks.most_common()), dict(shapes.most_common()))


def of_process() -> Stats:
    """Returns the numbers of calls of all accelerated tokenizers of this process."""
    return of_counts(*_ALL)


def ran(counts: Counts, method: str, shape: str) -> None:
    """Counts a call that ran on Jeton."""
    key = method, shape, None
    counts[key] = counts.get(key, 0) + 1


def fell_back(counts: Counts, method: str, shape: str, reason: str) -> None:
    """Counts a call that ran on the original, and logs the first call for each reason."""
    key = method, shape, reason
    counts[key] = counts.get(key, 0) + 1
    if (method, reason) not in _LOGGED:
        _LOGGED.add((method, reason))
        logger.info("a call of %s (%s) ran on the original tokenizer: %s", method, shape or "one text", reason)

"""Results of `measure`: `Measure`, one tokenizer on one text, and `MeasureTable`, tokenizers × sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..drawing import to_card
from ..errors import ConfigError, keyword
from .measure_plot import plot_table
from .measure_views import table_csv, table_html, table_text

__all__ = ["FIGURES", "Measure", "MeasureTable"]

# Figures of a `Measure` that are computed from its counts.
RATIOS = (
    "bytes_per_token",
    "chars_per_token",
    "tokens_per_word",
    "tokens_per_unspaced_char",
    "whole_word_share",
    "seconds_per_mb",
)
# Figures that sort the sources of a table.
FIGURES = ("tokens", "bytes", *RATIOS, "unknown")


@dataclass(frozen=True, slots=True, repr=False)
class Measure:
    """Counts of a text and of its tokens. Measures of several texts add up: ``a + b``.

    Words are segments of Unicode's word boundaries (UAX #29) that hold a letter or a number. Scripts that are written
    without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan, …) have no words without a
    dictionary. Their text is counted in characters, each with its combining marks, and never in words.

    Attributes:
        tokens: number of tokens.
        bytes: number of UTF-8 bytes.
        chars: number of characters (code points).
        documents: number of documents.
        unknown: tokens that are the unknown token.
        words: words of scripts with spaces; this and the next four are None if words were not counted.
        word_tokens: sum over these words of the tokens that each overlaps.
        whole_words: words that no token boundary divides.
        unspaced_chars: characters of scripts without spaces.
        unspaced_tokens: sum over uninterrupted runs of such characters of the tokens that each overlaps.
        seconds: time of encoding; None if it was not measured. Equality ignores it.

    Examples:
        >>> found = Measure(tokens=3, bytes=12, chars=12, words=2, word_tokens=3, whole_words=1)
        >>> found.bytes_per_token, found.tokens_per_word, found.whole_word_share
        (4.0, 1.5, 0.5)
        >>> (found + found).tokens
        6
    """

    tokens: int = 0
    bytes: int = 0
    chars: int = 0
    documents: int = 0
    unknown: int = 0
    words: int | None = 0
    word_tokens: int | None = 0
    whole_words: int | None = 0
    unspaced_chars: int | None = 0
    unspaced_tokens: int | None = 0
    seconds: float | None = field(default=None, compare=False)

    @property
    def bytes_per_token(self) -> float:
        """UTF-8 bytes per token: higher means fewer tokens; 0.0 without tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0

    @property
    def chars_per_token(self) -> float:
        """Characters per token; 0.0 without tokens."""
        return self.chars / self.tokens if self.tokens else 0.0

    @property
    def tokens_per_word(self) -> float | None:
        """Fertility: tokens that a word overlaps, on average; at least 1.0. None without words.

        Source: Rust et al. 2021, "How Good is Your Tokenizer?", section 3.3.
        """
        return _share(self.word_tokens, self.words)

    @property
    def tokens_per_unspaced_char(self) -> float | None:
        """Tokens per character of scripts without spaces; None without such characters."""
        return _share(self.unspaced_tokens, self.unspaced_chars)

    @property
    def whole_word_share(self) -> float | None:
        """Share of words that are one token, or part of one; None without words.

        Source: 1 minus the proportion of continued words of Rust et al. 2021. Counted in context; the single token
        retention rate of Nayeem et al. 2025 (arXiv:2510.09947) encodes distinct words alone.
        """
        return _share(self.whole_words, self.words)

    @property
    def seconds_per_mb(self) -> float | None:
        """Seconds per million bytes; None if time was not measured."""
        return None if self.seconds is None else self.seconds * 1e6 / self.bytes if self.bytes else 0.0

    def __add__(self, other: Measure) -> Measure:
        if not isinstance(other, Measure):
            return NotImplemented
        sums: dict[str, Any] = {}
        for each in fields(self):
            mine, its = getattr(self, each.name), getattr(other, each.name)
            sums[each.name] = None if mine is None or its is None else mine + its
        return Measure(**sums)

    def to_json(self) -> dict[str, Any]:
        """Counts and ratios as JSON; null for a ratio that is None."""
        return {name: getattr(self, name) for name in (*(each.name for each in fields(self)), *RATIOS)}

    def _repr_html_(self) -> str:
        ratios = [(name.replace("_", " "), getattr(self, name)) for name in RATIOS]
        figures = [(name, f"{value:.3f}") for name, value in ratios if value is not None]
        counts = [(name, f"{getattr(self, name):,}") for name in ("tokens", "bytes", "chars", "documents", "unknown")]
        return to_card("Measure", [*figures, *counts])

    def __repr__(self) -> str:
        shown = ("bytes_per_token", "chars_per_token", "tokens_per_word", "tokens_per_unspaced_char")
        values = ((name, getattr(self, name)) for name in shown)
        ratios = "".join(f"{name}={value:.3f}, " for name, value in values if value is not None)
        return f"Measure({ratios}tokens={self.tokens}, bytes={self.bytes})"


@dataclass(frozen=True, slots=True, repr=False)
class MeasureTable:
    """Table of measures: a row for each source, a column for each tokenizer. Its string is a table in text.

    Attributes:
        tokenizers: names of the tokenizers.
        sources: names of the sources.
        cells: ``cells[source][tokenizer]``, by index.
        baseline: the tokenizer whose number of tokens `relative` divides by.

    Examples:
        >>> import jeton
        >>> fine = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
        >>> coarse = jeton.train(["low lower lowest"], 259, pattern="gpt2", progress=False)
        >>> texts = {"known": ["low lowest"], "other": ["slow 今天"]}
        >>> table = jeton.measure({"fine": fine, "coarse": coarse}, texts, progress=False)
        >>> print(table)
        source  tokenizer  tokens  bytes/tok  chars/tok  tok/word  tok/char  whole words  vs fine
        known   fine           10      1.000      1.000     4.500         –         0.0%    1.000
                coarse          5      2.000      2.000     2.500         –        50.0%    0.500
        other   fine           11      1.000      0.636     4.000     3.000         0.0%    1.000
                coarse          9      1.222      0.778     2.000     3.000         0.0%    0.818
        total   fine           21      1.000      0.810     4.333     3.000         0.0%    1.000
                coarse         14      1.500      1.214     2.333     3.000        33.3%    0.667
        tok/word: words of scripts with spaces; tok/char: characters of scripts without (Chinese, Japanese, Thai, …)
        >>> table["known", "coarse"].tokens
        5
    """

    tokenizers: tuple[str, ...]
    sources: tuple[str, ...]
    cells: tuple[tuple[Measure, ...], ...]
    baseline: str

    def __getitem__(self, names: tuple[str, str]) -> Measure:
        source, tokenizer = names
        return self.cells[_index(self.sources, source, "source")][_index(self.tokenizers, tokenizer, "tokenizer")]

    @property
    def totals(self) -> tuple[Measure, ...]:
        """For each tokenizer, the sum over all sources."""
        return tuple(sum(column[1:], column[0]) for column in zip(*self.cells, strict=True))

    def rows(self) -> Iterator[tuple[str, tuple[Measure, ...]]]:
        """Yields each source with its measures, and, of several sources, ``"total"`` with the totals."""
        yield from zip(self.sources, self.cells, strict=True)
        if len(self.sources) > 1:
            yield "total", self.totals

    def relative(self, cells: tuple[Measure, ...]) -> tuple[float | None, ...]:
        """Numbers of tokens of a row, divided by that of the baseline; None if that is 0."""
        base = cells[self.tokenizers.index(self.baseline)].tokens
        return tuple(_share(cell.tokens, base) for cell in cells)

    def relative_to(self, baseline: str) -> MeasureTable:
        """A copy with another baseline.

        Raises:
            ConfigError: there is no such tokenizer.
        """
        _index(self.tokenizers, baseline, "baseline")
        return replace(self, baseline=baseline)

    def sorted_by(self, figure: str) -> MeasureTable:
        """A copy with its sources sorted: by ``"name"``, or by a figure of the baseline tokenizer, the largest first.

        Raises:
            ConfigError: an unknown figure.
        """
        if figure == "name":
            order = sorted(range(len(self.sources)), key=lambda index: self.sources[index])
        elif figure in FIGURES:
            column = self.tokenizers.index(self.baseline)
            values = [getattr(row[column], figure) for row in self.cells]
            order = sorted(range(len(values)), key=lambda index: (values[index] is None, -(values[index] or 0)))
        else:
            raise ConfigError(f"{keyword('sort', figure)}: expected name, {', '.join(FIGURES)}")
        sources, cells = [self.sources[index] for index in order], [self.cells[index] for index in order]
        return replace(self, sources=tuple(sources), cells=tuple(cells))

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary for each source and tokenizer, then those of the totals: `Measure.to_json`, the names
        ``source`` and ``tokenizer``, and ``relative_tokens``, the number of tokens divided by that of the baseline.
        """
        return [
            {"source": source, "tokenizer": name, **cell.to_json(), "relative_tokens": relative}
            for source, cells in self.rows()
            for name, cell, relative in zip(self.tokenizers, cells, self.relative(cells), strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """The table as JSON."""
        names = {"tokenizers": list(self.tokenizers), "sources": list(self.sources), "baseline": self.baseline}
        return {**names, "cells": [[cell.to_json() for cell in row] for row in self.cells]}

    def to_csv(self) -> str:
        """The `records` as CSV with a header, without rounding. An empty field is a figure that does not exist."""
        return table_csv(self.records())

    def to_terminal(self, *, width: int | None = None) -> str:
        """The table as text of at most `width` columns, as far as possible: names are shortened, then figures that
        others imply are left out. None: no limit.
        """
        return table_text(self.records(), self.baseline, width)

    def plot(self, path: str | Path) -> None:
        """Plots bytes per token by source into a file, ``.png``, ``.svg`` or ``.pdf``. Needs the extra ``plot``.

        Raises:
            ConfigError: another suffix.
            MissingDependencyError: matplotlib is not installed.
        """
        columns = zip(*self.cells, strict=True)
        ratios = {
            name: [cell.bytes_per_token for cell in column]
            for name, column in zip(self.tokenizers, columns, strict=True)
        }
        plot_table(self.sources, ratios, path)

    def __str__(self) -> str:
        return self.to_terminal()

    def __repr__(self) -> str:
        return f"MeasureTable({len(self.sources)} sources × {', '.join(self.tokenizers)})"

    def _repr_html_(self) -> str:
        return table_html(self.records(), self.baseline)


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def _index(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise ConfigError(f"{keyword(what, name)} is not in the table; it has: {', '.join(names)}")
    return names.index(name)

"""Results of `measure`: `Measure` (one tokenizer on one text) and `MeasureTable` (tokenizers × sources)."""

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
# Figures by which the sources of a table can be sorted.
FIGURES = ("tokens", "bytes", *RATIOS, "unknown")


@dataclass(frozen=True, slots=True, repr=False)
class Measure:
    """Counts of a text and of its tokens. Measures of several texts add up: ``a + b``.

    Words are segments between Unicode's word boundaries (UAX #29) that contain a letter or a number. In scripts that
    are written without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan, …), only a
    dictionary can find words. Text in these scripts is counted in characters, each with its combining marks, and never
    in words.

    Attributes:
        tokens: number of tokens.
        bytes: number of UTF-8 bytes.
        chars: number of characters (code points).
        documents: number of documents.
        unknown: number of unknown tokens.
        words: number of words, in scripts with spaces. This and the next four attributes are None if words were not
            counted.
        word_tokens: number of tokens that overlap a word, summed over all words.
        whole_words: number of words without a token boundary inside.
        unspaced_chars: number of characters of scripts without spaces.
        unspaced_tokens: number of tokens that overlap an uninterrupted run of such characters, summed over all runs.
        seconds: time of encoding; None if it was not measured. Comparison of measures for equality ignores it.

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
        """UTF-8 bytes per token: higher means fewer tokens; 0.0 if there are no tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0

    @property
    def chars_per_token(self) -> float:
        """Characters per token; 0.0 if there are no tokens."""
        return self.chars / self.tokens if self.tokens else 0.0

    @property
    def tokens_per_word(self) -> float | None:
        """Fertility: average number of tokens that overlap a word; at least 1.0. None if there are no words.

        Source: Rust et al. 2021, "How Good is Your Tokenizer?", section 3.3.
        """
        return _share(self.word_tokens, self.words)

    @property
    def tokens_per_unspaced_char(self) -> float | None:
        """Tokens per character of scripts without spaces; None if there are no such characters."""
        return _share(self.unspaced_tokens, self.unspaced_chars)

    @property
    def whole_word_share(self) -> float | None:
        """Share of words that are one token or part of one token; None if there are no words.

        Source: 1 minus the proportion of continued words of Rust et al. 2021. Words are counted in context; in
        contrast, the single token retention rate of Nayeem et al. 2025 (arXiv:2510.09947) encodes each distinct word by
        itself.
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
        """Returns counts and ratios as JSON; null for a ratio that is None."""
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
    """Table of measures: a row for each source, a column for each tokenizer. `str` returns it as text.

    Attributes:
        tokenizers: names of the tokenizers.
        sources: names of the sources.
        cells: ``cells[source][tokenizer]``, by index.
        baseline: name of the tokenizer whose number of tokens is the divisor in `relative`.

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
        """Yields each source with its measures, then, if there are several sources, ``"total"`` with the totals."""
        yield from zip(self.sources, self.cells, strict=True)
        if len(self.sources) > 1:
            yield "total", self.totals

    def relative(self, cells: tuple[Measure, ...]) -> tuple[float | None, ...]:
        """Returns a row's numbers of tokens, divided by the baseline's number; None if the baseline has 0 tokens."""
        base = cells[self.tokenizers.index(self.baseline)].tokens
        return tuple(_share(cell.tokens, base) for cell in cells)

    def relative_to(self, baseline: str) -> MeasureTable:
        """Returns a copy with another baseline.

        Raises:
            ConfigError: no tokenizer has this name.
        """
        _index(self.tokenizers, baseline, "baseline")
        return replace(self, baseline=baseline)

    def sorted_by(self, figure: str) -> MeasureTable:
        """Returns a copy with sorted sources: by ``"name"``, or by a figure of the baseline tokenizer, largest first.

        Raises:
            ConfigError: the figure is unknown.
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
        """Returns a flat dictionary for each source and tokenizer, then one for each tokenizer's totals.

        A dictionary has the items of `Measure.to_json`, the names ``source`` and ``tokenizer``, and
        ``relative_tokens``: the number of tokens divided by the baseline's number.
        """
        return [
            {"source": source, "tokenizer": name, **cell.to_json(), "relative_tokens": relative}
            for source, cells in self.rows()
            for name, cell, relative in zip(self.tokenizers, cells, self.relative(cells), strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Returns the table as JSON."""
        names = {"tokenizers": list(self.tokenizers), "sources": list(self.sources), "baseline": self.baseline}
        return {**names, "cells": [[cell.to_json() for cell in row] for row in self.cells]}

    def to_csv(self) -> str:
        """Returns the `records` as CSV with a header, without rounding. A missing figure is an empty field."""
        return table_csv(self.records())

    def to_terminal(self, *, width: int | None = None) -> str:
        """Returns the table as text.

        If the table is wider than `width` columns, names are shortened. If that is not enough, up to four of the less
        important figures are omitted. Even then the table can be wider. None: no limit.
        """
        return table_text(self.records(), self.baseline, width)

    def plot(self, path: str | Path) -> None:
        """Plots bytes per token by source into a file, ``.png``, ``.svg`` or ``.pdf``. Needs the extra ``plot``.

        Raises:
            ConfigError: the suffix is none of these.
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

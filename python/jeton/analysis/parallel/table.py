"""`LanguageTable`: numbers of tokens of parallel text, languages × tokenizers, relative to one language."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal, NamedTuple

from ...errors import ConfigError, keyword
from ...util.arguments import choice
from ..measure_table import Measure
from ..measure_views import table_csv
from .heat_map import plot_languages
from .texts import Language
from .views import Row, languages_html, languages_text

__all__ = ["FIGURES", "GROUPINGS", "LanguageGroup", "LanguageTable"]

GROUPINGS = ("script", "family")
FIGURES = ("relative", "bytes_per_token", "chars_per_token", "fertility")


class LanguageGroup(NamedTuple):
    """Languages that share a script or a family.

    Attributes:
        name: name of the script or family.
        languages: the languages.
        relative: for each tokenizer, the median of the languages' relative numbers of tokens.
        cells: for each tokenizer, the sum of the languages' measures.
    """

    name: str
    languages: tuple[Language, ...]
    relative: tuple[float, ...]
    cells: tuple[Measure, ...]


@dataclass(frozen=True, slots=True, repr=False)
class LanguageTable:
    """Measures of parallel texts: a row for each language, a column for each tokenizer. `str` returns it as text.

    Attributes:
        tokenizers: names of the tokenizers.
        languages: the languages, in the order of the rows.
        cells: ``cells[language][tokenizer]``, by index.
        baseline: key of the language whose numbers of tokens are the reference.
        left_out: files excluded as incomplete translations: they have less than a fifth of the baseline's characters.

    Examples:
        >>> import jeton
        >>> table = jeton.languages({"default": jeton.default()})
        >>> len(table.languages), table.baseline, table.relative("eng", "default")
        (20, 'eng', 1.0)
        >>> table.relative("tam", "default") > table.relative("deu", "default")
        True
        >>> [group.name for group in table.groups("script")[:3]]
        ['Tamil', 'Greek', 'Bengali']
    """

    tokenizers: tuple[str, ...]
    languages: tuple[Language, ...]
    cells: tuple[tuple[Measure, ...], ...]
    baseline: str
    left_out: tuple[str, ...] = ()

    def __getitem__(self, names: tuple[str, str]) -> Measure:
        return self.cells[self._row(names[0])][self._column(names[1])]

    def relative(self, language: str, tokenizer: str) -> float:
        """Returns a language's number of tokens divided by the baseline language's, for one tokenizer.

        Source: Petrov et al. 2023, "Language Model Tokenizers Introduce Unfairness Between Languages", which calls this
        ratio the premium.
        """
        return self.relative_rows()[self._row(language)][self._column(tokenizer)]

    def relative_rows(self) -> list[tuple[float, ...]]:
        """Returns a row for each language: the tokens of each tokenizer, divided by those of the baseline language."""
        base = [cell.tokens for cell in self.cells[self._row(self.baseline)]]
        return [tuple(cell.tokens / least for cell, least in zip(row, base, strict=True)) for row in self.cells]

    def gini(self, tokenizer: str) -> float:
        """Returns the inequality of languages in tokens: 0.0 if all have equally many, near 1.0 if one has nearly all.

        Source: the Gini coefficient, as in Foroutan et al. 2025, "Parity-Aware Byte-Pair Encoding", arXiv 2508.04796.
        """
        column = self._column(tokenizer)
        costs = sorted(row[column].tokens for row in self.cells)
        weighted = sum(rank * cost for rank, cost in enumerate(costs, 1))
        return 2 * weighted / (len(costs) * sum(costs)) - (len(costs) + 1) / len(costs)

    def groups(self, by: Literal["script", "family"] = "script") -> list[LanguageGroup]:
        """Groups languages by script or family, in descending order of the first tokenizer's relative tokens."""
        choice(by, "by", GROUPINGS)
        rows: dict[str, list[int]] = {}
        for index, language in enumerate(self.languages):
            rows.setdefault(getattr(language, by), []).append(index)
        relative = self.relative_rows()
        found = [
            LanguageGroup(
                name,
                tuple(self.languages[index] for index in indices),
                tuple(median(column) for column in zip(*(relative[index] for index in indices), strict=True)),
                tuple(sum(column[1:], column[0]) for column in zip(*(self.cells[i] for i in indices), strict=True)),
            )
            for name, indices in rows.items()
        ]
        return sorted(found, key=lambda group: (-group.relative[0], group.name))

    def sorted_by(self, order: Literal["tokens", "key"] = "tokens") -> LanguageTable:
        """Returns a copy with sorted rows: by key (ascending), or by the tokens of the first tokenizer (most first)."""
        choice(order, "order", ("tokens", "key"))
        keys: Sequence[Any] = [
            -self.cells[index][0].tokens if order == "tokens" else language.key
            for index, language in enumerate(self.languages)
        ]
        rows = sorted(range(len(keys)), key=keys.__getitem__)
        return replace(
            self, languages=tuple(self.languages[row] for row in rows), cells=tuple(self.cells[row] for row in rows)
        )

    def records(self) -> list[dict[str, Any]]:
        """Returns a flat dictionary for each language and tokenizer: the fields of `Language`, ``tokenizer``,
        ``relative_tokens`` and `Measure.to_json`.
        """
        return [
            {**language._asdict(), "tokenizer": name, "relative_tokens": relative, **cell.to_json()}
            for language, cells, row in zip(self.languages, self.cells, self.relative_rows(), strict=True)
            for name, cell, relative in zip(self.tokenizers, cells, row, strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Returns the table as JSON, with the medians of the groups."""
        groups = {
            by: [
                {"name": group.name, "languages": len(group.languages), "relative": list(group.relative)}
                for group in found
            ]
            for by, found in (("script", self.groups("script")), ("family", self.groups("family")))
        }
        return {
            "tokenizers": list(self.tokenizers),
            "baseline": self.baseline,
            "left_out": list(self.left_out),
            "gini": {name: self.gini(name) for name in self.tokenizers},
            "groups": groups,
            "languages": self.records(),
        }

    def to_csv(self) -> str:
        """Returns the `records` as CSV with a header, without rounding. A missing figure is an empty field."""
        return table_csv(self.records())

    def to_terminal(self, *, by: Literal["language", "script", "family"] = "language", figure: str = "relative") -> str:
        """Returns a table as text, with a line for each language or group, and a column for each tokenizer.

        Args:
            by: what a line of the table stands for.
            figure: figure in each cell: ``"relative"`` (tokens relative to the baseline), ``"bytes_per_token"``,
                ``"chars_per_token"`` or ``"fertility"`` (tokens per word; if most tokens are in scripts without spaces
                between words, tokens per character, marked with ``c``).
        """
        choice(by, "by", ("language", *GROUPINGS))
        choice(figure, "figure", FIGURES)
        if by == "language":
            rows = self._rows()
        else:
            rows = [Row((each.name, f"{len(each.languages)}"), *each[2:]) for each in self.groups(by)]
        return languages_text(by, figure, self._baseline_name, self.tokenizers, rows, self.left_out)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Plots a heat map of the relative numbers of tokens into a file, ``.png``, ``.svg`` or ``.pdf``. Needs the
        extra ``plot``.

        Raises:
            ConfigError: the suffix is none of these.
            MissingDependencyError: matplotlib is not installed.
        """
        relative = dict(zip(self.languages, self.relative_rows(), strict=True))
        scripts = {group.name: group.languages for group in self.groups("script")}
        plot_languages(scripts, relative, self._baseline_name, self.tokenizers, path)

    def __str__(self) -> str:
        return self.to_terminal()

    def __repr__(self) -> str:
        return f"LanguageTable({len(self.languages)} languages × {', '.join(self.tokenizers)})"

    def _repr_html_(self) -> str:
        return languages_html(self._baseline_name, self.tokenizers, self._rows())

    @property
    def _baseline_name(self) -> str:
        return self.languages[self._row(self.baseline)].name

    def _rows(self) -> list[Row]:
        """Returns the rows that the views format, one for each language."""
        columns = zip(self.languages, self.relative_rows(), self.cells, strict=True)
        return [Row(language[1:], relative, cells) for language, relative, cells in columns]

    def _row(self, key: str) -> int:
        for index, language in enumerate(self.languages):
            if language.key == key:
                return index
        raise ConfigError(f"{keyword('language', key)} is not in the table")

    def _column(self, name: str) -> int:
        if name not in self.tokenizers:
            message = f"{keyword('tokenizer', name)} is not in the table; it has: {', '.join(self.tokenizers)}"
            raise ConfigError(message)
        return self.tokenizers.index(name)

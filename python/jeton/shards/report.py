"""`Report` on shards, as JSON, Markdown and a plot: totals, sources, largest documents, skipped records, warnings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ..corpus.error_policy import complaint_lines
from ..errors import FormatError
from .checks import (
    Check,
    check_fields,
    is_count,
    is_id,
    is_number,
    is_skipped,
    is_text,
    is_text_or_none,
    list_of,
    map_of,
    record,
)
from .folder import REPORT, ShardFolder
from .plan import LONG
from .sources import SourceTotals

__all__ = ["Report", "report"]

MOST_SPECIAL = 5
_is_totals = map_of(is_count)
_is_source = record(
    **dict.fromkeys(SourceTotals._fields, is_count), bytes_per_token=lambda value: value is None or is_number(value)
)
_is_packing = record(
    **dict.fromkeys(("length", "rows", "pieces", "cut", "padding", "dropped"), is_count),
    method=is_text,
    fill=lambda value: value is None or is_number(value),
)
_is_conversations = record(policy=is_text, **dict.fromkeys(LONG, is_count))
# Entries that the JSON of every report has.
FACTS: dict[str, Check] = {
    "format": is_text,
    "dtype": is_text_or_none,
    "tokenizer": is_text_or_none,
    **dict.fromkeys(("inputs", "input_bytes", "shards", "documents", "bytes", "tokens", "empty"), is_count),
    "highest_id": is_id,
    "skipped": is_skipped,
    "replaced": _is_totals,
    "special": _is_totals,
    "largest": list_of(list_of(is_count, is_text)),
    "sources": map_of(_is_source),
    "seconds": map_of(is_number),
    "joined": list_of(is_text),
    "packing": lambda value: value is None or _is_packing(value),
}
# Entries that older reports lack.
OPTIONAL: dict[str, Check] = {
    "conversations": _is_conversations,
    "generations": list_of(is_count),
    "kept": _is_totals,
    "arguments": map_of(_is_source),
}


@dataclass(frozen=True)
class Report:
    """Report on shards.

    Attributes:
        format, dtype, tokenizer: as in `Plan`.
        inputs, input_bytes: number of input files, and their size before decompression.
        shards: number of shards.
        documents, bytes, tokens: number of written documents, number of their bytes, and number of their ids,
            including bos and eos.
        highest_id: highest id; -1 if there are no ids.
        empty: number of documents without tokens, which are not written.
        skipped: kind of error -> number of skipped records, and the sources of the first ones.
        replaced: file -> number of replacements by U+FFFD.
        special: spelling of a special token -> number of its occurrences in documents; an occurrence is
            encoded as text.
        largest: number of ids and source of the documents with the most ids.
        sources: source -> its totals; a source is a file, or a folder if there are many files. Empty if the
            format is ``counts``.
        seconds: stage of a task (read, parse, encode, write, sync) -> its processor or waiting time in seconds, summed
            over all tasks.
        joined: names of the files into which all shards were joined; empty if the shards were not joined.
        packing: for packed shards: row length (``length``) and ``method``; number of ``rows``, of ``pieces`` (each is
            from a document or is padding), of documents that were ``cut``, of ``padding`` ids, and of ``dropped`` ids;
            and ``fill``, the share of ids that are not padding.
        conversations: for conversations in rows: the policy for conversations that are longer than a row, their number
            (``too_long``), how many of them were truncated, split or dropped, and the number of replies that are left
            out (``replies_dropped``).
        generations: if inputs were added to a shuffle: number of shards of each `Generation`. Documents are shuffled
            only within their generation.
        arguments: path, glob, folder or URL as it was given -> its totals; empty if there is only one.
        kept: for shards with metadata: name of a field -> number of records that have it.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be or not to be")
        >>> report = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
        >>> report.tokens, report.bytes_per_token
        (6, 3.0)
    """

    format: str
    dtype: str | None
    tokenizer: str | None
    inputs: int
    input_bytes: int
    shards: int
    documents: int
    bytes: int
    tokens: int
    highest_id: int
    empty: int
    skipped: Mapping[str, tuple[int, tuple[str, ...]]]
    replaced: Mapping[str, int]
    special: Mapping[str, int]
    largest: tuple[tuple[int, str], ...]
    sources: Mapping[str, SourceTotals]
    seconds: Mapping[str, float]
    joined: tuple[str, ...] = ()
    packing: Mapping[str, Any] | None = None
    conversations: Mapping[str, Any] | None = None
    generations: tuple[int, ...] = ()
    kept: Mapping[str, int] | None = None
    arguments: Mapping[str, SourceTotals] = field(default_factory=dict)

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text per id, including bos and eos; None if there are no ids."""
        return self.bytes / self.tokens if self.tokens else None

    @property
    def num_skipped(self) -> int:
        """Number of skipped records of all kinds."""
        return sum(count for count, _ in self.skipped.values())

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON."""
        facts = dict(vars(self))
        for name in OPTIONAL:
            if not facts[name]:
                del facts[name]
        for name in ("sources", "arguments"):
            if name in facts:
                facts[name] = {
                    source: {**totals._asdict(), "bytes_per_token": totals.bytes_per_token}
                    for source, totals in facts[name].items()
                }
        return {**facts, "bytes_per_token": self.bytes_per_token}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Report:
        """Reads the output of `to_json`.

        Raises:
            FormatError: an entry is missing or wrong.
        """
        try:
            check_fields(facts, FACTS, OPTIONAL)
            given = {field.name: facts[field.name] for field in fields(cls) if field.name in facts}
            given |= {
                "skipped": {kind: (count, tuple(places)) for kind, (count, places) in given["skipped"].items()},
                "largest": tuple(map(tuple, given["largest"])),
                "joined": tuple(given["joined"]),
                "generations": tuple(given.get("generations", ())),
            }
            for kind in ("sources", "arguments"):
                given[kind] = {
                    name: SourceTotals(*(totals[entry] for entry in SourceTotals._fields))
                    for name, totals in given.get(kind, {}).items()
                }
        except ValueError as error:
            raise FormatError(f"not a report on shards ({error})", format="report") from None
        return cls(**given)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Saves a plot: bytes per token by source, number of tokens by source, largest documents, skipped records.

        Args:
            path: path of the plot, which must end in .png, .svg or .pdf.

        Raises:
            ConfigError: the path has another suffix.
            MissingDependencyError: matplotlib is not installed.

        Examples:
            >>> import jeton, tempfile
            >>> folder = tempfile.mkdtemp()
            >>> with open(f"{folder}/a.txt", "w") as file:
            ...     _ = file.write("to be or not to be")
            >>> made = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
            >>> made.plot(f"{folder}/report.svg")
        """
        from .report_plot import plot_report

        plot_report(self.to_json(), path)

    def complaints(self) -> list[str]:
        """Returns warnings about replacements, skipped records, special tokens in documents, and omitted replies."""
        lines = complaint_lines(self.replaced, self.skipped)
        if self.special:
            some = sorted(self.special.items(), key=lambda item: -item[1])[:MOST_SPECIAL]
            named = ", ".join(f"{spelling!r} {_number(count, 'time')}" for spelling, count in some)
            more = ", …" if len(self.special) > MOST_SPECIAL else ""
            lines.append(f"documents spell special tokens, which are encoded as text: {named}{more}")
        if self.conversations and self.conversations["replies_dropped"]:
            long = self.conversations
            one, reply = long["too_long"] == 1, long["replies_dropped"] == 1
            lines.append(
                f"{_number(long['too_long'], 'conversation')} {'is' if one else 'are'} longer than a row "
                f"({long['policy']}): {long['replies_dropped']:,} {'reply is' if reply else 'replies are'} left out"
            )
        for name, count in (self.kept or {}).items():
            if not count and self.documents:
                lines.append(f"no record has the field {name!r} that was to be kept")
        return lines

    def to_markdown(self) -> str:
        """Returns the report as a page of Markdown."""
        name = "tokens" if self.tokenizer else "pretokens"
        ratio = self.bytes_per_token
        rows: list[tuple[str, str]] = [
            ("format", self.format + (f", {self.dtype}" if self.dtype else "")),
            ("tokenizer", self.tokenizer or "none"),
            ("inputs", f"{_number(self.inputs, 'file')}, {_number(self.input_bytes, 'byte')}"),
            ("documents", f"{self.documents:,}, {_number(self.bytes, 'byte')}"),
            (name, f"{self.tokens:,}" + (f", {ratio:.3f} bytes each" if ratio else "")),
            ("shards", f"{self.shards:,}"),
            ("documents without tokens", f"{self.empty:,}"),
            ("skipped records", f"{self.num_skipped:,}"),
        ]
        if self.highest_id >= 0:
            rows.insert(5, ("highest id", f"{self.highest_id:,}"))
        if made := self.packing:
            fill = f", {made['fill']:.2%} filled" if made["fill"] is not None else ""
            rows += [
                ("rows", f"{made['rows']:,} of {made['length']:,} ids ({made['method']}){fill}"),
                ("documents cut", f"{made['cut']:,}"),
                ("ids of padding, dropped", f"{made['padding']:,}, {made['dropped']:,}"),
            ]
        if long := self.conversations:
            rows += [
                ("conversations longer than a row", f"{long['too_long']:,} ({long['policy']})"),
                ("of these truncated, split, dropped", ", ".join(f"{long[name]:,}" for name in LONG[1:4])),
                ("replies left out", f"{long['replies_dropped']:,}"),
            ]
        if self.generations:
            rows.append(("shards of each generation of the shuffle", ", ".join(map(str, self.generations))))
        for name, count in (self.kept or {}).items():
            rows.append((f"records with {name}", f"{count:,}"))
        if self.joined:
            rows.append(("joined", ", ".join(self.joined)))
        parts = ["# Shards\n", _table(("", "value"), rows)]
        for title, noun, rows_of in (("Arguments", "argument", self.arguments), ("Sources", "source", self.sources)):
            if rows_of:
                head = (noun, "documents", "bytes", "tokens", "bytes per token")
                parts += [f"## {title}\n", _table(head, [_source_row(*item) for item in rows_of.items()])]
        if self.largest:
            parts += ["## Largest documents\n", _table(("tokens", "source"), [(f"{n:,}", s) for n, s in self.largest])]
        if self.seconds:
            seconds = [(stage, f"{value:,.1f}") for stage, value in self.seconds.items()]
            parts += ["## Seconds of all tasks\n", _table(("stage", "seconds"), seconds)]
        if complaints := self.complaints():
            parts += ["## Warnings\n", "".join(f"- {_cell(line)}\n" for line in complaints)]
        return "\n".join(parts)

    def __repr__(self) -> str:
        ids = _number(self.tokens, "token" if self.tokenizer else "pretoken")
        shards = _number(self.shards, "shard")
        return f"Report({_number(self.documents, 'document')}, {ids}, {shards} of format {self.format})"


def report(output: str | os.PathLike[str]) -> Report:
    """Reads the report of a folder that has been merged.

    Raises:
        ShardError: the folder has not been merged.
        FormatError: ``report.json`` is damaged.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be or not to be")
        >>> made = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
        >>> report(f"{folder}/out") == made
        True
    """
    folder = ShardFolder(output)
    name = f"{REPORT}.json"
    if not folder.has(name):
        raise folder.missing(name)
    facts = folder.read(name, "report")
    try:
        return Report.from_json(facts)
    except FormatError as error:
        raise FormatError(f"{folder.storage.location(name)}: {error}; merge again", format="report") from None


def _number(number: int, noun: str) -> str:
    """Formats a number with its noun. The report is a file, so it is not translated."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _source_row(name: str, totals: SourceTotals) -> tuple[str, ...]:
    ratio = totals.bytes_per_token
    return name, *(f"{number:,}" for number in totals), f"{ratio:.3f}" if ratio else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(map(_cell, row))} |\n" for row in [head, ["---"] * len(head), *rows]]
    return "".join(lines)


def _cell(text: str) -> str:
    """Escapes a text for a table cell, because file names and spellings can have any characters."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")

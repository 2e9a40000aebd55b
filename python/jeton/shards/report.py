"""`Report`: totals, skipped records and warnings, as JSON and Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Report"]

MOST_SPECIAL = 5


@dataclass(frozen=True)
class Report:
    """Report on shards.

    Attributes:
        format, dtype, tokenizer: as in `Plan`.
        inputs, input_bytes: number and size of the files, before decompression.
        shards: number of shards.
        documents, bytes, tokens: documents that were written, their bytes, and their ids with bos and eos.
        highest_id: highest id; -1 without any.
        empty: documents without tokens, which are not written.
        skipped: kind of error -> number of skipped records, and sources of the first of them.
        replaced: file -> number of replacements by U+FFFD.
        special: spelling of a special token -> occurrences in documents, where it is text.
        largest: the documents with the most ids: ids and source.
        seconds: stage -> seconds of processor or waiting time of all tasks: read, parse, encode, write, sync.
        joined: files of all shards as one.
        packing: of packed shards: length, method, rows, pieces of documents and padding, documents that were cut, ids
            of padding, ids that were dropped, and fill, the share of ids that are not padding.

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
    seconds: Mapping[str, float]
    joined: tuple[str, ...] = ()
    packing: Mapping[str, Any] | None = None

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text per id, bos and eos included; None without ids."""
        return self.bytes / self.tokens if self.tokens else None

    @property
    def num_skipped(self) -> int:
        """Number of skipped records of all kinds."""
        return sum(count for count, _ in self.skipped.values())

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {**vars(self), "bytes_per_token": self.bytes_per_token}

    def complaints(self) -> list[str]:
        """Warnings: replacements, skipped records, special tokens that documents spell."""
        lines = [f"{file}: replaced invalid UTF-8 at {count} places by U+FFFD" for file, count in self.replaced.items()]
        if self.skipped:
            kinds = [
                f"{count:,} {kind} ({', '.join(places)}{', …' if count > len(places) else ''})"
                for kind, (count, places) in self.skipped.items()
            ]
            records = "record" if self.num_skipped == 1 else "records"
            lines.append(f"skipped {self.num_skipped:,} {records}: {', '.join(kinds)}")
        if self.special:
            some = sorted(self.special.items(), key=lambda item: -item[1])[:MOST_SPECIAL]
            named = ", ".join(f"{spelling!r} {count:,} times" for spelling, count in some)
            more = ", …" if len(self.special) > MOST_SPECIAL else ""
            lines.append(f"documents spell special tokens, which are encoded as text: {named}{more}")
        return lines

    def to_markdown(self) -> str:
        """The report as a page."""
        name = "tokens" if self.tokenizer else "pretokens"
        ratio = self.bytes_per_token
        rows: list[tuple[str, str]] = [
            ("format", self.format + (f", {self.dtype}" if self.dtype else "")),
            ("tokenizer", self.tokenizer or "none"),
            ("inputs", f"{self.inputs:,} files, {self.input_bytes:,} bytes"),
            ("documents", f"{self.documents:,}, {self.bytes:,} bytes"),
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
        if self.joined:
            rows.append(("joined", ", ".join(self.joined)))
        parts = ["# Shards\n", _table(("", "value"), rows)]
        if self.largest:
            parts += ["## Largest documents\n", _table(("tokens", "source"), [(f"{n:,}", s) for n, s in self.largest])]
        if self.seconds:
            seconds = [(stage, f"{value:,.1f}") for stage, value in self.seconds.items()]
            parts += ["## Seconds of all tasks\n", _table(("stage", "seconds"), seconds)]
        if complaints := self.complaints():
            parts += ["## Warnings\n", "".join(f"- {_cell(line)}\n" for line in complaints)]
        return "\n".join(parts)

    def __repr__(self) -> str:
        ids = f"{self.tokens:,} {'tokens' if self.tokenizer else 'pretokens'}"
        return f"Report({self.documents:,} documents, {ids}, {self.shards:,} shards of format {self.format})"


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [f"| {_cell(left)} | {_cell(right)} |\n" for left, right in [head, ("---", "---"), *rows]]
    return "".join(lines)


def _cell(text: str) -> str:
    """Text in one line of a table: file names and spellings may have anything."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")

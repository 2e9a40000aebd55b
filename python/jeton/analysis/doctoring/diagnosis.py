"""`Diagnosis`: groups of readers that agree; for each group that differs from the reference, a text and the cause."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from ...drawing.display_width import aligned, wrapped
from ...drawing.page import to_page
from ...drawing.theme import REPORT_CSS
from ...util.messages import counted, translate
from .causes import Cause
from .wording import quoted

__all__ = ["Diagnosis", "Disagreement", "ReaderRow"]

WIDTH = 100
MAX_IDS = 16
MAX_UNPROVEN = 4
MAX_CAUSES = 8

_CSS = REPORT_CSS + ".jeton-report .differs{color:var(--bad)}"


@dataclass(frozen=True)
class ReaderRow:
    """Result of one reader. A reader is a pair: a library, and a file that the library reads.

    Attributes:
        name: file and library.
        version: version of the library.
        detail: class that the library chose for the tokenizer, or another remark.
        group: letter of the group of readers with equal ids; the reference is in group ``"A"``. None if the reader was
            not checked.
        reason: why the reader was not checked.
        num_different: number of texts whose ids differ from the reference's.
    """

    name: str
    version: str
    detail: str
    group: str | None
    reason: str | None
    num_different: int


@dataclass(frozen=True)
class Disagreement:
    """Readers whose ids or decoded texts differ from those of the reference in the same way.

    Attributes:
        readers: names of the readers.
        call: the call whose results differ: ``"encode"``, ``"template"`` (encode with the template's tokens),
            ``"decode"`` or ``"lock"`` (comparison with the lock file).
        text: the first text with a difference.
        reference, found: ids or decoded text of the reference and of these readers; for a refused text, the message.
        reference_tokens, found_tokens: spellings of these ids.
        num_texts: number of texts with a difference.
        causes: the proven causes. If no cause was proved: unproven causes, usually the differences between the two
            definitions.
    """

    readers: tuple[str, ...]
    call: str
    text: str
    reference: list[int] | str | None
    found: list[int] | str | None
    reference_tokens: tuple[str, ...]
    found_tokens: tuple[str, ...]
    num_texts: int
    causes: tuple[Cause, ...]


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Result of `doctor`. `str` returns a table, followed by each difference with its cause.

    Attributes:
        place: the folder, file or name.
        readers: all readers, including those that were not checked.
        differences: the differences, in the order of the readers.
        num_texts: number of texts compared.
        lock: what was done with the lock file: ``"written"`` or ``"checked"``; None if there is no lock file.
        lock_differences: the differences from the lock file.

    Examples:
        >>> import jeton, tempfile
        >>> path = tempfile.mkdtemp() + "/tokenizer.json"
        >>> jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False).save(path)
        >>> found = jeton.doctor(path)
        >>> found.agrees, sorted({row.group for row in found.readers if row.reason is None})
        (True, ['A'])
    """

    place: str
    readers: tuple[ReaderRow, ...]
    differences: tuple[Disagreement, ...]
    num_texts: int
    lock: str | None = None
    lock_differences: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """True if all readers agree with the lock file or, if no lock file was checked, with each other."""
        return not self.lock_differences and (self.lock == "checked" or not self.differences)

    def to_json(self) -> dict[str, Any]:
        """Returns the diagnosis as JSON."""
        return {
            "place": self.place,
            "agrees": self.agrees,
            "num_texts": self.num_texts,
            "readers": [vars(row) for row in self.readers],
            "differences": [
                {
                    **vars(one),
                    "readers": list(one.readers),
                    "reference_tokens": list(one.reference_tokens),
                    "found_tokens": list(one.found_tokens),
                    "causes": [cause._asdict() for cause in one.causes],
                }
                for one in self.differences
            ],
            "lock": self.lock,
            "lock_differences": list(self.lock_differences),
        }

    def heading(self) -> str:
        """Returns a sentence that states the result."""
        checked = [row for row in self.readers if row.reason is None]
        facts = {"number": f"{len(checked):,}", "texts": counted(self.num_texts, "text")}
        if len(checked) == 1:
            return translate("only one reader: there is nothing to compare it with")
        if not self.differences:
            return translate("{number} readers agree on {texts}", **facts)
        groups = len({row.group for row in checked})
        if groups == 1:
            return translate("{number} readers give equal ids on {texts}, but decode them differently", **facts)
        return translate("{number} readers give {groups} different results on {texts}", groups=f"{groups:,}", **facts)

    def lock_lines(self) -> list[str]:
        """Returns the lines about the lock file, for the report."""
        if self.lock == "written":
            return [translate("lock file: written")]
        if self.lock is None:
            return []
        if not self.lock_differences:
            return [translate("lock file: no difference")]
        return [translate("lock file: {difference}", difference=one) for one in self.lock_differences]

    def to_html(self) -> str:
        """Returns a self-contained HTML page with a light and a dark color scheme."""
        return to_page(translate("Readers of a tokenizer"), _fragment(self))

    def _repr_html_(self) -> str:
        return _fragment(self)

    def __str__(self) -> str:
        return _text(self)

    def __repr__(self) -> str:
        return f"Diagnosis({self.heading()})"


def _cells(found: Diagnosis) -> list[list[str]]:
    """Returns the rows of the table: a heading, and a row for each reader that was checked."""
    rows = [[translate("ids"), translate("reader"), translate("version"), translate("texts that differ")]]
    for row in found.readers:
        if row.group is not None:
            name = f"{row.name} ({row.detail})" if row.detail else row.name
            rows.append([row.group, name, row.version, f"{row.num_different:,}" if row.num_different else "–"])
    return rows


def _unchecked(found: Diagnosis) -> list[str]:
    return [
        translate("Not checked: {reader}: {reason}", reader=row.name, reason=row.reason)
        for row in found.readers
        if row.reason is not None
    ]


def _title(one: Disagreement) -> str:
    facts = {"readers": ", ".join(one.readers), "texts": counted(one.num_texts, "text")}
    if one.call == "decode":
        return translate("{readers}: equal ids, decoded differently for {texts}", **facts)
    if one.call == "template":
        return translate("{readers}: the template adds other tokens", **facts)
    return translate("{readers}: other ids for {texts}", **facts)


def _sides(one: Disagreement) -> list[list[str]]:
    return [
        [translate("text"), quoted(one.text)],
        [translate("reference"), _result(one.reference, one.reference_tokens)],
        [translate("here"), _result(one.found, one.found_tokens)],
    ]


def _result(found: list[int] | str | None, tokens: tuple[str, ...]) -> str:
    if not isinstance(found, list):
        return quoted(found)
    dots = " …" if len(found) > MAX_IDS else ""
    shown = "│".join(tokens[:MAX_IDS])
    return f"{' '.join(map(str, found[:MAX_IDS]))}{dots}  {shown}{dots}".strip() or "–"


def _causes(one: Disagreement) -> list[str]:
    """Returns a sentence for each proven cause. If there is none, one sentence lists how the definitions differ."""
    if one.causes and not one.causes[0].proven:
        words = "; ".join(cause.words for cause in one.causes[:MAX_UNPROVEN])
        if one.causes[0].cause == "unknown":
            return [words]
        return [translate("no cause was proved; the definitions differ: {differences}", differences=words)]
    more = len(one.causes) - MAX_CAUSES
    return [
        *map(_cause, one.causes[:MAX_CAUSES]),
        *([translate("… {number} more", number=f"{more:,}")] if more > 0 else []),
    ]


def _cause(cause: Cause) -> str:
    words = translate("cause: {name}: {words} (proved by experiment)", name=cause.cause, words=cause.words)
    if cause.text is None:
        return words
    text = quoted(cause.text)
    return words + translate("; {texts}, first: {text}", texts=counted(cause.num_texts, "text"), text=text)


def _text(found: Diagnosis) -> str:
    lines = [found.heading(), "", *aligned(_cells(found), 3)]
    for one in found.differences:
        lines += ["", _title(one)]
        lines += [f"  {line}" for line in aligned(_sides(one), 2)]
        lines += [f"  {line}" for words in _causes(one) for line in wrapped(words, WIDTH)]
    if unchecked := _unchecked(found):
        lines += ["", *(line for words in unchecked for line in wrapped(words, WIDTH))]
    if locked := found.lock_lines():
        lines += ["", *(line for words in locked for line in wrapped(words, WIDTH))]
    return "\n".join(lines)


def _fragment(found: Diagnosis) -> str:
    parts = [f"<h1>{html.escape(found.place)}</h1><p class=soft>{html.escape(found.heading())}</p>"]
    head, *rows = _cells(found)
    lines = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    parts.append(f"<table>{''.join(lines)}</table>")
    for one in found.differences:
        sides = "".join(
            f"<tr><th>{html.escape(name)}</th><td><code>{html.escape(value)}</code></td></tr>"
            for name, value in _sides(one)
        )
        causes = "".join(f"<p>{html.escape(words)}</p>" for words in _causes(one))
        parts.append(
            f"<section><h2 class=differs>{html.escape(_title(one))}</h2><table>{sides}</table>{causes}</section>"
        )
    more = "".join(f"<p class=soft>{html.escape(words)}</p>" for words in (*_unchecked(found), *found.lock_lines()))
    parts.append(f"<section>{more}</section>" if more else "")
    return f'<div class="jeton-report"><style>{_CSS}</style>{"".join(parts)}</div>'

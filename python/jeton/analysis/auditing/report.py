"""`Audit`: the findings, with a report as text and as a self-contained HTML page without scripts."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...drawing.display_width import wrapped
from ...drawing.page import to_page
from ...drawing.theme import REPORT_CSS
from ...util.messages import translate
from .finding import SEVERITIES, Finding

__all__ = ["Audit"]

WIDTH = 100

_CSS = (
    REPORT_CSS
    + """
.jeton-report .columns{white-space:pre-wrap;font:13px/1.5 ui-monospace,monospace}
.jeton-report .severity{display:inline-block;min-width:4.6rem}
.jeton-report .error{color:var(--bad)}
.jeton-report .warning{color:var(--warn)}
.jeton-report .note{color:var(--note)}
.jeton-report table{font:13px/1.5 ui-monospace,monospace}
"""
)


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """Findings of an audit, the most severe first. `str` returns a report in text.

    Attributes:
        findings: the finding of each rule that found a fault.
        passed: names of the rules that found no fault.
        skipped: rule → reason why it was not checked.
        facts: number of entries, type of the model, number of ids with each fate, and the tokenizer's fingerprint.

    Examples:
        >>> import jeton
        >>> found = jeton.audit(jeton.default(), progress=False)
        >>> found.facts["fates"]["undecided"], "holes" in found.passed
        (0, True)
    """

    findings: tuple[Finding, ...]
    passed: tuple[str, ...]
    skipped: Mapping[str, str]
    facts: Mapping[str, Any]

    def __getitem__(self, rule: str) -> Finding:
        for each in self.findings:
            if each.rule == rule:
                return each
        raise KeyError(rule)

    def __contains__(self, rule: object) -> bool:
        return any(each.rule == rule for each in self.findings)

    def heading(self) -> str:
        """Returns a summary of the audit. In the report, this summary precedes the findings."""
        fates = self.facts["fates"]
        unreached = sum(list(fates.values())[4:])
        return translate(
            "{model}, {entries} entries: {reached} reachable by some text, {unreached} by none (proved), "
            "{undecided} undecided, {special} special tokens, by permission only",
            model=self.facts["model"],
            entries=f"{self.facts['entries']:,}",
            reached=f"{fates['reached']:,}",
            unreached=f"{unreached:,}",
            undecided=f"{fates['undecided']:,}",
            special=f"{fates['special']:,}",
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the audit as JSON."""
        return {
            "facts": dict(self.facts),
            "findings": [each.to_json() for each in self.findings],
            "passed": list(self.passed),
            "skipped": dict(self.skipped),
        }

    def to_html(self) -> str:
        """Returns a self-contained HTML page with a light and a dark color scheme."""
        return to_page(translate("Audit of a tokenizer"), _fragment(self))

    def _repr_html_(self) -> str:
        return _fragment(self)

    def __str__(self) -> str:
        return _text(self)

    def __repr__(self) -> str:
        counts = ", ".join(f"{sum(each.severity == name for each in self.findings)} {name}s" for name in SEVERITIES)
        return f"Audit({counts}; {len(self.passed)} rules found nothing)"


def _text(audit: Audit) -> str:
    lines = [audit.heading()]
    for each in audit.findings:
        lines += ["", f"{translate(each.severity)}  {each.rule}", *_wrapped(each.summary)]
        if each.remedy:
            lines += _wrapped(translate("Remedy: {remedy}", remedy=each.remedy))
        lines += [f"    {_row(example.id, example.text, example.why)}" for example in each.examples]
        left_out = each.count - len(each.examples)
        if each.examples and left_out > 0:
            lines.append("    " + translate("… {number} more", number=f"{left_out:,}"))
    if audit.passed:
        lines += ["", *_wrapped(_passed(audit), "")]
    lines += [line for words in _skipped(audit) for line in _wrapped(words, "")]
    return "\n".join(lines)


def _fragment(audit: Audit) -> str:
    heading = audit.heading()
    columns = " columns" if "\n" in heading else ""
    parts = [f'<h1>{translate("Audit")}</h1><p class="soft{columns}">{html.escape(heading)}</p>']
    if fingerprint := audit.facts.get("fingerprint"):
        words = translate("tokenizer {fingerprint}", fingerprint=fingerprint)
        parts.append(f"<p class=soft><code>{html.escape(words)}</code></p>")
    parts += map(_section, audit.findings)
    if audit.passed:
        parts.append(f"<section><p class=soft>{html.escape(_passed(audit))}</p></section>")
    skipped = "".join(f"<p class=soft>{html.escape(words)}</p>" for words in _skipped(audit))
    return f'<div class="jeton-report"><style>{_CSS}</style>{"".join(parts)}<section>{skipped}</section></div>'


def _section(each: Finding) -> str:
    title = (
        f'<h2><span class="severity {each.severity}">{translate(each.severity)}</span> {html.escape(each.rule)}</h2>'
    )
    words = f"<p>{html.escape(each.summary)}</p>"
    if each.remedy:
        words += f"<p class=soft>{html.escape(each.remedy)}</p>"
    if each.examples:
        cells = (("" if one.id is None else str(one.id), one.text, one.why) for one in each.examples)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        shown, count = len(each.examples), max(each.count, len(each.examples))
        title_of_rows = translate("{shown} of {count}", shown=f"{shown:,}", count=f"{count:,}")
        words += f"<details><summary>{title_of_rows}</summary><table>{rows}</table></details>"
    return f"<section>{title}{words}</section>"


def _passed(audit: Audit) -> str:
    return translate("Found nothing: {rules}.", rules=", ".join(audit.passed))


def _skipped(audit: Audit) -> list[str]:
    """Returns a sentence for each reason why rules were skipped."""
    reasons = dict.fromkeys(audit.skipped.values())
    rules = {reason: [rule for rule, why in audit.skipped.items() if why == reason] for reason in reasons}
    message = "Skipped {rules}: {reason}."
    return [translate(message, rules=", ".join(names), reason=reason) for reason, names in rules.items()]


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    return [indent + line for line in wrapped(text, WIDTH - len(indent))]


def _row(id: int | None, text: str, why: str) -> str:
    number = "" if id is None else f"{id:>7}  "
    return f"{number}{text}  – {why}"

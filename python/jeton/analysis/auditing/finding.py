"""Results of an audit: findings with evidence, and their renderings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SEVERITIES", "Audit", "Example", "Finding"]

# The most severe first. "error": text is encoded wrongly or unsafely; "warning": entries are wasted or risky; "note":
# facts that may be intended.
SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Example:
    """Evidence of a finding: an entry, and why it is listed.

    Attributes:
        text: the entry's bytes as text, or the text that shows the fault.
        why: the reason, or the figure.
        id: of the entry; None for a text.

    Examples:
        >>> Example("madeupword", "no pretoken has its characters next to each other", 50261).id
        50261
    """

    text: str
    why: str
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a rule.

    Attributes:
        rule: its name.
        severity: "error", "warning" or "note".
        summary: the result in one sentence.
        remedy: advice; empty if there is nothing to do.
        count: number of entries, merges or faults.
        examples: the first of them.
        facts: figures, for programs.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 99: b"ab", 100: b"ba"}, [(97, 98, 99)])
        >>> found = jeton.audit(tok, progress=False)["unreachable"]
        >>> found.count, found.severity, found.examples[0].text
        (1, 'warning', 'ba')
    """

    rule: str
    severity: str
    summary: str
    remedy: str = ""
    count: int = 0
    examples: tuple[Example, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON."""
        examples = [{"id": each.id, "text": each.text, "why": each.why} for each in self.examples]
        return {
            "rule": self.rule,
            "severity": self.severity,
            "summary": self.summary,
            "remedy": self.remedy,
            "count": self.count,
            "examples": examples,
            "facts": dict(self.facts),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """Findings of an audit, the most severe first. Its string is a report in text.

    Attributes:
        findings: one for each rule that found something.
        passed: names of the rules that found nothing.
        skipped: rule → reason why it was not checked.
        facts: number of entries, type of the model, and number of ids by their fate.

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

    def to_json(self) -> dict[str, Any]:
        """The audit as JSON."""
        return {
            "facts": dict(self.facts),
            "findings": [each.to_json() for each in self.findings],
            "passed": list(self.passed),
            "skipped": dict(self.skipped),
        }

    def to_html(self) -> str:
        """A page in HTML that needs no other files, for light and dark screens."""
        from .report import to_html

        return to_html(self)

    def _repr_html_(self) -> str:
        from .report import to_fragment

        return to_fragment(self)

    def __str__(self) -> str:
        from .report import to_text

        return to_text(self)

    def __repr__(self) -> str:
        counts = ", ".join(f"{sum(each.severity == name for each in self.findings)} {name}s" for name in SEVERITIES)
        return f"Audit({counts}; {len(self.passed)} rules found nothing)"

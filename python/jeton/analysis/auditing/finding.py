"""Findings of an audit, with evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SEVERITIES", "Example", "Finding"]

# The most severe first. "error": text is encoded wrongly or unsafely; "warning": entries are wasted or risky; "note":
# facts that are possibly intended.
SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Example:
    """Evidence of a finding: an entry, and why it is listed.

    Attributes:
        text: the entry's bytes as text, or a text that demonstrates the fault.
        why: the reason why it is listed, or a figure that shows it.
        id: id of the entry; None for a text.

    Examples:
        >>> Example("madeupword", "the pre-tokenizer always splits between two of its characters", 50261).id
        50261
    """

    text: str
    why: str
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a rule.

    Attributes:
        rule: name of the rule.
        severity: "error", "warning" or "note".
        summary: the result in one sentence.
        remedy: advice; empty if there is nothing to do.
        count: number of entries, merges or faults.
        examples: examples of these entries, merges or faults.
        facts: figures by name, for programs.

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
        """Returns the finding as JSON."""
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

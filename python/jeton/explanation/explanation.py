"""`Explanation`: the steps from a text to its tokens, as text, JSON, colored terminal output and HTML.

It stores merges and replays symbol sequences on demand, because n symbols would need O(n²) memory for all sequences.
The text report and HTML are truncated, and show the number of steps left out; the JSON is complete. For a long text,
`Tokenizer.explain` computes only the totals, and the pretokens and tokens that the reports display. The remaining
pretokens and tokens are computed on first access.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..drawing import Drawing, Tree, described, to_terminal, visible, wants_color
from ..util.lazy import cached_property
from ..util.messages import counted, translate
from . import limits
from .agenda import Agenda
from .facts import ExplainedPretoken, ExplanationTotals, Segmentation, symbol_sequences
from .page import to_html
from .text_report import quoted_text, report_lines

__all__ = ["Explanation"]


class TokenLike(Protocol):
    """Attributes of a token that an explanation needs."""

    @property
    def id(self) -> int: ...
    @property
    def bytes(self) -> bytes: ...
    @property
    def byte_span(self) -> tuple[int, int]: ...


@dataclass(frozen=True, repr=False)
class Explanation:
    """Steps from a text to its tokens. Show them with ``print``, `to_json`, `html` or `to_terminal`.

    Attributes:
        text: bytes of the text.
        pretokens: the pretokens with their steps.
        tokens: the tokens of the whole text.
        describe: id -> bytes of the token.
        pattern_parts: the alternatives of the pattern, in order; empty unless pre-tokenization is a single pattern.
        totals: totals of all pretokens; if None, they are computed by iterating over the pretokens.

    Examples:
        >>> from jeton.explanation import ExplainedMerge
        >>> names = {1: b"s", 2: b"t", 256: b"st"}
        >>> merge = ExplainedMerge(1, 2, rank=0, result=256, position=0)
        >>> pretoken = ExplainedPretoken((0, 2), b"st", False, [1, 2], [merge], [256])
        >>> print(Explanation(b"st", [pretoken], [], names.__getitem__))
        "st" · 2 bytes · 1 pretoken · 1 merge · 0 tokens
        <BLANKLINE>
        pretoken 1: "st", bytes 0 to 2
          s t
          -- (1, 2) s+t -> st  rank 0, id 256
          st
          no mergeable pair left: stop
          ids [256]
    """

    text: bytes
    pretokens: Sequence[ExplainedPretoken]
    tokens: Sequence[TokenLike]
    describe: Callable[[int], bytes]
    pattern_parts: Sequence[str] = ()
    totals: ExplanationTotals | None = None

    @cached_property
    def drawing(self) -> Drawing:
        """Drawing of the tokens; for a long text, of the first 2,000 tokens."""
        # The last drawn character can be split into 4 tokens, one for each of its bytes.
        tokens = self.tokens[: limits.MAX_TOKENS_SHOWN + 4]
        text = self.text if len(tokens) == len(self.tokens) else self.text[: tokens[-1].byte_span[1]]
        added = self._totals.added
        # An added token is drawn as its spelling. The bytes that it decodes to can differ from the spelling; a control
        # piece decodes to no bytes.
        spelled = {token.id: self.describe(token.id) for token in tokens if token.id in added}
        spans = [token.byte_span for token in tokens]
        ids, data = [token.id for token in tokens], [token.bytes for token in tokens]
        return described(text, ids, data, spans, None, spelled).head(limits.MAX_TOKENS_SHOWN)

    @cached_property
    def num_merges(self) -> int:
        """Number of merges in the whole text."""
        return self._totals.num_merges

    @cached_property
    def _totals(self) -> ExplanationTotals:
        if self.totals is not None:
            return self.totals
        added = frozenset(id for pretoken in self.pretokens if pretoken.special for id in pretoken.ids)
        return ExplanationTotals(sum(len(pretoken.merges) for pretoken in self.pretokens), added)

    def sequences(self, pretoken: ExplainedPretoken) -> Iterator[list[int]]:
        """Replays one pretoken: yields its symbols before the first merge and after each merge.

        Each sequence is a new list, so iterating over all sequences takes O(merges × symbols) time.
        """
        return symbol_sequences(pretoken)

    def tree(self, pretoken: ExplainedPretoken) -> Tree:
        """Returns the merge forest of one pretoken, one tree for each of its tokens."""
        return Tree.of(pretoken, self.describe)

    def to_json(self) -> dict[str, Any]:
        """Returns the complete explanation as JSON; merges are in the order in which they were applied.

        Text that is not UTF-8 is decoded with U+FFFD; its bytes are in ``bytes_hex``.
        """
        data: dict[str, Any] = {"text": _readable(self.text)}
        if data["text"].encode() != self.text:
            data["bytes_hex"] = self.text.hex()
        data["pattern"] = list(self.pattern_parts)
        data["pretokens"] = [self._pretoken_dict(pretoken) for pretoken in self.pretokens]
        data["tokens"] = [
            {"id": token.id, "bytes_hex": token.bytes.hex(), "byte_span": list(token.byte_span)}
            for token in self.tokens
        ]
        return data

    def _pretoken_dict(self, pretoken: ExplainedPretoken) -> dict[str, Any]:
        merges = [
            {
                "left": merge.left,
                "right": merge.right,
                "rank": merge.rank,
                "result": merge.result,
                "position": merge.position,
                "rivals": [list(rival) for rival in merge.rivals],
                "num_rivals": merge.num_rivals,
            }
            for merge in pretoken.merges
        ]
        facts: dict[str, Any] = {
            "text": _readable(pretoken.text),
            "byte_span": list(pretoken.byte_span),
            "special": pretoken.special,
            "whole": pretoken.whole,
            "part": pretoken.part,
            "start_ids": list(pretoken.start_ids),
            "merges": merges,
            "ids": list(pretoken.ids),
            "by_merges": pretoken.by_merges,
        }
        if pretoken.splits:
            facts["splits"] = [split._asdict() for split in pretoken.splits]
        if pretoken.agenda is not None:
            facts["agenda"] = _agenda_dict(pretoken.agenda)
        if pretoken.start_lengths is not None:
            facts["start_lengths"] = list(pretoken.start_lengths)
        if pretoken.lattice is not None:
            lattice = pretoken.lattice
            facts["lattice"] = {
                "edges": [list(edge) for edge in lattice.edges],
                "num_edges": lattice.num_edges,
                "best": _path_dict(lattice.best),
                "others": [_path_dict(path) for path in lattice.others],
            }
        if pretoken.attempts is not None:
            attempts = pretoken.attempts
            facts["attempts"] = {
                "found": [list(found) for found in attempts.found],
                "stuck_at": attempts.stuck_at,
                "is_too_long": attempts.is_too_long,
            }
        return facts

    @cached_property
    def html(self) -> str:
        """Returns the explanation as a self-contained HTML fragment without scripts."""
        return to_html(self.summary, self.drawing, len(self.tokens), self.pretokens, self.describe, self.pattern_parts)

    def to_terminal(self, *, color: bool | None = None, width: int | None = None) -> str:
        """Returns the text report and the drawn tokens. If `color` is None, `wants_color(sys.stdout)` decides."""
        colored = wants_color(sys.stdout) if color is None else color
        lines = [
            self.summary,
            *self._report(color=colored),
            "",
            to_terminal(self.drawing, color=colored, width=width),
        ]
        if len(self.tokens) > limits.MAX_TOKENS_SHOWN:
            lines.append(
                translate("… and {number} more tokens", number=f"{len(self.tokens) - limits.MAX_TOKENS_SHOWN:,}")
            )
        return "\n".join(lines)

    def _report(self, *, color: bool) -> Iterator[str]:
        return report_lines(self.pretokens, self.num_merges, self.describe, self.pattern_parts, color=color)

    def __str__(self) -> str:
        return "\n".join([self.summary, *self._report(color=False)])

    @cached_property
    def summary(self) -> str:
        """Returns one line with the text and the numbers of bytes, pretokens, merges and tokens."""
        parts = [quoted_text(self.text), counted(len(self.text), "byte"), counted(len(self.pretokens), "pretoken")]
        parts += [counted(self.num_merges, "merge"), counted(len(self.tokens), "token")]
        return " · ".join(parts)

    def __repr__(self) -> str:
        return f"Explanation({self.summary})"

    def _repr_html_(self) -> str:
        return self.html

    def name(self, id: int) -> str:
        """Returns the visible form of a symbol."""
        return visible(self.describe(id))


def _agenda_dict(agenda: Agenda) -> dict[str, Any]:
    return {
        "entries": [entry._asdict() for entry in agenda.entries],
        "frozen": [list(start_and_id) for start_and_id in agenda.frozen],
    }


def _path_dict(path: Segmentation) -> dict[str, Any]:
    return {"edges": [list(edge) for edge in path.edges], "score": path.score}


def _readable(data: bytes) -> str:
    """Decodes UTF-8, with U+FFFD in place of invalid bytes."""
    return data.decode("utf-8", "replace")

"""`Explanation`: how a text became tokens, in words, JSON, color and HTML.

It stores merges and not sequences: n symbols have up to n - 1 merges, and the sequences between them would take O(n²).
Sequences are replayed on demand. Words and HTML leave out what nobody would read and say how much that is; the JSON
holds everything. Of a long text, `Tokenizer.explain` computes the pretokens and tokens that words and HTML show, and
the totals; all others are computed when one of them is asked for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from ..drawing import Drawing, Tree, described, draw, to_terminal, visible, wants_color
from . import limits
from .facts import ExplainedPretoken, ExplanationTotals, Segmentation
from .text_report import counted, quoted_text, report_lines

__all__ = ["Explanation"]


class TokenLike(Protocol):
    """What an explanation needs to know of a token."""

    @property
    def id(self) -> int: ...
    @property
    def bytes(self) -> bytes: ...
    @property
    def byte_span(self) -> tuple[int, int]: ...


@dataclass(frozen=True, repr=False)
class Explanation:
    """Every step from a text to its tokens; ``print`` it, or take `json`, `html` or `to_terminal`.

    Attributes:
        text: the text's bytes.
        pretokens: how each pretoken became tokens.
        tokens: the tokens of the whole text.
        describe: id -> the bytes of that token.
        pattern_parts: the alternatives of the pattern, from left to right, where one pattern alone cuts the text.
        totals: what is known of all pretokens without looking at each; None: they are looked at.

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
          no pair left has a merge: stop
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
        """The tokens drawn; of a long text the first 2,000."""
        tokens = self.tokens[: limits.MAX_TOKENS_SHOWN + 4]  # a character is cut in 4 at most
        text = self.text if len(tokens) == len(self.tokens) else self.text[: tokens[-1].byte_span[1]]
        added = self._totals.added
        spelled = {token.id: token.bytes for token in tokens if token.id in added}
        spans = [token.byte_span for token in tokens]
        ids, data = [token.id for token in tokens], [token.bytes for token in tokens]
        return described(text, ids, data, spans, None, spelled).head(limits.MAX_TOKENS_SHOWN)

    @cached_property
    def num_merges(self) -> int:
        """All merges in the text."""
        return self._totals.num_merges

    @cached_property
    def _totals(self) -> ExplanationTotals:
        if self.totals is not None:
            return self.totals
        added = frozenset(id for pretoken in self.pretokens if pretoken.special for id in pretoken.ids)
        return ExplanationTotals(sum(len(pretoken.merges) for pretoken in self.pretokens), added)

    def sequences(self, pretoken: ExplainedPretoken) -> Iterator[list[int]]:
        """Replays one pretoken: its symbols before the first merge, after it, and so on to its ids.

        Each is a new list; all of them together cost O(merges × symbols), which is why nobody stores them.
        """
        ids = list(pretoken.start_ids)
        yield list(ids)
        for merge in pretoken.merges:
            # Among equal ranks the leftmost goes first, so a merge is always at its pair's first place; no offsets
            # are needed.
            index = ids.index(merge.left)
            while ids[index + 1] != merge.right:
                index = ids.index(merge.left, index + 1)
            ids[index : index + 2] = [merge.result]
            yield list(ids)

    def tree(self, pretoken: ExplainedPretoken) -> Tree:
        """The trees of merges of one pretoken: one for each of its tokens."""
        return Tree.of(pretoken, self.describe)

    def to_dict(self) -> dict[str, Any]:
        """What `json` holds, as Python objects; a text that is not UTF-8 stands there readable and as ``bytes_hex``."""
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
    def json(self) -> str:
        """Everything, as one JSON document on one line; merges are in the order in which they were done."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @cached_property
    def html(self) -> str:
        """A fragment of HTML that brings its own style, needs no script and loads nothing."""
        from .page import to_html

        return to_html(self)

    def to_terminal(self, *, color: bool | None = None, width: int | None = None) -> str:
        """The words, and the tokens drawn; `color` None: whether standard output wants it."""
        colored = wants_color(sys.stdout) if color is None else color
        lines = [
            self.summary,
            *report_lines(self, color=colored),
            "",
            to_terminal(self.drawing, color=colored, width=width),
        ]
        if len(self.tokens) > limits.MAX_TOKENS_SHOWN:
            lines.append(f"… and {len(self.tokens) - limits.MAX_TOKENS_SHOWN:,} tokens more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join([self.summary, *report_lines(self, color=False)])

    @cached_property
    def summary(self) -> str:
        """One line: the text and its numbers."""
        parts = [quoted_text(self.text), counted(len(self.text), "byte"), counted(len(self.pretokens), "pretoken")]
        parts += [counted(self.num_merges, "merge"), counted(len(self.tokens), "token")]
        return " · ".join(parts)

    def __repr__(self) -> str:
        return f"Explanation({self.summary})"

    def _repr_html_(self) -> str:
        return self.html

    def name(self, id: int) -> str:
        """A symbol in visible form."""
        return visible(self.describe(id))

    def shown(self, ids: Sequence[int]) -> Drawing:
        """Symbols of one moment, drawn together, so that a character cut between two of them is named."""
        return draw((id, self.describe(id)) for id in ids)


def _path_dict(path: Segmentation) -> dict[str, Any]:
    return {"edges": [list(edge) for edge in path.edges], "score": path.score}


def _readable(data: bytes) -> str:
    """Bytes as text, U+FFFD where they are none."""
    return data.decode("utf-8", "replace")

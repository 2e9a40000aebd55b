"""Difference between the tokens of two texts: tokens added and removed, and the common prefix."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..drawing import draw, to_terminal
from ..drawing.page import CSS, look_html, to_page
from ..drawing.theme import REPORT_CSS, themed
from ..tokenizer import Tokenizer
from ..tokens.special import Special
from ..util.lazy import cached_property
from ..util.messages import translate
from .matching import Run, common_runs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Change", "TextDifference"]

# Limits of the printed form; `to_json` and the attributes are always complete.
MAX_CHANGES_SHOWN = 20
MAX_TOKENS_SHOWN = 60  # maximum number of tokens of A, and of B, that are shown for a change
NUM_AROUND = 4  # common tokens shown before and after a change

_CSS = (
    REPORT_CSS
    + themed(".jeton-report .change", "--removed:#b0002022;--added:#0b6b2f22", "--removed:#ff8a8033;--added:#7bd88f33")
    + """
.jeton-report .change{border-top:1px solid #8888;padding:.4rem 0}
.jeton-report .change div{padding:0 .4rem;display:flex}
.jeton-report .removed{background:var(--removed)}
.jeton-report .added{background:var(--added)}
.jeton-report .sign{flex:0 0 1.2em;font:bold 15px/1.9 ui-monospace,monospace}
.jeton-report .jeton-tokens .same .t{background:none;border-color:transparent;color:inherit}
"""
)


class Change(NamedTuple):
    """Tokens of A that are replaced by tokens of B. Either range can be empty.

    Attributes:
        start, end: half-open range of indices into the ids of A.
        other_start, other_end: half-open range of indices into the ids of B.
    """

    start: int
    end: int
    other_start: int
    other_end: int


@dataclass(frozen=True, eq=False, repr=False)
class TextDifference:
    """Difference between the ids of two texts, A and B, from `jeton.compare`. `str` returns a report.

    Attributes:
        tok: the tokenizer.
        texts: A and B.
        special: as given to `compare`.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
        >>> found = jeton.compare(tok, ("low tower", "low power!"))
        >>> found.shared, found.removed, found.added, found.changes[0]
        (4, 1, 2, Change(start=4, end=5, other_start=4, other_end=5))
    """

    tok: Tokenizer
    texts: tuple[str | bytes, str | bytes]
    special: Special | None

    @cached_property
    def ids(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The ids of A and of B."""
        a, b = (self.tok.encode_array(text, special=self.special) for text in self.texts)
        return a, b

    @cached_property
    def runs(self) -> list[Run]:
        """Runs of ids that A and B have in common, in order. `matching` finds them in O(n log n)."""
        return common_runs(*self.ids)

    @cached_property
    def changes(self) -> list[Change]:
        """The changes between A and B, in order."""
        ends = (len(self.ids[0]), len(self.ids[1]))
        found, at = [], (0, 0)
        for start, other, length in [*self.runs, Run(*ends, 0)]:
            if (start, other) != at:
                found.append(Change(at[0], start, at[1], other))
            at = (start + length, other + length)
        return found

    @property
    def shared(self) -> int:
        """Number of ids in the common prefix, which a prompt cache can reuse."""
        first = self.runs[0] if self.runs else Run(0, 0, 0)
        return first.length if first[:2] == (0, 0) else 0

    @cached_property
    def shared_bytes(self) -> int:
        """Number of bytes at the start of A that are covered by the common prefix of ids."""
        import numpy as np

        spans = np.frombuffer(self.tok._byte_spans(self.texts[0], self.special), "<i8").reshape(-1, 2)
        return int(spans[: self.shared, 1].max(initial=0))

    @property
    def common(self) -> int:
        """Total number of ids in the common runs."""
        return sum(run.length for run in self.runs)

    @property
    def removed(self) -> int:
        """Number of ids of A outside the common runs."""
        return len(self.ids[0]) - self.common

    @property
    def added(self) -> int:
        """Number of ids of B outside the common runs."""
        return len(self.ids[1]) - self.common

    def to_json(self) -> dict[str, Any]:
        """Returns the difference as JSON."""
        return {
            "fingerprint": self.tok.fingerprint,
            "tokens": [len(ids) for ids in self.ids],
            "shared": self.shared,
            "shared_bytes": self.shared_bytes,
            "common": self.common,
            "removed": self.removed,
            "added": self.added,
            "changes": [
                {
                    **change._asdict(),
                    "removed": self.ids[0][change.start : change.end].tolist(),
                    "added": self.ids[1][change.other_start : change.other_end].tolist(),
                }
                for change in self.changes
            ],
        }

    def heading(self) -> str:
        """Returns one line: how many tokens there are, how many were removed and added, and how many are shared."""
        a, b = self.ids
        return translate(
            "{a} tokens → {b}: {removed} removed, {added} added; the first {shared} ({bytes} bytes) are shared",
            a=f"{len(a):,}",
            b=f"{len(b):,}",
            removed=f"{self.removed:,}",
            added=f"{self.added:,}",
            shared=f"{self.shared:,}",
            bytes=f"{self.shared_bytes:,}",
        )

    def to_terminal(self, *, color: bool, width: int | None = None) -> str:
        """Returns a report for a terminal: the line of `heading`, then the tokens of the first changes."""
        lines = [self.heading()]
        for change in self.changes[:MAX_CHANGES_SHOWN]:
            lines += ["", translate("token {number}:", number=f"{change.start:,}")]
            for sign, tokens, left_out in self._sides(change):
                drawn = to_terminal(draw(tokens), color=color, width=width, indent=f"  {sign} ") if tokens else ""
                lines += [drawn] if drawn else []
                if left_out:
                    lines.append("    " + translate("and {number} more tokens", number=f"{left_out:,}"))
        return "\n".join([*lines, *self._more()])

    def to_html(self) -> str:
        """Returns a self-contained HTML page with a light and a dark color scheme."""
        return to_page(translate("Difference of two texts"), self._repr_html_())

    def _repr_html_(self) -> str:
        parts = [f"<p>{html.escape(self.heading())}</p><p class=soft>{html.escape(repr(self.tok))}</p>"]
        parts += map(self._change_html, self.changes[:MAX_CHANGES_SHOWN])
        parts += [f"<p class=soft>{html.escape(words)}</p>" for words in self._more()]
        return f'<div class="jeton-report"><style>{_CSS}{CSS}</style>{"".join(parts)}</div>'

    def _change_html(self, change: Change) -> str:
        """Formats a change with the common tokens before and after it."""
        a = self.ids[0]
        before = self._html(a[max(change.start - NUM_AROUND, 0) : change.start], "same")
        after = self._html(a[change.end : change.end + NUM_AROUND], "same")
        lines = []
        for sign, tokens, left_out in self._sides(change):
            name = "removed" if sign == "-" else "added"
            inside = "".join(look_html(look) for look in _looks(tokens))
            more = f" … {left_out:,}" if left_out else ""
            line = f"{before}{inside}{more}{after}"
            lines.append(
                f'<div class={name}><span class=sign>{sign}</span><span class="jeton-tokens">{line}</span></div>'
            )
        place = html.escape(translate("token {number}:", number=f"{change.start:,}"))
        return f"<div class=change><span class=soft>{place}</span>{''.join(lines)}</div>"

    def _html(self, ids: NDArray[np.uint32], name: str) -> str:
        inside = "".join(look_html(look) for look in _looks(self._tokens(ids)))
        return f"<span class={name}>{inside}</span>" if inside else ""

    def _sides(self, change: Change) -> list[tuple[str, list[tuple[int, bytes]], int]]:
        """Returns (sign, shown tokens, number of omitted tokens) for the removed and for the added tokens, if any."""
        sides = []
        for sign, ids in (
            ("-", self.ids[0][change.start : change.end]),
            ("+", self.ids[1][change.other_start : change.other_end]),
        ):
            if len(ids):
                sides.append((sign, self._tokens(ids[:MAX_TOKENS_SHOWN]), max(len(ids) - MAX_TOKENS_SHOWN, 0)))
        return sides

    def _tokens(self, ids: NDArray[np.uint32]) -> list[tuple[int, bytes]]:
        return list(zip(ids.tolist(), self.tok.decode_tokens_bytes(ids), strict=True))

    def _more(self) -> list[str]:
        left_out = len(self.changes) - MAX_CHANGES_SHOWN
        return [translate("and {number} more changes", number=f"{left_out:,}")] if left_out > 0 else []

    def __str__(self) -> str:
        return self.to_terminal(color=False)

    def __repr__(self) -> str:
        return f"TextDifference({self.heading()})"


def _looks(tokens: Sequence[tuple[int, bytes]]) -> list[Any]:
    """Returns the style in which each token is drawn, in order."""
    drawing = draw(tokens)
    return [drawing.table[look] for look in drawing.looks]

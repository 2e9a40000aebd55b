"""Comparison of several tokenizers on one text: numbers of tokens, and token boundaries that differ."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from ..drawing import Drawing, to_html, to_terminal
from ..drawing.display_width import aligned, display_width
from ..drawing.page import to_page
from ..drawing.theme import REPORT_CSS
from ..encoding import Encoding
from ..tokenizer import Tokenizer
from ..tokens.special import Special
from ..util.arguments import items, strings, wrong
from ..util.lazy import cached_property
from ..util.messages import translate
from .named import named_tokenizers
from .text_difference import TextDifference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Comparison", "Cut", "compare"]

# Limits of the printed form; `to_json` and the attributes are always complete.
MAX_TOKENS_SHOWN = 200
MAX_CUTS_SHOWN = 20
HEADINGS = ("tokenizer", "tokens", "bytes/token", "own tokens")
MIN_SIZES = (0, 9, 0, 0)  # minimum widths of the columns in the terminal, in characters


class Cut(NamedTuple):
    """A token boundary that some of the tokenizers have and others do not.

    Attributes:
        byte: offset in the text, in bytes.
        by: the tokenizers with this boundary, as indices into `Comparison.names`.
    """

    byte: int
    by: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Comparison:
    """Encodings of one text by several tokenizers.

    Attributes:
        names: names of the tokenizers.
        toks: the tokenizers.
        text, special: as given to `compare`.
        num_bytes, num_chars: size of the text.

    Examples:
        >>> import jeton
        >>> words = ["low lower lowest"]
        >>> sizes = {"small": 257, "large": 259}
        >>> toks = {name: jeton.train(words, n, pattern="gpt2", progress=False) for name, n in sizes.items()}
        >>> found = jeton.compare(toks, "lower")
        >>> found.counts, found.cuts, f"{found.spread:.0%}"
        ([4, 3], [Cut(byte=2, by=(0,))], '33%')
    """

    names: Sequence[str]
    toks: Sequence[Tokenizer]
    text: str | bytes
    special: Special | None
    num_bytes: int
    num_chars: int

    @cached_property
    def spans(self) -> list[NDArray[np.int64]]:
        """Byte ranges of the tokens, half-open: one array int64[tokens, 2] for each tokenizer."""
        import numpy as np

        columns = [tok._byte_spans(self.text, self._permitted(tok)) for tok in self.toks]
        return [np.frombuffer(column, "<i8").reshape(-1, 2) for column in columns]

    def _permitted(self, tok: Tokenizer) -> Special | None:
        """Returns the permitted special tokens, restricted to those that a tokenizer has."""
        if self.special is None or isinstance(self.special, str):
            return self.special
        return {token for token in self.special if token in tok.special_tokens}

    def _encoding(self, tok: Tokenizer, most: int) -> Encoding:
        return tok._tokenize_head(self.text, self._permitted(tok), most)

    @cached_property
    def encodings(self) -> list[Encoding]:
        """The encoding by each tokenizer. Computed on first use: it takes about 100 times the memory of the text."""
        return [self._encoding(tok, sys.maxsize) for tok in self.toks]

    @property
    def counts(self) -> list[int]:
        """Number of tokens of each tokenizer."""
        return [len(spans) for spans in self.spans]

    @property
    def bytes_per_token(self) -> list[float]:
        """Bytes per token of each tokenizer; 0.0 if there are no tokens."""
        return [self.num_bytes / count if count else 0.0 for count in self.counts]

    @property
    def spread(self) -> float:
        """Largest number of tokens divided by the smallest, minus 1; 0.0 if a tokenizer returns no tokens."""
        least = min(self.counts)
        return max(self.counts) / least - 1 if least else 0.0

    @cached_property
    def _ends(self) -> list[NDArray[np.int64]]:
        """For each tokenizer, int64[bytes + 1]: end of the token that begins at a byte; 0 if no token begins there."""
        import numpy as np

        columns = []
        for spans in self.spans:
            ends = np.zeros(self.num_bytes + 1, np.int64)
            covering = spans[spans[:, 0] < spans[:, 1]]
            ends[covering[:, 0]] = covering[:, 1]
            columns.append(ends)
        return columns

    @cached_property
    def _marks(self) -> list[NDArray[np.bool_]]:
        """For each tokenizer, bool[bytes + 1]: True at token boundaries inside the text; start and end are False."""
        columns = []
        for ends in self._ends:
            cuts = ends > 0
            cuts[ends[cuts]] = True
            cuts[[0, self.num_bytes]] = False
            columns.append(cuts)
        return columns

    @cached_property
    def _cuts(self) -> NDArray[np.int64]:
        """Offsets of the boundaries that some tokenizers have and others do not, ascending."""
        import numpy as np

        return np.flatnonzero(np.logical_or.reduce(self._marks) & ~np.logical_and.reduce(self._marks))

    def _cuts_at(self, places: NDArray[np.int64]) -> list[Cut]:
        import numpy as np

        by = np.stack([cuts[places] for cuts in self._marks], axis=1)
        return [
            Cut(place, tuple(index for index, cuts in enumerate(row) if cuts))
            for place, row in zip(places.tolist(), by.tolist(), strict=True)
        ]

    @property
    def num_cuts(self) -> int:
        """Number of boundaries that some tokenizers have and others do not."""
        return len(self._cuts)

    @cached_property
    def cuts(self) -> list[Cut]:
        """Boundaries that some tokenizers have and others do not, in the order of the text."""
        return self._cuts_at(self._cuts)

    @cached_property
    def _own(self) -> list[NDArray[np.int64]]:
        import numpy as np

        own = []
        for spans in self.spans:
            starts, ends = spans[:, 0], spans[:, 1]
            times = sum((of_one[starts] == ends).astype(np.int64) for of_one in self._ends)
            own.append(np.flatnonzero((times == 1) & (starts < ends)))
        return own

    @cached_property
    def own(self) -> list[list[int]]:
        """For each tokenizer, the indices of its own tokens: no other tokenizer has a token with the same span."""
        return [indices.tolist() for indices in self._own]

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison as JSON, without the tokens."""
        return {
            "num_bytes": self.num_bytes,
            "num_chars": self.num_chars,
            "spread": self.spread,
            "tokenizers": [
                {"name": name, "tokens": tokens, "bytes_per_token": size, "own": own}
                for name, tokens, size, own in zip(self.names, self.counts, self.bytes_per_token, self.own, strict=True)
            ],
            "cuts": [[cut.byte, list(cut.by)] for cut in self.cuts],
        }

    def to_terminal(self, *, color: bool, width: int | None = None) -> str:
        """Returns text with the figures, the differing boundaries, and a drawing of the tokens of each tokenizer."""
        rows = [[translate(heading) for heading in HEADINGS]]
        for name, tokens, size, own in zip(self.names, self.counts, self.bytes_per_token, self._own, strict=True):
            rows.append([name, f"{tokens:,}", f"{size:.3f}", f"{len(own):,}"])
        sizes = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
        lines = aligned(rows, 1, list(map(max, sizes, MIN_SIZES)))
        lines.append(self._summary())
        for cut in self._cuts_at(self._cuts[:MAX_CUTS_SHOWN]):
            by = ", ".join(self.names[index] for index in cut.by)
            lines.append("  " + translate("byte {number}: {tokenizers}", number=f"{cut.byte:,}", tokenizers=by))
        if self.num_cuts > MAX_CUTS_SHOWN:
            lines.append("  " + translate("and {number} more", number=f"{self.num_cuts - MAX_CUTS_SHOWN:,}"))
        for name, tok, count in zip(self.names, self.toks, self.counts, strict=True):
            shown, more = self._shown(tok, count)
            lines += ["", name, to_terminal(shown, color=color, width=width, indent="  ")]
            if more:
                lines.append("  " + more)
        return "\n".join(lines)

    def to_html(self) -> str:
        """Returns a self-contained HTML page with a light and a dark color scheme."""
        return to_page(translate("Comparison of tokenizers"), self._repr_html_())

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            kinds = ("", *[" class=number"] * 3, "")
            inside = (f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))
            return f"<tr>{''.join(inside)}</tr>"

        figures = zip(self.names, self.counts, self.bytes_per_token, self._own, self.toks, strict=True)
        lines = [row([*map(translate, HEADINGS), ""], "th")]
        lines += [
            row([name, f"{n:,}", f"{size:.3f}", f"{len(own):,}", repr(tok)], "td")
            for name, n, size, own, tok in figures
        ]
        parts = [f"<table>{''.join(lines)}</table><p>{escape(self._summary())}</p>"]
        for name, tok, count in zip(self.names, self.toks, self.counts, strict=True):
            shown, more = self._shown(tok, count)
            rest = f"<p class=soft>{escape(more)}</p>" if more else ""
            parts.append(f"<section><h2>{escape(name)}</h2>{to_html(shown)}{rest}</section>")
        return f'<div class="jeton-report"><style>{REPORT_CSS}</style>{"".join(parts)}</div>'

    def _summary(self) -> str:
        return translate(
            "{bytes} bytes, {chars} characters; highest token count {spread} above the lowest; boundaries "
            "differ at {cuts} positions",
            bytes=f"{self.num_bytes:,}",
            chars=f"{self.num_chars:,}",
            spread=f"{self.spread:.1%}",
            cuts=f"{self.num_cuts:,}",
        )

    def _shown(self, tok: Tokenizer, count: int) -> tuple[Drawing, str]:
        """Returns a drawing of the first tokens, and a text with the number of tokens that are not drawn."""
        # Encodes 4 more tokens than are drawn. A character can be spread over 4 tokens, and the last character can be
        # drawn only if all of its tokens are known.
        first = self._encoding(tok, MAX_TOKENS_SHOWN + 4)
        shown = first.drawing().head(MAX_TOKENS_SHOWN)
        more = count - len(shown)
        return shown, translate("and {number} more tokens", number=f"{more:,}") if more else ""

    def __str__(self) -> str:
        return self.to_terminal(color=False)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {count}" for name, count in zip(self.names, self.counts, strict=True))
        return f"Comparison({counts} tokens of {self.num_bytes} bytes)"


@overload
def compare(
    toks: Mapping[str, Tokenizer] | Sequence[Tokenizer], text: str | bytes, *, special: Special | None = None
) -> Comparison: ...
@overload
def compare(
    toks: Tokenizer, text: tuple[str | bytes, str | bytes], *, special: Special | None = None
) -> TextDifference: ...
def compare(
    toks: Tokenizer | Mapping[str, Tokenizer] | Sequence[Tokenizer],
    text: str | bytes | tuple[str | bytes, str | bytes],
    *,
    special: Special | None = None,
) -> Comparison | TextDifference:
    """Encodes one text with several tokenizers, or two texts with one, and compares the results.

    Args:
        toks: name -> tokenizer, or a list of tokenizers, which are named 1, 2, …; for two texts, one `Tokenizer`.
        text: as in `Tokenizer.encode`. If `toks` is one `Tokenizer`: a pair of texts, A and B.
        special: as in `Tokenizer.encode`; each tokenizer ignores special tokens that it does not have.

    Raises:
        ConfigError: there are no tokenizers, or one `Tokenizer` was passed without two texts.
        InvalidTextError, SpecialTokenError: as `Tokenizer.encode`.

    Examples:
        >>> import jeton
        >>> bytes_alone = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
        >>> tok = jeton.train(["low lower lowest"], 259, pattern="gpt2", progress=False)
        >>> print(jeton.compare({"bytes": bytes_alone, "trained": tok}, "low lowest"))
        tokenizer     tokens  bytes/token  own tokens
        bytes             10        1.000           7
        trained            5        2.000           2
        10 bytes, 10 characters; highest token count 100.0% above the lowest; boundaries differ at 5 positions
          byte 1: bytes
          byte 2: bytes
          byte 4: bytes
          byte 5: bytes
          byte 6: bytes
        <BLANKLINE>
        bytes
          l│o│w│·│l│o│w│e│s│t
        <BLANKLINE>
        trained
          low│·low│e│s│t
        >>> print(jeton.compare(tok, ("low lowest", "low slowest")))
        5 tokens → 7: 1 removed, 3 added; the first 1 (3 bytes) are shared
        <BLANKLINE>
        token 1:
          - ·low
          + ·│s│low
    """
    if special is not None and not isinstance(special, str):
        special = strings(special, "special")
    if isinstance(toks, Tokenizer):
        expected = "a pair of texts, which one tokenizer needs; to compare tokenizers on one text, pass a list of them"
        texts = items(text, "text", expected)
        if isinstance(text, str | bytes) or len(texts) != 2 or not all(isinstance(one, str | bytes) for one in texts):
            raise wrong("text", text, expected)
        difference = TextDifference(toks, (texts[0], texts[1]), special)
        _ = difference.ids  # raises an error if a text cannot be encoded
        return difference
    named = named_tokenizers(toks, "toks", "compare")
    if not isinstance(text, str | bytes):
        raise wrong("text", text, "str or bytes")
    data = text if isinstance(text, bytes) else str.encode(text, "utf-8", "surrogatepass")
    num_chars = len(data.decode("utf-8", "replace"))
    comparison = Comparison(list(named), list(named.values()), text, special, len(data), num_chars)
    _ = comparison.spans  # raises an error if the text cannot be encoded
    return comparison

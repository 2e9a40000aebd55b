"""Several tokenizers on one text: how many tokens each makes of it, and where they cut it differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ..arguments import instance, items, strings
from ..drawing import to_terminal
from ..encoding import Encoding
from ..errors import ConfigError
from ..special import Special
from ..tokenizer import Tokenizer

__all__ = ["Comparison", "Cut", "compare"]

# What a person reads; `to_dict` and the attributes always hold everything.
MAX_TOKENS_SHOWN = 200
MAX_CUTS_SHOWN = 20


class Cut(NamedTuple):
    """A place where some of the tokenizers cut and others do not.

    Attributes:
        byte: the place, in bytes from the beginning of the text.
        by: who cuts there, as indices into `Comparison.names`.
    """

    byte: int
    by: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Comparison:
    """What several tokenizers make of one text.

    Attributes:
        names: of the tokenizers.
        encodings: the tokens of each.
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
    encodings: Sequence[Encoding]
    num_bytes: int
    num_chars: int

    @property
    def counts(self) -> list[int]:
        """Tokens of each."""
        return [len(encoding) for encoding in self.encodings]

    @property
    def bytes_per_token(self) -> list[float]:
        """Bytes of the text over tokens, of each; 0.0 without tokens."""
        return [self.num_bytes / count if count else 0.0 for count in self.counts]

    @property
    def spread(self) -> float:
        """By what share the largest count is over the smallest: 0.5 is half as many again; 0.0 where one is zero."""
        least = min(self.counts)
        return max(self.counts) / least - 1 if least else 0.0

    @cached_property
    def cuts(self) -> list[Cut]:
        """Where some cut and others do not, in the order of the text."""
        cutters: dict[int, list[int]] = {}
        for index, encoding in enumerate(self.encodings):
            places = {place for span in _spans(encoding) for place in span} - {0, self.num_bytes}
            for place in places:
                cutters.setdefault(place, []).append(index)
        return [Cut(place, tuple(by)) for place, by in sorted(cutters.items()) if len(by) < len(self.names)]

    @cached_property
    def own(self) -> list[list[int]]:
        """For each tokenizer, the indices of those of its tokens that no other one has at the same place."""
        times = Counter(span for encoding in self.encodings for span in set(_spans(encoding)))
        return [
            [index for index, span in enumerate(encoding.byte_spans) if times[span] == 1] for encoding in self.encodings
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the tokens, for JSON."""
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
        """The figures, where cuts differ, and the tokens of each drawn."""
        column = max(map(len, [*self.names, "tokenizer"]))
        lines = [f"{'tokenizer':<{column}}  {'tokens':>9}  bytes/token  own tokens"]
        for name, tokens, size, own in zip(self.names, self.counts, self.bytes_per_token, self.own, strict=True):
            lines.append(f"{name:<{column}}  {tokens:>9,}  {size:>11.3f}  {len(own):>10,}")
        lines.append(
            f"{self.num_bytes:,} bytes, {self.num_chars:,} characters; the most tokens are {self.spread:.1%} over the "
            f"least; cuts differ in {len(self.cuts):,} places"
        )
        for cut in self.cuts[:MAX_CUTS_SHOWN]:
            by = ", ".join(self.names[index] for index in cut.by)
            lines.append(f"  byte {cut.byte:,}: {by}")
        if len(self.cuts) > MAX_CUTS_SHOWN:
            lines.append(f"  and {len(self.cuts) - MAX_CUTS_SHOWN:,} more")
        for name, encoding in zip(self.names, self.encodings, strict=True):
            shown = encoding.drawing().head(MAX_TOKENS_SHOWN)
            drawn = to_terminal(shown, color=color, width=width, indent="  ")
            more = len(encoding) - len(shown)
            lines += ["", name, drawn, *([f"  and {more:,} tokens more"] if more else [])]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_terminal(color=False)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {count}" for name, count in zip(self.names, self.counts, strict=True))
        return f"Comparison({counts} tokens of {self.num_bytes} bytes)"


def compare(
    toks: Mapping[str, Tokenizer] | Sequence[Tokenizer], text: str | bytes, *, special: Special | None = None
) -> Comparison:
    """Encodes one text with several tokenizers and says where they differ.

    Args:
        toks: name -> tokenizer; or tokenizers, which are then named by their numbers.
        text: as in `Tokenizer.encode`.
        special: as in `Tokenizer.encode`; a set of names holds for those tokenizers that have them.

    Raises:
        ConfigError: no tokenizer.
        InvalidTextError, SpecialTokenError: as `Tokenizer.encode`.

    Examples:
        >>> import jeton
        >>> bytes_alone = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
        >>> tok = jeton.train(["low lower lowest"], 259, pattern="gpt2", progress=False)
        >>> print(jeton.compare({"bytes": bytes_alone, "trained": tok}, "low lowest"))
        tokenizer     tokens  bytes/token  own tokens
        bytes             10        1.000           7
        trained            5        2.000           2
        10 bytes, 10 characters; the most tokens are 100.0% over the least; cuts differ in 5 places
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
    """
    if isinstance(toks, Mapping):
        named = dict(toks)
    else:
        given = items(toks, "toks", "a list of Tokenizers, or a mapping from name to Tokenizer")
        named = {str(number): tok for number, tok in enumerate(given, 1)}
    if not named:
        raise ConfigError("no tokenizers to compare", option="toks")
    for name, tok in named.items():
        if not isinstance(name, str):
            raise ConfigError(f"toks: the name {name!r} is not a string", option="toks")
        instance(tok, f"toks[{name!r}]", Tokenizer, "a Tokenizer; jeton.load makes one of a path or a name")
    instance(text, "text", (str, bytes), "str or bytes")
    some = None if special is None or isinstance(special, str) else set(strings(special, "special"))
    encodings = [
        tok.tokenize(text, special=special if some is None else some & tok.special_tokens.keys())
        for tok in named.values()
    ]
    data = text if isinstance(text, bytes) else text.encode()
    num_chars = len(data.decode("utf-8", "replace"))
    return Comparison(list(named), encodings, len(data), num_chars)


def _spans(encoding: Encoding) -> list[tuple[int, int]]:
    """The places of tokens that have bytes of their own."""
    return [(start, end) for start, end in encoding.byte_spans if start < end]

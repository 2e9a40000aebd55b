"""`Superwords`: options of a second stage of training, whose merges cross words.

Source: SuperBPE, Liu et al. 2025, arXiv 2503.13423: BPE for part of the vocabulary, then merges across white space. The
limit of four words is theirs; their rule that a colon ends a token is not adopted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..arguments import instance
from ..definition import Pattern
from ..errors import ConfigError
from .rules import Rules

__all__ = ["ACROSS_WORDS", "Superwords"]

# Lines without their ends, and groups of digits as in o200k.
ACROSS_WORDS = r"\p{N}{1,3}|[^\r\n\p{N}]+|[\r\n]+"


@dataclass(frozen=True, kw_only=True)
class Superwords:
    """A second stage of training, whose merges may cross words (SuperBPE).

    Attributes:
        from_size: number of entries after which merges may cross words; a float up to 1 is a share of the vocabulary.
        pattern: pre-tokenization pattern of the second stage and of the tokenizer. Default: lines and groups of digits.
        max_words: maximum number of words in a token of the second stage; None: no limit.

    Examples:
        >>> import jeton
        >>> text = "by the way, by the sea, by the river"
        >>> tok = jeton.train([text], 274, superwords=jeton.Superwords(from_size=266), progress=False)
        >>> tok.tokenize("by the way, by the moon").tokens[:3]
        [b'by the', b' way', b', by the']
    """

    from_size: int | float = 0.8
    pattern: str = ACROSS_WORDS
    max_words: int | None = 4

    def __post_init__(self) -> None:
        """Checks types and ranges."""
        if isinstance(self.from_size, bool) or not isinstance(self.from_size, int | float) or not self.from_size >= 0:
            raise ConfigError(
                f"from_size={self.from_size!r} is neither a number of entries nor a share", option="superwords"
            )
        if isinstance(self.from_size, float) and self.from_size > 1:
            raise ConfigError(f"from_size={self.from_size!r} is a share over 1", option="superwords")
        Pattern.of(self.pattern)
        Rules(max_words=self.max_words)

    @classmethod
    def of(cls, superwords: Superwords | bool | None) -> Superwords | None:
        """Converts True to the defaults, False and None to None."""
        if superwords is None or isinstance(superwords, bool):
            return cls() if superwords else None
        return instance(superwords, "superwords", cls, "True, False, None or a Superwords")

    def to_json(self) -> dict[str, Any]:
        """The options, as saved with the tokenizer."""
        return asdict(self)

    def first_size(self, max_entries: int) -> int:
        """Number of entries, out of `max_entries`, that the first stage learns."""
        return min(
            max_entries, self.from_size if isinstance(self.from_size, int) else round(max_entries * self.from_size)
        )

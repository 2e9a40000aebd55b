"""Merges across words: the options of a second stage of training.

Source: SuperBPE, Liu et al. 2025, arXiv 2503.13423: BPE until a part of the vocabulary is made, then merges that white
space does not stop. The limit of four words is theirs; that a colon ends a token is not carried over.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..arguments import instance
from ..definition import Pattern
from ..errors import ConfigError
from .rules import Rules

__all__ = ["ACROSS_WORDS", "Superwords"]

# Lines without their ends, and digits as o200k has them.
ACROSS_WORDS = r"\p{N}{1,3}|[^\r\n\p{N}]+|[\r\n]+"


@dataclass(frozen=True, kw_only=True)
class Superwords:
    """A second stage of training, whose merges may cross words (SuperBPE).

    Attributes:
        from_size: the number of entries from which on merges may cross; up to 1, a share of them.
        pattern: what no merge crosses in the second stage, and how the tokenizer cuts text. By default lines and groups
            of digits.
        max_words: the most words of a token that the second stage makes; None is no limit.

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
        """Refuses what cannot be meant."""
        if isinstance(self.from_size, bool) or not isinstance(self.from_size, int | float) or not self.from_size >= 0:
            raise ConfigError(
                f"from_size={self.from_size!r} is no number of entries, and no share", option="superwords"
            )
        if isinstance(self.from_size, float) and self.from_size > 1:
            raise ConfigError(f"from_size={self.from_size!r} is a share over 1", option="superwords")
        Pattern.of(self.pattern)
        Rules(max_words=self.max_words)

    @classmethod
    def of(cls, superwords: Superwords | bool | None) -> Superwords | None:
        """From True, for the defaults, or nothing."""
        if superwords is None or isinstance(superwords, bool):
            return cls() if superwords else None
        return instance(superwords, "superwords", cls, "True, False, None or a Superwords")

    def facts(self) -> dict[str, Any]:
        """What was request, for the file."""
        return asdict(self)

    def first_size(self, room: int) -> int:
        """How many of `room` entries the first stage makes."""
        return min(room, self.from_size if isinstance(self.from_size, int) else round(room * self.from_size))

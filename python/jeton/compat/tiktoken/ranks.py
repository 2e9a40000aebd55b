"""Mergeable tokens of an encoding, kept in a vocabulary of the core. A dict of them is built on first access.

Building a dict of 200,000 tokens takes longer than the core takes to read the file, and most programs do not need a
dict.
"""

from __future__ import annotations

from ..._core import Vocabulary
from ...util.lazy import cached_property

__all__ = ["RankFile"]


class RankFile:
    """Mergeable tokens with their ranks, as read from a file.

    Attributes:
        vocabulary: the core's entries, whose ids are the ranks.

    Examples:
        >>> RankFile.read(b"aA== 0\\naQ== 1\\n").ranks
        {b'h': 0, b'i': 1}
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @classmethod
    def read(cls, data: bytes) -> RankFile:
        """Reads a rank file.

        Raises:
            FormatError: the core's parser, which is stricter than tiktoken's, rejects a line.
        """
        return cls(Vocabulary.from_ranks(data))

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def highest(self) -> int:
        """The highest rank."""
        return self.vocabulary.next_id() - 1

    @cached_property
    def ranks(self) -> dict[bytes, int]:
        """Token -> rank."""
        ids, _, tokens, _ = self.vocabulary.columns()
        return dict(zip(tokens, ids, strict=True))

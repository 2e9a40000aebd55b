"""An answer to the exercise of step 18."""

from collections.abc import Mapping
from typing import Any


def encode(text: str, pieces: Mapping[str, Any]) -> list[str]:
    """Join the pair with the highest score (the leftmost if scores are equal), until no pair can be joined."""
    symbols = list(text)
    while True:
        best: tuple[float, int] | None = None
        for at in range(len(symbols) - 1):
            piece = pieces.get(symbols[at] + symbols[at + 1])
            if piece is not None and (best is None or piece.score > best[0]):
                best = piece.score, at
        if best is None:
            return symbols
        at = best[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]

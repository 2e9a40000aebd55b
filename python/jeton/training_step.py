"""`TrainingStep`: a row of the training log."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TrainingStep"]


class TrainingStep(NamedTuple):
    """One merge and the state of the corpus after it: a row of the training log."""

    rank: int
    id: int
    left: int
    right: int
    token: bytes
    pair_count: int
    corpus_tokens: int
    tokens_in_use: int
    bytes_per_token: float

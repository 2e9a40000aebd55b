"""Merge numbers, which all views display: the position of a merge in the order of learning, counted from 1.

Ranks give the same order. But in a rank file (tiktoken) ranks are ids of tokens, and the first merge has rank 256.
"""

from __future__ import annotations

from ...definition import Bpe
from ...tokenizer import Tokenizer

__all__ = ["first_rank"]


def first_rank(tok: Tokenizer) -> int:
    """Returns the rank of the first merge. The number of a merge is its rank minus this rank, plus one.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
        >>> first_rank(tok)
        0
    """
    model = tok.definition.model
    if not isinstance(model, Bpe) or model.ranks != "tokens" or not tok.merges:
        return 0
    return tok.merges[0][2]  # merges are in the order of ranks

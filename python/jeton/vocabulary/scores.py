"""The lowest score of a Unigram model, which determines the penalty of unknown characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..definition import Unigram
from ..tokenizer import Tokenizer
from ..tokens.kinds import TOKEN

__all__ = ["counted_scores"]


def counted_scores(tok: Tokenizer) -> NDArray[np.float64]:
    """Returns the score of each id, or infinity for an entry that is ignored when the lowest score is determined.

    SentencePiece considers only ordinary pieces. Hugging Face considers all entries in the model's list.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 14, preset="unigram", progress=False)
        >>> scores = counted_scores(tok)
        >>> scores.size == tok.vocab_size, bool(scores.min() < -1)
        (True, True)

    Source:
        SentencePiece src/unigram_model.cc (PopulateNodes, min_score_); Hugging Face models/unigram/model.rs
        (min_score).
    """
    given = np.array(tok._core.scores(), np.float64)
    scores = np.full(tok.vocab_size, np.inf)
    scores[: given.size] = given
    model = tok.definition.model
    if isinstance(model, Unigram) and model.single_precision:
        ids = tok._core.ids_of(TOKEN)
    else:
        ids = [id for id in tok._core.ids() if id < given.size]
    counted = np.zeros(tok.vocab_size, bool)
    counted[ids] = True
    scores[~counted] = np.inf
    return scores

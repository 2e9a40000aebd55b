"""The first merges of a BPE tokenizer: the vocabulary that training with a smaller size would learn.

Merges are learned one at a time, so training with a smaller size learns the same merges, but fewer of them. One
training run is therefore sufficient for every size.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..definition import Bpe
from ..errors import ConfigError, keyword
from ..tokenizer import Tokenizer
from ..tokens.added import model_entries, with_added_tokens
from .surgery import renumbered_definition

__all__ = ["first_merges"]


def first_merges(tok: Tokenizer, size: int) -> Tokenizer:
    """Returns the tokenizer with as many of the first merges as fit into `size` entries.

    Added tokens whose ids follow the merges' ids get new ids directly after the remaining merges, in the same order.
    Other ids are unchanged.

    Raises:
        ConfigError: the model is not supported; the size is larger than the tokenizer's, or smaller than its alphabet
            with added tokens; or ids are not in the order of the merges.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 262, pattern="gpt2", special_tokens=["<|end|>"], progress=False)
        >>> small = first_merges(tok, 259)
        >>> small.merges == tok.merges[:2], small.special_tokens["<|end|>"]
        (True, 258)
    """
    model = tok.definition.model
    if not isinstance(model, Bpe):
        raise ConfigError(
            f"a {model.type} model has no list of merges to shorten; pass a corpus or {keyword('keep')} to prune it",
            option="tok",
        )
    if isinstance(size, bool) or not isinstance(size, int) or size > tok.vocab_size:
        raise ConfigError(
            f"{keyword('vocab_size', size)} is not an integer up to {tok.vocab_size}, the size of the tokenizer"
        )
    limit = _limit(tok, size)
    merges = tok.merges
    _check(tok, merges, limit, size)
    vocabulary = tok._core.vocabulary().prefix(limit)
    moved = [(id, token) for id, token in tok.added_tokens.items() if id >= limit]
    entries = set(model_entries(tok._core))
    kept = [limit + index for index, (id, _) in enumerate(moved) if id in entries]
    vocabulary = with_added_tokens(vocabulary, enumerate((token for _, token in moved), start=limit), kept)
    new_ids = np.arange(tok.vocab_size)
    new_ids[[id for id, _ in moved]] = np.arange(limit, limit + len(moved))
    definition = renumbered_definition(replace(tok.definition, hf_vocab_size=None), new_ids)
    if definition.training is not None:
        num_merges = sum(1 for *_, new in merges if new < limit)
        facts = replace(definition.training, vocab_size=size, num_merges=num_merges, stopped=None, log=None)
        definition = replace(definition, training=facts)
    return tok._derived(definition=definition, vocabulary=vocabulary)


def _limit(tok: Tokenizer, size: int) -> int:
    """Returns the id from which on results of merges are removed, and added tokens are renumbered without gaps."""
    added = list(tok.added_tokens)
    moved = 0
    while moved < len(added) and added[len(added) - 1 - moved] >= size - moved:
        moved += 1
    return size - moved


def _check(tok: Tokenizer, merges: tuple[tuple[int, int, int], ...], limit: int, size: int) -> None:
    """Checks that only the last merges are removed.

    Raises:
        ConfigError: entries other than results of merges would be removed, or ids are not in the order of the merges.
    """
    results = [new for *_, new in merges]
    first_out = next((rank for rank, new in enumerate(results) if new >= limit), len(results))
    if any(new < limit for new in results[first_out:]) or any(a >= b for a, b in pairwise(results)):
        raise ConfigError(
            f"the ids of this tokenizer are not in the order of its merges: prune it with a corpus or "
            f"{keyword('keep')}",
            option="tok",
        )
    made, added = set(results), set(tok.added_tokens)
    alphabet = [id for id in tok._core.ids() if id not in made and id not in added]
    if alphabet and max(alphabet) >= limit:
        least = max(alphabet) + 1 + (size - limit)
        message = f"{keyword('vocab_size', size)} is too small: the alphabet and the added tokens need {least}"
        raise ConfigError(message)

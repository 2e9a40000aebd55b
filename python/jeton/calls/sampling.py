"""Sampling options of `Tokenizer.encode` (BPE-dropout, subword regularization), checked and converted for the core.

Left out: sampling itself. The core seeds its generator with `seed`, so results are equal on every machine.
"""

from __future__ import annotations

import os
from numbers import Integral, Real

from ..errors import ConfigError, keyword
from ..util.arguments import MAX_INT64, is_finite

__all__ = ["sampling_options"]


def sampling_options(
    kind: str, dropout: float, alpha: float | None, nbest: int | None, seed: int | None
) -> tuple[float, float, int | None, int]:
    """Checks the sampling options of `Tokenizer.encode` and chooses a seed if none is given.

    Args:
        kind: the model's type.
        dropout: probability of skipping each merge.
        alpha: exponent of the probabilities of segmentations.
        nbest: number of best segmentations to sample from; None is all.
        seed: seed of the generator; None is a random seed from the system.

    Returns:
        (dropout, alpha, nbest, seed)

    Raises:
        ConfigError: the model does not support an option, or an option is outside its range.

    Examples:
        >>> sampling_options("BPE", 0.1, None, None, 7)
        (0.1, 0.0, None, 7)
    """
    if alpha is not None and kind != "Unigram":
        raise ConfigError(
            f"{keyword('alpha')} needs a Unigram model, which has several segmentations of a text; this model is {kind}"
        )
    if dropout and kind not in ("BPE", "Pieces"):
        raise ConfigError(f"{keyword('dropout')} skips merges, but a {kind} model has no merges")
    if not dropout and alpha is None:
        raise ConfigError(f"{keyword('seed')} and {keyword('nbest')} need {keyword('dropout')} or {keyword('alpha')}")
    if not isinstance(dropout, Real) or not 0 <= dropout <= 1:
        raise ConfigError(f"{keyword('dropout', dropout)} is not a probability from 0 to 1")
    if alpha is not None and not (isinstance(alpha, Real) and alpha >= 0 and is_finite(alpha)):
        raise ConfigError(f"{keyword('alpha', alpha)} is not a finite number of at least 0")
    if nbest is not None and (alpha is None or not isinstance(nbest, Integral) or not 1 <= nbest <= MAX_INT64):
        raise ConfigError(f"{keyword('nbest', nbest)} must be a positive integer, together with {keyword('alpha')}")
    seed = int.from_bytes(os.urandom(8)) if seed is None else seed
    if not isinstance(seed, Integral) or not 0 <= seed < 1 << 64:
        raise ConfigError(f"{keyword('seed', seed)} is not an integer from 0 to 2^64 - 1")
    return dropout, alpha or 0.0, nbest, seed

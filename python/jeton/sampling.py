"""Chance in encoding: which of the options a model takes, in the form the core takes.

Left out: the chance itself. Drawing from the seed is the core's, so that it repeats on any machine.
"""

from __future__ import annotations

import os
from numbers import Integral, Real

from .errors import ConfigError

__all__ = ["sampling_options"]


def sampling_options(
    kind: str, dropout: float, alpha: float | None, nbest: int | None, seed: int | None
) -> tuple[float, float, int | None, int]:
    """What the core is told: the options of `Tokenizer.encode`, with a seed.

    Args:
        kind: the model's type.
        dropout: probability with which each merge is left out.
        alpha: the power of the probabilities that segmentations are drawn by.
        nbest: draw among so many.
        seed: None: a new one from the system.

    Raises:
        ConfigError: the model has no such chance, or an option is outside its range.

    Examples:
        >>> sampling_options("BPE", 0.1, None, None, 7)
        (0.1, 0.0, None, 7)
    """
    if alpha is not None and kind != "Unigram":
        raise ConfigError(f"alpha= draws segmentations of a Unigram model, and this is {kind}", option="alpha")
    if dropout and kind not in ("BPE", "Pieces"):
        raise ConfigError(f"dropout= leaves merges out, and a {kind} model has none", option="dropout")
    if not dropout and alpha is None:
        raise ConfigError("seed= and nbest= go with dropout= or alpha=", option="seed")
    if not isinstance(dropout, Real) or not 0 <= dropout <= 1:
        raise ConfigError(f"dropout={dropout!r} is no probability", option="dropout")
    if alpha is not None and not (isinstance(alpha, Real) and 0 <= alpha < float("inf")):
        raise ConfigError(f"alpha={alpha!r} is no exponent: a number from 0 up", option="alpha")
    if nbest is not None and (alpha is None or not isinstance(nbest, Integral) or nbest < 1):
        raise ConfigError(f"nbest={nbest!r}: a number from 1 up, which goes with alpha=", option="nbest")
    seed = int.from_bytes(os.urandom(8)) if seed is None else seed
    if not isinstance(seed, Integral) or not 0 <= seed < 1 << 64:
        raise ConfigError(f"seed={seed!r}: an integer from 0 to 2^64 - 1", option="seed")
    return dropout, alpha or 0.0, nbest, seed

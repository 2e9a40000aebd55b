"""`accelerate`: a tokenizer of transformers runs on Jeton, in place."""

from __future__ import annotations

import logging
from typing import Any, TypeVar

from ...errors import UnsupportedFeatureError
from .changes import watch
from .classes import accelerated_class, original_class
from .counts import Stats, of_counts, of_process
from .encoding import STATE
from .library import base_class, fast_class
from .state import BackendState

__all__ = ["accelerate", "restore", "stats"]

T = TypeVar("T")
logger = logging.getLogger("jeton.integrations")


def accelerate(tok: T, *, strict: bool = True) -> T:
    """Makes a fast tokenizer of transformers run on Jeton, in place.

    The tokenizer keeps its class as a base class, its `tokenizers.Tokenizer`, which stays the source of truth, and
    every result. Changes of it (added tokens, stages, options of the model) are noticed at the next call. A call whose
    result is not known to be equal runs on the original; the logger ``jeton.integrations`` names the first of each
    kind, and `stats` counts them.

    Args:
        tok: a `PreTrainedTokenizerFast` of transformers 4.57 or 5.
        strict: False: a tokenizer that Jeton does not support is returned as it is, with a warning in the log.

    Returns:
        The same object.

    Raises:
        MissingDependencyError: transformers is not installed.
        TypeError: no fast tokenizer.
        UnsupportedFeatureError: Jeton does not support the tokenizer; it is unchanged.

    Examples:
        >>> from tokenizers import Tokenizer, models
        >>> from transformers import PreTrainedTokenizerFast
        >>> backend = Tokenizer(models.WordLevel({"low": 0, "[UNK]": 1}, unk_token="[UNK]"))
        >>> tok = accelerate(PreTrainedTokenizerFast(tokenizer_object=backend))
        >>> tok(["low", "high"])["input_ids"], isinstance(tok, PreTrainedTokenizerFast)
        ([[0], [1]], True)
    """
    if not isinstance(tok, fast_class()):
        raise TypeError(f"accelerate takes a PreTrainedTokenizerFast, not {type(tok).__name__}")
    if isinstance(tok, base_class()):
        return tok
    watch()
    state = BackendState()
    snapshot = state.current(tok._tokenizer)
    if snapshot.engine is None:
        message = f"Jeton does not support this {type(tok).__name__}: {snapshot.error}"
        if strict:
            feature = getattr(snapshot.error, "feature", None)
            raise UnsupportedFeatureError(message, feature=feature) from snapshot.error
        logger.warning("%s", message)
        return tok
    tok.__class__ = accelerated_class(type(tok))
    tok.__dict__[STATE] = state
    return tok


def restore(tok: T) -> T:
    """Makes an accelerated tokenizer run on the original again, in place.

    Examples:
        >>> from tokenizers import Tokenizer, models
        >>> from transformers import PreTrainedTokenizerFast
        >>> tok = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"low": 0}, unk_token="low")))
        >>> type(restore(accelerate(tok))) is PreTrainedTokenizerFast
        True
    """
    if isinstance(tok, base_class()):
        tok.__class__ = original_class(type(tok))
        tok.__dict__.pop(STATE, None)
    return tok


def stats(tok: Any = None) -> Stats:
    """Calls that ran on Jeton and on the original: of one accelerated tokenizer, or of all of the process.

    Examples:
        >>> stats().share <= 1
        True
    """
    if tok is None:
        return of_process()
    state = getattr(tok, "__dict__", {}).get(STATE)
    return Stats(0, {}, {}) if state is None else of_counts(state.counts)

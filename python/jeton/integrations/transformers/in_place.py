"""`accelerate`: makes a tokenizer of transformers run on Jeton in place, or converts a `tokenizers.Tokenizer`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ...compat import tokenizers as drop_in
from ...compat.hf_backend import Unproven
from ...errors import JetonError, UnsupportedFeatureError
from .changes import watch
from .classes import accelerated_class, original_class
from .counts import Stats, of_counts, of_process
from .encoding import STATE
from .library import base_class, fast_class
from .state import BackendState, check

if TYPE_CHECKING:
    import tokenizers

__all__ = ["accelerate", "restore", "stats"]

T = TypeVar("T")
logger = logging.getLogger("jeton.integrations")


@overload
def accelerate(tok: tokenizers.Tokenizer, *, strict: bool = True) -> drop_in.Tokenizer: ...
@overload
def accelerate(tok: T, *, strict: bool = True) -> T: ...
def accelerate(tok: Any, *, strict: bool = True) -> Any:
    """Makes a fast tokenizer of transformers run on Jeton, in place.

    The tokenizer keeps its results, its class (as a base class), and its `tokenizers.Tokenizer`, which stays the source
    of truth. Changes of the `tokenizers.Tokenizer` (added tokens, stages, options of the model) are noticed at the next
    call. A call runs on Jeton only if its result is known to equal that of the original class. All other calls run on
    the original class; the logger ``jeton.integrations`` logs the first one of each kind, and `stats` counts them all.

    A `tokenizers.Tokenizer` itself is implemented in Rust and cannot be changed in place. For such an argument, the
    result is the drop-in replacement `jeton.compat.tokenizers.Tokenizer` in the same state. Later changes of one do not
    affect the other.

    Args:
        tok: a `PreTrainedTokenizerFast` of transformers 4.57 or 5, or a `tokenizers.Tokenizer`.
        strict: if false, a tokenizer that Jeton does not support is returned unchanged, and a warning is logged.

    Returns:
        The same object, or the drop-in replacement.

    Raises:
        MissingDependencyError: transformers is not installed.
        TypeError: `tok` is not a fast tokenizer.
        UnsupportedFeatureError: Jeton does not support the tokenizer; it is unchanged.

    Examples:
        >>> from tokenizers import Tokenizer, models
        >>> from transformers import PreTrainedTokenizerFast
        >>> backend = Tokenizer(models.WordLevel({"low": 0, "[UNK]": 1}, unk_token="[UNK]"))
        >>> tok = accelerate(PreTrainedTokenizerFast(tokenizer_object=backend))
        >>> tok(["low", "high"])["input_ids"], isinstance(tok, PreTrainedTokenizerFast)
        ([[0], [1]], True)
        >>> fast = accelerate(backend)
        >>> fast.encode("low").ids, type(fast).__module__
        ([0], 'jeton.compat.tokenizers.core')
    """
    if isinstance(tok, drop_in.Tokenizer):
        return tok
    if isinstance(tok, _tokenizer_class()):
        return _drop_in_of(tok, strict)
    if not isinstance(tok, fast_class()):
        raise TypeError(
            f"accelerate takes a PreTrainedTokenizerFast or a tokenizers.Tokenizer, not {type(tok).__name__}"
        )
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


def _tokenizer_class() -> type[Any]:
    from tokenizers import Tokenizer

    return Tokenizer


def _drop_in_of(tok: Any, strict: bool) -> Any:
    """Returns the drop-in replacement for a `tokenizers.Tokenizer`, in the same state.

    Raises:
        UnsupportedFeatureError: Jeton does not support the tokenizer.
    """
    try:
        serialized = tok.to_str()
    except Exception as error:  # a component is a Python object
        reason: Exception = error
    else:
        made = drop_in.Tokenizer.from_str(serialized)
        made.encode_special_tokens = tok.encode_special_tokens  # tokenizer.json does not contain it
        try:
            if getattr(tok.model, "alpha", None) is not None:  # `alpha` is also missing from tokenizer.json
                raise Unproven("a model that samples")
            check(tok, made._engine())
            return made
        except (JetonError, Unproven) as error:
            reason = error
    message = f"Jeton does not support this Tokenizer: {reason}"
    if strict:
        raise UnsupportedFeatureError(message, feature=getattr(reason, "feature", None)) from reason
    logger.warning("%s", message)
    return tok


def restore(tok: T) -> T:
    """Makes an accelerated tokenizer run on its original class again, in place.

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
    """Returns how many calls ran on Jeton and how many on the original class, for one tokenizer or the whole process.

    Examples:
        >>> stats().share <= 1
        True
    """
    if tok is None:
        return of_process()
    state = getattr(tok, "__dict__", {}).get(STATE)
    return Stats(0, {}, {}) if state is None else of_counts(state.counts)

"""Detects, without reading the vocabulary, whether a mutable `tokenizers.Tokenizer` has changed.

Once in a process, `watch` wraps the methods and setters of the class that change vocabulary, added tokens or a large
stage: after a change, the wrapper puts a new object into the tokenizer's ``__dict__``. Python code can change
vocabulary, added tokens and large stages only through these methods and setters. The small stages and the options of
the model also affect ids, but Python code can change them directly, through objects that refer to them. So `stages`
reads the states of these objects, which takes about two microseconds.

Padding, truncation and ``encode_special_tokens`` are not part of the state: they are arguments of each call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ...errors import UnsupportedFeatureError
from ...util.locks import ForkLock

__all__ = ["model_options", "stages", "version", "watch"]

VERSION = "_jeton_version"  # key in the `__dict__` of a tokenizer
METHODS = ("add_tokens", "add_special_tokens", "train", "train_from_iterator", "__setstate__")
SETTERS = ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder")
DECODER = 3  # index of the decoder in the result of `stages`
OPTIONS = (  # settable attributes of models
    "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges", "max_input_chars_per_word", "alpha", "nbest_size",
)  # fmt: skip

_lock = ForkLock()
_is_watched = False
# Number of assignments to items of normalizers. `stages` includes this number, because the items of large normalizers
# are not compared.
_num_items_set = 0


def watch() -> None:
    """Wraps the methods and setters of `tokenizers.Tokenizer` that make changes which `stages` does not show.

    Raises:
        UnsupportedFeatureError: the class does not allow wrapping.
    """
    global _is_watched
    with _lock:
        if _is_watched:
            return
        from tokenizers import Tokenizer, normalizers

        try:
            for name in METHODS:
                setattr(Tokenizer, name, _noticed(getattr(Tokenizer, name)))
            for name in SETTERS:
                setattr(Tokenizer, name, _setter(vars(Tokenizer)[name]))
            setattr(normalizers.Sequence, "__setitem__", _item_setter(normalizers.Sequence.__setitem__))  # noqa: B010
        except (AttributeError, TypeError, KeyError) as error:
            raise UnsupportedFeatureError(
                f"this version of tokenizers does not support tracking of changes: {error}", feature="tokenizers"
            ) from error
        _is_watched = True


def _noticed(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        finally:
            self.__dict__[VERSION] = object()

    return call


def _setter(attribute: Any) -> property:
    def assign(self: Any, value: Any) -> None:
        try:
            attribute.__set__(self, value)
        finally:
            self.__dict__[VERSION] = object()

    return property(attribute.__get__, assign, doc=attribute.__doc__)


def _item_setter(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def assign(self: Any, index: Any, value: Any) -> None:
        global _num_items_set
        try:
            method(self, index, value)
        finally:
            _num_items_set += 1

    return assign


def version(backend: Any) -> object:
    """Returns a marker of the version. Each change that `watch` notices sets a new marker; None before the first."""
    return backend.__dict__.get(VERSION)


def model_options(model: Any) -> Callable[[Any], Any]:
    """Returns a function that reads the settable options of a model."""
    names = [name for name in OPTIONS if hasattr(type(model), name)]
    return attrgetter(*names) if names else lambda _: None


def stages(backend: Any, options: Callable[[Any], Any], model: Any) -> tuple[Any, ...]:
    """Returns the state of a tokenizer's stages and options, for comparison with an earlier state.

    Args:
        backend: the tokenizer.
        options: the result of `model_options`.
        model: a Python object that refers to the tokenizer's current model, so that all changes are visible through it.

    Raises:
        Exception: a stage is a Python object, which cannot be serialized.
    """
    pre_tokenizer, post, decoder = backend.pre_tokenizer, backend.post_processor, backend.decoder
    return (
        _normalizer_state(backend.normalizer),
        pre_tokenizer and pre_tokenizer.__getstate__(),
        post and post.__getstate__(),
        decoder and decoder.__getstate__(),
        options(model),
    )


def _normalizer_state(part: Any) -> Any:
    """Returns the state of a normalizer, except character maps, which are large and cannot change in place."""
    if part is None:
        return None
    kind = type(part).__name__
    if kind == "Precompiled":
        return kind
    if kind == "Sequence":
        return _num_items_set, *map(_normalizer_state, (part[index] for index in range(len(part))))
    return part.__getstate__()

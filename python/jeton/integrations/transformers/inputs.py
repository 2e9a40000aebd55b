"""Recognizes the form of an encode call's inputs, such as a text or a list of pairs, without a loop in Python.

Only forms whose meaning is certain are recognized. All other inputs, including invalid ones, are left to the original
code of transformers, which raises its own exceptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ...compat.hf_backend import Unproven

__all__ = ["Inputs", "batch_inputs", "one_input"]

STR = {str}
SEQUENCES = ({list}, {tuple}, {list, tuple})


class Inputs(NamedTuple):
    """Texts of a call.

    Attributes:
        texts: strings, or sequences of words.
        pairs: the second texts of pairs; None if there are no pairs.
        original: the same texts and pairs, as the list that `tokenizers.Tokenizer.encode_batch` takes.
        shape: name for the kind of input, such as ``"pair of words"``.
    """

    texts: Sequence[Any]
    pairs: Sequence[Any] | None
    original: list[Any]
    shape: str


def one_input(text: Any, pair: Any, is_split: bool) -> Inputs:
    """Returns the input of a call with one text or pair. As in transformers, an empty second text is ignored.

    Raises:
        Unproven: the input has another form.
    """
    if is_split:
        _words((text,))
        if not pair:
            return Inputs((text,), None, [list(text)], "words")
        _words((pair,))
        return Inputs((text,), (pair,), [(list(text), list(pair))], "pair of words")
    if type(text) is not str:
        raise Unproven("a text that is not a str")
    if not pair:
        return Inputs((text,), None, [text], "text")
    if type(pair) is not str:
        raise Unproven("a second text that is not a str")
    return Inputs((text,), (pair,), [(text, pair)], "pair")


def batch_inputs(texts: Any, is_split: bool) -> Inputs:
    """Returns the input of a call with a list of texts, or of pairs (tuples).

    Raises:
        Unproven: the input has another form, or contains no text.
    """
    if not texts:
        raise Unproven("no text")
    kinds = set(map(type, texts))
    if is_split:
        if kinds not in SEQUENCES:
            raise Unproven("words that are not a list")
        inner = set(map(type, chain.from_iterable(texts)))
        if inner <= STR:
            return Inputs(texts, None, list(map(list, texts)), "batch of words")
        if inner in SEQUENCES and set(map(len, texts)) == {2}:
            first, second = zip(*texts, strict=True)
            _words(first)
            _words(second)
            return Inputs(
                first, second, [*zip(map(list, first), map(list, second), strict=True)], "batch of pairs of words"
            )
        raise Unproven("words that are not str")
    if kinds == STR:
        return Inputs(texts, None, list(texts), "batch")
    if kinds in SEQUENCES and set(map(len, texts)) == {2} and set(map(type, chain.from_iterable(texts))) == STR:
        first, second = zip(*texts, strict=True)
        return Inputs(first, second, list(map(tuple, texts)), "batch of pairs")
    raise Unproven("texts that are not str")


def _words(texts: Iterable[Any]) -> None:
    if not set(map(type, texts)) <= {list, tuple} or not set(map(type, chain.from_iterable(texts))) <= STR:
        raise Unproven("words that are not a list of str")

"""Policies for lone surrogates in texts to encode, and for decoded bytes that are not UTF-8.

A `str` can contain surrogates, which are not characters. They come from JSON with half of an escaped pair, or from file
names. The core rejects them. Texts are examined only after the core has rejected them, so valid text has no cost.

Source: openai/tiktoken, core.py (`encode`), which replaces surrogates in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar

from ..errors import DecodeError, InvalidTextError, named
from ..util.arguments import wrong

__all__ = ["InvalidUtf8", "SurrogateErrors", "encode_replaced", "not_utf8", "replace_surrogates"]

SurrogateErrors: TypeAlias = Literal["strict", "replace"]
InvalidUtf8: TypeAlias = Literal["replace", "strict", "ignore"]

T = TypeVar("T")


def replace_surrogates(text: str) -> str:
    """Joins surrogate pairs, and replaces all other surrogates by U+FFFD. Text without surrogates is not changed.

    Examples:
        >>> replace_surrogates("a\\ud83d\\ude09 b\\ud83d") == "a\U0001f609 b\ufffd"
        True
    """
    try:
        str.encode(text)
    except UnicodeEncodeError:
        return str.encode(text, "utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def encode_replaced(errors: str, encode: Callable[..., T], *texts: Any, **options: Any) -> T:
    """Calls `encode` with texts; if it rejects them, calls it again with surrogates replaced.

    Args:
        errors: ``"replace"``, or ``"strict"``, which does not call `encode` again.
        encode: function that raises `InvalidTextError` for a surrogate.
        texts: positional arguments of `encode`: texts, lists of texts, or None.
        options: other arguments of `encode`.

    Raises:
        ConfigError: `errors` has another value.
        InvalidTextError: from `encode`.
    """
    if errors not in ("strict", "replace"):
        raise wrong("errors", errors, '"strict" or "replace"')
    try:
        return encode(*texts, **options)
    except InvalidTextError:
        if errors == "strict":
            raise
        replaced = tuple(map(_replaced, texts))
        if replaced == texts:  # no surrogates: `encode` rejected the texts for another reason
            raise
    return encode(*replaced, **options)


def _replaced(text: Any) -> Any:
    if isinstance(text, list):
        return [_replaced(each) for each in text]
    return replace_surrogates(text) if isinstance(text, str) else text


def not_utf8(error: UnicodeDecodeError) -> DecodeError:
    """Builds the error for decoded bytes that are not UTF-8."""
    replace = named('invalid_utf8="replace"')
    return DecodeError(
        f"the bytes of these ids are not UTF-8 at byte {error.start} ({error.reason}); "
        f"{replace} shows them as U+FFFD, decode_bytes returns the bytes",
        position=error.start,
    )

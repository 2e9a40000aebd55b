"""Validation of request fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ConfigError, InvalidTextError

__all__ = ["flag", "integer", "no_surrogates", "one_of", "text", "texts"]


def text(request: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Reads a string field, which is required if there is no default.

    Examples:
        >>> text({"tokenizer": "gpt2"}, "tokenizer")
        'gpt2'
        >>> text({}, "tokenizer")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: the request lacks "tokenizer", a text
    """
    value = request.get(name, default)
    if not isinstance(value, str):
        raise _wrong(request, name, "a text")
    return no_surrogates(value, f"the {name}")


def no_surrogates(value: str, name: str) -> str:
    """Checks that a string has no lone surrogate, which JSON can represent and UTF-8 cannot.

    Examples:
        >>> no_surrogates("ab\\ud800", "the text")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        jeton.errors.InvalidTextError: the text has a lone surrogate, U+D800, at position 2; ...
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidTextError(
            f"{name} has a lone surrogate, U+{ord(value[error.start]):04X}, at position {error.start}; "
            "it has no UTF-8 encoding: remove it",
            position=error.start,
        ) from None
    return value


def one_of(request: Mapping[str, Any], name: str, choices: Sequence[str], default: str) -> str:
    """Reads a string field whose value must be one of `choices`.

    Examples:
        >>> one_of({"level": "bit"}, "level", ("byte", "char"), "byte")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: the request's "level" is 'bit'; it must be one of byte, char
    """
    value = text(request, name, default)
    if value not in choices:
        raise _wrong(request, name, f"one of {', '.join(choices)}")
    return value


def texts(request: Mapping[str, Any], name: str, fewest: int, most: int) -> list[str]:
    """Reads a list of `fewest` to `most` strings, and removes duplicates.

    Examples:
        >>> texts({"tokenizers": ["a", "b", "a"]}, "tokenizers", 1, 4)
        ['a', 'b']
    """
    value = request.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _wrong(request, name, "a list of texts")
    if not fewest <= len(set(value)) <= most:
        raise ConfigError(f'"{name}" has {len(set(value))} entries; it may have {fewest} to {most}', option=name)
    return list(dict.fromkeys(value))


def flag(request: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """Reads a boolean field.

    Examples:
        >>> flag({"special": True}, "special"), flag({}, "special")
        (True, False)
    """
    value = request.get(name, default)
    if not isinstance(value, bool):
        raise _wrong(request, name, "true or false")
    return value


def integer(request: Mapping[str, Any], name: str, default: int | None, low: int, high: int) -> int:
    """Reads an integer field from `low` to `high`, inclusive, which is required if there is no default.

    Examples:
        >>> integer({"limit": 5}, "limit", 10, 1, 100)
        5
        >>> integer({"limit": 500}, "limit", 10, 1, 100)
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: the request's "limit" is 500; it must be an integer from 1 to 100
    """
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _wrong(request, name, f"an integer from {low} to {high}")
    return value


def _wrong(request: Mapping[str, Any], name: str, wanted: str) -> ConfigError:
    if request.get(name) is None:
        return ConfigError(f'the request lacks "{name}", {wanted}', option=name)
    return ConfigError(f'the request\'s "{name}" is {request[name]!r:.40}; it must be {wanted}', option=name)

"""The fields of a request, each with its type and a clear error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ConfigError

__all__ = ["flag", "integer", "text"]


def text(request: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """A string; without a default it must be there.

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
    return value


def flag(request: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """A boolean.

    Examples:
        >>> flag({"special": True}, "special"), flag({}, "special")
        (True, False)
    """
    value = request.get(name, default)
    if not isinstance(value, bool):
        raise _wrong(request, name, "true or false")
    return value


def integer(request: Mapping[str, Any], name: str, default: int | None, low: int, high: int) -> int:
    """An integer within bounds, both included; without a default it must be there.

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

"""Argument checks: a value of a wrong type raises a `ConfigError` that names the argument and the accepted values.

A public function checks its arguments first, before it opens a file or starts work. So a wrong argument never causes a
`TypeError` or an `AttributeError` deeper in the call stack. Each check returns the value, or raises an error.

Left out: combinations of options, which each function checks itself.
"""

from __future__ import annotations

import os

from ..errors import ConfigError, keyword

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")

__all__ = [
    "KEEP",
    "MAX_INT64",
    "Keep",
    "choice",
    "components",
    "file_path",
    "flag",
    "instance",
    "integer",
    "is_finite",
    "items",
    "string",
    "strings",
    "wrong",
]

MAX_INT64 = (1 << 63) - 1


class Keep:
    """Type of `KEEP`: the default of an argument that also accepts None. `KEEP` leaves the setting unchanged."""

    def __repr__(self) -> str:
        return "…"


KEEP = Keep()


def wrong(option: str, value: object, expected: str) -> ConfigError:
    """Builds the error for a wrong value. The message has the argument, the given value and the accepted values.

    Args:
        option: the argument, or an item of it, such as ``"sizes[1]"``.
        value: the given value.
        expected: the accepted values, with an article.

    Examples:
        >>> wrong("top", "x", "an integer of at least 0")
        ConfigError("top='x' is not an integer of at least 0")
    """
    return ConfigError(f"{keyword(option, value)} is not {expected}")


def integer(value: Any, option: str, low: int, high: int | None = None) -> int:
    """Checks that a value is an integer in a range, and returns it; `bool` is refused.

    Examples:
        >>> integer(3, "top", 0)
        3
        >>> integer(True, "top", 0, 9)
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: top=True is not an integer from 0 to 9
    """
    from operator import index

    try:
        number = low - 1 if isinstance(value, bool) else index(value)  # accepts NumPy's integers, too
    except TypeError:
        number = low - 1
    if number < low or (high is not None and number > high):
        some = "a positive integer" if low == 1 else f"an integer of at least {low}"
        raise wrong(option, value, some if high is None else f"an integer from {low} to {_bound(high)}")
    return number


def _bound(number: int) -> str:
    """Formats a bound of a range. A large bound such as the maximum of 64-bit integers is written as ``2^63 - 1``."""
    return f"2^{number.bit_length()} - 1" if number > 1 << 53 and number & (number + 1) == 0 else str(number)


def is_finite(number: Any) -> bool:
    """Tests whether a number, as a `float`, is finite: neither NaN nor infinity, and within the range of `float`.

    Examples:
        >>> is_finite(0.1), is_finite(float("nan")), is_finite(10**5000)
        (True, False, False)
    """
    from math import isfinite

    try:
        return isfinite(number)
    except OverflowError:
        return False


def choice(value: Any, option: str, choices: Sequence[str]) -> str:
    """Checks that a value is one of several strings, and returns it.

    Examples:
        >>> choice("word", "level", ("byte", "char"))
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: level='word' is not one of byte, char
    """
    if value not in choices:
        raise wrong(option, value, f"one of {', '.join(choices)}")
    return str(value)


def flag(value: Any, option: str) -> bool:
    """Checks that a value is True or False, and returns it.

    Examples:
        >>> flag("yes", "tied")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: tied='yes' is neither True nor False
    """
    if not isinstance(value, bool):
        raise ConfigError(f"{keyword(option, value)} is neither True nor False")
    return value


def instance(value: Any, option: str, kind: type[T] | tuple[type[T], ...], expected: str) -> T:
    """Checks that a value is an object of a class, or of one of several classes, and returns it.

    Examples:
        >>> instance("o200k_base", "tok", int, "a Tokenizer")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: tok='o200k_base' is not a Tokenizer
    """
    if not isinstance(value, kind):
        raise wrong(option, value, expected)
    return value


def string(value: Any, option: str) -> str:
    """Checks that a value is a string without lone surrogates, and returns it.

    Examples:
        >>> string("text", "field")
        'text'
    """
    text = instance(value, option, str, "a string")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise wrong(option, value, "Unicode text: it contains a lone surrogate") from None
    return text


def file_path(value: Any, option: str) -> str:
    """Checks that a value is a path (`str` or `os.PathLike`) without NUL bytes or lone surrogates; returns a `str`.

    Examples:
        >>> file_path(7, "path")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: path=7 is not a path (a str or a Path)
    """
    try:
        text = os.fspath(value)
        if isinstance(text, str) and b"\0" not in os.fsencode(text):
            return text
    except (TypeError, UnicodeEncodeError):
        pass
    raise wrong(option, value, "a path (a str or a Path)")


def items(value: Any, option: str, expected: str) -> list[Any]:
    """Checks that a value is an iterable other than `str` and `bytes`, and returns its items.

    Examples:
        >>> items((1, 2), "sizes", "a list of integers")
        [1, 2]
    """
    from collections.abc import Iterable

    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise wrong(option, value, expected)
    return list(value)


def components(value: Any, option: str) -> tuple[Mapping[str, Any], ...]:
    """Checks that a value is a list of normalizers or pre-tokenizers of a `Definition`, and returns it.

    Examples:
        >>> components([{"type": "NFC"}], "normalizer")
        ({'type': 'NFC'},)
    """
    from collections.abc import Mapping

    expected = 'a list of components, such as [{"type": "NFC"}]'
    if isinstance(value, Mapping):
        raise wrong(option, value, expected)
    found = tuple(items(value, option, expected))
    if not all(isinstance(part, Mapping) for part in found):
        raise wrong(option, value, expected)
    return found


def strings(value: Any, option: str) -> list[str]:
    """Checks that a value is an iterable of strings, and returns a list. A single string, a common mistake, is refused.

    Examples:
        >>> strings("<s>", "special_tokens")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: special_tokens='<s>' is not a list of strings; pass ['<s>']
    """
    if isinstance(value, str):
        raise wrong(option, value, f"a list of strings; pass [{value!r}]")
    found = items(value, option, "a list of strings")
    if not all(isinstance(item, str) for item in found):
        raise wrong(option, value, "a list of strings")
    return found

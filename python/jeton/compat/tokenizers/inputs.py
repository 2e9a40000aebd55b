"""Checks and converts arguments of `Tokenizer`, as in the original package.

Source: huggingface/tokenizers, bindings/python/src/tokenizer.rs (`TextInputSequence` and the other inputs).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

__all__ = ["batch_input", "flag", "id_list", "items", "one_input", "owned_input", "string", "u32", "usize", "words"]

MAX_U32 = (1 << 32) - 1
MAX_USIZE = (1 << 64) - 1

TEXT = "TextInputSequence must be str"
TEXTS = "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"
WORDS = "PreTokenizedInputSequence must be Union[List[str], Tuple[str]]"
OWN_WORDS = "PreTokenizedInputSequence must be List[str] | Tuple[str] | np.ndarray[U] | np.ndarray[object[str]]"
ALL_WORDS = (
    "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, "
    "Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]]"
)


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def words(value: Any) -> list[str] | None:
    """Returns the words of a text that is given as a list of words; None for another value."""
    if isinstance(value, list | tuple):
        return list(value) if all(map(_is_text, value)) else None
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(value, "ndim", 0) == 1 and (dtype.kind in "UO"):
        found = value.tolist()
        return found if all(map(_is_text, found)) else None
    return None


def one_input(value: Any, is_pretokenized: bool) -> Any:
    """Checks one input: a text, or a list of words.

    Raises:
        TypeError: the value is neither.
    """
    if is_pretokenized:
        found = words(value)
        if found is None:
            raise TypeError(WORDS)
        return found
    if not _is_text(value):
        raise TypeError(TEXT)
    return value


def batch_input(value: Any, is_pretokenized: bool) -> tuple[Any, Any]:
    """Returns (text, second text) of a batch's element; the second text is None if the element is not a pair.

    Raises:
        TypeError: the element is neither a text nor a pair.
    """
    if not is_pretokenized:
        if _is_text(value):
            return value, None
        pair = _pair(value)
        if pair is not None and _is_text(pair[0]) and _is_text(pair[1]):
            return pair
        raise TypeError(TEXTS)
    own = words(value)
    if own is not None:
        return own, None
    pair = _pair(value)
    if pair is not None:
        first, second = map(words, pair)
        if first is not None and second is not None:
            return first, second
    raise TypeError(ALL_WORDS)


def owned_input(value: Any, is_pretokenized: bool) -> tuple[Any, Any]:
    """Converts an element as `batch_input` does, but for asynchronous calls, in which every list of two is a pair.

    Raises:
        TypeError: the element is neither a text nor a pair.
    """
    is_two = isinstance(value, list | tuple) and len(value) == 2
    if is_pretokenized:
        found = [words(each) for each in value] if is_two else [words(value), []]
        if found[0] is None or found[1] is None or (is_two and any(isinstance(each, str) for each in value)):
            raise TypeError(OWN_WORDS)
        return found[0], found[1] if is_two else None
    if is_two and (isinstance(value, tuple) or all(isinstance(each, str) for each in value)):
        if not all(map(_is_text, value)):
            raise TypeError(f"'{type(value[0]).__name__}' object is not an instance of 'str'")
        return value[0], value[1]
    if not _is_text(value):
        raise TypeError(f"'{type(value).__name__}' object is not an instance of 'str'")
    return value, None


def _pair(value: Any) -> tuple[Any, Any] | None:
    if isinstance(value, str) or not hasattr(value, "__getitem__") or not hasattr(value, "__len__"):
        return None
    return (value[0], value[1]) if not hasattr(value, "keys") and len(value) == 2 else None


def items(value: Any) -> list[Any]:
    """Returns the elements of a sequence.

    Raises:
        TypeError: the value is not a sequence, or it is a string.
    """
    if isinstance(value, str):
        raise TypeError("Can't extract `str` to `Vec`")
    if isinstance(value, list):
        return value
    if not hasattr(value, "__getitem__") or hasattr(value, "keys"):
        raise TypeError(f"'{type(value).__name__}' object is not an instance of 'Sequence'")
    return list(value)


def id_list(ids: Any) -> list[int]:
    """Converts a sequence of ids to a list.

    Raises:
        TypeError: the value is not a sequence of integers.
        OverflowError: a number is not a u32.
    """
    return [u32(id) for id in items(ids)]


def u32(value: Any) -> int:
    """Checks an integer from 0 to 2³² - 1."""
    return _unsigned(value, MAX_U32)


def usize(value: Any) -> int:
    """Checks an integer from 0 to 2⁶⁴ - 1."""
    return _unsigned(value, MAX_USIZE)


def _unsigned(value: Any, most: int) -> int:
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer") from None
    if found < 0:
        raise OverflowError("number too small to fit in target type")
    if found > most:
        raise OverflowError("number too large to fit in target type")
    return found


def flag(value: Any, name: str) -> bool:
    """Checks an argument that is True or False.

    Raises:
        TypeError: the value is neither.
    """
    if value is True or value is False:
        return bool(value)
    if type(value).__name__ in ("bool_", "bool"):  # NumPy's booleans
        return bool(value)
    raise TypeError(f"argument '{name}': '{type(value).__name__}' object is not an instance of 'bool'")


def string(value: Any, name: str) -> str:
    """Checks an argument that is a string.

    Raises:
        TypeError: the value is not a string.
    """
    if not isinstance(value, str):
        raise TypeError(f"argument '{name}': '{type(value).__name__}' object is not an instance of 'str'")
    return value


def known_options(options: dict[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Returns the known options; reports others on standard output, as the original package does."""
    names = set(known)
    for name in options:
        if name not in names:
            print(f"Ignored unknown kwarg option {name}")  # noqa: T201
    return {name: value for name, value in options.items() if name in names}

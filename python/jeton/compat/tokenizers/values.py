"""Converts arguments, with the same exceptions as Hugging Face's package, and formats objects as its `repr` does.

A converter takes an argument and returns its value in `tokenizer.json`, or raises the original's exception.

Source: huggingface/tokenizers 0.23.3, bindings/python/src (PyO3's conversions; utils/serde_pyo3.rs for `shown`).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from operator import index
from typing import Any, TypeAlias

__all__ = [
    "Converter",
    "Named",
    "Word",
    "character",
    "flag",
    "ignored",
    "items",
    "number",
    "optional",
    "pair",
    "shown",
    "single",
    "size",
    "size_32",
    "text",
    "to_json",
    "widened",
    "word",
    "wrong",
]

Converter: TypeAlias = Callable[[Any], Any]


class Word(str):
    """A value of an enumeration. In JSON, the value is a string; in a `repr`, it has no quotation marks."""

    __slots__ = ()


class Named(dict[str, Any]):
    """A JSON object that `repr` shows with the name of its type."""

    __slots__ = ("name",)

    def __init__(self, name: str, members: Mapping[str, Any]) -> None:
        super().__init__(members)
        self.name = name


def wrong(value: object, expected: str) -> TypeError:
    """Builds the error for an argument of a wrong type."""
    given = "'None'" if value is None else f"{type(value).__name__!r} object"
    return TypeError(f"{given} is not an instance of {expected!r}")


def flag(value: Any) -> bool:
    """Converts True or False, also NumPy's, to `bool`.

    Examples:
        >>> flag(True)
        True
    """
    if isinstance(value, bool):
        return value
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise wrong(value, "bool")


def text(value: Any) -> str:
    """Converts a string to a plain `str`; raises an error for lone surrogates and for other values.

    Examples:
        >>> text("low")
        'low'
    """
    if not isinstance(value, str):
        raise wrong(value, "str")
    if not value.isascii():
        value.encode()
    return str(value)


def character(value: Any) -> str:
    """Converts a string of one character; raises an error for other values."""
    if len(text(value)) != 1:
        raise ValueError("expected a string of length 1")
    return str(value)


def size(value: Any) -> int:
    """Converts an unsigned 64-bit integer; raises an error for other values."""
    number = index(value)
    if number < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if number >> 64:
        raise OverflowError("int too big to convert")
    return number


def size_32(value: Any) -> int:
    """Converts an unsigned 32-bit integer, such as an id; raises an error for other values."""
    number = index(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError("Python int too large to convert to C long")
    if not 0 <= number < 1 << 32:
        raise OverflowError(f"number too {'small' if number < 0 else 'large'} to fit in target type")
    return number


def number(value: Any) -> float:
    """Converts a real number to `float`; raises an error for other values."""
    if isinstance(value, str | bytes) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def single(value: Any) -> float:
    """Converts a number to the shortest decimal with the same value in single precision.

    Examples:
        >>> single(0.1), widened(single(0.1))
        (0.1, 0.10000000149011612)
    """
    rounded = float(struct.unpack("<f", struct.pack("<f", number(value)))[0])
    for digits in range(1, 10):
        if widened(float(f"{rounded:.{digits}g}")) == rounded:
            return float(f"{rounded:.{digits}g}")
    return rounded


def widened(value: float | None) -> float | None:
    """Rounds a number to single precision."""
    return value if value is None else float(struct.unpack("<f", struct.pack("<f", value))[0])


def ignored(name: str, kind: str = "kwargs") -> None:
    """Reports an unknown option, as the original does.

    Args:
        name: name of the option.
        kind: word for the option in the message.
    """
    print(f"Ignored unknown {kind} option {name}")  # noqa: T201


def optional(convert: Converter) -> Converter:
    """Returns a converter that also accepts None."""
    return lambda value: None if value is None else convert(value)


def items(convert: Converter) -> Converter:
    """Returns a converter that applies `convert` to each item of a sequence and raises an error for a string."""

    def converted(value: Any) -> list[Any]:
        if isinstance(value, str):
            raise TypeError("Can't extract `str` to `Vec`")
        if not isinstance(value, Sequence) and type(value).__module__ != "numpy":
            raise wrong(value, "Sequence")
        return [convert(item) for item in value]

    return converted


def pair(first: Converter, second: Converter) -> Converter:
    """Returns a converter of a tuple of two items."""

    def converted(value: Any) -> tuple[Any, Any]:
        if not isinstance(value, tuple):
            raise wrong(value, "tuple")
        if len(value) != 2:
            raise ValueError(f"expected tuple of length 2, but got tuple of length {len(value)}")
        return first(value[0]), second(value[1])

    return converted


def word(names: Mapping[str, str], message: str) -> Converter:
    """Returns a converter from the names of an enumeration to the names in JSON."""

    def converted(value: Any) -> Word:
        found = names.get(text(value))
        if found is None:
            raise ValueError(message.format(value))
        return Word(found)

    return converted


# ── texts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def to_json(state: Any) -> str:
    """Serializes a value as compact JSON, as the original does.

    Examples:
        >>> to_json({"type": "Prepend", "prepend": "▁"})
        '{"type":"Prepend","prepend":"▁"}'
    """
    return json.dumps(state, ensure_ascii=False, separators=(",", ":"))


def shown(value: Any, name: str = "", *, most: int = 100, longest: int | None = None) -> str:
    """Formats a JSON value in the form of the original's `repr`.

    Args:
        value: the value. If it is an object, it is shown with a type name: the name of the `Named` object, or else the
            object's ``"type"``, or else `name`. An object without a type name is shown as a dictionary.
        name: type name to show if `value` is an object that contains no type name.
        most: maximum number of items of a list; if there are more, an ellipsis is added.
        longest: maximum number of bytes of a string; a longer one is truncated and gets an ellipsis. None is unlimited.

    Examples:
        >>> shown({"type": "Split", "pattern": Named("String", {"String": " "}), "behavior": Word("Isolated")})
        'Split(pattern=String(" "), behavior=Isolated)'
    """

    def inner(item: Any) -> str:
        return shown(item, most=most, longest=longest)

    def listed(all: Iterable[str], length: int) -> str:
        texts = [each for each, _ in zip(all, range(most - 1), strict=False)]
        return ", ".join([*texts, "..."] if length >= most else texts)

    match value:
        case None | bool():
            return str(value)
        case int():
            return str(value)
        case float():
            return _decimal(value)
        case Word():
            return str(value)
        case str():
            if longest is not None and len(data := value.encode()) > longest:
                value = data[:longest].decode("utf-8", "ignore") + "..."
            return f'"{value}"'
        case tuple():
            return f"({listed(map(inner, value), len(value))})"
        case list():
            return f"[{listed(map(inner, value), len(value))}]"
        case Named() if list(value) == [value.name]:
            content = value[value.name]
            return inner(Named(value.name, content)) if type(content) is dict else f"{value.name}({inner(content)})"
    if isinstance(value, Named):
        name = value.name
    elif isinstance(value.get("type"), str):  # an id is not a type: a vocabulary can have the entry "type"
        name = value["type"]
    if not name:
        return "{" + listed((f"{inner(key)}:{inner(item)}" for key, item in value.items()), len(value)) + "}"
    return f"{name}({', '.join(f'{key}={inner(item)}' for key, item in value.items() if key != 'type')})"


def _decimal(value: float) -> str:
    """Formats a number without exponent, and without fraction if it is whole.

    Examples:
        >>> _decimal(1e-7), _decimal(-2.0), _decimal(float("inf"))
        ('0.0000001', '-2', 'inf')
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), -float("inf")):
        return str(value)
    written = format(Decimal(repr(value)), "f")
    return written[:-2] if written.endswith(".0") else written

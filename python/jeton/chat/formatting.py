"""Bounds for formatting by ``%``, ``str.format`` and ``str.format_map``, whose fields can have any width.

The upper bound of a field's length is the larger of two numbers: its width, and the length of its value plus its
precision. Formats are parsed field by field, as in CPython; a format that cannot be parsed is rejected.

Source:
    "printf-style String Formatting" and "Format Specification Mini-Language" in the Python Library Reference.
"""

from __future__ import annotations

import re
from _string import formatter_field_name_split  # type: ignore[import-not-found]
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jinja2.exceptions import TemplateError
from jinja2.sandbox import SandboxedEnvironment, SandboxedFormatter

from .limits import SLOT, VALUE, RenderBudget, bytes_of, width
from .markup import ESCAPED_CHARS, TracedMarkup, escaped, marked

__all__ = ["FormatMethod", "Formatter", "check_percent"]

_FLOAT = 330  # number of characters of the longest float, without the digits that a precision adds
_FLAGS = re.compile(r"[-+ #0]*")
_DIGITS = re.compile(r"[0-9]*")
_SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?z?\#?0?(?P<width>\d*)[,_]?(?:\.(?P<precision>\d+)[,_]?)?[A-Za-z%]?", re.DOTALL)
_EXHAUSTED = object()  # sentinel: no argument is left


def number_chars(value: Any) -> int:
    """Returns an upper bound for the length of a formatted number, in any base and with separators."""
    return 2 * value.bit_length() + 16 if isinstance(value, int) else 2 * _FLOAT


# ── % ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_percent(state: RenderBudget, format: str, values: Any) -> None:
    """Rejects ``format % values`` if its result could exceed the remaining budget.

    Raises:
        ChatTemplateError: the budget would be exceeded.
        TemplateError: the format cannot be parsed, or its values do not match it.
    """
    arguments = iter(values if isinstance(values, tuple) else (values,))

    def argument() -> Any:
        value = next(arguments, _EXHAUSTED)
        if value is _EXHAUSTED:
            raise TemplateError("not enough arguments for format string")
        return value

    growth = ESCAPED_CHARS if isinstance(format, TracedMarkup) else 1
    total, wide, at = len(format), width(format), 0
    while (at := format.find("%", at)) >= 0:
        state.charge()
        at += 1
        value: Any = _EXHAUSTED
        if format[at : at + 1] == "(":
            key, at = _key(state, format, at)
            if not isinstance(values, Mapping):
                raise TemplateError("a format with names needs an object")
            value = values[key]
        at = _end(_FLAGS, format, at)
        field, at = _number(format, at, argument)
        precision = 0
        if format[at : at + 1] == ".":
            precision, at = _number(format, at + 1, argument)
        at += format[at : at + 1] in ("h", "l", "L")
        kind = format[at : at + 1]
        at += 1
        if kind == "%":
            continue
        if not kind or kind not in "sradiuoxXeEfFgGc":
            raise TemplateError(f"a format has the field %{kind}, which does not exist")
        value = argument() if value is _EXHAUSTED else value
        if kind in "sra":
            length, value_width = state.printed(value)
            length *= growth * (1 if kind == "s" or not isinstance(value, str) else 10)
            wide = max(wide, value_width)
        else:
            length = number_chars(value)
        total += max(length + precision, field)
        state.afford(total * wide)


def _key(state: RenderBudget, format: str, at: int) -> tuple[str, int]:
    """Parses a name in parentheses; the name can contain nested parentheses."""
    begin, depth = at + 1, 0
    while at < len(format):
        state.charge()
        depth += {"(": 1, ")": -1}.get(format[at], 0)
        at += 1
        if not depth:
            return format[begin : at - 1], at
    raise TemplateError("a format has a name without a closing parenthesis")


def _number(format: str, at: int, argument: Any) -> tuple[int, int]:
    """Parses a width or precision: digits, or ``*`` if an argument has the number."""
    if format[at : at + 1] == "*":
        value = argument()
        if not isinstance(value, int):
            raise TemplateError("a format has * for a value that is not an integer")
        return abs(value), at + 1
    end = _end(_DIGITS, format, at)
    return int(format[at : min(end, at + 20)] or 0), end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


# ── str.format ──────────────────────────────────────────────────────────────────────────────────────────────────────


class FormatMethod:
    """Callable that replaces the method ``text.format`` or ``text.format_map``."""

    def __init__(self, environment: SandboxedEnvironment, text: str, name: str) -> None:
        self._environment = environment
        self._text = text
        self._name = name

    def __call__(self, state: RenderBudget, args: Sequence[Any], named: Mapping[str, Any]) -> str:
        """Formats the text with the arguments of a call."""
        if self._name == "format_map":
            if named or len(args) != 1 or not isinstance(args[0], Mapping):
                raise TypeError("format_map() takes one mapping")
            named, args = args[0], ()
        is_markup = isinstance(self._text, TracedMarkup)
        formatter = Formatter(self._environment, state, escapes=is_markup)
        made = formatter.vformat(str.__str__(self._text), args, named)
        result: str = state.own(made, self._text, args, named)
        result = marked(result) if is_markup else result
        state.charge(bytes_of(result))
        return result


class Formatter(SandboxedFormatter):
    """Jinja's formatter, which here charges each field before it formats the field."""

    def __init__(self, environment: SandboxedEnvironment, state: RenderBudget, *, escapes: bool) -> None:
        super().__init__(environment)
        self._state = state
        self._escapes = escapes
        self._chars, self._width = 0, 1  # the result so far: its number of characters, its bytes per character

    def _add(self, text: str) -> None:
        """Charges a literal or a formatted field."""
        wide = width(text)
        self._chars, self._width = self._chars + len(text), max(self._width, wide)
        self._state.charge(SLOT + VALUE + len(text) * wide)
        self._state.afford(self._chars * self._width)

    def parse(self, format_string: str) -> Iterable[tuple[str, str | None, str | None, str | None]]:
        """Splits a format into literals and fields, charging each literal."""
        return self._accounted(super().parse(format_string))

    def _accounted(self, fields: Iterable[Any]) -> Iterator[Any]:
        for literal, *field in fields:
            self._add(literal)
            yield literal, *field

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Resolves a field name such as ``0.a[b]``."""
        first, rest = formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            self._state.charge()
            value = self._env.getattr(value, name) if is_attribute else self._env.getitem(value, name)
        return value, first

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        """Applies the conversion ``!s``, ``!r`` or ``!a``."""
        if conversion == "s":
            return str(self._state.text(value))  # plain text, also if the value is `Markup`
        if conversion in ("r", "a"):
            length, _ = self._state.printed(value)
            self._state.afford(10 * length + VALUE)
        return super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        """Formats a value by its format specification."""
        if self._escapes and isinstance(value, TracedMarkup) and format_spec:
            raise TemplateError("Markup has no formats")
        if not format_spec:
            text = self._state.text(value)
            text = escaped(text) if self._escapes else text
            self._add(text)
            return text
        found = _SPEC.fullmatch(format_spec)
        if not isinstance(value, str | int | float | complex) or found is None:
            raise TemplateError(f"a {type(value).__name__} has no format {format_spec[:40]!r}")
        length = len(value) if isinstance(value, str) else number_chars(value)
        field, precision = (int(found[name][:20]) if found[name] else 0 for name in ("width", "precision"))
        wide = max(width(format_spec), width(value) if isinstance(value, str) else 1)
        self._state.afford(max(length + (0 if isinstance(value, str) else 2 * precision), field) * wide)
        text = format(value, format_spec)
        text = escaped(text) if self._escapes else text
        self._add(text)
        return text

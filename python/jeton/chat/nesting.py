"""Lists and objects in the arguments of a call, for templates that write them in a form of their own.

Some templates write neither JSON nor Python: ``<item>1</item><item>2</item>``, ``{a:<|"|>x<|"|>,b:[1,2]}``. To find
the texts that they write around elements, keys, values and strings, calls with known numbers and strings are rendered,
and the renderings are compared. Values at every depth are assumed to be written in the same way.

Left out: templates that write an empty list or object as an empty text, which cannot be told from an empty string.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["NestedForm", "derive_nested"]

_KEY = "\0key"  # stands for a key in the text after its value: templates can repeat the key there
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_MAX_DEPTH = 50
_ONE, _TWO = 7130001, 7130002
_KEYS = ("qzfirst", "qzsecond")
_TEXT = "qzstring"


class _Container(NamedTuple):
    """A template's texts before, between and after elements of a list or object, and between key and value."""

    opening: str
    between: str
    closing: str
    empty: str
    colon: str = ""


class _Source(NamedTuple):
    """A text, and a cache of the containers read in it: (kind, start) -> possible values, each with its end."""

    text: str
    containers: dict[tuple[str, int], list[tuple[Any, int]]]


def _values(items: list[tuple[str, Any]]) -> list[Any]:
    return [value for _, value in items]


class NestedForm(NamedTuple):
    """Form in which a template writes nested values.

    Attributes:
        quotes: texts before and after a string.
        constants: spelling -> value, for truth values and null.
        array: texts around the elements of a list.
        object: texts around the items of an object.
    """

    quotes: tuple[str, str]
    constants: dict[str, Any]
    array: _Container | None
    object: _Container | None

    def read(self, text: str, start: int, kind: str) -> tuple[Any, int] | None:
        """Reads a ``"list"`` or ``"dict"`` at an index. Returns the value and its end; None if there is none."""
        found = self._containers(_Source(text, {}), start, kind, 0)
        return found[0] if found else None

    def _containers(self, source: _Source, start: int, kind: str, depth: int) -> list[tuple[Any, int]]:
        """Returns all lists or objects that could begin at an index, each with its end, the longest first."""
        form = self.array if kind == "list" else self.object
        if form is None or depth > _MAX_DEPTH:
            return []
        known = source.containers.get((kind, start))
        if known is not None:
            return known
        make = dict if kind == "dict" else _values
        found: list[tuple[Any, int]] = []
        if form.empty and source.text.startswith(form.empty, start):
            found.append((make([]), start + len(form.empty)))
        if source.text.startswith(form.opening, start):
            items: list[tuple[str, Any]] = []
            ends: list[tuple[int, int]] = []  # (number of items, end): an end can look like the next item
            at: int | None = start + len(form.opening)
            while at is not None:
                at = self._item(source, at, form, items, ends, depth)
            found = [(make(items[:number]), end) for number, end in reversed(ends)] + found
        source.containers[kind, start] = found
        return found

    def _item(
        self,
        source: _Source,
        at: int,
        form: _Container,
        items: list[tuple[str, Any]],
        ends: list[tuple[int, int]],
        depth: int,
    ) -> int | None:
        """Appends the item that starts at `at`, if any. Returns the start of the next item; None if there is none."""
        text, key = source.text, ""
        if form.colon:
            end = text.find(form.colon, at)
            key = text[at:end]
            if end <= at or "\n" in key or any(key == other for other, _ in items):
                return None
            at = end + len(form.colon)
        between, closing = form.between.replace(_KEY, key), form.closing.replace(_KEY, key)
        found = self._value(source, at, (between, closing), depth + 1)
        if found is None:
            return None
        value, at = found
        items.append((key, value))
        if text.startswith(closing, at):
            ends.append((len(items), at + len(closing)))
        return at + len(between) if text.startswith(between, at) else None

    def _value(self, source: _Source, start: int, after: tuple[str, str], depth: int) -> tuple[Any, int] | None:
        text = source.text
        for kind in ("list", "dict"):
            for value, end in self._containers(source, start, kind, depth):
                if text.startswith(after, end):
                    return value, end
        for spelling, constant in self.constants.items():
            if text.startswith(tuple(spelling + one for one in after), start):
                return constant, start + len(spelling)
        number = _NUMBER.match(text, start)
        if number and text.startswith(after, number.end()):
            digits = number[0]
            try:
                return (int(digits) if digits.lstrip("-").isdigit() else float(digits)), number.end()
            except ValueError:  # more digits than Python converts by default
                return None
        opening, closing = self.quotes
        if not text.startswith(opening, start):
            return None
        start += len(opening)
        ends = [end for one in after if (end := text.find(closing + one, start)) >= 0]
        return (text[start : min(ends)], min(ends) + len(closing)) if ends else None


def derive_nested(written: Callable[[Any], str | None], constants: dict[str, Any]) -> NestedForm | None:
    """Derives the form in which a template writes nested values; None if it cannot be derived.

    Args:
        written: function that renders a call with one argument; returns the text from the end of the argument's key to
            the end of the reply, or None if it cannot be rendered.
        constants: spelling -> value, for truth values and null.
    """
    number, string = written(_ONE), written(_TEXT)
    if number is None or string is None or str(_ONE) not in number or _TEXT not in string:
        return None
    before, _, after = number.partition(str(_ONE))
    opening, _, closing = string.partition(_TEXT)
    if not opening.startswith(before) or not closing.endswith(after):
        return None

    def inside(value: Any) -> str:
        text = written(value)
        if text is None or not text.startswith(before) or not text.endswith(after):
            return ""
        return text[len(before) : len(text) - len(after)]

    lists = re.fullmatch(rf"(.+?){_ONE}(.+?){_TWO}(.+)", inside([_ONE, _TWO]), re.DOTALL)
    first, second = _KEYS
    objects = re.fullmatch(
        rf"(.+?){first}(.+?){_ONE}(.+?){second}(?:\2){_TWO}(.+)", inside({first: _ONE, second: _TWO}), re.DOTALL
    )
    list_form = _Container(lists[1], lists[2], lists[3], inside([])) if lists else None
    object_form = None
    if objects:
        opened, colon, between, closed = objects.groups()
        between, closed = between.replace(first, _KEY), closed.replace(second, _KEY)
        object_form = _Container(opened, between, closed, inside({}), colon)
    if list_form is None and object_form is None:
        return None
    quotes = (opening[len(before) :], closing[: len(closing) - len(after)])
    return NestedForm(quotes, constants, list_form, object_form)

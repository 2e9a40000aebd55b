"""Filters and tests of chat templates: their cost is metered, and the text that they return has origins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from jinja2 import Environment, Undefined, pass_environment
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.tests import TESTS as JINJA_TESTS
from markupsafe import Markup

from .costs import FILTERS, OF_TEXT, check_number, joined
from .limits import SLOT, VALUE, bytes_of, current, is_traced, width
from .markup import TracedMarkup, escaped, marked
from .provenance import TracedStr, runs_of

__all__ = ["filters", "tests"]


def filters() -> dict[str, Any]:
    """Returns the filters that templates may use, by name."""
    own = {
        **JINJA_FILTERS,
        **{name: _without_origins(JINJA_FILTERS[name]) for name in ("striptags", "title", "wordwrap")},
        **dict.fromkeys(("e", "escape"), escaped),
        "forceescape": _forceescape,
        "indent": _indent,
        "join": _join,
        "safe": marked,
        "tojson": _tojson,
    }
    return {name: _filter(name, own[name]) for name in FILTERS}


def tests() -> dict[str, Any]:
    """Returns the tests that templates may use, by name."""
    known: dict[str, Any] = {**JINJA_TESTS}
    return {name: _test(name, known[name]) for name in _TESTS if name in known}


# Filters that iterate over their first argument. Other filters reject an iterator, or return it unchanged.
_ITERATE = frozenset({
    "batch", "first", "groupby", "join", "list", "map", "max", "min", "reject", "rejectattr", "select", "selectattr",
    "slice", "sort", "sum", "unique",
})  # fmt: skip
_OF_STRINGS = frozenset({"indent", "truncate", "wordwrap"})  # filters of `OF_TEXT` that accept only a `str`
_MAKES_TEXT = frozenset({*OF_TEXT, "filesizeformat", "reverse", "tojson"})
_BOUND_BY_ATTRIBUTE = frozenset({"groupby", "max", "min", "sort", "sum", "unique"})


def _filter(name: str, filter: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a filter to meter its cost and to assign its result an origin."""
    takes = 1 if hasattr(filter, "jinja_pass_arg") else 0  # Jinja passes its context or environment as first argument
    cost = FILTERS[name]

    @wraps(filter)
    def metered(*args: Any, **kwargs: Any) -> Any:
        state = current()
        state.charge()
        own, values = args[:takes], [*args[takes:]]
        if name in _ITERATE:
            values[0] = state.hold(values[0])
        elif name == "reverse" and not hasattr(values[0], "__reversed__"):
            held = state.hold(values[0])
            if held is not values[0]:  # `held` is a list made from an iterator; Jinja's own filter also returns a list
                held.reverse()
                return held
        # These filters fail if the value is not a `str`, but the value is charged all the same: `truncate` returns a
        # short list unchanged, and copies a part of a long list before it fails.
        if name in _OF_STRINGS and not isinstance(values[0], str):
            state.charge(VALUE + SLOT * (len(values[0]) if hasattr(values[0], "__len__") else 0))
            return filter(*own, *values, **kwargs)
        if name in OF_TEXT:
            text = state.text(values[0])
            if name == "replace":
                values[1:3] = map(state.text, values[1:3])
                kwargs = {key: state.text(value) if key in ("old", "new") else value for key, value in kwargs.items()}
            others = (values[1:], kwargs)
            if (values[1:] or kwargs) and not isinstance(text, TracedStr) and is_traced(others):
                text = TracedStr(text, runs_of(text))
            values[0] = text
        if isinstance(values[0], str):
            state.step(len(values[0]) + VALUE * len(runs_of(values[0])))
        if name in _BOUND_BY_ATTRIBUTE:
            cost(state, *values, **kwargs, environment=own[0])
        else:
            cost(state, *values, **kwargs)
        result = filter(*own, *values, **kwargs)
        if isinstance(result, Iterator):
            return iter(state.hold(result))
        if isinstance(result, str) and name in _MAKES_TEXT:
            is_markup = isinstance(result, Markup) and not isinstance(result, TracedMarkup)
            result = state.own(result, values, kwargs)
            result = marked(result) if is_markup else result
            state.charge(bytes_of(result) if result is not values[0] else 0)
        elif isinstance(result, list) and result is not values[0]:
            state.charge(VALUE + SLOT * len(result))
        return result

    return metered


# name of a test -> kind of work that the test does; the kind determines how the cost is measured
_TESTS: dict[str, str] = {
    **dict.fromkeys((
        "boolean", "callable", "defined", "escaped", "false", "filter", "float", "integer", "iterable", "mapping",
        "none", "number", "sameas", "sequence", "string", "test", "true", "undefined",
    ), "free"),
    **dict.fromkeys((
        "==", "eq", "equalto", "!=", "ne", ">", "gt", "greaterthan", ">=", "ge", "<", "lt", "lessthan", "<=", "le",
    ), "eq"),
    "in": "in",
    **dict.fromkeys(("even", "odd", "divisibleby"), "number"),
    **dict.fromkeys(("lower", "upper"), "text"),
}  # fmt: skip


def _test(name: str, test: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a test to meter its cost."""
    takes = 1 if hasattr(test, "jinja_pass_arg") else 0
    kind = _TESTS[name]

    @wraps(test)
    def metered(*args: Any, **kwargs: Any) -> Any:
        state = current()
        state.charge()
        values = args[takes:]
        if kind == "number":
            for value in (*values, *kwargs.values()):
                if not isinstance(value, int | float | Undefined):
                    raise TypeError(f"{name} is a test of numbers, not of {type(value).__name__}")
                check_number(value)
        elif kind == "text":
            state.step(len(state.text(values[0])))
        elif kind == "in":
            state.search(*values, *kwargs.values())
        elif kind == "eq":
            state.compare(*values, *kwargs.values())
        return test(*args, **kwargs)

    return metered


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Serializes as JSON, without the HTML escapes of Jinja's own filter."""
    state = current()
    pieces = []
    encoder = json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    for piece in encoder.iterencode(value):
        state.charge(SLOT + VALUE + len(piece) * width(piece))
        pieces.append(piece)
    return "".join(pieces)


def _without_origins(filter: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a filter that cuts its arguments into pieces and joins the pieces, which lose their origins.

    The filter gets its arguments without origins. Otherwise, it could join a piece that has lost its origin with text
    that still has one, and the piece would be treated as text of the template.
    """

    @wraps(filter)
    def plain(*args: Any, **kwargs: Any) -> Any:
        return filter(*map(without, args), **{name: without(value) for name, value in kwargs.items()})

    def without(value: Any) -> Any:
        if isinstance(value, TracedStr):
            return Markup(value) if isinstance(value, TracedMarkup) else str.__str__(value)  # noqa: S704
        return value

    return plain


def _forceescape(value: str) -> str:
    """Evaluates ``value|forceescape``: escapes a text even if it is `Markup`."""
    return escaped(str(value))


def _indent(s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    """Implements `indent` with origins. Jinja's own filter loses the origins: it joins lines with a plain `str`."""
    indention = width if isinstance(width, str) else " " * width
    if isinstance(s, TracedMarkup):
        indention = marked(indention)
    newline = s[:0] + "\n"
    lines = (s + newline).splitlines()
    if blank:
        text = (newline + indention).join(lines)
    else:
        text = lines[0]
        if lines[1:]:
            text += newline + newline.join(indention + line if line else line for line in lines[1:])
    return indention + text if first else text


@pass_environment
def _join(environment: Environment, value: Iterable[Any], d: Any = "", attribute: str | int | None = None) -> str:
    """Implements Jinja's `join` with provenance."""
    state = current()
    items: Any = value
    if attribute is not None:
        parts = [int(name) if name.isdigit() else name for name in state.text(attribute).split(".")]
        items = (_attribute(environment, item, parts) for item in items)
    return joined(state, str(state.text(d)), map(state.text, items))


def _attribute(environment: Environment, item: Any, parts: Iterable[str | int]) -> Any:
    for part in parts:
        item = environment.getitem(item, part)
    return item

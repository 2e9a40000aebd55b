"""`TracedMarkup`: MarkupSafe's `Markup` with the origins of its characters.

The filters ``safe`` and ``escape`` return `Markup`, even in an environment that does not escape its output. If `Markup`
is concatenated, formatted or joined with other text, that text is escaped: ``{{ "<b>"|safe + "<i>" }}`` prints
``<b>&lt;i&gt;``. `TracedMarkup` inherits these rules from `Markup`, whose methods call those of `TracedStr` by `super`.
It overrides only methods that `TracedStr` lacks and that would lose the origins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from markupsafe import Markup
from markupsafe import escape as markupsafe_escape

from .limits import RUN, bytes_of, current, width
from .provenance import CALLER, OriginRun, TracedStr, runs_of

__all__ = ["ESCAPED_CHARS", "TracedMarkup", "escaped", "marked"]

ESCAPED_CHARS = 5  # number of characters of the longest escape, such as &#34;


def escaped(value: Any) -> TracedMarkup:
    """Evaluates ``value|escape``; each character keeps its origin."""
    if isinstance(value, Markup):
        return value if isinstance(value, TracedMarkup) else marked(value)
    state = current()
    text = state.text(value)
    runs = runs_of(text)
    state.afford(ESCAPED_CHARS * len(text) * width(text) + 2 * RUN * len(runs))
    text = str.__str__(text)
    parts, made, at = [], [], 0
    for length, origin in runs:
        part = markupsafe_escape(text[at : at + length])
        parts.append(part)
        made.append((len(part), origin))
        at += length
    result = TracedMarkup("".join(parts), made)
    state.charge(bytes_of(result))
    return result


def marked(text: str) -> TracedMarkup:
    """Evaluates ``text|safe``."""
    return TracedMarkup(text, runs_of(text))


def _with_origin(name: str, *, escapes: bool = False) -> Callable[..., TracedMarkup]:
    """Creates a method of `TracedMarkup` for a `str` method that `TracedStr` lacks, and gives its result an origin."""
    method = getattr(str, name)

    def derived(self: TracedMarkup, *args: Any, **kwargs: Any) -> TracedMarkup:
        if escapes:
            args = tuple(escaped(arg) if isinstance(arg, str) else arg for arg in args)
        return marked(current().own(method(self, *args, **kwargs), self, args, kwargs))

    derived.__name__ = name
    return derived


class TracedMarkup(Markup, TracedStr):  # type: ignore[misc]  # lists of `Markup` are lists of `str`
    """`Markup` with the origins of its characters: other text is escaped before it is added."""

    def __new__(cls, text: str = "", runs: Iterable[OriginRun] | None = None) -> TracedMarkup:  # noqa: D102
        if runs is None:
            runs = text._runs if isinstance(text, TracedStr) else ((len(text), CALLER),)
        return cast(TracedMarkup, TracedStr.__new__(cls, str.__str__(text), runs))

    def __str__(self) -> str:
        return TracedStr(str.__str__(self), self._runs)

    def __repr__(self) -> str:
        return f"Markup({str.__repr__(self)})"

    escape = staticmethod(escaped)

    def __mod__(self, values: Any) -> TracedMarkup:
        parts = values if isinstance(values, tuple) else (values,)
        if self.count("%") == self.count("%s") == len(parts):
            return marked(TracedStr.__mod__(TracedStr(str.__str__(self), self._runs), tuple(map(escaped, parts))))
        plain = Markup(self)  # noqa: S704  (text of the template)
        return marked(current().own(str.__str__(plain % values), self, values))

    casefold = _with_origin("casefold")
    center = _with_origin("center", escapes=True)
    expandtabs = _with_origin("expandtabs")
    ljust = _with_origin("ljust", escapes=True)
    rjust = _with_origin("rjust", escapes=True)
    translate = _with_origin("translate")
    zfill = _with_origin("zfill")

    def striptags(self) -> str:  # noqa: D102
        return Markup(self).striptags()  # noqa: S704

    def _same_length(self, text: str) -> str:
        return TracedStr._same_length(self, text) if len(text) == len(self) else marked(current().own(text, self))

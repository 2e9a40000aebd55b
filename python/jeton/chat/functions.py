"""Global functions of chat templates. Each function charges the memory of its new values to the render budget."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from jinja2.exceptions import SecurityError, TemplateError
from jinja2.sandbox import safe_range
from jinja2.utils import Cycler, Joiner, Namespace

from .clock import now
from .limits import SLOT, VALUE, bytes_of, current

__all__ = ["Dict", "functions"]


def functions() -> dict[str, Any]:
    """Returns the global functions that templates may call, by name."""
    return {
        "cycler": _cycler,
        "dict": Dict(),
        "joiner": _joiner,
        "namespace": _namespace,
        "raise_exception": _refuse,
        "range": _range,
        "strftime_now": _strftime_now,
    }


class _Namespace(Namespace):
    """Jinja's `Namespace`; refuses names that begin with `_`. Its `repr` omits the values, which can be cyclic."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self = args[0]
        Namespace.__init__(self)
        for name, value in dict(*args[1:], **kwargs).items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        if not isinstance(name, str) or name.startswith("_"):
            raise SecurityError(f"invalid namespace name {str(name)[:40]!r}: names begin with a letter")
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        return "<namespace>"


def _namespace(*args: Any, **kwargs: Any) -> Namespace:
    return _Namespace(_dict(*args, **kwargs))


def _dict(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    state = current()
    held = [state.hold(arg) for arg in args]
    for arg in held:
        if not isinstance(arg, dict):  # an iterable of pairs; the first element of each pair is hashed
            state.step(state.size(arg))
        state.afford(8 * SLOT * len(arg))
    result: dict[Any, Any] = dict(*held, **kwargs)
    state.charge(8 * VALUE + 8 * SLOT * len(result))
    return result


class Dict:
    """Replaces the class `dict` in templates, because methods such as ``dict.update`` could modify values."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        """Evaluates ``dict(…)``."""
        return _dict(*args, **kwargs)

    def fromkeys(self, keys: Iterable[Any], value: Any = None) -> dict[Any, Any]:
        """Evaluates ``dict.fromkeys(…)``."""
        return _dict((key, value) for key in keys)


def _cycler(*items: Any) -> Cycler:
    current().charge(8 * VALUE)
    return Cycler(*items)


def _joiner(sep: Any = ", ") -> Joiner:
    current().charge(8 * VALUE)
    return Joiner(sep)


def _range(*args: int) -> range:
    current().charge(VALUE)
    return safe_range(*args)


def _refuse(message: Any = "") -> None:
    raise TemplateError(current().text(message)[:500])


_MAX_TIME_FORMAT = 1000
_DIRECTIVE = re.compile(r"%(?![-_^#]?[EO]?[A-Za-z%+])")


def _strftime_now(format: str) -> str:
    """Formats the time with `datetime.strftime`; rejects field widths, an extension of some C libraries."""
    if not isinstance(format, str) or len(format) > _MAX_TIME_FORMAT or _DIRECTIVE.search(format.replace("%%", "")):
        raise TemplateError(
            f"strftime_now takes a format of at most {_MAX_TIME_FORMAT} characters without field widths"
        )
    state = current()
    text: str = state.own(now().strftime(format), format)
    state.charge(bytes_of(text))
    return text

"""Fast path of calls with one argument, around `Tokenizer.encode`, `encode_array`, `count` and `decode`.

Python fills in the defaults of arguments by keyword one by one, which takes as long as encoding a short text. Each
function here takes the text or the ids alone; any other argument goes to the method that it wraps. Tokenizers with
other defaults (`Tokenizer.with_options`) have no `_short`, and always use that method.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["LONG_TEXT", "short_count", "short_decode", "short_encode", "short_encode_array"]

# Texts under this length never use a second thread; above it the core decides.
LONG_TEXT = 1 << 18


def short_encode(method: F) -> F:
    """Wraps `Tokenizer.encode`."""

    def encode(self: Any, text: Any, *others: Any, **options: Any) -> Any:
        core = self._short
        if core is None or others or options:
            return method(self, text, *others, **options)
        return core.encode_text(text)

    return _like(method, encode)


def short_encode_array(method: F) -> F:
    """Wraps `Tokenizer.encode_array`, for a `str` that is not long; the core makes the array after `use_numpy`."""

    def encode_array(self: Any, text: Any, *others: Any, **options: Any) -> Any:
        core = self._short
        if core is None or others or options or type(text) is not str or len(text) >= LONG_TEXT:
            return method(self, text, *others, **options)
        ids = core.encode_array(text)
        return self._array(ids) if type(ids) is memoryview else ids

    return _like(method, encode_array)


def short_count(method: F) -> F:
    """Wraps `Tokenizer.count`, for a `str` that is not long."""

    def count(self: Any, text: Any, *others: Any, **options: Any) -> Any:
        core = self._short
        if core is None or others or options or type(text) is not str or len(text) >= LONG_TEXT:
            return method(self, text, *others, **options)
        return core.count(text)

    return _like(method, count)


def short_decode(method: F) -> F:
    """Wraps `Tokenizer.decode`, for a list."""

    def decode(self: Any, ids: Any, *others: Any, **options: Any) -> Any:
        if others or options or type(ids) is not list:
            return method(self, ids, *others, **options)
        try:
            return self._core.decode_text(ids)
        except OverflowError:
            return method(self, ids)  # raises the error with the position

    return _like(method, decode)


def _like(method: F, short: Any) -> F:
    """Gives a wrapper the name and the documentation of a method, as `functools.wraps` does, and its signature."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        setattr(short, name, getattr(method, name))
    short.__wrapped__ = method
    made: F = short
    return made

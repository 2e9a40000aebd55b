"""What a chat template may use up, and whose is what it makes.

A template is a program from a file that somebody published. How much text it makes, how large its lists are and how
long it runs have limits, looked at in every turn of a loop, call, filter and operator. What one of these does in
between is linear in sizes that are bounded, because numbers that would make one step huge are refused.

Not bounded: the memory of `MAX_CHARS` characters, and the time Python takes to compile `MAX_SOURCE` characters.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, MappingView
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ..errors import ChatTemplateError
from .traced import CALLER, MIXED, Origin, Traced, runs_of

__all__ = [
    "MAX_CHARS",
    "MAX_NUMBER",
    "MAX_SECONDS",
    "MAX_SOURCE",
    "Fields",
    "Items",
    "Running",
    "check_format",
    "check_numbers",
    "check_product",
    "current",
    "is_traced",
    "result_size",
    "running",
    "weigh",
]

MAX_SOURCE = 1 << 19  # published templates stay under 50,000 characters
MAX_CHARS = 1 << 27  # that a template makes in all
MAX_WEIGHT = 1 << 24  # values inside one list, at any depth
MAX_DEPTH = 100
MAX_NUMBER = 100_000  # as a width or a count; Jinja's own limit of `range`
MAX_BITS = 100_000
MAX_SECONDS = 10.0

# What a number among the arguments makes large.
_SIZED = {
    "batch",
    "center",
    "expandtabs",
    "indent",
    "ljust",
    "rjust",
    "round",
    "slice",
    "truncate",
    "wordwrap",
    "zfill",
}
_WIDTH = re.compile(r"\d{6}|\*|\{[^{}]*\{")  # of a format: large, or taken from an argument


class Fields(dict[str, Any]):
    """An object of a request as a template sees it; a message knows its index."""

    _message: int | None = None
    _weight: int = 0


class Items(list[Any]):
    """A list of a request as a template sees it."""

    _weight: int = 0


def weigh(value: Any, depth: int = 0) -> int:
    """How many values are in a value, at any depth and as often as it is reached.

    Raises:
        ChatTemplateError: too many: ``[a, a]`` of ``[b, b]`` of … would be compared and printed for ever.
    """
    if isinstance(value, Fields | Items) and value._weight:
        return value._weight
    if not isinstance(value, list | tuple | Mapping | MappingView):
        return 1
    if depth > MAX_DEPTH:
        raise ChatTemplateError(f"the chat template nests values deeper than {MAX_DEPTH}")
    total = 1
    for item in value.values() if isinstance(value, Mapping) else value:  # type: ignore[union-attr]
        total += weigh(item, depth + 1)
        if total > MAX_WEIGHT:
            raise ChatTemplateError(f"the chat template makes a list of more than {MAX_WEIGHT} values")
    return total


def leaves(value: Any) -> Iterator[Any]:
    """All strings in a value, at any depth, and what else is no container."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list | tuple | MappingView):
        for item in value:  # type: ignore[union-attr]
            yield from leaves(item)
    else:
        yield value


def is_traced(value: Any) -> bool:
    """Whether text of others than the template is in a value."""
    return any(isinstance(leaf, Traced) for leaf in leaves(value))


def _printed(value: Any) -> int:
    """About how many characters a value has as text."""
    return sum(len(leaf) + 4 if isinstance(leaf, str) else 20 for leaf in leaves(value))


@dataclass
class Running:
    """One rendering: what is left of its limits, and where in the conversation it is.

    Attributes:
        controls: the spellings of the special tokens.
        turn: the message whose turn of a loop runs; None outside.
        turns: those of the loops around.
        chars: how many characters may still be made.
        deadline: when it is stopped.
    """

    controls: tuple[str, ...] = ()
    turn: int | None = None
    turns: list[int | None] = field(default_factory=list)
    chars: int = MAX_CHARS
    deadline: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    def charge(self, made: int = 0) -> None:
        """Before something is made.

        Raises:
            ChatTemplateError: a limit is reached.
        """
        self.chars -= made
        if self.chars < 0:
            raise ChatTemplateError(f"the chat template makes more than {MAX_CHARS} characters: stopped")
        if time.monotonic() > self.deadline:
            raise ChatTemplateError(f"the chat template runs for more than {MAX_SECONDS:g} seconds: stopped")

    def text(self, value: Any) -> str:
        """A value as text, with its origin."""
        if isinstance(value, str):
            return value
        weigh(value)
        self.charge(_printed(value))
        text: str = self.own(str(value), value)
        return text

    def own(self, result: Any, *inputs: Any) -> Any:
        """A result with its origin, where text of others went in and a plain `str` came out.

        It is theirs, so it never becomes control. Where the template's part of what went in spells a special token, it
        is mixed: nobody can say whether that is still meant as one.
        """
        if not isinstance(result, str) or isinstance(result, Traced):
            return result
        owners: set[Origin] = set()
        controls = False
        for value in leaves(inputs):
            if value is result:
                return result  # handed through
            if isinstance(value, str):
                owners.update(origin for _, origin in runs_of(value) if origin.source != "template")
                controls = controls or self._holds_control(value)
        if not owners:
            return result
        origin = MIXED if controls else owners.pop() if len(owners) == 1 else CALLER
        return Traced(str.__str__(result), ((len(result), origin),))

    def _holds_control(self, text: str) -> bool:
        """Whether the template's part of a text spells a special token."""
        at = 0
        for length, origin in runs_of(text):
            if origin.source == "template":
                part = str.__str__(text)[at : at + length]
                if any(control in part for control in self.controls):
                    return True
            at += length
        return False


_RUNNING: ContextVar[Running] = ContextVar("jeton_chat")


@contextmanager
def running(state: Running) -> Iterator[Running]:
    """For this rendering; others may run in other threads."""
    token = _RUNNING.set(state)
    try:
        yield state
    finally:
        _RUNNING.reset(token)


def current() -> Running:
    """The rendering that runs. (While a template is compiled there is none, and Jinja evaluates what is constant.)"""
    return _RUNNING.get(None) or Running()


# ── single steps ──────────────────────────────────────────────────────────────────────────────────────────────────


def check_numbers(name: str, args: Iterable[Any]) -> None:
    """Refuses numbers that would make one call huge."""
    if name in _SIZED:
        for value in args:
            if isinstance(value, int) and abs(value) > MAX_NUMBER:
                raise ChatTemplateError(f"the chat template asks for {name} with a number above {MAX_NUMBER}")


def check_format(format: str, values: Any) -> None:
    """Refuses widths that would make one field huge, and charges for what the fields may hold."""
    if _WIDTH.search(format):
        raise ChatTemplateError("the chat template formats with a width of its own making, or of six digits")
    current().charge(len(format) + (format.count("%") + format.count("{")) * _printed(values))


def check_product(operator: str, left: Any, right: Any) -> None:
    """Refuses `*` and `**` that would make something huge."""
    state = current()
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() * max(right, 0) if operator == "**" else left.bit_length() + right.bit_length()
        if bits > MAX_BITS:
            raise ChatTemplateError(f"the chat template makes a number of more than {MAX_BITS} bits")
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, str | list | tuple) and isinstance(times, int):
            runs = len(runs_of(sequence)) if isinstance(sequence, str) else 0
            state.charge((len(sequence) + 8 * runs) * max(times, 0))
    state.charge()


def result_size(name: str, text: str, args: tuple[Any, ...]) -> int:
    """How long the result of a method or filter of a text may be, at most."""
    match name, args:
        case "replace", (str(old), str(new), *_):
            return len(text) + text.count(old) * len(new)
        case "join", (list() | tuple() as items, *_):
            return sum(len(item) if isinstance(item, str) else 1 for item in items) + len(text) * len(items)
        case "expandtabs", _:
            return len(text) + text.count("\t") * (args[0] if args and isinstance(args[0], int) else 8)
        case "indent", _:
            width = args[0] if args and isinstance(args[0], str | int) else 4
            return len(text) + (text.count("\n") + 1) * (len(width) if isinstance(width, str) else width)
        case "wordwrap", _:
            return 2 * len(text) + len(text) * sum(len(arg) for arg in args if isinstance(arg, str))
    return len(text)

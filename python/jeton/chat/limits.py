"""Resource limits for the rendering of a chat template, and origins of the text computed by the template.

A chat template is an untrusted program, so every operation is metered:

- **Memory.** Each new value is charged by its size in bytes (`RenderBudget.charge`). An operation is rejected before it
  runs if its result or its temporary memory may exceed the remaining budget (`RenderBudget.afford`).
- **Time.** Each operation uses up credit in proportion to its work; when no credit is left, the clock is read. Python
  cannot interrupt a single operation, which is therefore limited to `MAX_STEP` units of work (`RenderBudget.step`).
- **Output.** Printed text has a separate limit, because the tokens of a text take far more memory than the text
  (`RenderBudget.write`).

The limits grow linearly with the size of the caller's input, so that long chats are not rejected. The upper bound of an
operation is computed from its arguments: `costs` does so for methods and filters, `formatting` for formats, `sandbox`
for operators. An operation without a bound is rejected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import Any

from ..errors import ChatTemplateError
from .provenance import MIXED, Origin, TracedStr, runs_of

__all__ = [
    "CONTAINERS",
    "MAX_BITS",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_OUTPUT",
    "MAX_SECONDS",
    "MAX_SOURCE",
    "MAX_STEP",
    "RUN",
    "SIMPLE",
    "SLOT",
    "TRACED",
    "VALUE",
    "VIEWS",
    "GivenDict",
    "GivenList",
    "GivenTuple",
    "RenderBudget",
    "bytes_of",
    "current",
    "is_traced",
    "piece_bytes",
    "running",
    "width",
]

# Maximum length of a template, in characters. A template of this length takes 3 s and 250 MB to compile. Published
# templates have less than 50,000 characters.
MAX_SOURCE = 1 << 17
MAX_BYTES = 1 << 27  # total bytes of all values that a template creates
MAX_OUTPUT = 1 << 18  # bytes of printed text; each can become a token, which takes 450 bytes in an `Encoding`
MAX_STEP = 1 << 30  # maximum work of one operation, in units such as compared bytes; takes about a second at worst
MAX_SECONDS = 5.0
MAX_DEPTH = 100  # depth of nested values and of nested macro calls
MAX_BITS = 100_000  # bits of an integer
# Each byte of the caller's input (`size`) raises the limits by these amounts. They leave room for copies of the input:
# published templates copy a message about ten times.
_BYTES_PER_GIVEN = 32
_OUTPUT_PER_GIVEN = 8
_SECONDS_PER_GIVEN = 2e-7

# Sizes in bytes, measured with tracemalloc on CPython 3.11 and rounded up.
VALUE = 64  # a small object
SLOT = 16  # an element of a list: 8 bytes, and 8 more while the list grows
TRACED = 600  # a `TracedStr` that has one run (a run is a part of the text with the same origin)
RUN = 96  # added for each further run of a `TracedStr`

_CREDIT = 200  # operations between two readings of the clock
_WORK = 15  # binary logarithm: one unit of credit is 2^15 units of work, about 10 µs


SIMPLE = frozenset({str, TracedStr, int, float, bool, type(None)})  # types that are compared in linear time
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
CONTAINERS: tuple[type, ...] = (list, tuple, dict, *VIEWS)


class GivenDict(dict[str, Any]):
    """A JSON object of the caller's input, with its size; for a message, also its index."""

    _message: int | None = None
    _size: int = 0


class GivenList(list[Any]):
    """A JSON array of the caller's input, with its size."""

    _size: int = 0


class GivenTuple(tuple[Any, ...]):
    """A tuple of the caller's input, with its size; templates print it differently from a list."""

    _size: int = 0


def width(text: str) -> int:
    """Returns an upper bound of the bytes per character of a `str`."""
    return 1 if text.isascii() else min(4, str.__sizeof__(text) // len(text))


def bytes_of(text: str) -> int:
    """Returns the memory of a text in bytes, including its runs of origins."""
    size = VALUE + (len(text) if text.isascii() else len(text) * width(text))
    return size + TRACED + RUN * len(text._runs) if isinstance(text, TracedStr) else size


def piece_bytes(text: str) -> int:
    """Returns the bytes that each substring of a text takes in addition to its characters."""
    return SLOT + VALUE + (TRACED if isinstance(text, TracedStr) else 0)


class RenderBudget:
    """State of one rendering: its remaining budgets and the current turn.

    Attributes:
        controls: spellings of the special tokens.
        turn: index of the message that the innermost loop over messages has reached; None outside of such loops.
        turns: stack of the enclosing loops' turns.
    """

    def __init__(self, controls: Iterable[str], given: int, printable: tuple[type, ...]) -> None:
        """Sets the limits for an input of a given size.

        Args:
            controls: spellings of the special tokens.
            given: size of messages and variables in bytes (`GivenDict._size` etc.).
            printable: types that may be printed, in addition to strings and containers.
        """
        self.controls = tuple(controls)
        self._printable = printable
        self.turn: int | None = None
        self.turns: list[int | None] = []
        self._max_bytes = MAX_BYTES + _BYTES_PER_GIVEN * given
        self._left = self._max_bytes
        self._max_output = MAX_OUTPUT + _OUTPUT_PER_GIVEN * given
        self._output = self._max_output
        self._seconds = MAX_SECONDS + _SECONDS_PER_GIVEN * given
        self._deadline = time.monotonic() + self._seconds
        self._credit = _CREDIT
        self._depth = 0
        self._sizes: dict[int, tuple[Any, int]] = {}  # `id(x)` -> (container x, which stays alive; its size)

    # ── accounting ───────────────────────────────────────────────────────────────────────────────────────────────────

    def charge(self, made: int = 0) -> None:
        """Charges one operation and the bytes of its new values.

        Raises:
            ChatTemplateError: a limit is reached.
        """
        self._left -= made
        self._credit -= 1 + (made >> _WORK)
        if self._left < 0:
            raise self._too_much()
        if self._credit < 0:
            self._look()

    def afford(self, made: int) -> None:
        """Charges the work of an operation that needs `made` bytes. Raises an error if fewer bytes are left."""
        if made > self._left:
            raise self._too_much()
        self._credit -= made >> _WORK
        if self._credit < 0:
            self._look()

    def step(self, work: int) -> None:
        """Charges the work of an operation that cannot be interrupted, before it runs."""
        if work > MAX_STEP:
            raise ChatTemplateError("a single operation of the chat template would take too long: stopped")
        self._credit -= 1 + (work >> _WORK)
        if self._credit < 0:
            self._look()

    def write(self, text: str) -> None:
        """Charges printed text."""
        size = bytes_of(text)
        self.charge(size + 2 * VALUE * (len(text._runs) if isinstance(text, TracedStr) else 1))
        self._output -= len(text) if text.isascii() else size
        if self._output < 0:
            raise ChatTemplateError(
                f"the chat template prints more than {self._max_output:,} bytes, the limit for messages of this size: "
                "stopped"
            )

    def nested(self, call: Callable[[], Any]) -> Any:
        """Calls a macro of the template, with a limit on the depth of calls."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ChatTemplateError(f"the chat template nests macro calls deeper than {MAX_DEPTH}")
        try:
            return call()
        finally:
            self._depth -= 1

    def _too_much(self) -> ChatTemplateError:
        return ChatTemplateError(
            f"the chat template creates more than {self._max_bytes:,} bytes, the limit for messages of this size: "
            "stopped"
        )

    def _look(self) -> None:
        self._credit = _CREDIT
        if time.monotonic() > self._deadline:
            raise ChatTemplateError(f"the chat template runs for more than {self._seconds:.3g} seconds: stopped")

    # ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def size(self, value: Any, depth: int = 0) -> int:
        """Returns the work of comparing or hashing a value, in bytes. A nested value is counted each time it occurs.

        The size of each container is cached, because templates cannot modify containers.

        Raises:
            ChatTemplateError: the value is nested too deeply, or the time limit is reached.
        """
        if isinstance(value, str):
            return VALUE + len(value)
        if isinstance(value, GivenDict | GivenList | GivenTuple) and value._size:
            return value._size
        if not isinstance(value, CONTAINERS):
            return VALUE
        known = self._sizes.get(id(value))
        if known is not None:
            return known[1]
        if depth > MAX_DEPTH:
            raise ChatTemplateError(f"the chat template nests values deeper than {MAX_DEPTH}")
        total = VALUE
        for item in _inside(value):
            self.charge()
            total += self.size(item, depth + 1)
        self.charge(4 * VALUE)
        self._sizes[id(value)] = (value, total)
        return total

    def compare(self, *values: Any) -> None:
        """Charges the work of a comparison or hashing before it runs: at most the size of the smallest value."""
        self.step(min(map(self.size, values)))

    def search(self, value: Any, values: Any) -> None:
        """Charges the cost of a membership test (``in``) before it runs."""
        number: int = len(values) if hasattr(values, "__len__") else 0
        if isinstance(values, str):
            self.step(number)
        elif isinstance(values, range):
            self.step(VALUE * number)
        elif isinstance(values, CONTAINERS) and not isinstance(values, dict):
            work = self.size(value) * number
            self.step(work if work <= MAX_STEP >> 6 else min(work, self.size(values)))
        else:
            self.compare(value)

    def hold(self, value: Any) -> Any:
        """Converts an iterator to a list, which can be inspected before use; returns other values unchanged."""
        if isinstance(value, CONTAINERS) or not hasattr(value, "__next__") or hasattr(value, "__len__"):
            return value  # Jinja's `loop` has `__next__` and `__len__`; it must not be converted
        held = []
        for item in value:
            self.charge(SLOT)
            held.append(item)
        return held

    def printed(self, value: Any) -> tuple[int, int]:
        """Returns upper bounds of the number of characters of ``str(value)``, and of the bytes per character.

        Raises:
            ChatTemplateError: the value is nested too deeply, not printable, or too large.
        """
        if isinstance(value, str):
            return len(value), width(value)
        length, wide = 0, 1
        for leaf in self.leaves(value, 2):
            if isinstance(leaf, str):
                # 12 characters can be added to the text: `Markup('')`, a comma and a space.
                length += (2 if leaf.isascii() and leaf.isprintable() else 10) * len(leaf) + 12
                wide = max(wide, width(leaf))
            elif isinstance(leaf, int):
                length += 16 + leaf.bit_length() // 3
            elif isinstance(leaf, self._printable):
                length += VALUE
            else:
                name = type(leaf).__name__
                raise ChatTemplateError(f"the chat template prints a {name}; call it, or use |list")
            self.afford(length * wide)
        return length, wide

    def text(self, value: Any) -> str:
        """Converts a value to text with an origin."""
        if isinstance(value, str):
            return value
        length, wide = self.printed(value)
        self.afford(length * wide)
        text: str = self.own(str(value), value)
        self.charge(bytes_of(text))
        return text

    def leaves(self, value: Any, per_container: int = 0) -> Iterator[Any]:
        """Yields the leaves of nested containers, depth first; a shared leaf is yielded each time it occurs."""
        stack: list[Iterator[Any]] = [iter((value,))]
        while stack:
            for item in stack[-1]:
                self.charge()
                if isinstance(item, CONTAINERS):
                    if len(stack) > MAX_DEPTH:
                        raise ChatTemplateError(f"the chat template nests values deeper than {MAX_DEPTH}")
                    yield from (None,) * per_container  # for the container's brackets and the name of its class
                    stack.append(_inside(item))
                    break
                yield item
            else:
                stack.pop()

    def own(self, result: Any, *inputs: Any) -> Any:
        """Assigns an origin to a plain `str` that an operation computed from `inputs`.

        If any input has text that the template did not write, the result does not count as text of the template, and no
        part of it becomes a special token. If, in addition, the template's own text in the inputs contains a special
        token, the origin of the result is ``mixed``: it is unknown who wrote a special token in the result.
        """
        if not isinstance(result, str) or isinstance(result, TracedStr):
            return result
        owners: set[Origin] = set()
        controls = False
        for value in self.leaves(inputs):
            if value is result:
                return result  # the operation returned one of its inputs
            if isinstance(value, str):
                owners.update(origin for _, origin in runs_of(value) if origin.source != "template")
                controls = controls or self._holds_control(value)
        if not owners:
            return result
        origin = MIXED if controls else Origin.of_all(owners)
        return TracedStr(str.__str__(result), ((len(result), origin),))

    def _holds_control(self, text: str) -> bool:
        """Tests whether a run of template text contains a special token."""
        at = 0
        for length, origin in runs_of(text):
            self.charge()
            if origin.source == "template":
                part = str.__str__(text)[at : at + length]
                for control in self.controls:
                    self.step(length)
                    if control in part:
                        return True
            at += length
        return False


def _inside(value: Any) -> Iterator[Any]:
    """Returns an iterator over the elements of a container; for a dict, over its keys and values."""
    if isinstance(value, dict):
        return chain.from_iterable(value.items())
    return iter(value)


def is_traced(value: Any) -> bool:
    """Tests whether a value contains text that the template itself did not write."""
    return any(isinstance(leaf, TracedStr) for leaf in current().leaves(value))


_RUNNING: ContextVar[RenderBudget] = ContextVar("jeton_chat")


@contextmanager
def running(state: RenderBudget) -> Iterator[RenderBudget]:
    """Makes `state` the current rendering of this context; other threads have their own."""
    token = _RUNNING.set(state)
    try:
        yield state
    finally:
        _RUNNING.reset(token)


def current() -> RenderBudget:
    """Returns the state of the current rendering.

    There always is one, because Jinja evaluates expressions only while it renders a template.
    """
    return _RUNNING.get()

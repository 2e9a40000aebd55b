"""Resource limits of a chat template's rendering, and the origin of computed text.

A chat template is an untrusted program, so every operation is metered:

- **Memory.** Each new value is charged by its size in bytes (`RenderBudget.charge`). An operation is rejected before it
  runs if its result or its temporary memory may exceed the remaining budget (`RenderBudget.afford`).
- **Time.** Each operation uses credit in proportion to its work; the clock is read when the credit is used up. A single
  operation, which Python cannot interrupt, is limited to `MAX_STEP` units of work (`RenderBudget.step`).
- **Output.** Printed text becomes tokens, which take far more memory than the text (`RenderBudget.write`).

The limits grow linearly with the size of the caller's input, so that long chats are not rejected. An upper
bound of each operation is computed from its arguments: of methods and filters in `costs`, of formats in `formatting`,
of operators in `sandbox`. An operation without a bound is rejected.
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

MAX_SOURCE = 1 << 17  # characters; published templates stay under 50,000. Compiling one of this size takes 3 s, 250 MB
MAX_BYTES = 1 << 27  # size of all values that a template creates
MAX_OUTPUT = 1 << 18  # bytes of text; a token of one byte takes 450 bytes in an `Encoding`
MAX_STEP = 1 << 30  # units of work between two readings of the clock: bytes compared, about a second at worst
MAX_SECONDS = 5.0
MAX_DEPTH = 100  # depth of nested values and of nested macro calls
MAX_BITS = 100_000  # bits of an integer
# Added for each byte of the caller's input (`size`): published templates copy a message about ten times.
_BYTES_PER_GIVEN = 32
_OUTPUT_PER_GIVEN = 8
_SECONDS_PER_GIVEN = 2e-7

# Bytes, measured with tracemalloc on CPython 3.11 and rounded up.
VALUE = 64  # a small object
SLOT = 16  # an element of a list: 8 bytes, and 8 more while the list grows
TRACED = 600  # a `TracedStr` of one run
RUN = 96  # each further run

_CREDIT = 200  # operations between two readings of the clock
_WORK = 15  # a unit of credit is 2^15 units of work, about 10 µs


SIMPLE = frozenset({str, TracedStr, int, float, bool, type(None)})  # compared in time linear in their own size
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
    """Upper bound of the bytes per character of a `str`."""
    return 1 if text.isascii() else min(4, str.__sizeof__(text) // len(text))


def bytes_of(text: str) -> int:
    """Memory of a text in bytes, its runs included."""
    size = VALUE + (len(text) if text.isascii() else len(text) * width(text))
    return size + TRACED + RUN * len(text._runs) if isinstance(text, TracedStr) else size


def piece_bytes(text: str) -> int:
    """Overhead in bytes of each substring of a text, beside its characters."""
    return SLOT + VALUE + (TRACED if isinstance(text, TracedStr) else 0)


class RenderBudget:
    """State of one rendering: its remaining budgets and the current turn.

    Attributes:
        controls: spellings of the special tokens.
        turn: index of the message that the innermost loop is at; None outside of such a loop.
        turns: stack of the enclosing loops' turns.
    """

    def __init__(self, controls: Iterable[str], given: int, printable: tuple[type, ...]) -> None:
        """Sets the limits for an input of a given size.

        Args:
            controls: spellings of the special tokens.
            given: size of messages and variables (`GivenDict._size` etc.).
            printable: types that may be printed, beside strings and containers.
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
        self._sizes: dict[int, tuple[Any, int]] = {}  # id -> (container, kept alive; its size)

    # ── accounting ───────────────────────────────────────────────────────────────────────────────────────────────────

    def charge(self, made: int = 0) -> None:
        """Charges one operation and the bytes that it has created.

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
        """Rejects an operation whose result or temporary memory may exceed the budget; charges its work."""
        if made > self._left:
            raise self._too_much()
        self._credit -= made >> _WORK
        if self._credit < 0:
            self._look()

    def step(self, work: int) -> None:
        """Charges uninterruptible work before it is done."""
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
        """Returns the work of comparing or hashing a value: its bytes, nested values included as often as reached.

        The size of each container is cached, because templates cannot modify one.

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
        """Charges a comparison or hashing, before it is done; the smallest value bounds the work."""
        self.step(min(map(self.size, values)))

    def search(self, value: Any, values: Any) -> None:
        """Charges a membership test, before it is done."""
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
        """Materializes an iterator as a list, for inspection before use; returns other values unchanged."""
        if isinstance(value, CONTAINERS) or not hasattr(value, "__next__") or hasattr(value, "__len__"):
            return value  # Jinja's `loop` has `__next__` and `__len__`
        held = []
        for item in value:
            self.charge(SLOT)
            held.append(item)
        return held

    def printed(self, value: Any) -> tuple[int, int]:
        """Returns upper bounds of the characters of ``str(value)``, and of the bytes per character.

        Raises:
            ChatTemplateError: the value is nested too deeply, not printable, or too large.
        """
        if isinstance(value, str):
            return len(value), width(value)
        length, wide = 0, 1
        for leaf in self.leaves(value, 2):
            if isinstance(leaf, str):
                length += (2 if leaf.isascii() and leaf.isprintable() else 10) * len(leaf) + 12  # Markup('…'),
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
        """Yields the leaves of nested containers, depth first, shared ones as often as they are reached."""
        stack: list[Iterator[Any]] = [iter((value,))]
        while stack:
            for item in stack[-1]:
                self.charge()
                if isinstance(item, CONTAINERS):
                    if len(stack) > MAX_DEPTH:
                        raise ChatTemplateError(f"the chat template nests values deeper than {MAX_DEPTH}")
                    yield from (None,) * per_container  # its brackets and its name
                    stack.append(_inside(item))
                    break
                yield item
            else:
                stack.pop()

    def own(self, result: Any, *inputs: Any) -> Any:
        """Assigns an origin to a plain `str` that an operation computed from `inputs`.

        If any input is not the template's, neither is the result, so it never becomes control. If template text among
        the inputs spells a special token, the origin is ``mixed``: the result may contain that token or not.
        """
        if not isinstance(result, str) or isinstance(result, TracedStr):
            return result
        owners: set[Origin] = set()
        controls = False
        for value in self.leaves(inputs):
            if value is result:
                return result  # an input, returned unchanged
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
    """Iterates over the elements of a container; of a dict, keys and values."""
    if isinstance(value, dict):
        return chain.from_iterable(value.items())
    return iter(value)


def is_traced(value: Any) -> bool:
    """Tests whether a value contains text that is not the template's."""
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
    """Returns the current rendering. It always exists, because nothing is evaluated at compile time."""
    return _RUNNING.get()

"""What a chat template may use up, and whose is what it makes.

A template is a program from a file that somebody published, so everything it does is accounted for by what it produces:

- **Memory.** Each value is charged by the bytes it takes (`RenderBudget.charge`), and an operation is refused before it runs
  if its result, or what it needs for a moment, may exceed what is left (`RenderBudget.afford`).
- **Time.** Each operation takes credit by the work it does; the clock is read when the credit is used up. One operation
  that Python cannot interrupt does at most `MAX_STEP` units of work (`RenderBudget.step`).
- **Output.** What is printed becomes tokens, which take far more memory than the text (`RenderBudget.write`).

The limits grow with what the caller has given, so that long chats are no hostile ones. `costs` and `formatting` compute
the bound of each operation from its arguments; an operation without a bound is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import Any

from ..errors import ChatTemplateError
from .provenance import CALLER, MIXED, Origin, TracedStr, runs_of

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
    "RenderBudget",
    "bytes_of",
    "current",
    "is_traced",
    "piece_bytes",
    "running",
    "width",
]

MAX_SOURCE = 1 << 17  # characters; published templates stay under 50,000. Compiling so many takes up to 3 s and 250 MB
MAX_BYTES = 1 << 27  # that a template makes in all
MAX_OUTPUT = 1 << 18  # bytes of text; a token of one byte takes 450 bytes in an `Encoding`
MAX_STEP = 1 << 30  # units of work without a look at the clock: bytes compared, about a second at worst
MAX_SECONDS = 5.0
MAX_DEPTH = 100  # of values in values, and of macros that call macros
MAX_BITS = 100_000  # of an integer
# More of it for each byte that the caller gives (`size`): a template copies a message some ten times on its way.
_BYTES_PER_GIVEN = 32
_OUTPUT_PER_GIVEN = 8
_SECONDS_PER_GIVEN = 2e-7

# Bytes, measured with tracemalloc on CPython 3.11 and rounded up.
VALUE = 64  # a small object
SLOT = 16  # a place in a list: 8 bytes, and as many while the list is made
TRACED = 600  # a `TracedStr` of one run
RUN = 96  # one more run

_CREDIT = 200  # operations between two looks at the clock
_WORK = 15  # a unit of credit pays for 2^15 units of work, about 10 µs


SIMPLE = frozenset({str, TracedStr, int, float, bool, type(None)})  # compared in a time bounded by their own size
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
CONTAINERS: tuple[type, ...] = (list, tuple, dict, *VIEWS)


class GivenDict(dict[str, Any]):
    """An object of a request as a template sees it; a message knows its index."""

    _message: int | None = None
    _size: int = 0


class GivenList(list[Any]):
    """A list of a request as a template sees it."""

    _size: int = 0


def width(text: str) -> int:
    """An upper bound of the bytes that a character takes."""
    return 1 if text.isascii() else min(4, str.__sizeof__(text) // len(text))


def bytes_of(text: str) -> int:
    """The bytes that a text takes, with its runs."""
    size = VALUE + (len(text) if text.isascii() else len(text) * width(text))
    return size + TRACED + RUN * len(text._runs) if isinstance(text, TracedStr) else size


def piece_bytes(text: str) -> int:
    """The bytes that each piece of a text takes, beside its characters."""
    return SLOT + VALUE + (TRACED if isinstance(text, TracedStr) else 0)


class RenderBudget:
    """One rendering: what is left of its limits, and where in the conversation it is.

    Attributes:
        controls: the spellings of the special tokens.
        turn: the message whose turn of a loop runs; None outside.
        turns: those of the loops around.
    """

    def __init__(self, controls: Iterable[str], given: int, printable: tuple[type, ...]) -> None:
        """Limits for so much that the caller gives (`GivenDict` and `GivenList` know their sizes).

        Args:
            controls: the spellings of the special tokens.
            given: the size of messages and variables.
            printable: the types, beside text and containers, of what has a text.
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
        self._sizes: dict[int, tuple[Any, int]] = {}  # id -> the container, which stays alive, and its size

    # ── accounting ────────────────────────────────────────────────────────────────────────────────────────────────

    def charge(self, made: int = 0) -> None:
        """Accounts for an operation and for the bytes that it has made.

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
        """Refuses an operation that may make, or need for a moment, more bytes than are left; accounts for its work."""
        if made > self._left:
            raise self._too_much()
        self._credit -= made >> _WORK
        if self._credit < 0:
            self._look()

    def step(self, work: int) -> None:
        """Accounts for work that cannot be interrupted, before it is done."""
        if work > MAX_STEP:
            raise ChatTemplateError("the chat template does something that takes too long for one step: stopped")
        self._credit -= 1 + (work >> _WORK)
        if self._credit < 0:
            self._look()

    def write(self, text: str) -> None:
        """Accounts for text that is printed."""
        size = bytes_of(text)
        self.charge(size + 2 * VALUE * (len(text._runs) if isinstance(text, TracedStr) else 1))
        self._output -= len(text) if text.isascii() else size
        if self._output < 0:
            raise ChatTemplateError(
                f"the chat template writes more than {self._max_output:,} bytes, for messages of this size: stopped"
            )

    def nested(self, call: Callable[[], Any]) -> Any:
        """Calls what the template defines."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ChatTemplateError(f"the chat template calls itself more than {MAX_DEPTH} deep")
        try:
            return call()
        finally:
            self._depth -= 1

    def _too_much(self) -> ChatTemplateError:
        return ChatTemplateError(
            f"the chat template makes more than {self._max_bytes:,} bytes, for messages of this size: stopped"
        )

    def _look(self) -> None:
        self._credit = _CREDIT
        if time.monotonic() > self._deadline:
            raise ChatTemplateError(f"the chat template runs for more than {self._seconds:.3g} seconds: stopped")

    # ── values ────────────────────────────────────────────────────────────────────────────────────────────────────

    def size(self, value: Any, depth: int = 0) -> int:
        """The work of comparing or hashing a value: its bytes, and those of its values as often as they are reached.

        Each container is counted once and remembered: templates cannot change one.

        Raises:
            ChatTemplateError: it is nested too deeply, or time is over.
        """
        if isinstance(value, str):
            return VALUE + len(value)
        if isinstance(value, GivenDict | GivenList) and value._size:
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
        """Before values are compared or hashed: the smallest decides how long it takes."""
        self.step(min(map(self.size, values)))

    def search(self, value: Any, values: Any) -> None:
        """Before a value is looked for in others."""
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
        """A list of what an iterator yields, for it can be looked at once only; other values as they are."""
        if isinstance(value, CONTAINERS) or not hasattr(value, "__next__") or hasattr(value, "__len__"):
            return value  # the last is `loop`
        held = []
        for item in value:
            self.charge(SLOT)
            held.append(item)
        return held

    def printed(self, value: Any) -> tuple[int, int]:
        """An upper bound of the characters of a value as text, and of their bytes.

        Raises:
            ChatTemplateError: it is nested too deeply, has no text of its own, or is too large.
        """
        if isinstance(value, str):
            return len(value), width(value)
        length, wide = 0, 1
        for leaf in self.leaves(value, 2):
            if isinstance(leaf, str):
                length += (2 if leaf.isascii() and leaf.isprintable() else 10) * len(leaf) + 4
                wide = max(wide, width(leaf))
            elif isinstance(leaf, int):
                length += 16 + leaf.bit_length() // 3
            elif isinstance(leaf, self._printable):
                length += VALUE
            else:
                name = type(leaf).__name__
                raise ChatTemplateError(f"the chat template prints what has no text: {name} (call it, or use |list)")
            self.afford(length * wide)
        return length, wide

    def text(self, value: Any) -> str:
        """A value as text, with its origin."""
        if isinstance(value, str):
            return value
        length, wide = self.printed(value)
        self.afford(length * wide)
        text: str = self.own(str(value), value)
        self.charge(bytes_of(text))
        return text

    def leaves(self, value: Any, per_container: int = 0) -> Iterator[Any]:
        """All strings in a value, at any depth and as often as they are reached, and what else is no container."""
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
        """A result with its origin, where text of others went in and a plain `str` came out.

        It is theirs, so it never becomes control. Where the template's part of what went in spells a special token, it
        is mixed: nobody can say whether that is still meant as one.
        """
        if not isinstance(result, str) or isinstance(result, TracedStr):
            return result
        owners: set[Origin] = set()
        controls = False
        for value in self.leaves(inputs):
            if value is result:
                return result  # handed through
            if isinstance(value, str):
                owners.update(origin for _, origin in runs_of(value) if origin.source != "template")
                controls = controls or self._holds_control(value)
        if not owners:
            return result
        origin = MIXED if controls else owners.pop() if len(owners) == 1 else CALLER
        return TracedStr(str.__str__(result), ((len(result), origin),))

    def _holds_control(self, text: str) -> bool:
        """Whether the template's part of a text spells a special token."""
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
    """The values in a container, keys too."""
    if isinstance(value, dict):
        return chain.from_iterable(value.items())
    return iter(value)


def is_traced(value: Any) -> bool:
    """Whether text of others than the template is in a value."""
    return any(isinstance(leaf, TracedStr) for leaf in current().leaves(value))


_RUNNING: ContextVar[RenderBudget] = ContextVar("jeton_chat")


@contextmanager
def running(state: RenderBudget) -> Iterator[RenderBudget]:
    """For this rendering; others may run in other threads."""
    token = _RUNNING.set(state)
    try:
        yield state
    finally:
        _RUNNING.reset(token)


def current() -> RenderBudget:
    """The rendering that runs. There is one whenever a template does anything: nothing is evaluated at compile time."""
    return _RUNNING.get()

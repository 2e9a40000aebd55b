"""The exercises: a file for each lesson, with a Chinese page beside it.

The docstring of `exercises/step04.py` asks for functions, `exercises/step04.zh.md` asks for the same in Chinese, and
`TASKS` has the cases that `python -m jeton.reference.check step04 my_file.py` runs. You can read them, but try the
exercise first. Answers: the lesson itself, and `solutions/step04.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = ["Case", "Raises", "Task"]

Hint = tuple[str, str]  # English, Chinese
NO_HINT: Hint = ("", "")


class Raises(NamedTuple):
    """The expected result of a call that must fail."""

    error: type[Exception]


class Case(NamedTuple):
    """Arguments, the expected result, and a hint for a wrong one."""

    arguments: tuple[Any, ...]
    expected: Any
    hint: Hint = NO_HINT


class Task(NamedTuple):
    """A function that an exercise asks for."""

    name: str
    cases: Callable[[], Iterable[Case]]  # made when they are needed: some take time
    hint: Hint  # for cases without one
    call: Callable[..., Any] = lambda function, *arguments: function(*arguments)
    seconds: float = 10.0  # for one case

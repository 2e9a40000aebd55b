"""Exercises: a file for each lesson, with a Chinese page beside it.

The docstring of `exercises/step04.py` asks for functions, `exercises/step04.zh.md` asks for the same in Chinese, and
`TASKS` has the cases that `python -m jeton.reference.check step04 my_file.py` runs. You can read the cases, but try the
exercise first. Answers: the lesson itself, and `solutions/step04.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = ["Case", "Raises", "Task"]

Hint = tuple[str, str]  # English, Chinese
NO_HINT: Hint = ("", "")


class Raises(NamedTuple):
    """Expected result of a call that must raise an error."""

    error: type[Exception]


class Case(NamedTuple):
    """Arguments of a call, its expected result, and a hint that is shown for a wrong result."""

    arguments: tuple[Any, ...]
    expected: Any
    hint: Hint = NO_HINT


class Task(NamedTuple):
    """Function that an exercise asks for, with its cases."""

    name: str
    cases: Callable[[], Iterable[Case]]  # a function, because making some cases takes time
    hint: Hint  # shown if the failed case has no hint of its own
    call: Callable[..., Any] = lambda function, *arguments: function(*arguments)
    seconds: float = 10.0  # time limit of one case

"""The questions that the page may ask: one module each, with a function ``answer(catalog, request) -> dict``.

A request is a JSON object and so is the answer. `request_fields` reads the fields that several have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

from ..catalog import Catalog

__all__ = ["NAMES", "Answer", "find"]

Answer: TypeAlias = Callable[[Catalog, Mapping[str, Any]], Any]

NAMES = (
    "tokens",
    "token",
    "picture",
    "why",
    "train",
    "compare",
    "paragraph",
    "vocabulary",
    "chat",
    "classics",
)


def find(name: str) -> Answer:
    """The function that answers a question; its module is imported when it is asked for the first time.

    Examples:
        >>> find("tokens").__module__
        'jeton.playground.api.tokens'
    """
    answer: Answer = import_module(f".{name}", __name__).answer
    return answer

"""API endpoints: one module for each, with a function ``answer(catalog, request) -> dict``.

Request and response are JSON objects. `request_fields` validates common fields.
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
    "why",
    "train",
    "compare",
    "paragraph",
    "vocabulary",
    "chat",
    "classics",
    "download",
)


def find(name: str) -> Answer:
    """Returns the function of an endpoint; its module is imported on first use.

    Examples:
        >>> find("tokens").__module__
        'jeton.playground.api.tokens'
    """
    answer: Answer = import_module(f".{name}", __name__).answer
    return answer

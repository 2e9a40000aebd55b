"""``picture``: the tokens of a text as a self-contained SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...drawing import to_svg
from ..catalog import Catalog
from .tokens import drawn

__all__ = ["answer"]


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Renders the drawing of `tokens` as SVG.

    Examples:
        >>> answer(Catalog(cached=False), {"tokenizer": "bytes", "text": "hi"})["svg"][:4]
        '<svg'
    """
    drawing, num_tokens = drawn(catalog, request)
    dark = request.get("theme") == "dark"
    return {"svg": to_svg(drawing, theme="dark" if dark else "light", num_tokens=num_tokens)}

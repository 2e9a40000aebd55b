"""``picture``: the tokens of a text as a self-contained SVG, with tokenizer, count and version below them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import __version__
from ...drawing import to_svg
from ...util.messages import counted
from ..catalog import Catalog, unnumbered
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
    name = unnumbered(str(request["tokenizer"]))
    caption = f"{name} · {counted(num_tokens, 'token')} · Jeton {__version__}"
    return {"svg": to_svg(drawing, theme="dark" if dark else "light", caption=caption, num_tokens=num_tokens)}

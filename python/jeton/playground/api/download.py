"""``download``: lists and downloads well-known vocabularies that are not on this machine.

The server downloads a vocabulary from its publisher, and only if a request names it. It verifies the hash, except for
repositories of Hugging Face's hub, for which no hash is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..catalog import Catalog
from .request_fields import text

__all__ = ["answer"]


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Lists names, sizes and hosts; given a `name`, downloads this vocabulary and returns its catalog entry.

    Examples:
        >>> cl100k = answer(Catalog(cached=False), {})["downloads"][1]
        >>> cl100k["name"], cl100k["bytes"], cl100k["host"], cl100k["models"][:2]
        ('cl100k_base', 1681126, 'openaipublic.blob.core.windows.net', ('gpt-4', 'gpt-3.5-turbo'))
    """
    if "name" in request:
        return {"entry": catalog.download(text(request, "name"))}
    return {"downloads": catalog.downloads()}

"""``download``: well-known vocabularies that are not on this machine.

The server downloads them from their publisher, only on a request with a name, and verifies their hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..catalog import Catalog
from .request_fields import text

__all__ = ["answer"]


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Lists names, sizes and hosts; with a `name`, downloads that one and returns its entry of the catalog.

    Examples:
        >>> answer(Catalog(cached=False), {})["downloads"][1]
        {'name': 'cl100k_base', 'bytes': 1681126, 'host': 'openaipublic.blob.core.windows.net'}
    """
    if "name" in request:
        return {"entry": catalog.download(text(request, "name"))}
    return {"downloads": catalog.downloads()}

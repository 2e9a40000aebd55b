"""``token``: one vocabulary entry: id, bytes, spelling, rank and merge tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...drawing import draw
from ..catalog import Catalog
from . import request_fields
from .merge_number import first_rank

__all__ = ["answer"]


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties and the merge tree of one id.

    Examples:
        >>> facts = answer(Catalog(cached=False), {"tokenizer": "bytes", "id": 65})
        >>> facts["hex"], facts["spelling"], facts["special"]
        ('41', 'A', False)
    """
    tok = catalog.get(request_fields.text(request, "tokenizer"))
    id = request_fields.integer(request, "id", None, 0, max(tok.vocab_size - 1, 0))
    data, tree = tok.id_to_bytes(id), tok.tree(id)
    special = {id: spelling.encode() for spelling, id in tok.special_tokens.items()}
    return {
        "id": id,
        "hex": data.hex(),
        "spelling": tok.id_to_token(id),
        "special": id in special,
        "rank": next((node.rank for node in tree.nodes[-1:] if node.id == id), None),
        "first_rank": first_rank(tok),
        "tree": tree.to_json(),
        "look": draw([(id, data)], special=special).to_json()["table"][0],
    }

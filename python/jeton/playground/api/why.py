"""``why``: every step from a text to its tokens: pretokens, merges, lattices, longest matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...drawing import hue, visible
from ...explanation import Explanation
from ..catalog import Catalog
from . import request_fields
from .merge_number import first_rank

__all__ = ["MAX_CHARS", "answer"]

# Maximum length of the explained text. It limits the size of the answer, in which each merge with its competing
# candidates takes about 100 bytes of JSON.
MAX_CHARS = 10_000


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the result of `Tokenizer.explain` for the beginning of a text, with the displayed form of every id.

    Examples:
        >>> facts = answer(Catalog(cached=False), {"tokenizer": "bytes", "text": "hi"})
        >>> facts["pretokens"][0]["ids"], facts["names"][104]
        ([104, 105], ('h', 159, 1))
    """
    tok = catalog.get(request_fields.text(request, "tokenizer"))
    text = request_fields.text(request, "text")
    explained = text[:MAX_CHARS]
    explanation = tok.explain(explained, special="all" if request_fields.flag(request, "special") else "none")
    facts = explanation.to_json()
    model = tok.definition.model
    for pretoken, dictionary in zip(explanation.pretokens, facts["pretokens"], strict=True):
        dictionary["shown"] = visible(pretoken.text)
        dictionary["hex"] = pretoken.text.hex()
    return {
        **facts,
        "kind": model.type,
        "first_rank": first_rank(tok),
        "byte_fallback": bool(getattr(model, "byte_fallback", False)),
        "continuing_prefix": getattr(model, "continuing_subword_prefix", None) or "",
        "names": _names(explanation),
        "explained_chars": len(explained),
        "num_chars": len(text),
    }


def _names(explanation: Explanation) -> dict[int, tuple[str, int, int]]:
    """Returns id -> (visible form, hue, number of bytes) for all ids in an explanation."""
    return {
        id: (explanation.name(id), hue(explanation.describe(id)), len(explanation.describe(id)))
        for id in sorted(set(_ids(explanation)))
    }


def _ids(explanation: Explanation) -> Iterator[int]:
    for pretoken in explanation.pretokens:
        yield from pretoken.start_ids
        yield from pretoken.ids
        for merge in pretoken.merges:
            yield from (merge.left, merge.right, merge.result)
            yield from (id for left, right, _ in merge.rivals for id in (left, right))
        yield from (id for split in pretoken.splits for id in (split.id, split.left, split.right))
        edges: Iterable[Any] = () if pretoken.lattice is None else _edges(pretoken.lattice)
        yield from (edge.id for edge in edges if edge.id is not None)
        yield from (id for _, _, id in (pretoken.attempts.found if pretoken.attempts else ()))


def _edges(lattice: Any) -> Iterator[Any]:
    yield from lattice.edges
    yield from lattice.best.edges
    for other in lattice.others:
        yield from other.edges

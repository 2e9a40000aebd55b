"""``paragraph``: token counts of one paragraph in twenty languages, the built-in texts of `jeton.languages`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InvalidTextError
from ...tokenizer import Tokenizer
from ..catalog import Catalog
from ..data import localized, paragraph
from .compare import num_unknown, tokenizers

__all__ = ["answer"]


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns each language's text with its size and token counts, the tokenizers used, and those that failed.

    Examples:
        >>> languages = answer(Catalog(cached=False), {"tokenizers": ["bytes"]})["languages"]
        >>> [(entry["code"], entry["counts"]) for entry in languages if entry["code"] in ("en", "zh")]
        [('en', [387]), ('zh', [327])]
    """
    toks, failed = tokenizers(catalog, request, lambda _: None)
    languages = [_costs([tok for tok, _ in toks.values()], language) for language in paragraph()]
    return {"languages": languages, "tokenizers": list(toks), "failed": failed}


def _costs(toks: list[Tokenizer], language: Mapping[str, Any]) -> dict[str, Any]:
    encoded = [_ids(tok, language["text"]) for tok in toks]
    return {
        **language,
        "name": localized(language["name"]),
        "bytes": len(language["text"].encode()),
        "chars": len(language["text"]),
        "counts": [None if ids is None else len(ids) for ids in encoded],
        "unknown": [0 if ids is None else num_unknown(tok, ids) for tok, ids in zip(toks, encoded, strict=True)],
    }


def _ids(tok: Tokenizer, text: str) -> list[int] | None:
    """Returns the ids of a text; None if the vocabulary lacks some of its characters and there is no unknown token."""
    try:
        return tok.encode(text)
    except InvalidTextError:
        return None

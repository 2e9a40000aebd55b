"""``classics``: frequently discussed texts, each with a short explanation and tokenizations by real tokenizers.

If the catalog has the tokenizer, the tokenization is computed. Otherwise a tokenization recorded from the real
vocabulary is shown, and labeled as recorded. A tokenizer with the same name that gives other ids is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...drawing import described
from ...errors import ConfigError, JetonError
from ...formats.discovery import short_name
from ...tokenizer import Tokenizer
from ..catalog import Catalog, unnumbered
from ..data import localized, read
from . import request_fields

__all__ = ["answer", "recorded_answer"]

# Name of a vocabulary -> other names that it has in catalogs.
ALIASES = {"r50k_base": ("gpt2", "hf:gpt2", "hf:openai-community/gpt2")}


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the list of classics; if the request has an `id`, returns this classic in full.

    Examples:
        >>> catalog = Catalog(cached=False)
        >>> [entry["id"] for entry in answer(catalog, {})["classics"]][:2]
        ['strawberry', 'numbers']
        >>> [panel["num_tokens"] for panel in answer(catalog, {"id": "strawberry"})["panels"]]
        [3, 1, 10, 3]
    """
    classics = read("classics.json")
    if "id" not in request:
        return {"classics": [{"id": classic["id"], "title": localized(classic["title"])} for classic in classics]}
    wanted = request_fields.text(request, "id")
    classic = next((classic for classic in classics if classic["id"] == wanted), None)
    if classic is None:
        raise ConfigError(f"there is no classic {wanted!r:.60}", option="id")
    records = read("recorded.json")[wanted]
    panels = [_panel(catalog, panel, record) for panel, record in zip(classic["panels"], records, strict=True)]
    counts = [panel["num_tokens"] for panel in panels]
    keys = list(dict.fromkeys(panel["key"] for panel in panels if panel["key"]))
    comparable = classic.get("compare") and len(keys) > 1
    compared = {"view": "compare", "compare": keys, "text": panels[0]["text"]} if comparable else None
    return {
        "id": wanted,
        "title": localized(classic["title"]),
        "story": [paragraph.format(*counts) for paragraph in localized(classic["story"])],
        "panels": panels,
        "state": compared,
    }


def recorded_answer(tok: Tokenizer, panel: Mapping[str, Any]) -> dict[str, Any]:
    """Tokenizes the text of a panel. Returns the values to record; the drawing needs no others.

    Examples:
        >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
        >>> recorded_answer(tok, {"text": "hi", "special": False})
        {'ids': [104, 105], 'tokens': ['68', '69'], 'byte_spans': [[0, 1], [1, 2]], 'special_tokens': {}}
    """
    encoding = tok.tokenize(panel["text"], special="all" if panel["special"] else "none")
    special = {id: spelling for spelling, id in tok.special_tokens.items() if id in encoding.ids}
    return {
        "ids": encoding.ids,
        "tokens": [data.hex() for data in encoding.tokens],
        "byte_spans": [list(span) for span in encoding.byte_spans],
        "special_tokens": {str(id): spelling for id, spelling in special.items()},
    }


def _panel(catalog: Catalog, panel: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    key = _key(catalog, panel, record)
    found = record if key is None else recorded_answer(catalog.get(key), panel)
    special = {int(id): spelling.encode() for id, spelling in found["special_tokens"].items()}
    tokens = [bytes.fromhex(data) for data in found["tokens"]]
    spans = [(start, end) for start, end in found["byte_spans"]]
    drawing = described(panel["text"].encode(), found["ids"], tokens, spans, None, special)
    state = {"view": "tokens", "tokenizer": key, "text": panel["text"], "special": panel["special"]}
    return {
        **panel,
        "note": localized(panel["note"]) if panel["note"] else None,
        "key": key,
        "recorded": key is None,
        "num_tokens": len(tokens),
        "drawing": drawing.to_json(),
        "state": None if key is None else state,
    }


def _key(catalog: Catalog, panel: Mapping[str, Any], record: Mapping[str, Any]) -> str | None:
    """Returns the catalog's key for the panel's tokenizer; None if no entry of that name gives the recorded ids."""
    entries = catalog.describe()
    for name in (panel["tokenizer"], *ALIASES.get(panel["tokenizer"], ())):
        for entry in entries:
            if name not in (entry["key"], short_name(Path(unnumbered(entry["name"])))):
                continue
            try:
                ids = catalog.get(entry["key"]).encode(panel["text"], special="all" if panel["special"] else "none")
            except JetonError:  # not shown here: the page shows this error in its list of tokenizers
                continue
            if ids == record["ids"]:
                return str(entry["key"])
    return None

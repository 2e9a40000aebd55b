"""``tokens``: the tokens of a text, up to a limit.

Counts are for the whole text. For a long text, the response has only the first tokens. To find these tokens, a prefix
of the text is tokenized, and the ids of the prefix are compared with the ids of the whole text. The response has only
tokens before the first id that differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any

from ...drawing import Drawing
from ...tokenizer import Tokenizer
from ..catalog import Catalog
from . import request_fields

__all__ = ["MAX_DRAWN", "answer", "drawn"]

MAX_DRAWN = 200_000
# Texts of up to this many characters are tokenized as a whole; for longer texts, the ids are computed first.
SHORT_TEXT = 1 << 16
# Maximum number of prefixes of a long text that are tokenized. Each prefix is twice as long as the one before. The
# first prefix with enough tokens is drawn; if none has enough, the last one is drawn.
MAX_TRIES = 5


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the drawing of a text, its counts, and the id of the unknown token.

    Examples:
        >>> facts = answer(Catalog(cached=False), {"tokenizer": "bytes", "text": "né"})
        >>> facts["num_tokens"], facts["num_bytes"], facts["num_chars"], facts["drawing"]["groups"]
        (3, 3, 2, [0, 1, 1])
    """
    drawing, num_tokens = drawn(catalog, request)
    tok = catalog.get(request_fields.text(request, "tokenizer"))
    unknown = tok.roles.get("unk")
    return {
        "drawing": drawing.to_json(),
        "num_tokens": num_tokens,
        "num_bytes": drawing.text_bytes,
        "num_chars": drawing.text_chars,
        "drawn_bytes": max(drawing.byte_ends, default=0),
        "unk_id": None if unknown is None else tok.token_to_id(unknown),
    }


def drawn(catalog: Catalog, request: Mapping[str, Any]) -> tuple[Drawing, int]:
    """Returns the drawing of a request's text, and the number of tokens of the whole text."""
    tok = catalog.get(request_fields.text(request, "tokenizer"))
    text = request_fields.text(request, "text")
    limit = request_fields.integer(request, "limit", 20_000, 1, MAX_DRAWN)
    tok = tok.with_options(
        special="all" if request_fields.flag(request, "special") else "none",
        add_special_tokens=request_fields.flag(request, "template"),
    )
    if len(text) <= SHORT_TEXT:
        drawing = tok.tokenize(text).drawing()
        return drawing.head(limit), len(drawing)
    return _beginning(tok, text, limit)


def _beginning(tok: Tokenizer, text: str, limit: int) -> tuple[Drawing, int]:
    """Draws the first tokens of a long text from a prefix that is doubled until it has enough tokens."""
    ids = tok.encode_array(text)
    wanted = min(limit, len(ids))
    num_chars = 1 + len(text) * wanted // max(len(ids), 1) + SHORT_TEXT // 4
    for _ in range(MAX_TRIES):
        encoding = tok.tokenize(text[:num_chars])
        pairs = zip(encoding.ids, ids[: len(encoding.ids)].tolist(), strict=False)
        num_same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if num_same >= wanted or num_chars >= len(text):
            break
        num_chars *= 2
    drawing = encoding.drawing().head(min(wanted, num_same))
    whole = replace(drawing, text_bytes=len(text.encode()), text_chars=len(text))
    return whole, len(ids)

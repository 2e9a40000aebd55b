"""``compare``: up to four tokenizers on one text.

Counts are those of the whole text. Where it is long, its beginning is drawn and compared, as a text of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...analysis.compare import compare
from ...tokenizer import Tokenizer
from ..shelf import Shelf
from . import asked

__all__ = ["MAX_TOKENIZERS", "answer", "num_unknown", "tokenizers"]

MAX_TOKENIZERS = 4
# What is drawn, four times: more than anybody reads side by side.
MAX_COMPARED_CHARS = 10_000


def answer(shelf: Shelf, request: Mapping[str, Any]) -> dict[str, Any]:
    """Counts, the drawings, and where cuts differ.

    Examples:
        >>> facts = answer(Shelf(cached=False), {"tokenizers": ["bytes", "lessons"], "text": "the token"})
        >>> [entry["tokens"] for entry in facts["tokenizers"]], len(facts["drawings"]), facts["cuts"][:2]
        ([9, 2], 2, [[1, [0]], [2, [0]]])
    """
    toks = tokenizers(shelf, request)
    text = asked.text(request, "text")
    special = "all" if asked.flag(request, "special") else "none"
    found = compare(toks, text[:MAX_COMPARED_CHARS], special=special)
    facts = found.to_dict()
    whole = len(text) <= MAX_COMPARED_CHARS
    counts = found.counts if whole else [tok.count(text, special=special) for tok in toks.values()]
    num_bytes = found.num_bytes if whole else len(text.encode())
    for entry, tok, encoding, count in zip(facts["tokenizers"], toks.values(), found.encodings, counts, strict=True):
        entry["tokens"] = count
        entry["bytes_per_token"] = num_bytes / count if count else 0.0
        entry["unknown"] = num_unknown(tok, encoding.ids)
    facts |= {
        "num_bytes": num_bytes,
        "num_chars": len(text),
        "compared_chars": min(len(text), MAX_COMPARED_CHARS),
        "spread": max(counts) / min(counts) - 1 if min(counts) else 0.0,
        "drawings": [encoding.drawing().to_dict() for encoding in found.encodings],
    }
    return facts


def tokenizers(shelf: Shelf, request: Mapping[str, Any]) -> dict[str, Tokenizer]:
    """The tokenizers that a request names, by key."""
    return {key: shelf.get(key) for key in asked.texts(request, "tokenizers", 1, MAX_TOKENIZERS)}


def num_unknown(tok: Tokenizer, ids: list[int]) -> int:
    """How many of the ids say that something is not in the vocabulary: a short sequence of these is no good one.

    Examples:
        >>> num_unknown(Tokenizer.from_merges({97: b"a"}, []), [97])
        0
    """
    unknown = tok.roles.get("unk")
    return 0 if unknown is None else ids.count(tok.token_to_id(unknown))

"""``compare``: comparison of up to four tokenizers on one text.

Counts are for the whole text. If the text is long, only its beginning is compared and drawn, encoded as if the text
ended there. A tokenizer that is missing or cannot encode the text is listed with its error; the others are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ...analysis.compare import compare
from ...errors import JetonError
from ...tokenizer import Tokenizer
from ...util.language import in_language
from ..catalog import Catalog
from . import request_fields

__all__ = ["MAX_TOKENIZERS", "answer", "num_unknown", "tokenizers"]

Result = TypeVar("Result")

MAX_TOKENIZERS = 4
# Maximum number of compared characters. It is low, because the text is drawn once for each of up to four tokenizers.
MAX_COMPARED_CHARS = 10_000


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns counts, drawings, boundaries that differ, and failed tokenizers.

    Examples:
        >>> facts = answer(Catalog(cached=False), {"tokenizers": ["bytes", "lessons"], "text": "the token"})
        >>> [entry["tokens"] for entry in facts["tokenizers"]], len(facts["drawings"]), facts["cuts"][:2]
        ([9, 2], 2, [[1, [0]], [2, [0]]])
    """
    text = request_fields.text(request, "text")
    special = "all" if request_fields.flag(request, "special") else "none"
    toks, failed = tokenizers(catalog, request, lambda tok: tok.count(text, special=special))
    found = compare({key: tok for key, (tok, _) in toks.items()}, text[:MAX_COMPARED_CHARS], special=special)
    counts = [count for _, count in toks.values()]
    facts = found.to_json()
    num_bytes = len(text.encode())
    for entry, (tok, count), encoding in zip(facts["tokenizers"], toks.values(), found.encodings, strict=True):
        entry["tokens"] = count
        entry["bytes_per_token"] = num_bytes / count if count else 0.0
        entry["unknown"] = num_unknown(tok, encoding.ids)
    facts |= {
        "failed": failed,
        "num_bytes": num_bytes,
        "num_chars": len(text),
        "compared_chars": min(len(text), MAX_COMPARED_CHARS),
        "spread": max(counts) / min(counts) - 1 if min(counts) else 0.0,
        "drawings": [encoding.drawing().to_json() for encoding in found.encodings],
    }
    return facts


def tokenizers(
    catalog: Catalog, request: Mapping[str, Any], work: Callable[[Tokenizer], Result]
) -> tuple[dict[str, tuple[Tokenizer, Result]], list[dict[str, str]]]:
    """Applies `work` to the tokenizers of a request.

    Returns:
        Key -> (tokenizer, result) for the tokenizers that succeeded, and a list with the key and the error of each one
        that failed.

    Raises:
        JetonError: all tokenizers failed; the error of the first tokenizer is raised.
    """
    done: dict[str, tuple[Tokenizer, Result]] = {}
    errors: dict[str, JetonError] = {}
    for key in request_fields.texts(request, "tokenizers", 1, MAX_TOKENIZERS):
        try:
            tok = catalog.get(key)
            done[key] = tok, work(tok)
        except JetonError as error:
            errors[key] = error
    if not done:
        raise next(iter(errors.values()))
    return done, [{"key": key, "error": in_language(str(error))} for key, error in errors.items()]


def num_unknown(tok: Tokenizer, ids: list[int]) -> int:
    """Counts the unknown tokens among ids.

    Examples:
        >>> num_unknown(Tokenizer.from_merges({97: b"a"}, []), [97])
        0
    """
    unknown = tok.roles.get("unk")
    return 0 if unknown is None else ids.count(tok.token_to_id(unknown))

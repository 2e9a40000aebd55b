"""Files that end in a digest of their own bytes, so that reading a file detects changed bytes.

In a file of JSON, the digest is the last entry; in a page of Markdown, a comment:

    {"task": 0, …,              # Shards
     "sha256": "…"              …
    }                           <!-- sha256: … -->

File names that are not UTF-8 contain lone surrogates (PEP 383), which JSON stores as escapes. The digest detects
damage, not forgery: whoever can write a file can also write its digest, so `checks` validates the content.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

__all__ = ["has_digest", "sealed", "sealed_json", "unsealed_json", "version_of"]

JSON_END, PAGE_END = ',\n "sha256": "{}"\n}}\n', "\n<!-- sha256: {} -->\n"


def sealed_json(text: str) -> bytes:
    """Adds a digest to the text of a JSON object, and returns the bytes of the file. An empty object is not allowed.

    Examples:
        >>> unsealed_json(sealed_json('{"name": "a\\udcff.txt"}')) == {"name": "a\\udcff.txt"}
        True
    """
    return sealed(text.rstrip().removesuffix("}").rstrip(), JSON_END)


def sealed(text: str, end: str = PAGE_END) -> bytes:
    """Returns the bytes of a file: a text with its digest at the end."""
    body = text.encode("utf-8", "backslashreplace")
    return body + _tail(body, end)


def has_digest(data: bytes, end: str = PAGE_END) -> bool:
    """True if a file ends with the correct digest of the bytes before it."""
    size = len(_tail(b"", end))
    return len(data) > size and data[-size:] == _tail(data[:-size], end)


def unsealed_json(data: bytes) -> dict[str, Any]:
    """Returns the JSON object of a file, without its digest.

    Raises:
        ValueError: the digest is missing or wrong, or the file is not a JSON object.

    Examples:
        >>> unsealed_json(sealed_json('{"task": 1}').replace(b"1", b"2", 1))
        Traceback (most recent call last):
            ...
        ValueError: its bytes have changed: the digest differs
    """
    if not has_digest(data, JSON_END):
        raise ValueError("its bytes have changed: the digest differs")
    facts = _parsed(data)
    if not isinstance(facts, dict):
        raise ValueError("it is not an object of JSON")
    facts.pop("sha256", None)
    return facts


def version_of(data: bytes) -> Any:
    """Returns the entry `version` of a JSON file, without checking the digest; None if there is no such entry."""
    try:
        facts = _parsed(data)
    except ValueError:
        return None
    return facts.get("version") if isinstance(facts, dict) else None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


def _tail(body: bytes, end: str) -> bytes:
    return end.format(hashlib.sha256(body).hexdigest()).encode()

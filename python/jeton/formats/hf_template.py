"""Post-processors of `tokenizer.json` ↔ the template of a `Definition`."""

from __future__ import annotations

from typing import Any

from ..definition import Part
from ..errors import UnsupportedFeatureError

__all__ = ["read_template", "write_template"]

JSON = dict[str, Any]


def read_template(post_processor: JSON | None, place: str) -> Part | None:
    """The template of a post-processor."""
    if post_processor is None or post_processor.get("type") == "ByteLevel":
        return None
    kind = post_processor.get("type")
    raise UnsupportedFeatureError(f"the post-processor {kind!r} is not carried yet", place=place, feature=str(kind))


def write_template(template: Part | None) -> JSON | None:
    """The post-processor of a template."""
    return None

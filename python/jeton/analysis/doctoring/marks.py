"""The mark `▁` of SentencePiece: the components that write `▁`, and the schemes of adding `▁` before a text."""

from __future__ import annotations

from dataclasses import replace

from ...definition import Component, Definition

__all__ = ["MARK", "prefix_scheme", "with_prefix", "writes_mark"]

MARK = "▁"


def writes_mark(part: Component) -> bool:
    """Tests whether a component writes `▁`."""
    return part["type"] == "Metaspace" or MARK in (part.get("prepend"), part.get("content"))


def prefix_scheme(definition: Definition) -> str:
    """Returns where `▁` is added: ``"always"``, ``"first"`` or ``"never"``.

    ``"always"``: added tokens split the text into parts, and each part gets a `▁` at its start. ``"first"``: only at
    the start of the whole text.
    """
    for part in definition.pretokenizer:
        if part["type"] == "Metaspace":
            default = "always" if part.get("add_prefix_space", True) else "never"
            return str(part.get("prepend_scheme", default))
    for part in definition.normalizer:
        if part["type"] == "SentencePiece":
            return "always" if part["add_dummy_prefix"] else "never"
        if part["type"] == "Prepend":
            return "always"
    return "never"


def with_prefix(definition: Definition, scheme: str) -> Definition | None:
    """Changes the scheme of adding `▁` (see `prefix_scheme`).

    Returns:
        The changed definition. None if no component replaces spaces by `▁`. Also None if the scheme is ``"first"``
        and this component is a `SentencePiece` normalizer: the normalizer does not support ``"first"``.
    """
    if any(part["type"] == "SentencePiece" for part in definition.normalizer):
        if scheme == "first":
            return None
        parts = tuple(
            {**part, "add_dummy_prefix": scheme == "always"} if part["type"] == "SentencePiece" else part
            for part in definition.normalizer
        )
        return replace(definition, normalizer=parts)
    metaspace = next((part for part in definition.pretokenizer if part["type"] == "Metaspace"), None)
    if metaspace is not None:
        kept = {key: value for key, value in metaspace.items() if key not in ("add_prefix_space", "str_rep")}
        changed = {**kept, "prepend_scheme": scheme, "split": metaspace.get("split", True)}
        parts = tuple(changed if part is metaspace else part for part in definition.pretokenizer)
        return replace(definition, pretokenizer=parts)
    escape = next((part for part in definition.normalizer if part.get("content") == MARK), None)
    if escape is None:
        return None
    without = tuple(part for part in definition.normalizer if part["type"] != "Prepend")
    if scheme == "never":
        return replace(definition, normalizer=without)
    if scheme == "always":
        place = without.index(escape)
        prepend = {"type": "Prepend", "prepend": MARK}
        return replace(definition, normalizer=(*without[:place], prepend, *without[place:]))
    added = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "first", "split": False}
    without = tuple(part for part in without if part is not escape)
    return replace(definition, normalizer=without, pretokenizer=(added, *definition.pretokenizer))

"""Rows → text of one field: JSON Lines, and mappings (rows of `datasets`, or any `dict`).

The core parses blocks of lines. Lines that it cannot parse take the slow path, `json.loads`, which has the final
decision and supplies the error message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from .._core import read_rows
from ..errors import FormatError, JetonError
from .error_policy import ErrorHandler
from .streams import LineBlock

__all__ = ["field_text", "jsonl_texts"]


class _BadRowError(Exception):
    """A row without a text, with the kind of the error."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


def jsonl_texts(
    lines: LineBlock, field: str, name: str, handler: ErrorHandler
) -> tuple[list[bytes], range | list[int]]:
    """The texts of JSON lines, with their line numbers. Blank lines are ignored."""
    texts = read_rows(lines.data, field)
    numbers = range(lines.first, lines.first + len(texts))
    if None not in texts:
        return [text for text in texts if text is not None], numbers
    kept, kept_numbers, offset = [], [], lines.offset
    for number, text, line in zip(numbers, texts, lines.data.split(b"\n"), strict=False):
        looked_at = _look_again(line, number, field, name, handler, offset) if text is None else text
        offset += len(line) + 1
        if looked_at is not None:
            kept.append(looked_at)
            kept_numbers.append(number)
    return kept, kept_numbers


def field_text(row: Mapping[str, object], field: str, source: str, handler: ErrorHandler) -> bytes | None:
    """The text of a row that is a mapping, or None if it is skipped."""
    try:
        text = _text(row, field)
    except _BadRowError as bad:
        handler.skip(bad.kind, source, FormatError(f"{source}: {bad}", format="rows", place=source))
        return None
    return handler.encode(text, source, file="corpus")


def _look_again(line: bytes, number: int, field: str, name: str, handler: ErrorHandler, offset: int) -> bytes | None:
    """Slow path for a line that the core did not parse: blank, valid for Python only, or invalid."""
    source = f"{name}:{number}"
    checked = handler.check(line, source, file=name, offset=offset)
    if checked is None or not checked.strip():
        return None
    text = checked.decode()
    try:
        row = _parse(text.removeprefix("\ufeff") if number == 1 else text)
        found = _text(row, field)
    except _BadRowError as bad:
        error: JetonError = FormatError(f"{source}: {bad}", format="jsonl", place=f"line {number}")
        handler.skip(bad.kind, source, error)
        return None
    return handler.encode(found, source, file=name)


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _BadRowError("not a JSON row", f"not a JSON row ({error})") from None


def _text(row: object, field: str) -> str:
    if not isinstance(row, Mapping):
        raise _BadRowError("not an object", f"the row is a {_json_type(row)}, expected an object")
    value = row.get(field)
    if isinstance(value, str):
        return value
    if field in row:
        words = f"the field {field!r} is a {_json_type(value)}, expected a string"
        raise _BadRowError(f"without a string in {field!r}", words)
    fields = ", ".join(map(repr, list(row)[:8])) or "none"
    words = f"the row has no field {field!r} (it has: {fields}); name the right one with field="
    raise _BadRowError(f"without the field {field!r}", words)


def _json_type(value: object) -> str:
    """Name of a Python value's type in JSON."""
    names = {dict: "object", list: "list", str: "string", bool: "truth value", type(None): "null"}
    return names.get(type(value), "number" if isinstance(value, int | float) else type(value).__name__)

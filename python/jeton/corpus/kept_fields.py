"""`KeptFields`: fields of records, such as ids, URLs and labels, that are stored as JSON with each document.

The name of a field is its key in the record, ``"url"``, or its path, ``"meta.url"`` or ``"tags.0"`` (`fields`). If a
record lacks a field, the stored JSON has no entry for that field. For a document without a record, the stored JSON has
the document's file and number instead.

Python parses each line again, because the core reads only the text. This takes about 4 seconds per gigabyte; encoding
takes 6.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import FormatError
from .error_policy import ErrorHandler
from .fields import MISSING, value_at
from .streams import LineBlock, LinePlace

__all__ = ["KeptFields", "place_json"]

BAD_FIELDS = "fields that cannot be read"


class KeptFields:
    """Fields that a reader keeps of each record.

    Attributes:
        counts: name of a field -> number of records that have it.

    Examples:
        >>> keep = KeptFields(["id", "meta.url", "tag"])
        >>> keep.to_json({"id": 7, "meta": {"url": "https://x.org/ä"}, "text": "…"}).decode()
        '{"id": 7, "meta.url": "https://x.org/ä"}'
        >>> keep.counts
        {'id': 1, 'meta.url': 1, 'tag': 0}
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.counts = dict.fromkeys(names, 0)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def of_lines(
        self, lines: LineBlock, numbers: Sequence[int], file: str, handler: ErrorHandler
    ) -> Iterator[bytes | None]:
        """Yields the kept fields of each line of JSON, or None for a line that is skipped.

        Args:
            lines: the lines.
            numbers: numbers of the lines that have a document.
            file: name of the file, for errors.
            handler: policy for bad records.

        Raises:
            FormatError: Python cannot parse a line, for example a number with thousands of digits.
        """
        rows = lines.data.split(b"\n")
        for number in numbers:
            # Invalid UTF-8 has already been handled when the text was read.
            line = rows[number - lines.first].decode("utf-8", "replace").removeprefix("\ufeff")
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                shown = str(LinePlace(file, number, lines.lines_before))
                message = f"{shown}: its fields cannot be kept ({error})"
                place = f"line {shown.rpartition(':')[2]}"
                handler.skip(BAD_FIELDS, shown, FormatError(message, format="jsonl", place=place))
                yield None
                continue
            yield self.to_json(record)

    def columns(self, schema: Any) -> list[str]:
        """Returns the names of the columns of a table that contain the fields."""
        columns = (name if name in schema.names else name.partition(".")[0] for name in self.counts)
        return list(dict.fromkeys(column for column in columns if schema.names.count(column) == 1))

    def of_table(self, batch: Any, columns: Sequence[str], numbers: Sequence[int], first: int) -> list[bytes]:
        """Returns the fields of the rows `numbers` of an Arrow batch, whose first row has the number `first`."""
        for column in columns:
            batch.column(column).validate(full=True)  # the data may be damaged
        values = [batch.column(column).to_pylist() for column in columns]
        rows = zip(*values, strict=True) if columns else [()] * batch.num_rows
        chosen = set(numbers)
        return [
            self.to_json(dict(zip(columns, row, strict=True)))
            for number, row in enumerate(rows, first)
            if number in chosen
        ]

    def to_json(self, record: object) -> bytes:
        """Returns the fields of a record as one line of JSON. Lone surrogates are escaped."""
        kept = {}
        for name in self.counts:
            value = value_at(record, name)
            if value is not MISSING:
                kept[name] = value
                self.counts[name] += 1
        return json.dumps(kept, ensure_ascii=False, default=_text).encode("utf-8", "backslashreplace")


def place_json(file: str, number: int | None) -> bytes:
    """Returns the JSON of a document without a record: its file, and its number if the file has several documents.

    Examples:
        >>> place_json("a.txt", None), place_json("a.txt", 3)
        (b'{"file": "a.txt"}', b'{"file": "a.txt", "number": 3}')
    """
    place = {"file": file, **({"number": number} if number else {})}
    return json.dumps(place, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _text(value: object) -> str:
    """Converts bytes, a date, a decimal or another value from a table to text, if JSON has no type for the value."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)

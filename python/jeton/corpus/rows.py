"""Rows → text of one field: JSON Lines, Parquet, and mappings (rows of `datasets`, or any `dict`).

The core parses blocks of JSON lines. Lines that it cannot parse take the slow path, `json.loads`, which has the final
decision and supplies the error message.

Parquet is read row group by row group, some rows at a time, in the memory of the pages of one column and of one batch.
pyarrow decodes without its threads, because counting runs at the same time and uses all cores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from .._core import find_invalid_text, read_rows
from ..errors import FormatError, JetonError, MissingDependencyError, UnsupportedFeatureError
from .error_policy import ErrorHandler
from .streams import LineBlock, LinePlace

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column_texts", "field_text", "jsonl_lists", "jsonl_texts"]


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
        if text is None:
            place = LinePlace(name, number, lines.lines_before)
            text = _look_again(line, place, field, name, handler, offset)
        offset += len(line) + 1
        if text is not None:
            kept.append(text)
            kept_numbers.append(number)
    return kept, kept_numbers


def jsonl_lists(
    lines: LineBlock, field: str, name: str, handler: ErrorHandler
) -> tuple[list[bytes], range | list[int]]:
    """The lists of JSON lines, such as conversations, as JSON, with their line numbers. Blank lines are ignored."""
    kept, numbers, offset = [], [], lines.offset
    for number, line in enumerate(lines.data.split(b"\n"), lines.first):
        place = LinePlace(name, number, lines.lines_before)
        found = _look_again(line, place, field, name, handler, offset, _list)
        offset += len(line) + 1
        if found is not None:
            kept.append(found)
            numbers.append(number)
    return kept, numbers


def field_text(row: Mapping[str, object], field: str, source: str, handler: ErrorHandler) -> bytes | None:
    """The text of a row that is a mapping, or None if it is skipped."""
    try:
        text = _text(row, field)
    except _BadRowError as bad:
        handler.skip(bad.kind, source, FormatError(f"{source}: {bad}", format="rows", place=source))
        return None
    return handler.encode(text, source, file="corpus")


def _look_again(
    line: bytes,
    source: LinePlace,
    field: str,
    name: str,
    handler: ErrorHandler,
    offset: int,
    value: Callable[[object, str], str] | None = None,
) -> bytes | None:
    """Slow path for a line that the core did not parse: blank, valid for Python only, or invalid."""
    checked = handler.check(line, source, file=name, offset=offset)
    if checked is None or not checked.strip():
        return None
    text = checked.decode()
    try:
        row = _parse(text.removeprefix("\ufeff") if offset == 0 else text)
        found = (value or _text)(row, field)
    except _BadRowError as bad:
        shown = str(source)
        error: JetonError = FormatError(f"{shown}: {bad}", format="jsonl", place=f"line {shown.rpartition(':')[2]}")
        handler.skip(bad.kind, shown, error)
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
    raise _without(row, field, "string")


def _list(row: object, field: str) -> str:
    """The list of a row, as JSON."""
    if not isinstance(row, Mapping):
        raise _BadRowError("not an object", f"the row is a {_json_type(row)}, expected an object")
    value = row.get(field)
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    raise _without(row, field, "list")


def _without(row: Mapping[str, object], field: str, expected: str) -> _BadRowError:
    """The error of a row whose field is missing, or of another type."""
    if field in row:
        words = f"the field {field!r} is a {_json_type(row[field])}, expected a {expected}"
        return _BadRowError(f"without a {expected} in {field!r}", words)
    fields = ", ".join(map(repr, list(row)[:8])) or "none"
    words = f"the row has no field {field!r} (it has: {fields}); name the right one with field="
    return _BadRowError(f"without the field {field!r}", words)


def _json_type(value: object) -> str:
    """Name of a Python value's type in JSON."""
    names = {dict: "object", list: "list", str: "string", bool: "truth value", type(None): "null"}
    return names.get(type(value), "number" if isinstance(value, int | float) else type(value).__name__)


ROWS_AT_A_TIME = 2048
BUFFER_BYTES = 1 << 20


def column_texts(
    raw: BinaryIO,
    field: str,
    name: str,
    handler: ErrorHandler,
    start: int = 0,
    end: int | None = None,
    conversations: bool = False,
) -> Iterator[tuple[list[bytes], range | list[int], float]]:
    """Yields texts, their row numbers (from 1), and the share of the rows read so far.

    Args:
        raw: the file.
        field: the column.
        name: name of the file, for errors.
        handler: policy for invalid texts.
        start, end: only the row groups whose middle byte is in this range; None: to the end of the file.
        conversations: the column has lists, not texts; yields them as JSON.

    Raises:
        FormatError: corrupt Parquet, a missing column, or a column without text.
        MissingDependencyError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        message = "reading .parquet needs the package pyarrow: pip install 'jeton[data]'"
        raise MissingDependencyError(message, extra="data") from None
    try:
        with pq.ParquetFile(raw, buffer_size=BUFFER_BYTES) as file:
            expected = "list" if conversations else "string"
            _check_column(pa, file.schema_arrow, field, name, expected)
            groups, before, total = _row_groups(file.metadata, start, end)
            if not groups:
                return
            done = 0
            for batch in file.iter_batches(ROWS_AT_A_TIME, row_groups=groups, columns=[field], use_threads=False):
                texts = _json_lists(batch.column(field)) if conversations else _bytes(pa, batch.column(field))
                first = before + done + 1
                numbers = range(first, first + len(texts))
                done += len(texts)
                yield *_valid_texts(texts, numbers, field, name, handler, expected), done / max(1, total)
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedFeatureError(f"{name}: {error}", format="parquet", feature=str(error)) from None
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an I/O error: for corrupt data pyarrow raises OSError without errno
        raise FormatError(f"{name}: corrupt Parquet data ({error})", format="parquet") from None


def _row_groups(metadata: Any, start: int, end: int | None) -> tuple[list[int], int, int]:
    """The row groups whose middle byte is in a range, the number of rows before them, and the number of their rows."""
    if start == 0 and end is None:
        return list(range(metadata.num_row_groups)), 0, metadata.num_rows
    chosen, before, total = [], 0, 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        columns = [group.column(column) for column in range(group.num_columns)]
        begin = min(column.dictionary_page_offset or column.data_page_offset for column in columns)
        middle = begin + sum(column.total_compressed_size for column in columns) // 2
        if start <= middle and (end is None or middle < end):
            chosen.append(index)
            total += group.num_rows
        elif not chosen:
            before += group.num_rows
    return chosen, before, total


def _check_column(pa: Any, schema: pa.Schema, field: str, name: str, expected: str) -> None:
    if schema.names.count(field) != 1:
        found = ", ".join(map(repr, schema.names[:8])) or "none"
        message = f"{name}: no column {field!r} (there are: {found}); name the right one with field="
        raise FormatError(message, format="parquet", place="schema")
    kind = schema.field(field).type
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    looks: tuple[Any, ...] = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
    )
    if expected == "list":
        looks = (pa.types.is_list, pa.types.is_large_list)
    if not any(is_expected(inner) for is_expected in looks):
        message = f"{name}: the column {field!r} is of type {kind}, expected a {expected}"
        raise FormatError(message, format="parquet", place="schema")


def _bytes(pa: Any, column: Any) -> list[bytes | None]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    texts: list[bytes | None] = column.cast(pa.large_binary()).to_pylist()
    return texts


def _json_lists(column: Any) -> list[bytes | None]:
    """The lists of a column, as JSON. Fields of a message that are null, as other messages have them, are left out."""
    rows: list[list[Any] | None] = column.to_pylist()
    return [None if row is None else json.dumps(_without_nulls(row), ensure_ascii=False).encode() for row in rows]


def _without_nulls(value: Any) -> Any:
    """JSON without the fields of objects that are null: a table has each field in each object."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _valid_texts(
    texts: list[bytes | None], numbers: range, field: str, name: str, handler: ErrorHandler, expected: str
) -> tuple[list[bytes], range | list[int]]:
    """The texts that are neither null nor invalid UTF-8, with their row numbers."""
    whole = [text for text in texts if text is not None]
    if len(whole) == len(texts) and find_invalid_text(whole) is None:
        return whole, numbers
    kept, kept_numbers = [], []
    for number, text in zip(numbers, texts, strict=True):
        source = f"{name}:{number}"
        if text is None:
            error = FormatError(
                f"{source}: the field {field!r} is a null, expected a {expected}",
                format="parquet",
                place=f"row {number}",
            )
            handler.skip(f"without a {expected} in {field!r}", source, error)
            continue
        checked = handler.check(text, source, file=name)
        if checked is not None:
            kept.append(checked)
            kept_numbers.append(number)
    return kept, kept_numbers

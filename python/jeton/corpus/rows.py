"""Reads the text of one field of rows: JSON Lines, Parquet, and mappings (rows of `datasets`, or any `dict`).

The core parses blocks of JSON lines. Lines that it cannot parse take the slow path, `json.loads`, which decides whether
a line is valid, and supplies the error message.

Parquet is read one row group at a time, in batches of rows. Memory: the pages of one column, and one batch.
pyarrow decodes without its own threads, because counting runs at the same time and uses all cores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO

from .._core import TextColumn
from ..errors import FormatError, JetonError, UnsupportedFeatureError, named
from ..util.optional import import_optional
from .error_policy import ROW_HINT, ErrorHandler
from .fields import MISSING, ColumnPath, value_at
from .kept_fields import KeptFields
from .paths import is_remote
from .streams import LineBlock, LinePlace

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BATCH_BYTES",
    "BadRowError",
    "arrow_modules",
    "arrow_values",
    "check_column",
    "checked_texts",
    "column_of",
    "column_texts",
    "field_text",
    "has_short_offsets",
    "is_text_type",
    "jsonl_lists",
    "jsonl_texts",
    "list_of",
    "text_of",
    "valid_column",
]

RIGHT_ONE = f"name the right one with {named('field= of jeton.Corpus')}"


class BadRowError(Exception):
    """Error of a row from which no text or list can be read; `kind` is the reason under which the row is counted."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


def jsonl_texts(lines: LineBlock, field: str, name: str, handler: ErrorHandler) -> tuple[TextColumn, range | list[int]]:
    """Returns the texts of JSON lines, with their line numbers. Blank lines are ignored."""
    texts, unread = TextColumn.from_json_rows(lines.data, field)
    numbers = range(lines.first, lines.first + len(texts))
    if not unread:
        return texts, numbers
    rows = lines.data.split(b"\n")
    starts = list(accumulate((len(row) + 1 for row in rows), initial=lines.offset))
    found = [
        _look_again(rows[row], LinePlace(name, numbers[row], lines.lines_before), field, name, handler, starts[row])
        for row in unread
    ]
    skipped = {row for row, text in zip(unread, found, strict=True) if text is None}
    return texts.replaced(unread, found), [number for row, number in enumerate(numbers) if row not in skipped]


def jsonl_lists(lines: LineBlock, field: str, name: str, handler: ErrorHandler) -> tuple[TextColumn, range | list[int]]:
    """Reads lists, such as conversations, from JSON lines; returns them as JSON, with their line numbers.

    Blank lines are ignored.
    """
    kept, numbers, offset = [], [], lines.offset
    for number, line in enumerate(lines.data.split(b"\n"), lines.first):
        place = LinePlace(name, number, lines.lines_before)
        found = _look_again(line, place, field, name, handler, offset, list_of)
        offset += len(line) + 1
        if found is not None:
            kept.append(found)
            numbers.append(number)
    return TextColumn(kept), numbers


def field_text(row: Mapping[str, object], field: str, source: str, handler: ErrorHandler) -> bytes | None:
    """Returns the text of a row that is a mapping; None if the row is skipped."""
    try:
        text = text_of(row, field)
    except BadRowError as bad:
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
    """Reads a line with Python's `json`; returns None if the line is blank or skipped.

    All lines with lists are read in this way. A line with a text is read in this way only if the core did not parse it:
    it is blank, valid only for Python, or invalid.
    """
    checked = handler.check(line, source, file=name, offset=offset)
    if checked is None or not checked.strip():
        return None
    text = checked.decode()
    try:
        row = _parse(text.removeprefix("\ufeff") if offset == 0 else text)
        found = (value or text_of)(row, field)
    except BadRowError as bad:
        shown = str(source)
        error: JetonError = FormatError(f"{shown}: {bad}", format="jsonl", place=f"line {shown.rpartition(':')[2]}")
        handler.skip(bad.kind, shown, error)
        return None
    return handler.encode(found, source, file=name)


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg}: column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise BadRowError("not a JSON row", f"not a JSON row ({reason}); {ROW_HINT}") from None


def text_of(row: object, field: str) -> str:
    """Returns the text of a row.

    Raises:
        BadRowError: the row has no text.
    """
    if not isinstance(row, Mapping):
        raise BadRowError("not an object", f"the row is a {_json_type(row)}, expected an object")
    value = value_at(row, field)
    if isinstance(value, str):
        return value
    raise _without(row, field, value, "string")


def list_of(row: object, field: str) -> str:
    """Returns the list of a row, as JSON.

    Raises:
        BadRowError: the row has no list.
    """
    if not isinstance(row, Mapping):
        raise BadRowError("not an object", f"the row is a {_json_type(row)}, expected an object")
    value = value_at(row, field)
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    raise _without(row, field, value, "list")


def _without(row: Mapping[str, object], field: str, value: object, expected: str) -> BadRowError:
    """Builds the error of a row whose field is missing or has another type."""
    if value is not MISSING:
        words = f"the field {field!r} is a {_json_type(value)}, expected a {expected}"
        return BadRowError(f"without a {expected} in {field!r}", words)
    fields = ", ".join(map(repr, list(row)[:8])) or "none"
    words = f"the row has no field {field!r} (it has: {fields}); {RIGHT_ONE}"
    return BadRowError(f"without the field {field!r}", words)


def _json_type(value: object) -> str:
    """Returns the JSON name of a Python value's type."""
    names = {dict: "object", list: "list", str: "string", bool: "truth value", type(None): "null"}
    return names.get(type(value), "number" if isinstance(value, int | float) else type(value).__name__)


MOST_ROWS = 2048  # maximum number of rows of a batch
BATCH_BYTES = 1 << 20  # size of a batch: its text and ids stay in the CPU cache from decoding to writing
BUFFER_BYTES = 1 << 20


def column_texts(
    raw: BinaryIO,
    field: str,
    name: str,
    handler: ErrorHandler,
    start: int = 0,
    end: int | None = None,
    conversations: bool = False,
    keep: KeptFields | None = None,
) -> Iterator[tuple[TextColumn, range | list[int], float, list[bytes] | None]]:
    """Yields texts, their row numbers (from 1), the share of the rows read so far, and the kept fields of each row.

    Args:
        raw: the file.
        field: the column.
        name: name of the file, for errors.
        handler: policy for invalid texts.
        start, end: range of bytes; a row group is read if its middle byte is in this range. An `end` of None is the
            end of the file.
        conversations: whether the column has lists instead of texts; lists are yielded as JSON.
        keep: fields to keep, which are yielded as JSON; if it is None, the yielded fields are None.

    Raises:
        FormatError: the Parquet is corrupt, or the column is missing or is not of text.
        MissingDependencyError: pyarrow is not installed.
    """
    pa, pq = arrow_modules()
    try:
        size = raw.seek(0, 2)
        # Reading ahead uses threads of pyarrow. If one still holds bytes of a Python file when Python ends, the process
        # aborts (seen with pyarrow 26.0). So only remote files are read ahead, because their reads have a long delay.
        ahead = is_remote(name)
        with pq.ParquetFile(raw, buffer_size=BUFFER_BYTES, pre_buffer=ahead) as file:
            expected = "list" if conversations else "string"
            path = check_column(ColumnPath.find(file.schema_arrow, field), file.schema_arrow, field, name, expected)
            groups, before, total = _row_groups(file.metadata, start, end, size)
            if not groups:
                return
            done = 0
            rows = _rows_at_a_time(file.metadata, groups)
            kept_columns = keep.columns(file.schema_arrow) if keep else []
            read = list(dict.fromkeys([path.dotted, *kept_columns]))
            for batch in file.iter_batches(rows, row_groups=groups, columns=read, use_threads=False):
                column = path.of(batch.column(path.column))
                if conversations:
                    column.validate(full=True)
                    column = pa.array(_json_lists(column), pa.binary())
                first = before + done + 1
                numbers = range(first, first + batch.num_rows)
                done += batch.num_rows
                texts, kept = valid_column(column, numbers, field, name, handler, expected)
                fields = keep.of_table(batch, kept_columns, kept, first) if keep else None
                yield texts, kept, done / max(1, total), fields
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedFeatureError(f"{name}: {error}", format="parquet", feature=str(error)) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # UnicodeDecodeError: a column name is not UTF-8
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an I/O error; for corrupt data, pyarrow raises OSError without errno
        raise FormatError(f"{name}: corrupt Parquet data ({error})", format="parquet") from None


def arrow_modules(suffix: str = ".parquet") -> tuple[Any, Any]:
    """Imports and returns the modules that read Arrow and Parquet.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    parquet = import_optional("pyarrow.parquet", f"reading {suffix}", "data")
    return import_optional("pyarrow", f"reading {suffix}", "data"), parquet


def _row_groups(metadata: Any, start: int, end: int | None, size: int) -> tuple[list[int], int, int]:
    """Returns row groups, the number of rows before them, and the number of rows in them.

    The row groups are those whose middle is in a range of bytes. Positions are computed from the groups' shares of the
    uncompressed bytes. Offsets are not read, because pyarrow's `RowGroupMetaData.column` aborts the process if they are
    damaged (seen with 26.0).
    """
    if start == 0 and end is None:
        return list(range(metadata.num_row_groups)), 0, metadata.num_rows
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    weights = [max(1, group.total_byte_size) for group in groups]
    whole, at = sum(weights), 0
    chosen, before, total = [], 0, 0
    for index, (group, weight) in enumerate(zip(groups, weights, strict=True)):
        middle = size * (2 * at + weight) // (2 * whole)
        at += weight
        if start <= middle and (end is None or middle < end):
            chosen.append(index)
            total += group.num_rows
        elif not chosen:
            before += group.num_rows
    return chosen, before, total


def _rows_at_a_time(metadata: Any, groups: Sequence[int]) -> int:
    """Returns the number of rows to read in one batch, so that the batch has about `BATCH_BYTES`.

    A batch of columns with dictionaries is larger, because the metadata has the size of the encoded values.
    """
    rows = num_bytes = 1
    for index in groups:
        group = metadata.row_group(index)
        num_bytes += group.total_byte_size
        rows += group.num_rows
    return max(1, min(MOST_ROWS, BATCH_BYTES * rows // max(num_bytes, 1)))  # in a damaged file, sizes can be negative


def check_column(
    path: ColumnPath | None, schema: pa.Schema, field: str, name: str, expected: str, format: str = "parquet"
) -> ColumnPath:
    """Checks that a schema has the column of a field, and that the type of its values is the expected one.

    Raises:
        FormatError: the column is missing, or has another type.
    """
    import pyarrow as pa

    if path is None:
        found = ", ".join(map(repr, schema.names[:8])) or "none"
        message = f"{name}: no column {field!r} (there are: {found}); {RIGHT_ONE}"
        raise FormatError(message, format=format, place="schema")
    is_list = pa.types.is_list(path.type) or pa.types.is_large_list(path.type)
    if not (is_list if expected == "list" else is_text_type(path.type)):
        message = f"{name}: the column {field!r} is of type {path.type}, expected a {expected}"
        raise FormatError(message, format=format, place="schema")
    return path


def is_text_type(kind: Any) -> bool:
    """Tests for an Arrow type of strings or bytes, or of a dictionary of strings or bytes."""
    import pyarrow.types as types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    return any(
        is_text(inner) for is_text in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _json_lists(column: Any) -> list[bytes | None]:
    """Returns the lists of a column as JSON, without null fields, which Arrow adds to messages that lack a field."""
    rows: list[list[Any] | None] = column.to_pylist()
    return [None if row is None else json.dumps(_without_nulls(row), ensure_ascii=False).encode() for row in rows]


def _without_nulls(value: Any) -> Any:
    """Removes null fields from the objects of a JSON value. Arrow adds them to objects that lack a field."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def valid_column(
    column: Any, numbers: range, field: str, name: str, handler: ErrorHandler, expected: str
) -> tuple[TextColumn, range | list[int]]:
    """Returns the texts of a column that are valid UTF-8 and not null, with their row numbers."""
    column = checked_texts(column)
    texts = column_of(column, borrow=True) if column.null_count == 0 else None
    if texts is not None:
        return texts, numbers
    kept, kept_numbers = [], []
    for number, text in zip(numbers, column.to_pylist(), strict=True):
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
    return TextColumn(kept), kept_numbers


def has_short_offsets(kind: Any) -> bool:
    """Tests for an Arrow type of strings or bytes whose offsets have 32 bits, not 64."""
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_binary(kind))


def arrow_values(table: Any, field: str) -> list[Any]:
    """Returns the values of a column of a dataset's Arrow table, as Python objects.

    Raises:
        FormatError: the data is not valid.
    """
    import pyarrow as pa

    try:
        column = table.column(field)
        column.validate(full=True)
        values: list[Any] = column.to_pylist()
    except pa.ArrowException as error:
        raise FormatError(f"the dataset has Arrow data that is not valid ({error})", format="arrow") from None
    return values


def checked_texts(array: Any) -> Any:
    """Checks an Arrow array of strings or bytes; returns its values as bytes, also if they are stored in a dictionary.

    Offsets and indices are checked, because they can be invalid in Arrow data that comes from a file or from another
    process. This function does not check that the values are UTF-8; `column_of` does.

    Raises:
        pyarrow.ArrowInvalid: an offset or an index is out of range, or a buffer is too short.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        values, indices = checked_texts(array.dictionary), array.indices
        indices.validate(full=True)
        return pa.DictionaryArray.from_arrays(indices, values).dictionary_decode()  # checks the indices
    array = array.view(pa.binary() if has_short_offsets(array.type) else pa.large_binary())
    array.validate(full=True)
    return array


def column_of(array: Any, *, borrow: bool = False) -> TextColumn | None:
    """Returns the values of an Arrow array; None if a value is not UTF-8.

    Args:
        array: result of `checked_texts`, which must not contain nulls.
        borrow: use the memory of the array instead of a copy; only allowed if no other code has access to the array.
    """
    import numpy as np

    if not len(array):
        return TextColumn([])
    _, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, "<i4" if has_short_offsets(array.type) else "<i8")
    offsets = offsets[array.offset : array.offset + len(array) + 1].astype("<i8")
    start, end = int(offsets[0]), int(offsets[-1])
    values = memoryview(data.slice(start, end - start)).cast("B") if end > start else b""
    return TextColumn.from_arrow(values, (offsets - start).data.cast("B"), borrow=borrow)

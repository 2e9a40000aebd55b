"""Parquet → text of one column, row group by row group, some rows at a time.

Memory: the pages of one column of one row group, and the rows of a batch. pyarrow decodes without its threads, because
counting runs at the same time and uses all cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from .._core import find_invalid_text
from ..errors import FormatError, MissingDependencyError, UnsupportedFeatureError
from .error_policy import ErrorHandler

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column_texts"]

ROWS_AT_A_TIME = 2048
BUFFER_BYTES = 1 << 20


def column_texts(
    raw: BinaryIO, field: str, name: str, handler: ErrorHandler
) -> Iterator[tuple[list[bytes], range | list[int], float]]:
    """Yields texts, their row numbers (from 1), and the share of the file read so far.

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
            _check_column(pa, file.schema_arrow, field, name)
            total, done = max(1, file.metadata.num_rows), 0
            for batch in file.iter_batches(ROWS_AT_A_TIME, columns=[field], use_threads=False):
                texts = _bytes(pa, batch.column(field))
                numbers = range(done + 1, done + 1 + len(texts))
                done += len(texts)
                yield *_valid_texts(texts, numbers, field, name, handler), done / total
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedFeatureError(f"{name}: {error}", format="parquet", feature=str(error)) from None
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an I/O error: for corrupt data pyarrow raises OSError without errno
        raise FormatError(f"{name}: corrupt Parquet data ({error})", format="parquet") from None


def _check_column(pa: Any, schema: pa.Schema, field: str, name: str) -> None:
    if schema.names.count(field) != 1:
        found = ", ".join(map(repr, schema.names[:8])) or "none"
        message = f"{name}: no column {field!r} (there are: {found}); name the right one with field="
        raise FormatError(message, format="parquet", place="schema")
    kind = schema.field(field).type
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    looks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if not any(is_text(inner) for is_text in looks):
        message = f"{name}: the column {field!r} is of type {kind}, expected a string"
        raise FormatError(message, format="parquet", place="schema")


def _bytes(pa: Any, column: Any) -> list[bytes | None]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    texts: list[bytes | None] = column.cast(pa.large_binary()).to_pylist()
    return texts


def _valid_texts(
    texts: list[bytes | None], numbers: range, field: str, name: str, handler: ErrorHandler
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
                f"{source}: the field {field!r} is a null, expected a string", format="parquet", place=f"row {number}"
            )
            handler.skip(f"without a string in {field!r}", source, error)
            continue
        checked = handler.check(text, source, file=name)
        if checked is not None:
            kept.append(checked)
            kept_numbers.append(number)
    return kept, kept_numbers

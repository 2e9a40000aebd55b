"""`encode_arrow`: converts a column of texts in Arrow data to a column of ids, without a Python object per text.

For pipelines that process Arrow batches: Ray Data's ``map_batches(batch_format="pyarrow")``, PySpark's ``mapInArrow``,
``datasets`` in Arrow format, plain pyarrow. To pickle the function with its arguments, use `functools.partial`.

Lists have 32-bit offsets. So a table gets chunks of less than 2^31 ids each. A record batch with more ids is an error,
unless ``large_list=True`` selects 64-bit offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..corpus.rows import checked_texts, column_of, has_short_offsets, is_text_type
from ..errors import ConfigError, FormatError, InvalidTextError, keyword
from ..shards.planning import added_id
from ..tokenizer import Tokenizer
from ..util.arguments import (
    flag,
    instance,
    string,
    strings,
    wrong,
)
from ..util.optional import import_optional
from ..util.threads import num_threads

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["encode_arrow"]

MAX_OFFSET = (1 << 31) - 1
# Bytes of text that are encoded at a time. This much text gives far fewer than 2^31 ids, the limit of a list array.
SLICE_BYTES = 1 << 28


def encode_arrow(
    batch: Any,
    tok: Tokenizer,
    column: str = "text",
    *,
    output: str = "input_ids",
    keep: Sequence[str] = (),
    append_eos: bool | str = False,
    prepend_bos: bool | str = False,
    large_list: bool = False,
    threads: int | None = None,
) -> Any:
    """Encodes a column of texts. Spellings of special tokens are ordinary text; the template is not applied.

    Args:
        batch: a `pyarrow.RecordBatch`, a `pyarrow.Table`, or an iterator of record batches, as `mapInArrow` passes.
        tok: the tokenizer.
        column: name of the column, of type string or binary; each value is UTF-8. A null stays null.
        output: name of the column of ids, ``list<int32>``.
        keep: names of input columns to copy into the result, before the column of ids.
        append_eos: after each text, add the id of the role `eos` (True) or of the special token with this spelling.
        prepend_bos: before each text, add the id of the role `bos` (True) or of the special token with this spelling.
        large_list: make the column of ids a ``large_list<int32>``, with 64-bit offsets.
        threads: number of threads; None means RAYON_NUM_THREADS, or all cores.

    Returns:
        The same kind of object as `batch`, with the columns `keep` and `output`; one row for each input row.

    Raises:
        ConfigError: `batch` has another type, the vocabulary has ids over 2^31 - 1, or a role or special token is
            unknown.
        FormatError: a column is missing or has no text, a record batch has 2^31 ids or more, or Arrow data is not valid
            (for example, offsets are out of range).
        InvalidTextError: a text is not UTF-8, or the tokenizer cannot encode it; the error has the row.
        MissingDependencyError: pyarrow is not installed.

    Examples:
        >>> import jeton, pyarrow as pa
        >>> batch = pa.record_batch({"id": [7, 8], "text": ["to be", None]})
        >>> tok = jeton.default()
        >>> found = encode_arrow(batch, tok, keep=["id"])
        >>> found.schema.names, tok.decode(found["input_ids"][0].as_py()), found["input_ids"][1].as_py()
        (['id', 'input_ids'], 'to be', None)
    """
    pa = import_optional("pyarrow", "encode_arrow", "data")
    encoder = ArrowEncoder(tok, column, output, keep, append_eos, prepend_bos, large_list, threads)
    if isinstance(batch, pa.RecordBatch):
        return encoder.batch(batch)
    if isinstance(batch, pa.Table):
        return encoder.table(batch)
    if isinstance(batch, Iterator):
        return map(encoder.batch, batch)
    raise wrong("batch", batch, "a pyarrow RecordBatch or Table, or an iterator of record batches")


class ArrowEncoder:
    """Encoder of Arrow data. Its constructor checks the arguments of a call."""

    def __init__(
        self,
        tok: Tokenizer,
        column: str,
        output: str,
        keep: Sequence[str],
        append_eos: bool | str,
        prepend_bos: bool | str,
        large_list: bool,
        threads: int | None,
    ) -> None:
        instance(tok, "tok", Tokenizer, "a Tokenizer")
        self._pa = import_optional("pyarrow", "encode_arrow", "data")
        self._tok, self._threads = tok, num_threads(threads)
        self._column, self._output = string(column, "column"), string(output, "output")
        self._keep = strings(keep, "keep")
        if self._output in self._keep or len(set(self._keep)) < len(self._keep):
            raise ConfigError(f"{keyword('keep', self._keep)} names a column twice, or the output {output!r}")
        ids = added_id(tok, "bos", prepend_bos, "prepend_bos"), added_id(tok, "eos", append_eos, "append_eos")
        self._before, self._after = ([] if id is None else [id] for id in ids)
        if tok.vocab_size > MAX_OFFSET:
            raise ConfigError(f"the tokenizer has ids up to {tok.vocab_size - 1:,}, beyond int32", option="tok")
        self._is_large = flag(large_list, "large_list")

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Encodes a record batch."""
        with _valid_arrow():
            return self._batch(batch)

    def _batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._check(batch)
        parts = self._encoded(batch.column(self._column), 0)
        if not self._is_large and sum(len(part.values) for part in parts) > MAX_OFFSET:
            message = (
                f"a record batch has 2^31 ids or more; pass {keyword('large_list', True)}, a table, or smaller batches"
            )
            raise FormatError(message, format="arrow")
        ids = parts[0] if len(parts) == 1 else self._pa.concat_arrays(parts)
        columns = [*(batch.column(name) for name in self._keep), ids]
        return self._pa.record_batch(columns, schema=self._schema(batch.schema))

    def table(self, table: pa.Table) -> pa.Table:
        """Encodes a table, in chunks."""
        with _valid_arrow():
            return self._table(table)

    def _table(self, table: pa.Table) -> pa.Table:
        self._check(table)
        parts, first = [], 0
        for chunk in table.column(self._column).chunks:
            parts += self._encoded(chunk, first)
            first += len(chunk)
        schema = self._schema(table.schema)
        ids = self._pa.chunked_array(parts, schema.field(self._output).type)
        return self._pa.table([*(table.column(name) for name in self._keep), ids], schema=schema)

    def _schema(self, schema: pa.Schema) -> pa.Schema:
        """Returns the schema of the result, with the metadata of the input's columns."""
        make = self._pa.large_list if self._is_large else self._pa.list_
        fields = [schema.field(name) for name in self._keep]
        return self._pa.schema([*fields, self._pa.field(self._output, make(self._pa.int32()))])

    def _check(self, data: pa.RecordBatch | pa.Table) -> None:
        """Checks that the columns exist and have the right types, and that the data of columns to keep is valid."""
        schema = data.schema
        for name in (self._column, *self._keep):
            if schema.names.count(name) != 1:
                found = ", ".join(map(repr, schema.names[:8])) or "none"
                option = "column" if name == self._column else "keep"
                message = (
                    f"the batch has no column {name!r}, or two (there are: {found}); name the right one with "
                    f"{keyword(option)}"
                )
                raise FormatError(message, format="arrow", place="schema")
        kind = schema.field(self._column).type
        if not is_text_type(kind):
            message = f"the column {self._column!r} is of type {kind}, expected a string"
            raise FormatError(message, format="arrow", place="schema")
        data.validate()
        for name in self._keep:
            column = data.column(name)
            for array in column.chunks if isinstance(data, self._pa.Table) else (column,):
                if is_text_type(array.type):
                    checked_texts(array)
                else:
                    array.validate(full=True)

    def _encoded(self, texts: Any, first: int) -> list[Any]:
        """Encodes an array in slices of about `SLICE_BYTES`; `first` is the number of rows before the array."""
        pa, texts = self._pa, checked_texts(texts)
        if texts.null_count:
            texts = texts.cast(pa.large_binary())  # imports pyarrow.compute, which takes 60 ms
        if not len(texts):
            return [self._slice(texts, first)]
        offset_type = "<i4" if has_short_offsets(texts.type) else "<i8"
        ends = np.frombuffer(texts.buffers()[1], offset_type)[texts.offset + 1 : texts.offset + len(texts) + 1]
        parts, start = [], 0
        while start < len(texts):
            base = int(ends[start - 1]) if start else int(ends[0])
            end = max(start + 1, int(np.searchsorted(ends, base + SLICE_BYTES, "right")))
            parts.append(self._slice(texts.slice(start, end - start), first + start))
            start = end
        return parts

    def _slice(self, texts: Any, first: int) -> Any:
        """Encodes an array of texts to an array of lists. An array with nulls must have the type large_binary."""
        pa = self._pa
        nulls = texts.is_null() if texts.null_count else None
        found = column_of(texts if nulls is None else texts.fill_null(b""))
        if found is None:
            raise self._invalid(texts, first)
        try:
            ids, lengths, _, _ = self._tok._core.encode_columns(
                [found],
                "int32",
                self._threads,
                before=self._before,
                after=self._after,
                drops_empty=False,
            )
        except InvalidTextError as error:
            row = first + (error.index or 0)
            raise InvalidTextError(f"row {row}: {error}", position=error.position, source=f"row {row}") from None
        counts, values = np.frombuffer(lengths, "<i8"), np.frombuffer(ids, "<i4")
        if nulls is not None and self._before + self._after:  # nulls have neither bos nor eos
            is_null = nulls.to_numpy(zero_copy_only=False)
            values = values[~np.repeat(is_null, counts)]
            counts = np.where(is_null, 0, counts)
        if len(values) > MAX_OFFSET and not self._is_large:
            raise FormatError(f"one text has 2^31 ids or more; pass {keyword('large_list', True)}", format="arrow")
        offsets = np.zeros(len(counts) + 1, np.int64 if self._is_large else np.int32)
        np.cumsum(counts, out=offsets[1:])
        make = pa.LargeListArray if self._is_large else pa.ListArray
        return make.from_arrays(pa.array(offsets), pa.array(values), mask=nulls)

    def _invalid(self, texts: Any, first: int) -> InvalidTextError:
        """Returns the error for the first text that is not UTF-8."""
        for row, text in enumerate(texts.cast(self._pa.large_binary()), first):
            try:
                (text.as_py() or b"").decode()
            except UnicodeDecodeError as error:
                message = f"row {row}: byte {error.start} is not valid UTF-8"
                return InvalidTextError(message, position=error.start, source=f"row {row}")
        return InvalidTextError("a text is not valid UTF-8")


@contextmanager
def _valid_arrow() -> Iterator[None]:
    """Turns the errors of Arrow's validation into a `FormatError`."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, UnicodeDecodeError) as error:  # UnicodeDecodeError: a column's name is not UTF-8
        raise FormatError(f"the Arrow data is not valid ({error})", format="arrow") from None

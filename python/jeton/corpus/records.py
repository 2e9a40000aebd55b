"""Reads records of formats that must be read from the beginning: JSON arrays, CSV, Arrow, tars of WebDataset.

Each function yields documents in groups of about a megabyte, with their numbers. Memory: one group and one record. The
maximum size of a record is 256 MiB.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, TypeAlias, cast

from .._core import TextColumn
from ..errors import FormatError, JetonError, UnsupportedFeatureError
from .error_policy import ErrorHandler
from .fields import ColumnPath
from .kept_fields import KeptFields, place_json
from .rows import BATCH_BYTES, RIGHT_ONE, BadRowError, arrow_modules, check_column, list_of, text_of, valid_column
from .streams import LONGEST_LINE, check_size, decoded

__all__ = ["Group", "arrow_texts", "csv_header", "csv_texts", "json_texts", "tar_texts"]

# Documents, the number of each document, and the kept fields of each document's record.
Group: TypeAlias = tuple[TextColumn, Sequence[int], Sequence[bytes] | None]
Read: TypeAlias = tuple[int, bytes | None, object]  # number, text (None if it is skipped), record

READ_BYTES = 1 << 18
BLOCK = 512  # size in bytes of a block of a tar


def json_texts(
    stream: BinaryIO,
    field: str,
    name: str,
    handler: ErrorHandler,
    conversations: bool = False,
    keep: KeptFields | None = None,
) -> Iterator[Group]:
    """Yields the texts of the objects in a JSON array, with their numbers from 1.

    Raises:
        FormatError: the array is not valid JSON; the objects before the invalid place are yielded first.

    Examples:
        >>> array = io.BytesIO(b'[{"text": "a"},\\n {"text": "b"}]')
        >>> [texts.to_list() for texts, numbers, _ in json_texts(array, "text", "a.json", ErrorHandler("strict"))]
        [[b'a', b'b']]
    """
    return _grouped(_array_texts(stream, field, name, handler, list_of if conversations else text_of), name, keep)


def _array_texts(
    stream: BinaryIO, field: str, name: str, handler: ErrorHandler, value: Callable[[object, str], str]
) -> Iterator[Read]:
    for number, row in enumerate(_items(stream, name), 1):
        yield number, _row_text(row, field, f"{name}:{number}", name, handler, value), row


def _row_text(
    row: object, field: str, source: str, file: str, handler: ErrorHandler, value: Callable[[object, str], str]
) -> bytes | None:
    """Returns the text of a row as bytes; None if the row is skipped.

    In the strings of `row`, invalid UTF-8 bytes are lone surrogates (``surrogateescape``).
    """
    try:
        text = value(row, field)
    except BadRowError as bad:
        handler.skip(bad.kind, source, FormatError(f"{source}: {bad}", format="rows", place=source))
        return None
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that is escaped in the JSON
        return handler.encode(text, source, file=file)
    return handler.check(data, source, file=file)


def _items(stream: BinaryIO, name: str) -> Iterator[object]:
    """Yields the items of a JSON array, decoded one by one."""
    text = _JsonText(stream, name)
    if text.peek() != "[":
        raise text.error("it does not begin with a bracket")
    text.at += 1
    mark = text.peek()
    while mark != "]":
        yield text.item()
        mark = text.peek()
        if mark not in (",", "]"):
            raise text.error("expected a comma" if mark else "it ends too early")
        text.at += mark == ","
    text.at += 1
    if text.peek():
        raise text.error("unexpected data after its end")


_space = re.compile(r"[ \t\r\n]*")
# A JSON error can be due to an incomplete value if its message begins with UNFINISHED, or if its position is less than
# NEAR_END characters before the end of the text that has been read.
UNFINISHED, NEAR_END = "Unterminated string", 16


class _JsonText:
    """JSON text that is read from a stream as needed. Lone surrogates stand for bytes that are not UTF-8."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._decode = json.JSONDecoder().raw_decode
        self._to_text = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._held, self._before, self._is_last = "", 0, False
        self.at = 0

    def peek(self) -> str:
        """Returns the next character that is not white space, without consuming it; an empty text at the end."""
        while True:
            self.at = _space.match(self._held, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self._held) or self._is_last:
                return self._held[self.at : self.at + 1]
            self._read(READ_BYTES)

    def item(self) -> object:
        """Decodes and consumes the next value."""
        self.peek()
        while True:
            try:
                value, end = self._decode(self._held, self.at)
                if end < len(self._held) or self._is_last:  # else a number may continue in text that is not yet read
                    self.at = end
                    return value
            except RecursionError as error:
                raise self.error(str(error)) from None
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith(UNFINISHED) or error.pos > len(self._held) - NEAR_END
                if self._is_last or not is_cut:
                    raise self.error(error.msg, error.pos) from None
            unread = len(self._held) - self.at
            check_size(unread, f"{self._name}: character {self._before + self.at}", LONGEST_LINE)
            # The unread text grows geometrically, so all attempts to decode a value together take linear time.
            self._read(max(READ_BYTES, unread))

    def error(self, words: str, at: int | None = None) -> FormatError:
        """Builds the error for text that is not a JSON array, with the position of the invalid character."""
        place = f"character {self._before + (self.at if at is None else at)}"
        message = f"{self._name}: not a valid array of JSON, at {place} ({words})"
        return FormatError(message, format="json", place=place)

    def _read(self, size: int) -> None:
        data = self._stream.read(size)
        self._is_last = not data
        self._before += self.at
        self._held, self.at = self._held[self.at :] + self._to_text(data, self._is_last), 0


def csv_header(stream: BinaryIO, delimiter: str) -> list[str]:
    """Returns the names of the columns of a CSV from its first row; empty if that row is missing or invalid.

    Examples:
        >>> csv_header(io.BytesIO(b'id,"text"\\n1,a\\n'), ",")
        ['id', 'text']
    """
    try:
        return next(_csv_rows(stream, delimiter), [])
    except csv.Error:
        return []


def csv_texts(
    stream: BinaryIO, field: str, name: str, handler: ErrorHandler, delimiter: str, keep: KeptFields | None = None
) -> Iterator[Group]:
    """Yields the texts of a column of a CSV with a header, each with the number of its first line.

    Quotes are parsed as in RFC 4180: a quoted value can contain line ends. Blank lines are ignored.

    Raises:
        FormatError: there is no such column, or quotes are invalid; all rows before the error are yielded first.

    Examples:
        >>> rows = io.BytesIO(b'id,text\\n1,"a\\nb"\\n2,c\\n')
        >>> [group] = csv_texts(rows, "text", "a.csv", ErrorHandler("strict"), ",", KeptFields(["id"]))
        >>> group[0].to_list(), group[1], group[2]
        ([b'a\\nb', b'c'], [2, 4], [b'{"id": "1"}', b'{"id": "2"}'])
    """
    return _grouped(_csv_texts(stream, field, name, handler, delimiter), name, keep)


def _csv_texts(stream: BinaryIO, field: str, name: str, handler: ErrorHandler, delimiter: str) -> Iterator[Read]:
    rows = _csv_rows(stream, delimiter)
    try:
        header = next(rows, None)
        if header is None:
            return
        if header.count(field) != 1:
            found = ", ".join(map(repr, header[:8]))
            message = f"{name}: no column {field!r} (there are: {found}); {RIGHT_ONE}"
            raise FormatError(message, format="csv", place="schema")
        column, line = header.index(field), rows.line_num + 1
        for row in rows:
            source, number, line = f"{name}:{line}", line, rows.line_num + 1
            if not row:
                continue
            if len(row) != len(header):
                words = f"{source}: {len(row)} values, but the header has {len(header)}"
                handler.skip("without a value for each column", source, FormatError(words, format="csv", place=source))
                continue
            text = handler.check(row[column].encode("utf-8", "surrogateescape"), source, file=name)
            yield number, text, dict(zip(header, row, strict=True))
    except csv.Error as error:
        place = f"line {rows.line_num}"
        raise FormatError(f"{name}:{rows.line_num}: not valid CSV ({error})", format="csv", place=place) from None


def _csv_rows(stream: BinaryIO, delimiter: str) -> Any:
    # The limit is global for the process. It is never lowered, because the program may have set a higher limit.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    return csv.reader(_csv_lines(stream), delimiter=delimiter, strict=True)


def _csv_lines(stream: BinaryIO) -> Iterator[str]:
    buffered = io.BufferedReader(cast(Any, _Kept(stream)), READ_BYTES)
    text = io.TextIOWrapper(buffered, "utf-8-sig", "surrogateescape", newline="")
    while line := text.readline(LONGEST_LINE):
        check_size(len(line) + 1, "a line of CSV", LONGEST_LINE)
        yield line


class _Kept(io.RawIOBase):
    """Stream that stays open when its wrapper is closed."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        target = memoryview(buffer).cast("B")
        data = self._stream.read(len(target))
        target[: len(data)] = data
        return len(data)


def arrow_texts(
    raw: BinaryIO,
    field: str,
    name: str,
    handler: ErrorHandler,
    conversations: bool = False,
    keep: KeptFields | None = None,
) -> Iterator[Group]:
    """Yields the texts of a column of an Arrow IPC file or stream, with their row numbers from 1.

    Args:
        raw: a stream; for an IPC file, it must be able to seek.
        field, name, handler, conversations, keep: as for `rows.column_texts`.

    Raises:
        FormatError: corrupt data, a missing column, or a column without text.
        MissingDependencyError: pyarrow is not installed.
    """
    pa, _ = arrow_modules(".arrow")
    expected = "list" if conversations else "string"
    try:
        is_file = raw.seekable() and raw.read(6) == b"ARROW1"
        if raw.seekable():
            raw.seek(0)
        reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(raw)
        path = check_column(ColumnPath.find(reader.schema, field), reader.schema, field, name, expected, "arrow")
        batches: Iterable[Any] = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        before, kept_columns = 0, keep.columns(reader.schema) if keep else []
        for batch in batches:
            column = path.of(batch.column(reader.schema.get_field_index(path.column)))
            rows = max(1, BATCH_BYTES * len(column) // max(column.nbytes, 1))
            for start in range(0, len(column), rows):
                part = column.slice(start, rows)
                numbers = range(before + start + 1, before + start + len(part) + 1)
                texts, kept = valid_column(part, numbers, field, name, handler, expected)
                rows_of = batch.slice(start, rows)
                yield texts, kept, keep.of_table(rows_of, kept_columns, kept, numbers.start) if keep else None
            before += len(column)
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedFeatureError(f"{name}: {error}", format="arrow", feature=str(error)) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise FormatError(f"{name}: corrupt Arrow data ({error})", format="arrow") from None


def tar_texts(
    stream: BinaryIO,
    field: str,
    name: str,
    handler: ErrorHandler,
    unread: Callable[[str, str], object],
    encoding: str = "utf-8",
    conversations: bool = False,
    keep: KeptFields | None = None,
) -> Iterator[Group]:
    """Yields the texts of a tar in WebDataset's form, with their numbers from 1.

    A sample consists of consecutive members whose names are equal up to the first dot. Its text is the member ``.txt``
    or, if there is none, the field of the member ``.json``.

    Args:
        stream: the archive. If the stream can seek, long members without a text are skipped by seeking.
        field, name, handler, conversations: as for `json_texts`.
        unread: called with the suffix and the name of each member that is not read.
        encoding: encoding of ``.txt``.
        keep: fields of the sample's ``.json`` to keep.

    Raises:
        FormatError: the archive has no member ``.txt`` or ``.json``, or is damaged. All samples before the damage are
            yielded first.
    """
    keeps = keep is not None and bool(keep)
    return _grouped(_tar_texts(stream, field, name, handler, unread, encoding, conversations, keeps), name, keep)


def _tar_texts(
    stream: BinaryIO,
    field: str,
    name: str,
    handler: ErrorHandler,
    unread: Callable[[str, str], object],
    encoding: str,
    conversations: bool,
    keeps: bool,
) -> Iterator[Read]:
    number, key = 0, ""
    sample: dict[str, bytes] = {}  # suffix -> content, for the members of the current sample

    def document() -> Iterator[Read]:
        nonlocal number
        if not sample:
            return
        number += 1
        suffix = ".txt" if ".txt" in sample and not conversations else ".json"
        if suffix not in sample:
            unread(".txt", f"{key}.txt")
            return
        if suffix == ".txt" and ".json" in sample and not keeps:
            unread(".json", f"{key}.json")
        source = f"{name}/{key}{suffix}"
        row: object = None
        if ".json" in sample and (suffix == ".json" or keeps):
            try:
                row = json.loads(sample[".json"].decode("utf-8-sig", "surrogateescape"))
            except (ValueError, RecursionError) as error:
                place = f"{name}/{key}.json"
                wrong = FormatError(f"{place}: not a JSON row ({error})", format="json", place=place)
                handler.skip("not a JSON row", place, wrong)
                return
        if suffix == ".txt":
            data = sample[suffix]
            if encoding != "utf-8":
                data = decoded(data, encoding, source, handler)
            yield number, handler.check(data, source, file=name), row
            return
        yield number, _row_text(row, field, source, name, handler, list_of if conversations else text_of), row

    for member, read in _members(stream, name):
        folder, slash, base = member.name.rpartition("/")
        stem, dot, suffix = base.partition(".")
        if folder + slash + stem != key:
            yield from document()
            sample, key = {}, folder + slash + stem
        suffix = dot + suffix.lower()
        if member.isdir():
            continue
        if not member.isreg() or suffix not in (".txt", ".json"):
            unread(suffix or "without suffix", member.name)
            continue
        if suffix in sample:
            words = f"{name}: the member {member.name} appears twice"
            raise FormatError(words, format="tar", place=f"byte {member.offset}")
        check_size(member.size, f"{name}/{member.name}", LONGEST_LINE)
        sample[suffix] = read()
    yield from document()
    if not number:
        raise FormatError(f"{name}: a tar without members .txt or .json", format="tar", place="members")


class _Member(tarfile.TarInfo):
    """Member of a tar; records whether the archive has an end marker, so that truncation is detected."""

    @classmethod
    def fromtarfile(cls, archive: Any) -> Any:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            archive.is_complete = True
            raise


def _members(stream: BinaryIO, name: str) -> Iterator[tuple[tarfile.TarInfo, Callable[[], bytes]]]:
    """Yields the members of a tar, each with a function that reads its content."""
    forward = _Forward(stream)

    def fail(words: object) -> FormatError:
        place = f"byte {forward.tell()}"
        return FormatError(f"{name}: corrupt tar, at {place} ({words})", format="tar", place=place)

    def read(member: tarfile.TarInfo) -> bytes:
        try:
            data = archive.extractfile(member)
            content = b"" if data is None else data.read()
        except tarfile.TarError as error:
            raise fail(error) from None
        if len(content) < member.size:
            raise fail("it ends too early")
        return content

    try:
        archive = tarfile.TarFile(fileobj=cast(Any, forward), mode="r", tarinfo=_Member)
        while (member := archive.next()) is not None:
            yield member, partial(read, member)
            archive.members = []  # type: ignore[attr-defined]  # otherwise it keeps all members in memory
    except JetonError:
        raise
    except (tarfile.TarError, ValueError, OverflowError, IndexError) as error:
        raise fail(error) from None
    if not getattr(archive, "is_complete", False):
        raise fail("its end is missing: it is truncated or damaged")
    while data := forward.read(READ_BYTES):
        if data.strip(b"\0"):
            raise fail("there is more data after its end; archives that were concatenated are not supported")


class _Forward:
    """File object for `tarfile` over any stream, including streams that cannot seek.

    `tarfile` computes the positions of seeks from sizes in the archive, which may be damaged. So a seek by more than
    one block back is an error, and a seek forward does not hold the skipped data in memory.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._position, self._ahead, self._last = stream, 0, b"", b""
        self._seeks = stream.seekable()

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> None:
        step = position - self._position
        if step < 0:
            if -step > len(self._last):
                raise tarfile.ReadError("an offset that goes back")
            self._ahead = self._last[step:] + self._ahead
            self._last = self._last[:step]
            self._position = position
            return
        skipped = min(step, len(self._ahead))
        self.read(skipped)
        step -= skipped
        if self._seeks and step > READ_BYTES:
            self._stream.seek(step - BLOCK, io.SEEK_CUR)
            self._position += step - BLOCK
            step = BLOCK
        while step > 0 and (data := self.read(min(step, READ_BYTES))):
            step -= len(data)

    def read(self, size: int) -> bytes:
        parts = []
        while size > 0:
            data = self._ahead[:size]
            self._ahead = self._ahead[size:] if data else b""
            data = data or self._stream.read(min(size, READ_BYTES))
            if not data:
                break
            parts.append(data)
            size -= len(data)
            self._position += len(data)
            self._last = (self._last + data)[-BLOCK:]
        return b"".join(parts)


def _grouped(texts: Iterator[Read], name: str, keep: KeptFields | None) -> Iterator[Group]:
    """Yields the documents that are not skipped, in groups of about a megabyte.

    If reading `texts` raises an error, the documents read before it are yielded first.
    """
    failed: Exception | None = None
    while failed is None:
        group: list[bytes] = []
        numbers: list[int] = []
        fields: list[bytes] | None = [] if keep else None
        size = 0
        try:
            for number, text, record in texts:
                if text is not None:
                    group.append(text)
                    numbers.append(number)
                    if keep and fields is not None:
                        fields.append(place_json(name, number) if record is None else keep.to_json(record))
                    size += len(text) + 64
                if size >= BATCH_BYTES:
                    break
            else:
                if group:
                    yield TextColumn(group), numbers, fields
                return
        except Exception as error:
            failed = error
        if group:
            yield TextColumn(group), numbers, fields
    raise failed

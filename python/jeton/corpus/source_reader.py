"""Reads each kind of source in chunks: files, streams, iterables of documents or rows, and `datasets`.

The kind of a file (`kinds`) determines its reader.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from os import PathLike
from os.path import isfile
from typing import Any, BinaryIO, cast

from .._core import TextColumn
from ..errors import ConfigError, FormatError, UnsupportedFeatureError, named
from ..util.compression import MAX_EXPANSION, decompressed, position, split_suffix
from ..util.lazy import cached_property
from ..util.threads import num_threads
from .batches import DocumentChunk, PrefetchQueue
from .corpus import Corpus
from .error_policy import ErrorHandler
from .kept_fields import KeptFields
from .kinds import InputType, json_content, kind_of
from .listing import Lister, Rules, Unread, has_paths, list_files
from .paths import UNREADABLE, file_name, is_remote, open_path, size_of
from .ranges import FileRange, LineRange, timed
from .records import Group, arrow_texts, csv_texts, json_texts, tar_texts
from .rows import RIGHT_ONE, arrow_values, column_texts, field_text, jsonl_lists, jsonl_texts
from .source import Source
from .streams import (
    LineBlock,
    check_size,
    decoded,
    line_blocks,
    max_file_bytes,
    read_whole,
    split_lines,
    transcoded,
)

__all__ = ["GROUP_BYTES", "ReadStats", "ResolvedSource", "SourceReader"]

MAX_PATH = 4096  # maximum length of a path on Linux; a document that is longer cannot be the name of a file
# Documents in memory are read in groups of about GROUP_BYTES bytes and at most GROUP_DOCUMENTS documents.
GROUP_BYTES, GROUP_DOCUMENTS = 1 << 20, 4096
# If each file is a document, files of up to SMALL_FILE bytes are read in groups of at most GROUP_FILES, on all threads.
SMALL_FILE, GROUP_FILES = 1 << 20, 1 << 12
# Assumed compression ratio, from which the memory for a compressed file is estimated.
EXPANSION = 4
DATASET_ROWS = 1000
# Number of bytes added to the size of each document, so that the size of a batch of empty lines is limited, too.
DOCUMENT_BYTES = 64


@dataclass
class ReadStats:
    """Counters of the documents, files and bytes read so far."""

    num_files: int = 0
    num_documents: int = 0
    num_empty: int = 0
    bytes_done: int = 0
    raw: BinaryIO | None = None  # the open file, whose position shows the progress
    lines: dict[str, int] = field(default_factory=dict)  # file -> number of lines that begin in its range
    read_s: float = 0.0  # seconds spent reading ranges, excluding parsing
    # Unread members of tar archives: kind of member -> number of members of this kind, and names of the first five.
    members: dict[str, Unread] = field(default_factory=dict)

    def add_member(self, suffix: str, name: str) -> None:
        """Counts a member of a tar as unread."""
        kind = f"{suffix} in .tar"
        before = self.members.get(kind, Unread(kind, 0, ()))
        self.members[kind] = Unread(kind, before.count + 1, (*before.names, name)[:5])

    def add_read_s(self, seconds: float) -> None:
        """Adds to `read_s`."""
        self.read_s += seconds

    @property
    def bytes_read(self) -> int:
        """Number of bytes read so far, as in `DocumentReader.bytes_read`."""
        return self.bytes_done + (position(self.raw) if self.raw is not None else 0)


@dataclass(frozen=True)
class ResolvedSource:
    """A source with expanded paths and resolved options.

    Attributes:
        source: the given source.
        weight_group: index of the group to which the source belongs; consecutive sources of weight 1 share a group.
        files: the files of the source, if the source consists of paths; else None.
        by_line: whether each line of a text file is a document.
        rules: options of reading.
        conversations: whether the field of each row contains a list, such as a conversation, instead of a text; the
            list is read as JSON.
        keep: fields of each record that are stored with the document; None if no fields are stored.
    """

    source: Source
    weight_group: int
    files: list[str] | None
    by_line: bool
    rules: Rules = Rules(max_expansion=MAX_EXPANSION)  # noqa: RUF009 - immutable
    conversations: bool = False
    keep: KeptFields | None = None

    @classmethod
    def of(cls, source: Source, weight_group: int, corpus: Corpus, lister: Lister) -> ResolvedSource:
        """Expands the paths of a source. Options of the source take precedence over options of the corpus.

        Raises:
            ConfigError, FileNotFoundError: as `open_corpus`.
        """
        by_line = (source.documents or corpus.documents) == "line"
        rules = corpus.rules(source)
        return cls(source, weight_group, _look_up(source, rules, lister), by_line, rules)

    @property
    def field(self) -> str:
        """Name of the field that contains the text in each row."""
        return self.rules.field

    @property
    def encoding(self) -> str:
        """Encoding of text files, streams and `bytes`."""
        return self.rules.encoding

    def kind(self, file: str) -> InputType:
        """Returns the kind of a file; see `kind_of`."""
        return kind_of(file, self.rules.input_type)

    @cached_property
    def sizes(self) -> list[int | None]:
        """Size of each file in bytes; None if it is unknown."""
        return [size_of(file) for file in self.files or ()]

    def size(self) -> int | None:
        """Total size of the files in bytes; None if it is unknown."""
        if self.files is None or None in self.sizes:
            return None
        return sum(size or 0 for size in self.sizes)

    def groups(self, num_bytes: int) -> Iterator[tuple[list[str], list[int] | None]]:
        """Yields groups of files, in order, each with the sizes of its files.

        Small files, each of which is one document, form groups of about `num_bytes` bytes. Any other file is a group of
        its own, with None in place of the sizes.
        """
        group: list[str] = []
        sizes: list[int] = []
        total = 0
        for file, size in zip(self.files or (), self.sizes, strict=True):
            is_small = size is not None and size <= SMALL_FILE and self._is_plain(file)
            if group and not (is_small and len(group) < GROUP_FILES and total < num_bytes):
                yield group, sizes
                group, sizes, total = [], [], 0
            if is_small and size is not None:
                group.append(file)
                sizes.append(size)
                total += size
            else:
                yield [file], None
        if group:
            yield group, sizes

    def _is_plain(self, file: str) -> bool:
        """Tests whether a file is a local, uncompressed text file in UTF-8 that is read as one document."""
        if self.by_line or self.encoding != "utf-8" or is_remote(file) or split_suffix(file)[1]:
            return False
        try:
            return self.kind(file) == "text"
        except FormatError:
            return False  # reading the file will raise this error

    def is_readable_again(self) -> bool:
        """Tests whether the source can be read more than once; False for a pipe, a stream or an iterator."""
        if self.files is not None:
            return self.size() is not None
        place = self.source.place
        return not hasattr(place, "read") and not isinstance(place, Iterator)


class SourceReader:
    """Reads sources into chunks and updates `stats` and `handler`."""

    def __init__(
        self,
        stats: ReadStats,
        handler: ErrorHandler,
        group_bytes: int,
        queue: PrefetchQueue | None,
        max_document: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Stores the arguments. `max_document`: maximum size, in bytes, of a file that is read as one document. If None
        is given, the limit depends on the machine's memory. `check` is called often, and can raise an error to stop
        reading.
        """
        self._stats, self._handler, self._group_bytes, self._queue = stats, handler, group_bytes, queue
        self._given_max_document, self._check = max_document, check

    @cached_property
    def _max_document(self) -> int:
        """Returns the maximum size, in bytes, of a file that is read as one document."""
        return max_file_bytes() if self._given_max_document is None else self._given_max_document

    def read(self, resolved: ResolvedSource) -> Iterator[DocumentChunk]:
        """Yields the chunks of a source."""
        place: Any = resolved.source.place
        if resolved.files is not None:
            for files, sizes in resolved.groups(self._read_ahead()):
                together = None if sizes is None else self._whole_files(files, sizes, resolved)
                if together is not None:
                    yield together
                    continue
                for file in files:
                    yield from self._file(file, resolved)
        elif hasattr(place, "read"):
            name = str(getattr(place, "name", "stream")).strip("<>")
            for chunk in self._stream(place, name, resolved):
                self._stats.bytes_done += chunk.texts.num_bytes  # counted here: a stream has no file position
                yield chunk._replace(position=self._stats.bytes_read)
        elif hasattr(place, "select_columns") and hasattr(place, "iter"):
            yield from self._dataset(place, resolved)
        else:
            yield from self._iterable(place, resolved)

    def read_range(self, part: FileRange, resolved: ResolvedSource) -> Iterator[DocumentChunk]:
        """Yields the chunks of the documents that begin in a range of a file.

        Under the policy ``"skip"``, line numbers of skipped lines are relative to the range. To convert them to line
        numbers of the file, add the `ReadStats.lines` of all earlier ranges.
        """
        file, end = part.file, part.end
        if end is None:
            yield from self._file(file, resolved, is_range=True)
            return
        self._stats.num_files += 1
        with ExitStack() as stack:
            opened = self._open(file, stack)
            if opened is None:
                return
            raw = timed(cast(BinaryIO, opened), self._stats.add_read_s)
            stack.callback(raw.detach)
            try:
                kind = resolved.kind(file)
                if kind == "parquet":
                    for texts, numbers, _, fields in column_texts(
                        cast(BinaryIO, raw), resolved.field, file, self._handler, part.start, end,
                        conversations=resolved.conversations, keep=resolved.keep,
                    ):  # fmt: skip
                        yield self._chunk(texts, file, numbers, resolved)._replace(fields=fields)
                else:
                    lines = cast(BinaryIO, LineRange(cast(BinaryIO, raw), part.start, end))
                    yield from self._lines(lines, part, resolved, kind)
            except FormatError as error:
                self._skip_file(file, error)

    def _open(self, file: str, stack: ExitStack) -> Any:
        """Opens a file; returns None if it cannot be opened and the policy skips it."""
        try:
            return stack.enter_context(open_path(file, self._check_canceled))
        except OSError as error:
            if self._handler.policy != "skip" or error.errno not in UNREADABLE:
                raise
            words = f"{file}: {error.strerror}"
            self._handler.skip("file that cannot be read", file, FormatError(words, format="file", place="open"))
            return None

    def _lines(
        self, stream: BinaryIO, part: FileRange, resolved: ResolvedSource, kind: InputType
    ) -> Iterator[DocumentChunk]:
        """Yields the documents of one range, for a file that is read line by line. Each block of lines is a chunk."""

        def before() -> int:
            return part.lines_before

        offset = cast(LineRange, stream).start
        shown = int if self._handler.policy == "skip" else before  # `int()` is 0: see `read_range`
        lines = self._stats.lines
        for block in line_blocks(stream, part.file, offset, shown):
            lines[part.file] = block.first - 1 + block.num_ends
            self._check_canceled()
            yield self._block(block, part.file, resolved, kind)._replace(lines_before=before)

    def _block(self, lines: LineBlock, name: str, resolved: ResolvedSource, kind: InputType) -> DocumentChunk:
        """Returns the documents of a block of lines."""
        if kind == "jsonl":
            parse = jsonl_lists if resolved.conversations else jsonl_texts
            texts, numbers = parse(lines, resolved.field, name, self._handler)
        else:
            texts, numbers = split_lines(lines, name, self._handler)
        chunk = self._chunk(texts, name, numbers, resolved, len(lines.data))
        if not (resolved.keep and kind == "jsonl"):
            return chunk
        fields = list(resolved.keep.of_lines(lines, numbers, name, self._handler))
        read = [index for index, found in enumerate(fields) if found is not None]
        kept = chunk if len(read) == len(fields) else chunk.select(read)
        return kept._replace(fields=[found for found in fields if found is not None])

    def _skip_file(self, file: str, error: FormatError) -> None:
        """Skips a file, or its unread rest, because of an error. Errors of single rows are handled elsewhere."""
        kind = "file without the field" if error.place == "schema" else "file that cannot be read"
        self._handler.skip(kind, file, error)

    def _file(self, file: str, resolved: ResolvedSource, *, is_range: bool = False) -> Iterator[DocumentChunk]:
        self._stats.num_files += 1
        size = size_of(file) or 0
        suffix = split_suffix(file_name(file))[1]
        with ExitStack() as stack:
            try:
                kind = resolved.kind(file)
                is_whole = kind == "text" and not resolved.by_line
                if self._queue is not None and is_whole:
                    self._queue.wait_for_space(size * (EXPANSION if suffix else 1))
                raw = self._open(file, stack)
                if raw is None:
                    return
                if is_range:
                    raw = timed(cast(BinaryIO, raw), self._stats.add_read_s)
                    stack.callback(raw.detach)
                self._stats.raw = raw
                if is_whole and not suffix:
                    check_size(size, file, self._max_document)
                with decompressed(raw, file_name(file), max_expansion=resolved.rules.max_expansion) as stream:
                    yield from self._documents(stream, file, resolved, kind, size)
            except FormatError as error:
                self._skip_file(file, error)
            finally:
                self._stats.raw = None
            self._stats.bytes_done += size

    def _read_ahead(self) -> int:
        """Returns the number of bytes of small files to read at once: at most a quarter of the queue's capacity."""
        most = 4 * self._group_bytes
        return most if self._queue is None else min(most, self._queue.num_bytes // 4)

    def _whole_files(self, files: list[str], sizes: list[int], resolved: ResolvedSource) -> DocumentChunk | None:
        """Fast path: reads small files together, each as one document; None if a file is too large or is rejected."""
        self._check_canceled()
        total = sum(sizes)
        if self._queue is not None:
            self._queue.wait_for_space(total)
        if max(sizes) > self._max_document:
            return None
        texts = TextColumn.from_files(files, sizes, num_threads(None))
        if texts is None:
            return None
        self._stats.num_files += len(files)
        self._stats.num_empty += sizes.count(0)
        self._stats.bytes_done += total
        return self._chunk(texts, files[0], None, resolved)._replace(files=files)

    def _stream(self, stream: BinaryIO, name: str, resolved: ResolvedSource) -> Iterator[DocumentChunk]:
        self._stats.num_files += 1
        yield from self._documents(stream, name, resolved, resolved.kind(name), 0)

    def _documents(
        self, stream: BinaryIO, name: str, resolved: ResolvedSource, kind: InputType, size: int
    ) -> Iterator[DocumentChunk]:
        """Yields the documents of one decompressed stream. `size`: size of the file in bytes, to report progress."""
        if kind in ("parquet", "arrow"):
            seekable = getattr(stream, "seekable", None)
            if seekable is None or not seekable():  # Parquet and IPC readers must seek; a compressed stream cannot
                with tempfile.TemporaryFile() as raw:
                    shutil.copyfileobj(stream, raw, 1 << 20)
                    raw.seek(0)
                    yield from self._documents(cast(BinaryIO, raw), name, resolved, kind, size)
            elif kind == "parquet":
                yield from self._table(stream, name, resolved, size)
            else:
                yield from self._groups(
                    arrow_texts(stream, resolved.field, name, self._handler, resolved.conversations, resolved.keep),
                    name,
                    resolved,
                )
            return
        if kind == "tar":
            yield from self._groups(
                tar_texts(
                    stream, resolved.field, name, self._handler, self._stats.add_member, resolved.encoding,
                    resolved.conversations, resolved.keep,
                ),
                name, resolved,
            )  # fmt: skip
            return
        if resolved.encoding != "utf-8":
            stream = transcoded(stream, resolved.encoding, name, self._handler)
        if kind == "json":
            content, _, stream = json_content(stream)
            if content in ("object", "other"):
                found = "one JSON object" if content == "object" else "neither rows of JSON nor an array of objects"
                advice = f"convert it to JSON Lines, or pass {named('input_type=text')} to read it as a text"
                raise UnsupportedFeatureError(f"{name}: {found}; {advice}", format="json", feature=found)
            if content == "array":
                texts = json_texts(stream, resolved.field, name, self._handler, resolved.conversations, resolved.keep)
                yield from self._groups(texts, name, resolved)
                return
            kind = "jsonl"
        if kind in ("csv", "tsv"):
            delimiter = "," if kind == "csv" else "\t"
            rows = csv_texts(stream, resolved.field, name, self._handler, delimiter, resolved.keep)
            yield from self._groups(rows, name, resolved)
            return
        if kind == "text" and not resolved.by_line:
            data = read_whole(stream, name, self._check_canceled, self._max_document)
            self._stats.num_empty += not data
            checked = self._handler.check(data, name, file=name)
            yield self._chunk(TextColumn([] if checked is None else [checked]), name, None, resolved)
            return
        empty = True
        for lines in line_blocks(stream, name):
            empty = False
            self._check_canceled()
            yield self._block(lines, name, resolved, kind)
        self._stats.num_empty += empty

    def _groups(self, groups: Iterator[Group], name: str, resolved: ResolvedSource) -> Iterator[DocumentChunk]:
        for texts, numbers, fields in groups:
            self._check_canceled()
            yield self._chunk(texts, name, numbers, resolved)._replace(fields=fields)

    def _table(self, raw: BinaryIO, file: str, resolved: ResolvedSource, size: int) -> Iterator[DocumentChunk]:
        self._stats.raw = None  # pyarrow seeks, so the position does not show the progress
        read = partial(column_texts, conversations=resolved.conversations, keep=resolved.keep)
        for texts, numbers, share, fields in read(raw, resolved.field, file, self._handler):
            yield self._chunk(texts, file, numbers, resolved)._replace(
                position=self._stats.bytes_done + int(size * share), fields=fields
            )

    def _dataset(self, dataset: Any, resolved: ResolvedSource) -> Iterator[DocumentChunk]:
        """Yields the documents of a `Dataset` or `IterableDataset` (package datasets), many rows at a time."""
        names = getattr(dataset, "column_names", None)
        column = resolved.field
        if names is not None and column not in names:
            column = column.partition(".")[0]  # the column that contains a nested field
        if names is not None and column not in names:
            found = ", ".join(map(repr, names[:8]))
            message = f"the dataset has no column {resolved.field!r} (it has: {found}); {RIGHT_ONE}"
            raise ConfigError(message, option="field")
        chosen = dataset if names is None else dataset.select_columns([column])
        # A `Dataset` without a format is read as Arrow data. The data is from files and can be damaged, so
        # `arrow_values` validates it first.
        is_arrow = getattr(dataset, "format", {}).get("type", "") is None
        start = 0
        for columns in (chosen.with_format("arrow") if is_arrow else chosen).iter(batch_size=DATASET_ROWS):
            values = arrow_values(columns, column) if is_arrow else list(columns[column])
            group = self._group(values, start, resolved) if column == resolved.field else None
            yield group or self._one_by_one([{column: value} for value in values], start, resolved)
            start += len(values)

    def _iterable(self, items: Iterable[object], resolved: ResolvedSource) -> Iterator[DocumentChunk]:
        """Yields documents, rows and files of an iterable, in groups whose length adapts to the size of documents."""
        iterator = iter(items)
        start, at_a_time = 0, 1
        while group := list(islice(iterator, at_a_time)):
            chunk = self._group(group, start, resolved)
            chunks = (
                [chunk]
                if chunk is not None
                else chain.from_iterable(self._item(item, index, resolved) for index, item in enumerate(group, start))
            )
            size = 0
            for one in chunks:
                size += one.texts.num_bytes
                yield one
            start += len(group)
            if size * 2 <= self._group_bytes and self._group_bytes > 1:
                at_a_time = min(2 * at_a_time, GROUP_DOCUMENTS)
            elif size > 2 * self._group_bytes:
                at_a_time = max(1, at_a_time // 4)

    def _group(self, group: list[Any], start: int, resolved: ResolvedSource) -> DocumentChunk | None:
        """Fast path for the usual items in memory: returns one chunk if all items are valid `str`, else None."""
        try:
            texts = TextColumn(list(map(str.encode, group)))
        except (TypeError, UnicodeEncodeError):
            return None
        self._stats.bytes_done += texts.num_bytes
        return self._chunk(texts, "corpus", range(start, start + len(texts)), resolved)

    def _one_by_one(self, rows: list[Mapping[str, object]], start: int, resolved: ResolvedSource) -> DocumentChunk:
        chunks = [chunk for index, row in enumerate(rows, start) for chunk in self._item(row, index, resolved)]
        numbers = [number for chunk in chunks for number in chunk.numbers or ()]
        texts = TextColumn([text for chunk in chunks for text in chunk.texts.to_list()])
        return self._chunk(texts, "corpus", numbers, resolved)

    def _item(self, item: object, index: int, resolved: ResolvedSource) -> Iterator[DocumentChunk]:
        """Yields the documents of one item of an iterable; the item is a document, a row or a path."""
        source = f"corpus[{index}]"
        if isinstance(item, PathLike):
            for file in list_files([item], resolved.rules):
                yield from self._file(file, resolved)
            return
        if isinstance(item, str):
            data = self._handler.encode(item, source, file="corpus")
        elif isinstance(item, bytes | bytearray | memoryview):
            data = bytes(item)
            if resolved.encoding != "utf-8":
                data = decoded(data, resolved.encoding, source, self._handler)
            data = self._handler.check(data, source, file="corpus")
        elif isinstance(item, Mapping):
            data = field_text(item, resolved.field, source, self._handler)
        else:
            hint = "; put sources into a list" if isinstance(item, Source) else ""
            expected = "expected str, bytes, a Path or a row (a mapping)"
            raise ConfigError(f"{source} is of type {type(item).__name__}: {expected}{hint}", option="corpus")
        if data is not None:
            self._stats.bytes_done += len(data)
            yield self._chunk(TextColumn([data]), "corpus", (index,), resolved)

    def _check_canceled(self) -> None:
        """Raises an error if the consumer has stopped, so that a long read ends."""
        if self._queue is not None:
            self._queue.raise_if_closed()
        if self._check is not None:
            self._check()

    def _chunk(
        self, texts: TextColumn, name: str, numbers: Any, resolved: ResolvedSource, num_bytes: int | None = None
    ) -> DocumentChunk:
        size = (texts.num_bytes if num_bytes is None else num_bytes) + DOCUMENT_BYTES * len(texts)
        return DocumentChunk(texts, name, numbers, resolved.weight_group, self._stats.bytes_read, size)


def _look_up(source: Source, rules: Rules, lister: Lister) -> list[str] | None:
    """Returns the files of a source if it consists only of paths; else None."""
    corpus = source.place
    if isinstance(corpus, str | PathLike) or has_paths(corpus):
        return lister.add_source(source, rules)
    if isinstance(corpus, list | tuple) and corpus and all(isinstance(item, str) and _is_file(item) for item in corpus):
        message = f"all documents are names of files, such as {corpus[0]!r}, and are read as text"
        warnings.warn(f"{message}; to read the files, pass pathlib.Path objects", UserWarning, stacklevel=2)
    return None


def _is_file(name: str) -> bool:
    try:
        return len(name) <= MAX_PATH and isfile(name)
    except ValueError:  # the text contains a NUL or a lone surrogate, so it cannot be a path
        return False

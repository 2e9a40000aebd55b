"""A corpus: many documents, read lazily and in order from files, folders, streams or memory.

The type of what the caller gives decides, never its content: a `str` or path is a place on disk, an iterable holds
documents (`str`, `bytes`) or places (`Path`), an object with ``read`` is a stream. Every document comes out as UTF-8
bytes that have been checked. Memory: one document at a time, which is the whole file unless the file has rows or
``documents="line"``.

Left out: counts of pretokens (a mapping or `Counts` is not text; ``training`` takes them), Parquet, and files behind
a network.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, TypeAlias, cast

from ._core import find_invalid_utf8
from .compression import decompressed, position, split_suffix
from .errors import ConfigError, FormatError, InvalidTextError, UnsupportedFeatureError

__all__ = ["Corpus", "CorpusLike", "Document", "files_of", "open_corpus"]

Place: TypeAlias = str | os.PathLike[str]
CorpusLike: TypeAlias = "Place | BinaryIO | Iterable[str | bytes | os.PathLike[str]]"

ROW_SUFFIXES = (".jsonl", ".ndjson")
# The first bytes of what is often fed in by mistake, for a better hint than "byte 1 is not UTF-8".
MAGIC = {
    b"\x1f\x8b": "gzip (.gz)",
    b"BZh": "bzip2 (.bz2)",
    b"\xfd7zXZ": "xz (.xz)",
    b"\x28\xb5\x2f\xfd": "Zstandard (.zst)",
    b"PAR1": "Parquet",
    b"PK\x03\x04": "a zip archive",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd".encode()


class Document(NamedTuple):
    """One document: its UTF-8 bytes, and whence they come (``"a.txt"``, ``"rows.jsonl:12"``, ``"corpus[3]"``)."""

    data: bytes
    source: str


def open_corpus(
    corpus: CorpusLike,
    *,
    documents: Literal["file", "line"] = "file",
    field: str = "text",
    errors: Literal["strict", "replace"] = "strict",
) -> Corpus:
    """Opens what the caller means by a corpus.

    Args:
        corpus: a path, glob or folder (all files below it, sorted; hidden ones are left out); an iterable of
            `str`/`bytes` (documents), of `Path` (files) or of both; or a binary stream. ``.gz``, ``.bz2``, ``.xz``
            and ``.zst`` are decompressed; a ``.jsonl`` file holds one document per row.
        documents: ``"file"``: a text file is one document; ``"line"``: every line is one, without its line end.
        field: which field of a JSONL row holds the text.
        errors: what to do with bytes that are not UTF-8, and with lone surrogates: ``"strict"`` raises, ``"replace"``
            puts U+FFFD there and counts the places in `Corpus.replaced`.

    Returns:
        The corpus; nothing has been read yet, but places that are given by name have been looked up.

    Raises:
        FileNotFoundError: no such file, no match for the glob, or a folder without files.
        ConfigError: an option or a type that cannot be meant.
        UnsupportedFeatureError: a Parquet file.

    Examples:
        >>> [document.data for document in open_corpus(["one", b"two"])]
        [b'one', b'two']
    """
    if documents not in ("file", "line"):
        raise ConfigError(f'documents={documents!r}: expected "file" or "line"', option="documents")
    if errors not in ("strict", "replace"):
        raise ConfigError(f'errors={errors!r}: expected "strict" or "replace"', option="errors")
    return Corpus(corpus, by_line=documents == "line", field=field, replace=errors == "replace")


class Corpus:
    """Documents in order, and what has been seen of them so far; iterating again starts again (an iterator ends once).

    Attributes:
        total_bytes: size on disk of all files, as they lie there; None when it cannot be known (streams, documents in
            memory).
        num_files, num_documents: how many have been begun.
        num_empty: files that held nothing, which is no error.
        replaced: file (or ``"corpus"`` for documents in memory) -> places where U+FFFD was put.

    Examples:
        >>> corpus = open_corpus(["café"])
        >>> [(document.data, document.source) for document in corpus]
        [(b'caf\\xc3\\xa9', 'corpus[0]')]
        >>> corpus.num_documents, corpus.bytes_read
        (1, 5)
    """

    def __init__(self, corpus: CorpusLike, *, by_line: bool, field: str, replace: bool) -> None:
        self._items, self._files = _look_up(corpus)
        self._by_line, self._field, self._replace = by_line, field, replace
        self.total_bytes = _size_on_disk(self._files)
        self._reset()

    def _reset(self) -> None:
        self._bytes_done = 0
        self._raw: BinaryIO | None = None  # the file being read, whose position is the progress inside it
        self.num_files = self.num_documents = self.num_empty = 0
        self.replaced: dict[str, int] = {}

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, counted as `total_bytes` counts them: on disk, before decompression."""
        return self._bytes_done + (position(self._raw) if self._raw is not None else 0)

    def __iter__(self) -> Iterator[Document]:
        self._reset()
        for document in self._documents():
            self.num_documents += 1
            yield document

    def _documents(self) -> Iterator[Document]:
        if self._files is not None:
            for path in self._files:
                yield from self._read_file(path)
        elif hasattr(self._items, "read"):
            name = str(getattr(self._items, "name", "stream"))
            yield from self._read_stream(cast(BinaryIO, self._items), name.strip("<>"), counted=True)
        else:
            for index, item in enumerate(cast("Iterable[object]", self._items)):
                yield from self._read_item(item, index)

    def _read_item(self, item: object, index: int) -> Iterator[Document]:
        """One element of an iterable: a document, or the place of some."""
        source = f"corpus[{index}]"
        if isinstance(item, os.PathLike):
            for path in files_of(item):
                yield from self._read_file(path)
        elif isinstance(item, str):
            data = self._encode(item, source, file="corpus")
            self._bytes_done += len(data)
            yield Document(data, source)
        elif isinstance(item, bytes | bytearray | memoryview):
            data = bytes(item)
            self._bytes_done += len(data)
            yield Document(self._check(data, source, file="corpus"), source)
        else:
            hint = '; for rows, pass (row["text"] for row in rows)' if isinstance(item, Mapping) else ""
            message = f"{source} is of type {type(item).__name__}: expected str, bytes or a Path{hint}"
            raise ConfigError(message, option="corpus")

    def _read_file(self, path: str) -> Iterator[Document]:
        with open(path, "rb") as raw:
            self._raw = raw
            try:
                with decompressed(raw, path) as stream:
                    yield from self._read_stream(stream, path)
                self._bytes_done += position(raw)
            finally:
                self._raw = None

    def _read_stream(self, stream: BinaryIO, name: str, *, counted: bool = False) -> Iterator[Document]:
        """The documents of one stream of plain bytes; `counted`: its own bytes are the progress, for want of a file."""
        self.num_files += 1
        plain_name, _ = split_suffix(name)
        rows = plain_name.lower().endswith(ROW_SUFFIXES)
        if not rows and not self._by_line:
            data = _as_bytes(stream.read(), name)
            self.num_empty += not data
            self._bytes_done += len(data) if counted else 0
            yield Document(self._check(data, name, file=name), name)
            return
        offset = 0
        for number, line in enumerate(stream, start=1):
            data = _as_bytes(line, name)
            self._bytes_done += len(data) if counted else 0
            data = self._check(data, name, file=name, offset=offset)
            offset += len(line)
            source = f"{name}:{number}"
            if not rows:
                yield Document(data.removesuffix(b"\n").removesuffix(b"\r"), source)
            elif data.strip():
                yield Document(self._encode(self._row_text(data, number, source), source, file=name), source)
        self.num_empty += not offset

    def _row_text(self, line: bytes, number: int, source: str) -> str:
        """The text of one JSONL row."""
        text = line.decode().removeprefix("\ufeff") if number == 1 else line.decode()
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{source}: not a JSON row ({error})", format="jsonl", place=f"line {number}") from None
        value = row.get(self._field) if isinstance(row, dict) else None
        if isinstance(value, str):
            return value
        if not isinstance(row, dict):
            found = f"the row is a {_json_type(row)}, expected an object"
        elif self._field in row:
            found = f"the field {self._field!r} is a {_json_type(value)}, expected a string"
        else:
            fields = ", ".join(map(repr, list(row)[:8])) or "none"
            found = f"the row has no field {self._field!r} (it has: {fields}); name the right one with field="
        raise FormatError(f"{source}: {found}", format="jsonl", place=f"line {number}")

    def _encode(self, text: str, source: str, *, file: str) -> bytes:
        """A `str` as UTF-8; only a lone surrogate can stand in the way."""
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            if self._replace:
                repaired, places = LONE_SURROGATE.subn("\ufffd", text)
                self.replaced[file] = self.replaced.get(file, 0) + places
                return repaired.encode()
            surrogate = f"U+{ord(text[error.start]):04X}"
            message = f"{source}: character {error.start} is the lone surrogate {surrogate}, which UTF-8 cannot hold"
            message += '; remove it, or pass errors="replace"'
            raise InvalidTextError(message, position=error.start, source=source) from None

    def _check(self, data: bytes, source: str, *, file: str, offset: int = 0) -> bytes:
        """The bytes, if they are UTF-8; `offset` is where they begin in their file."""
        invalid = find_invalid_utf8(data)
        if invalid is None:
            return data
        if self._replace:
            repaired = data.decode("utf-8", "replace").encode()
            self.replaced[file] = self.replaced.get(file, 0) + repaired.count(REPLACEMENT) - data.count(REPLACEMENT)
            return repaired
        place = offset + invalid
        kind = next((name for magic, name in MAGIC.items() if offset == 0 and data.startswith(magic)), None)
        hint = f"; it looks like {kind}" if kind else '; repair the text, or pass errors="replace" to put U+FFFD there'
        message = f"{source}: byte {place} (0x{data[invalid]:02x}) is not valid UTF-8{hint}"
        raise InvalidTextError(message, position=place, source=source)


def _look_up(corpus: CorpusLike) -> tuple[object, list[str] | None]:
    """What was given, and the files it names when all of them can be known now."""
    if isinstance(corpus, str | os.PathLike):
        return corpus, files_of(corpus)
    if isinstance(corpus, bytes | bytearray | memoryview):
        message = "the corpus is one bytes object; to pass a text itself, give it in a list: [text]"
        raise ConfigError(message, option="corpus")
    if isinstance(corpus, Mapping) or not (hasattr(corpus, "read") or isinstance(corpus, Iterable)):
        expected = "a path, an iterable of str, bytes or Path, or a binary stream"
        raise ConfigError(f"the corpus is of type {type(corpus).__name__}: expected {expected}", option="corpus")
    if isinstance(corpus, list | tuple) and corpus and all(isinstance(item, os.PathLike) for item in corpus):
        return corpus, [path for item in corpus for path in files_of(item)]
    return corpus, None


def files_of(place: Place) -> list[str]:
    """The files of one path, folder or glob, sorted by name so that every machine reads them in the same order.

    Raises:
        FileNotFoundError: no such file, no match, or no file in it.
        UnsupportedFeatureError: a Parquet file.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.txt")
        ...     _ = path.write_text("one")
        ...     files_of(folder) == [str(path)]
        True
    """
    path = os.fspath(place)
    if os.path.isdir(path):
        files = _walk(path)
        if not files:
            raise FileNotFoundError(errno.ENOENT, "the folder holds no files (hidden ones are left out)", path)
    elif os.path.lexists(path):
        files = [path]
    elif glob.has_magic(path) and (matches := glob.glob(path, recursive=True)):
        # a set, for "**" matches both a folder and the files in it
        found = {file for match in matches for file in (_walk(match) if os.path.isdir(match) else [match])}
        files = sorted(found, key=_sort_key)
        if not files:
            raise FileNotFoundError(errno.ENOENT, "the folders that this glob matches hold no files", path)
    else:
        shown = path if len(path) <= 80 else path[:77] + "..."
        hint = "no such file, folder or glob; to pass a text itself, give it in a list: [text]"
        raise FileNotFoundError(errno.ENOENT, hint, shown)
    for file in files:
        if split_suffix(file)[0].lower().endswith(".parquet"):
            message = f"{file}: Parquet is not carried yet; write the texts as JSON Lines (.jsonl)"
            raise UnsupportedFeatureError(message, format="parquet", feature="parquet")
    return files


def _walk(folder: str) -> list[str]:
    """All files below a folder, sorted; hidden ones and what is not a file (pipes, sockets) are left out."""

    def fail(error: OSError) -> None:
        raise error  # os.walk's own way is to leave out in silence what it may not read

    files = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [os.path.join(parent, name) for name in names if not name.startswith(".")]
    # a dangling link stays in the list: opening it says what is wrong
    return sorted((file for file in files if os.path.isfile(file) or not os.path.exists(file)), key=_sort_key)


def _sort_key(path: str) -> tuple[str, ...]:
    """Folder by folder, so that ``a/x`` comes before ``a-b/x`` whatever the separator's code is."""
    return Path(path).parts


def _size_on_disk(files: list[str] | None) -> int | None:
    """The bytes of all files together; None if one of them is a pipe or is not there."""
    total = 0
    for path in files or []:
        try:
            status = os.stat(path)
        except OSError:
            return None  # opening it will say why
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total if files is not None else None


def _as_bytes(data: object, name: str) -> bytes:
    """What a stream gave, if it is a binary stream."""
    if isinstance(data, bytes):
        return data
    hint = "open it in binary mode, or pass sys.stdin.buffer"
    message = f"the stream {name} gives {type(data).__name__}: expected bytes; {hint}"
    raise ConfigError(message, option="corpus")


def _json_type(value: object) -> str:
    """JSON's word for a Python value."""
    names = {dict: "object", list: "list", str: "string", bool: "truth value", type(None): "null"}
    return names.get(type(value), "number")

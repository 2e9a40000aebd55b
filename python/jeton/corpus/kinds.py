"""Determines the kind of a file by its suffix, and of ``.json`` by its first lines.

| kind | suffixes, also with ``.gz``, ``.bz2``, ``.xz``, ``.zst`` | documents |
|---|---|---|
| text | ``.txt``, ``.text``; all other suffixes, if the caller names the file | the file, or its lines |
| jsonl | ``.jsonl``, ``.ndjson``; ``.json`` with an object in each line | a field of each row |
| json | ``.json`` with an array of objects | a field of each object |
| parquet, arrow | ``.parquet``, ``.arrow`` (IPC file or stream) | a column |
| csv, tsv | ``.csv``, ``.tsv`` | a column |
| tar | ``.tar`` | members ``.txt`` and ``.json``, as in WebDataset |

The suffix ``.json`` is ambiguous: datasets have rows in ``.json.gz`` (C4, Dolma), and folders have metadata in
``.json``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from posixpath import splitext
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias, cast

from ..errors import ConfigError, UnsupportedFeatureError, keyword, named
from ..util.compression import split_suffix
from .paths import file_name
from .streams import LONGEST_LINE, READ_BYTES

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "INPUT_TYPES",
    "InputType",
    "JsonContent",
    "check_input_type",
    "is_divisible_kind",
    "is_folder_kind",
    "json_content",
    "kind_of",
    "label_of",
]

InputType: TypeAlias = Literal["auto", "text", "jsonl", "json", "parquet", "arrow", "csv", "tsv", "tar"]
INPUT_TYPES: tuple[InputType, ...] = ("auto", "text", "jsonl", "json", "parquet", "arrow", "csv", "tsv", "tar")
# Content of a ``.json``: rows of JSON Lines, a single row, an array of objects, an object on several lines, no text, or
# other text.
JsonContent: TypeAlias = Literal["rows", "row", "array", "object", "empty", "other"]

SUFFIXES: dict[str, InputType] = {
    ".txt": "text",
    ".text": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tar": "tar",
}
# Suffixes that are rejected because they are not text. Most other binary files are rejected because they are not UTF-8.
REFUSED = (".zip", ".7z", ".rar", ".tgz", ".pdf", ".docx", ".xlsx", ".jtc", ".npy", ".pt", ".safetensors")
# If the first line of a ``.json`` is not a whole JSON object, the next lines are searched for a whole JSON object. The
# search covers about this number of bytes from the start of the file.
HEAD_BYTES = 1 << 16
BOM = b"\xef\xbb\xbf"


def check_input_type(value: object) -> None:
    """Checks the value of `input_type=`.

    Raises:
        ConfigError: there is no such type.
    """
    if value not in INPUT_TYPES:
        raise ConfigError(f"{keyword('input_type', value)}: expected {', '.join(INPUT_TYPES)}")


def kind_of(file: str, input_type: InputType = "auto") -> InputType:
    """Returns the kind of a file whose path the caller gives. An unknown suffix means ``"text"``.

    The result is never ``"auto"``.

    Raises:
        UnsupportedFeatureError: the file is not text, for example an archive.

    Examples:
        >>> kind_of("rows.jsonl.gz"), kind_of("README.md"), kind_of("part-0", "jsonl")
        ('jsonl', 'text', 'jsonl')
    """
    if input_type != "auto":
        return input_type
    suffix = _suffix(file)
    if suffix in REFUSED:
        advice = f"convert it to text, JSON Lines or Parquet, or pass {named('input_type=text')} if it is text"
        message = f"{file}: {suffix} files are not read as a corpus; {advice}"
        raise UnsupportedFeatureError(message, format=suffix[1:], feature=suffix)
    return SUFFIXES.get(suffix, "text")


def is_folder_kind(file: str) -> bool:
    """Tests, by the suffix of a file, whether the file is read if the caller gives the folder that contains it.

    For ``.json``, ``.csv`` and ``.tsv``, the content of the file must also be checked.

    Examples:
        >>> is_folder_kind("a.txt.gz"), is_folder_kind("README.md"), is_folder_kind("part-0")
        (True, False, False)
    """
    return _suffix(file) in SUFFIXES


def is_divisible_kind(kind: InputType, by_line: bool) -> bool:
    """Tests whether an uncompressed file can be divided into parts for several tasks.

    JSON Lines and lines of text are divided at line ends, and Parquet is divided at row groups. CSV cannot be divided,
    because quoted values can contain line ends. Files of the other kinds can only be read from their beginning.
    """
    return kind in ("jsonl", "parquet") or (kind == "text" and by_line)


def label_of(file: str) -> str:
    """Returns the label of a skipped file: the suffix, or ``without suffix``. Skipped files are counted by label.

    Examples:
        >>> label_of("a/README.md"), label_of("notes.md.gz"), label_of("LICENSE"), label_of("v1.0-2024")
        ('.md', '.md.gz', 'without suffix', 'without suffix')
    """
    plain, packed = split_suffix(file_name(file))
    suffix = splitext(plain)[1]
    is_usual = 1 < len(suffix) <= 12 and suffix[1].isalpha() and suffix[1:].replace("_", "").isalnum()
    return (suffix.lower() if is_usual else "") + packed or "without suffix"


def _suffix(file: str) -> str:
    return splitext(split_suffix(file_name(file))[0])[1].lower()


def json_content(stream: BinaryIO) -> tuple[JsonContent, Mapping[str, object] | None, BinaryIO]:
    """Determines by the first lines of a decompressed ``.json`` what the file contains.

    Args:
        stream: the bytes of the file, from the beginning.

    Returns:
        Three values: what the file contains; the row in the first line, or None if the first line is not a row; and a
        stream that returns all bytes of the file.

    Examples:
        >>> for data in b'{"text": "a"}\\n{"text": "b"}\\n', b'[\\n  {"text": "a"}]', b'{\\n  "text": "a"\\n}':
        ...     json_content(io.BytesIO(data))[0]
        'rows'
        'array'
        'object'
    """
    head, is_whole = _head(stream)
    replayed = cast(BinaryIO, io.BufferedReader(_Replayed(head, stream), READ_BYTES))
    lines = [line for line in head.removeprefix(BOM).split(b"\n") if line.strip()]
    if not lines:
        return "empty", None, replayed
    first = lines[0].strip()
    row = _row(first)
    if row is not None:
        return ("row" if is_whole and len(lines) == 1 else "rows"), row, replayed
    if first.startswith(b"["):
        inner = b"".join((first[1:], *lines[1:2])).strip()
        return ("array" if inner.startswith((b"{", b"]")) else "other"), None, replayed
    if not first.startswith(b"{"):
        return "other", None, replayed
    # The file has either rows, the first of which is damaged, or an object on several lines.
    return ("rows" if any(map(_row, lines[1:])) else "object"), None, replayed


def _head(stream: BinaryIO) -> tuple[bytes, bool]:
    """Returns the first bytes of a stream, and whether the stream ends after them.

    The number of bytes is about `HEAD_BYTES`. If the stream begins with a JSON object, the bytes include the whole
    first line and some bytes after it.
    """
    head = bytearray()
    while len(head) < HEAD_BYTES:
        if not (data := stream.read(HEAD_BYTES)):
            return bytes(head), True
        head += data
    start = len(head) - len(head.removeprefix(BOM).lstrip())
    if head[start : start + 1] == b"{":
        searched, end = start, -1
        while (end < 0 or not head[end:].strip()) and len(head) <= LONGEST_LINE:
            if end < 0 and (end := head.find(b"\n", searched)) >= 0:
                continue
            searched = len(head)
            if not (data := stream.read(HEAD_BYTES)):
                return bytes(head), True
            head += data
    return bytes(head), False


def _row(line: bytes) -> Mapping[str, object] | None:
    """Returns the object of a line that consists of one JSON object; None for other lines."""
    if not line.startswith(b"{"):
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value else None


class _Replayed(io.RawIOBase):
    """Stream that returns bytes that were already read from another stream, then the rest of that stream."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head, self._stream = memoryview(head), stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        data = self._head[: len(target)] or self._stream.read(len(target))
        self._head = self._head[len(data) :] if self._head else self._head
        target[: len(data)] = data
        return len(data)

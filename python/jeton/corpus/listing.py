"""`Listing`: which files of a corpus are read, and which files in the folders of the corpus are not read.

In a folder, text, JSON Lines, Parquet, Arrow, CSV and tars are read: see `kinds`. All other files of the folder are
counted by kind, so that a ``README.md`` does not become a document, and no file is left out silently. If the caller
names a file, by its path or by a glob such as ``*.md``, the file is not skipped: it is either read as its kind or
rejected. Each file is read once. Files with ambiguous suffixes are opened during listing, so that a plan of
`jeton.shards` contains only files with documents.

Cost: the first bytes of each ``.json``, ``.csv`` and ``.tsv`` of a folder are read; up to `REMOTE_THREADS` remote
files are read at a time. If `input_type` is given, no file is read.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple

from ..errors import ConfigError, FormatError
from ..util.compression import decompressed
from .error_policy import ErrorHandler
from .fields import MISSING, value_at
from .kinds import InputType, is_folder_kind, json_content, kind_of, label_of
from .paths import (
    HEAD_BLOCK,
    UNREADABLE_FOLDER,
    Entry,
    entries_of,
    file_name,
    identity_of,
    is_remote,
    open_path,
    remote_identity,
)
from .records import csv_header
from .source import Source, StrPath
from .streams import transcoded

__all__ = ["Lister", "Listing", "Rules", "Unread", "has_paths", "list_files", "log_unread"]

_log = logging.getLogger("jeton")

MAX_NAMES = 5
MAX_KINDS = 8  # maximum number of kinds of files that a message lists
REMOTE_THREADS = 16
DATASET_STATE = "state.json"  # file in each folder that the package `datasets` has saved; it lists the Arrow files


@dataclass(frozen=True, slots=True)
class Unread:
    """Files of one kind in a corpus that are not read.

    Attributes:
        kind: suffix of the files (``".md"``), or the reason: ``"hidden"``, ``"JSON without rows"``, …
        count: number of files, folders or links.
        names: the first five, as paths below the given folder.

    Examples:
        >>> str(Unread(".md", 7, ("README.md", "a/b.md")))
        '7 .md (README.md, a/b.md, …)'
    """

    kind: str
    count: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.names) else ""
        text = f"{self.count:,} {self.kind} ({', '.join(self.names)}{more})"
        return text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True)
class Listing:
    """Files of a corpus that are read, and files that are not: the result of `jeton.Corpus.listing`.

    Attributes:
        files: paths and URLs, in the order of reading.
        unread: the other files of the corpus's folders, by kind.
    """

    files: tuple[str, ...]
    unread: tuple[Unread, ...]


class Rules(NamedTuple):
    """Rules that select which files of a place are read. They are options of `jeton.Corpus` and `jeton.Source`."""

    field: str = "text"
    encoding: str = "utf-8"
    max_expansion: int | None = None
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    input_type: InputType = "auto"
    skips: bool = False

    def takes(self, entry: Entry) -> bool:
        """Tests whether `include` and `exclude` allow a file.

        No glob of `exclude` may match the file. If `include` is not empty, a glob of `include` must match the file.
        """
        if self.exclude and any(_matches(entry.name, pattern) for pattern in self.exclude):
            return False
        return not self.include or any(_matches(entry.name, pattern) for pattern in self.include)


def _matches(name: str, pattern: str) -> bool:
    """Tests whether a glob matches a file's name or, if the glob has a slash, the file's path below the folder."""
    path = PurePath(name).as_posix()
    return fnmatchcase(path if "/" in pattern else path.rpartition("/")[2], pattern)


@dataclass
class Lister:
    """Lists the files of several places (paths, folders, globs, URLs), each file once.

    Examples:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("a.txt", "b.jsonl", "README.md", "plan.json"):
        ...     _ = (folder / name).write_text("{}")
        >>> lister = Lister()
        >>> [pathlib.Path(file).name for file in lister.add(folder)], lister.add(folder / "a.txt")
        (['a.txt', 'b.jsonl'], [])
        >>> [str(unread).replace(str(folder), "folder") for unread in lister.unread]
        ['1 .md (README.md)', '1 JSON without rows (plan.json)', '1 read already (folder/a.txt)']
    """

    _seen: dict[tuple[object, ...], object] = field(default_factory=dict)  # (file, options of reading) -> weight
    _found: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    _infos: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # URL -> its metadata in a listing
    _folders: dict[str, str] = field(default_factory=dict)  # folder -> real path (symbolic links resolved)

    def add(
        self,
        place: StrPath,
        rules: Rules = Rules(),  # noqa: B008 - immutable
        options: tuple[object, object] = (None, 1),
    ) -> list[str]:
        """Returns the files of a place, without files that an earlier place has.

        Args:
            place: a path, folder, glob or URL.
            rules: rules that select the files that are read.
            options: unit of a document, and weight. A file that an earlier place also has must have the same weight.

        Raises:
            FileNotFoundError: there is no such file, a glob has no match, or no file of a folder is read.
            ConfigError: an earlier place has the same file with another weight.
        """
        found: dict[str, tuple[int, list[str]]] = {}
        entries = [entry for entry in entries_of(place, partial(_count, found), rules.skips) if rules.takes(entry)]
        is_named = [rules.input_type != "auto" or entry.is_named for entry in entries]
        reasons = self._reasons([entry for entry, named in zip(entries, is_named, strict=True) if not named], rules)
        files, num_left_out = [], 0
        for entry in entries:
            reason = reasons.get(entry.file)
            if reason is not None:
                _count(found, reason, entry.name)
                num_left_out += 1
                continue
            if not rules.skips:
                kind_of(entry.file, rules.input_type)  # raises the error for a wrong kind before any file is read
            if self._is_new(entry.file, rules, options):
                files.append(entry.file)
            else:
                _count(found, "read already", entry.name)
            if entry.info is not None:
                self._infos[entry.file] = entry.info
        if len(entries) == num_left_out:
            raise _nothing(os.fspath(place), _unread(found), rules, bool(entries))
        for kind, (count, names) in found.items():
            before, some = self._found.get(kind, (0, []))
            self._found[kind] = before + count, (some + names)[:MAX_NAMES]
        return files

    def add_source(self, source: Source, rules: Rules) -> list[str]:
        """Returns the files of a source, as `add` does.

        If the source is not a path or a list of paths, returns an empty list.
        """
        place: Any = source.place
        options = source.documents, source.exact_weight
        if isinstance(place, str | os.PathLike):
            return self.add(place, rules, options)
        if has_paths(place):
            return [file for item in place for file in self.add(item, rules, options)]
        return []

    @property
    def unread(self) -> tuple[Unread, ...]:
        """Returns the files that are not read, grouped by kind."""
        return _unread(self._found)

    def identity(self, file: str) -> tuple[int | None, str]:
        """Returns the size and version of a file: from an object store's listing if possible, else by `identity_of`."""
        return remote_identity(self._infos[file]) if file in self._infos else identity_of(file)

    def _is_new(self, file: str, rules: Rules, options: tuple[object, object]) -> bool:
        documents, weight = options
        key = self.key(file), rules.field, rules.encoding, documents
        if key not in self._seen:
            self._seen[key] = weight
            return True
        if self._seen[key] != weight:
            message = f"{file} belongs to two sources with different weights"
            raise ConfigError(f"{message}: each file is read once, so leave it out of one of them", option="corpus")
        return False

    def key(self, file: str) -> str:
        """Returns the string that identifies a file: the URL, or the real path (symbolic links resolved).

        Each folder is resolved only once.
        """
        if is_remote(file):
            return file
        if os.path.islink(file):
            return os.path.realpath(file)
        folder, name = os.path.split(file)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return os.path.join(self._folders[folder], name)

    def _reasons(self, entries: Sequence[Entry], rules: Rules) -> dict[str, str]:
        """Returns file -> reason for skipping the file, for all skipped files of `entries` (files found in folders)."""
        reasons: dict[str, str] = {}
        datasets = self._datasets(entries)
        unsure: list[Entry] = []
        for entry in entries:
            folder, _, name = _split(entry.file)
            if not is_folder_kind(entry.file):
                if not rules.include:
                    reasons[entry.file] = label_of(entry.file)
            elif (kind := kind_of(entry.file)) == "arrow" and folder in datasets:
                if name not in datasets[folder]:
                    reasons[entry.file] = ".arrow that is not in state.json"
            elif kind in ("json", "csv", "tsv") and not entry.is_dangling:
                unsure.append(entry)
        found = _each([entry.file for entry in unsure], lambda file: _content_reason(file, rules))
        return reasons | {entry.file: why for entry, why in zip(unsure, found, strict=True) if why is not None}

    def _datasets(self, entries: Sequence[Entry]) -> dict[str, set[str]]:
        """Returns folder -> names of the Arrow files with data, for each folder saved by the package `datasets`.

        All other Arrow files in such a folder are caches.
        """
        with_arrow = {_split(entry.file)[0] for entry in entries if entry.file.lower().endswith(".arrow")}
        states = [e.file for e in entries if _split(e.file)[2] == DATASET_STATE and _split(e.file)[0] in with_arrow]
        found = {}
        for file in states:
            with open_path(file, block=HEAD_BLOCK) as raw:
                data = raw.read(1 << 24)
            try:
                state = json.loads(data)
                names = {one["filename"] for one in state["_data_files"]}
                has_indices = bool(state.get("_indices_data_files") or state.get("_indices_files"))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
            if has_indices:
                message = f"{file}: the dataset is a selection of rows of its Arrow files; save it again with datasets"
                raise FormatError(message, format="arrow", place="_indices_data_files")
            found[_split(file)[0]] = names
        return found


def has_paths(place: object) -> bool:
    """Tests whether a value is a list of paths."""
    return isinstance(place, list | tuple) and bool(place) and all(isinstance(item, os.PathLike) for item in place)


def list_files(places: Iterable[StrPath], rules: Rules = Rules()) -> list[str]:  # noqa: B008 - immutable
    """Returns the files of several places, each once; logs files that are not read.

    Raises:
        FileNotFoundError, ConfigError: as `Lister.add`.

    Examples:
        >>> list_files([__file__, __file__], Rules(input_type="text")) == [__file__]
        True
    """
    lister = Lister()
    files = [file for place in places for file in lister.add(place, rules)]
    log_unread(lister.unread)
    return files


def _count(found: dict[str, tuple[int, list[str]]], kind: str, name: str) -> None:
    count, names = found.get(kind, (0, []))
    found[kind] = count + 1, [*names, name] if count < MAX_NAMES else names


def _unread(found: Mapping[str, tuple[int, list[str]]]) -> tuple[Unread, ...]:
    return tuple(Unread(kind, count, tuple(names)) for kind, (count, names) in found.items())


def _nothing(place: str, unread: Sequence[Unread], rules: Rules, has_entries: bool) -> FileNotFoundError:
    """Builds the error for a place in which no file is read."""
    words = "there are no files"
    if (rules.include or rules.exclude) and not has_entries:
        words = "include and exclude leave no files"
    elif unread:
        words = f"no file is read as documents: {_kinds(unread)} (select files with include or input_type)"
    return FileNotFoundError(errno.ENOENT, words, place)


def log_unread(unread: Sequence[Unread]) -> None:
    """Logs the files that are not read, as one warning."""
    if unread:
        count = sum(one.count for one in unread)
        skipped = sum(one.count for one in unread if one.kind == UNREADABLE_FOLDER)  # only with errors="skip"
        files = "file is" if count == 1 else "files are"
        _log.warning(f"{count:,} {files} not read: {_kinds(unread)}", extra={"skipped": skipped, "once": True})


def _kinds(unread: Sequence[Unread]) -> str:
    return ", ".join([*map(str, unread[:MAX_KINDS]), *(["…"] if len(unread) > MAX_KINDS else [])])


def _content_reason(file: str, rules: Rules) -> str | None:
    """Returns why a ``.json``, ``.csv`` or ``.tsv`` that was found in a folder is not read; None if it is read.

    If the file cannot be examined, returns None, too. The error is then raised later, when the file is read.
    """
    kind = kind_of(file)
    try:
        with (
            open_path(file, block=HEAD_BLOCK) as raw,
            decompressed(raw, file_name(file), max_expansion=rules.max_expansion) as plain,
        ):
            stream = plain
            if rules.encoding != "utf-8":
                stream = transcoded(stream, rules.encoding, file, ErrorHandler("replace"))
            if kind == "json":
                content, row, _ = json_content(stream)
                is_row = content != "row" or value_at(row, rules.field) is not MISSING
                return None if is_row and content not in ("object", "other") else "JSON without rows"
            columns = csv_header(stream, "," if kind == "csv" else "\t")
            return None if rules.field in columns else f".{kind} without the field {rules.field!r}"
    except (FormatError, OSError):
        return None


def _each(files: Sequence[str], find: Callable[[str], str | None]) -> Iterable[str | None]:
    """Applies a function to all files, and returns the results in order; uses several threads for remote files."""
    if len(files) < 2 or not is_remote(files[0]):
        return map(find, files)
    with ThreadPoolExecutor(REMOTE_THREADS) as pool:
        return list(pool.map(find, files))


def _split(file: str) -> tuple[str, str, str]:
    """Splits a file or URL into folder, slash and name."""
    return file.replace(os.sep, "/").rpartition("/")

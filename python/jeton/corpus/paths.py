"""Expands paths, globs, folders and URLs to files, and opens files. `listing` selects the files that are read.

A name with ``://`` is a URL for fsspec (``s3://``, ``gs://``, ``https://``, ``hf://``, ``memory://``), unless a local
path has this name. Files are sorted by name, folder by folder, so every machine reads them in the same order.

Left out: credentials and caches, which are configured by options and environment variables of fsspec.
"""

from __future__ import annotations

import errno
import glob
import io
import logging
import os
import selectors
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..errors import ConfigError, FormatError, JetonError, MissingDependencyError
from ..util.optional import import_optional
from .source import StrPath

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "HEAD_BLOCK",
    "UNREADABLE",
    "UNREADABLE_FOLDER",
    "Entry",
    "absolute",
    "copy_file",
    "entries_of",
    "file_name",
    "filesystem",
    "identity_of",
    "is_remote",
    "names_in",
    "open_path",
    "remote_call",
    "remote_identity",
    "size_of",
]

BufferedReader: TypeAlias = "io.BufferedReader[Any]"
T = TypeVar("T")
WEB = ("http://", "https://")
REMOTE_BLOCK = 4 << 20  # bytes per request to a remote file; large, because each request takes tens of milliseconds
HEAD_BLOCK = 1 << 16  # bytes per request if only the first lines of a remote file are read
# Errors for which the policy "skip" leaves out a file: a dangling or circular link, or no permission to read.
UNREADABLE = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP)
UNREADABLE_FOLDER = "folder that cannot be read"
# Exceptions that fsspec raises without an errno, each with the errno that Jeton sets.
ERRNOS = ((FileNotFoundError, errno.ENOENT), (PermissionError, errno.EACCES), (TimeoutError, errno.ETIMEDOUT))
WAIT_S = 0.25  # poll interval in seconds, for a pipe without data
WARN_AFTER_S = 2.0

_log = logging.getLogger("jeton")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that a path, folder, glob or URL is expanded to.

    Attributes:
        file: path or URL of the file.
        name: its path below the given folder; equal to `file` if the file itself was given.
        is_named: True if the caller names the file itself, not only its folder.
        is_dangling: True for a link without a target.
        info: metadata from the listing of an object store.
    """

    file: str
    name: str
    is_named: bool
    is_dangling: bool = False
    info: Mapping[str, Any] | None = None


def entries_of(place: StrPath, unread: Callable[[str, str], object], skips: bool = False) -> list[Entry]:
    """Returns the files of one path, folder, glob or URL, sorted by name.

    The files of a folder are all files below it, including those of linked folders; each folder is listed once. The
    files of a glob are treated as named by the caller if the last component of the glob has letters or digits
    (``*.md``), otherwise (``*``, ``**``) as files of their folders.

    Args:
        place: the path, folder, glob or URL.
        unread: called with the kind and the name of each item of a folder that is left out: hidden files, special
            files, links to a folder that was already read under another path, and links to a folder above the link.
        skips: whether folders that cannot be read are reported to `unread`; otherwise they raise an error.

    Raises:
        FileNotFoundError: there is no such file, or the glob has no match.
        OSError: a folder cannot be read.
        MissingDependencyError: for a URL, fsspec or the package for its protocol is not installed.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.txt")
        ...     _ = path.write_text("one")
        ...     [entry.name for entry in entries_of(folder, print)]
        ['a.txt']
    """
    path = os.fspath(place)
    if os.path.isdir(path):
        return _walk(path, unread, skips)
    if os.path.lexists(path):
        return [Entry(path, path, True, not os.path.exists(path))]
    if _is_url(path):
        return _remote_entries(path, unread)
    if glob.has_magic(path) and (matches := glob.glob(path, recursive=True)):
        is_named = _names_files(path)
        entries: list[Entry] = []
        walked: set[str] = set()
        for match in sorted(matches, key=_sort_key):  # "**" matches folders and their files; a folder is first
            if any(parent in walked for parent in (match, *map(str, Path(match).parents))):
                continue
            if os.path.isdir(match):
                walked.add(match.rstrip(os.sep))
                entries += _walk(match, unread, skips)
            else:
                entries.append(Entry(match, match, is_named, not os.path.exists(match)))
        return sorted(entries, key=lambda entry: _sort_key(entry.file))
    shown = path if len(path) <= 80 else f"{path[:37]}...{path[-40:]}"
    hint = "no such file, folder or glob; for a text itself, pass [text]"
    raise FileNotFoundError(errno.ENOENT, hint, shown)


def _names_files(pattern: str) -> bool:
    """Tests whether the last component of a glob has letters or digits, not only wildcards and punctuation."""
    return any(character.isalnum() for character in pattern.rstrip("/").rpartition("/")[2])


@contextmanager
def open_path(
    file: str, check_canceled: Callable[[], None] | None = None, block: int = REMOTE_BLOCK
) -> Iterator[BufferedReader]:
    """Opens a local or remote file as a stream of bytes, whose ``tell()`` is the read position.

    If a named pipe has no writer, the function waits for one, and logs a warning after 2 seconds. While waiting, it
    repeatedly calls `check_canceled`, which can stop the wait by raising an exception. `block` is the number of bytes
    per request to a remote file.

    Raises:
        ConfigError: the file is a device.

    Examples:
        >>> with open_path(__file__) as raw:
        ...     raw.read(3)
        b'\"\"\"'
    """
    if not is_remote(file):
        mode = os.stat(file).st_mode
        if stat.S_ISFIFO(mode):
            with _open_pipe(file, check_canceled) as pipe:
                yield pipe
            return
        with open(file, "rb") as raw:
            if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not raw.isatty():
                message = f"{file} is a device, which may never end; pass a file, a folder, a pipe or a stream"
                raise ConfigError(message, option="corpus")
            yield raw
        return
    system, path = filesystem(file)
    with (
        remote_call(file, lambda: system.open(path, "rb", block_size=block)) as opened,
        io.BufferedReader(_Remote(opened, file), block) as raw,
    ):
        yield raw


@contextmanager
def _open_pipe(file: str, check_canceled: Callable[[], None] | None) -> Iterator[BufferedReader]:
    """Opens a named pipe and waits until it has data or its writer has closed it."""
    # Without O_NONBLOCK, `open` itself would block until there is a writer, and could not be canceled.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    with ExitStack() as stack:
        raw = stack.enter_context(open(descriptor, "rb"))
        waited = 0.0
        selector = stack.enter_context(selectors.DefaultSelector())
        selector.register(raw, selectors.EVENT_READ)
        while not selector.select(WAIT_S):
            if check_canceled is not None:
                check_canceled()
            waited += WAIT_S
            if waited == WARN_AFTER_S:
                _log.warning("waiting for data from the pipe %s, into which nothing has been written yet", file)
        os.set_blocking(descriptor, True)
        yield raw


def copy_file(url: str, path: str, max_bytes: int | None = None) -> None:
    """Copies a remote file to a local path.

    Raises:
        FormatError: the file has more than `max_bytes`.
        OSError: the file does not exist, or cannot be read.

    Examples:
        >>> import fsspec, tempfile
        >>> fsspec.filesystem("memory").pipe("/a.json", b"{}")
        >>> path = tempfile.mkdtemp() + "/a.json"
        >>> copy_file("memory://a.json", path)
        >>> Path(path).read_text()
        '{}'
    """
    with open_path(url) as raw, open(path, "wb") as out:
        left = max_bytes
        while data := raw.read(REMOTE_BLOCK):
            if left is not None and (left := left - len(data)) < 0:
                raise FormatError(f"{url}: more than {max_bytes:,} bytes", place="the size")
            out.write(data)


def names_in(folder: str) -> list[str]:
    """Returns the names of the files in a folder or at a URL, without subfolders; empty if the folder does not exist.

    Examples:
        >>> names_in(os.path.dirname(__file__))[:2], names_in(__file__)
        (['__init__.py', 'batches.py'], [])
    """
    if os.path.isdir(folder):
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_file())
    if not is_remote(folder) or folder.startswith(WEB) or glob.has_magic(folder):
        return []
    system, path = filesystem(folder)

    def ask() -> list[dict[str, Any]]:
        system.invalidate_cache()
        found: list[dict[str, Any]] = system.ls(path, detail=True) if system.isdir(path) else []
        return found

    files = (info["name"] for info in remote_call(folder, ask) if info["type"] != "directory")
    return sorted(PurePosixPath(name).name for name in files)


def size_of(file: str) -> int | None:
    """Returns a file's size in bytes, before decompression; None for pipes, missing files and unknown remote sizes."""
    if is_remote(file):
        system, path = filesystem(file)
        size = remote_call(file, lambda: system.info(path)).get("size")
        return int(size) if size is not None else None
    try:
        status = os.stat(file)
    except OSError:
        return None  # opening the file will raise the error
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def identity_of(file: str) -> tuple[int | None, str]:
    """Returns the size of a file, and a version that changes with its content: modification time in ns, or ETag.

    The size is None for a pipe, a device, and a remote file of unknown size.

    Raises:
        OSError: the file does not exist, or cannot be read.

    Examples:
        >>> size, version = identity_of(__file__)
        >>> size > 1000, version.startswith("mtime:")
        (True, True)
    """
    if not is_remote(file):
        status = os.stat(file)
        return status.st_size if stat.S_ISREG(status.st_mode) else None, f"mtime:{status.st_mtime_ns}"
    system, path = filesystem(file)
    system.invalidate_cache(path)  # otherwise a listing cached in this process would hide a change
    return remote_identity(remote_call(file, lambda: system.info(path)))


def remote_identity(info: Mapping[str, Any]) -> tuple[int | None, str]:
    """Returns the result of `identity_of` from the metadata of a listing."""
    names = ("ETag", "etag", "LastModified", "last_modified", "mtime", "updated", "created")
    name = next((name for name in names if info.get(name) is not None), None)
    value = info[name] if name is not None else ""
    if isinstance(value, datetime):  # some file systems give the time as a number in listings but not for a single file
        value = value.timestamp()
    size = info.get("size")
    return None if size is None else int(size), "" if name is None else f"{name}:{value}"


def file_name(file: str) -> str:
    """Returns the file name, whose suffix selects the format; for a web address, without query and fragment.

    Examples:
        >>> file_name("https://example.org/rows.jsonl.gz?raw=true")
        'https://example.org/rows.jsonl.gz'
    """
    return file.partition("?")[0].partition("#")[0] if file.startswith(WEB) else file


def absolute(file: str) -> str:
    """Returns a file's name that is valid in every working folder: its absolute path, or its URL.

    Examples:
        >>> absolute("s3://bucket/rows.jsonl"), os.path.isabs(absolute("rows.jsonl"))
        ('s3://bucket/rows.jsonl', True)
    """
    return file if is_remote(file) else os.path.abspath(file)


def _walk(folder: str, unread: Callable[[str, str], object], skips: bool) -> list[Entry]:
    """Returns all files below a folder and below the folders that it links to, sorted; see `entries_of`."""
    entries: list[Entry] = []
    visited: set[tuple[int, int]] = set()
    links: list[str] = []  # links to folders, which are followed after all real folders have been visited

    def below(path: str) -> str:
        return path[len(os.path.join(folder, "")) :] or "."

    def walk(top: str) -> None:
        folders = [top]
        while folders:
            parent = folders.pop()
            try:
                status = os.stat(parent)
                visited.add((status.st_dev, status.st_ino))
                with os.scandir(parent) as found:
                    inside = sorted(found, key=lambda entry: entry.name)
            except OSError:
                if not skips:
                    raise
                unread(UNREADABLE_FOLDER, below(parent))
                continue
            for entry in inside:
                path = os.path.join(parent, entry.name)
                if entry.name.startswith("."):
                    unread("hidden", below(path))
                elif entry.is_symlink() and not os.path.exists(path):
                    entries.append(Entry(path, below(path), False, is_dangling=True))
                elif entry.is_dir():
                    (links if entry.is_symlink() else folders).append(path)
                elif entry.is_file():
                    entries.append(Entry(path, below(path), False))
                else:
                    unread("special file", below(path))

    walk(folder)
    while links:
        link = min(links, key=_sort_key)
        links.remove(link)
        target = os.path.realpath(link)
        status = os.stat(link)
        if (status.st_dev, status.st_ino) in visited:
            unread("link to a folder that is read already", below(link))
        elif _is_parent(target, os.path.realpath(os.path.dirname(link))):
            unread("link to a folder above", below(link))
        else:
            walk(link)
    return sorted(entries, key=lambda entry: _sort_key(entry.file))


def _is_parent(folder: str, path: str) -> bool:
    return os.path.commonpath((folder, path)) == folder


def _sort_key(path: str) -> tuple[str, ...]:
    """Returns a sort key of path components: ``a/x`` is before ``a-b/x``, independent of the separator's code point."""
    return Path(path).parts


def _is_url(name: str) -> bool:
    scheme, mark, _ = name.partition("://")
    return bool(mark) and scheme.replace("+", "").replace("::", "").replace("-", "").isalnum()


def is_remote(file: str) -> bool:
    """Tests whether a name is a URL and not the name of a local file.

    Examples:
        >>> is_remote("s3://bucket/rows.jsonl"), is_remote("rows.jsonl")
        (True, False)
    """
    return _is_url(file) and not os.path.lexists(file)


def _remote_entries(url: str, unread: Callable[[str, str], object]) -> list[Entry]:
    """Returns the files of a URL, sorted by name, with their metadata from the listing.

    A web address without ``*`` is returned as one file, and no request is sent, because HTTP has no folders.
    """
    if url.startswith(WEB) and "*" not in url:
        return [Entry(url, url, True)]
    system, path = filesystem(url)
    is_named = not glob.has_magic(path) or _names_files(path)
    parts = PurePosixPath(path).parts
    depth = next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    asks_hidden = any(part.startswith(".") for part in parts[depth:])

    def find() -> dict[str, tuple[str | None, Mapping[str, Any]]]:
        """Returns file -> (path below its folder, metadata). The path is None if the URL matches the file itself."""
        system.invalidate_cache()
        found = system.glob(path, detail=True) if glob.has_magic(path) else {path: system.info(path)}
        files: dict[str, tuple[str | None, Mapping[str, Any]]] = {}
        for folder in sorted(name for name, info in found.items() if info["type"] == "directory"):
            for name, info in system.find(folder, detail=True).items():
                files.setdefault(name, (str(PurePosixPath(name).relative_to(system._strip_protocol(folder))), info))
        for name, info in found.items():
            if info["type"] != "directory":
                files.setdefault(name, (None, info))
        return files

    try:
        files = remote_call(url, find)
    except FileNotFoundError:
        files = {}
    if not files:
        raise FileNotFoundError(errno.ENOENT, "no such file, no match, or a folder without files", url)
    entries = []
    for name in sorted(files, key=_remote_key):
        below, info = files[name]
        found = PurePosixPath(name).parts[depth:]
        # The wildcards of fsspec match hidden files. Leave these files out, as for local paths.
        if not asks_hidden and any(part.startswith(".") for part in found):
            unread("hidden", "/".join(found))
        else:
            file = str(system.unstrip_protocol(name))
            entries.append(Entry(file, below or file, below is None and is_named, info=info))
    return entries


def _remote_key(name: str) -> tuple[str, ...]:
    return PurePosixPath(name).parts


def filesystem(url: str, option: str = "corpus") -> tuple[Any, str]:
    """Returns the file system of a URL, and the path in it.

    Raises:
        MissingDependencyError: fsspec, or the package for the protocol, is not installed.
        ConfigError: the protocol is unknown; the message names the option.
    """
    fsspec = import_optional("fsspec", url, "data")
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingDependencyError(f"reading {url} needs another package: {error}") from None
    except ValueError as error:
        raise ConfigError(f"{url}: {error}", option=option) from None
    return system, str(path)


def remote_call(url: str, ask: Callable[[], T]) -> T:
    """Calls a remote file system; converts exceptions of its packages (aiohttp, botocore) to `OSError` with the URL."""
    try:
        return ask()
    except (ImportError, JetonError):
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        number = error.errno or next((number for kind, number in ERRNOS if isinstance(error, kind)), errno.EIO)
        # Some file systems raise an error whose text is only the URL; its cause is the error of the connection.
        reason = str(error)
        if reason == url:
            cause = error.__cause__ or error
            reason = f"cannot be read: {type(cause).__name__ if str(cause) == url else cause}"
        raise OSError(number, reason, url) from error  # Python chooses the subclass by the errno
    except Exception as error:
        raise OSError(errno.EIO, f"{type(error).__name__}: {error}", url) from error


class _Remote(io.RawIOBase):
    """Raw stream that reads an fsspec file."""

    def __init__(self, opened: Any, url: str) -> None:
        self._opened, self._url = opened, url

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._opened.seekable())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(remote_call(self._url, lambda: self._opened.seek(offset, whence)))

    def tell(self) -> int:
        return int(self._opened.tell())

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        data = remote_call(self._url, lambda: self._opened.read(len(target)))
        target[: len(data)] = data
        return len(data)

"""Storage of a folder of shards: a local folder, or a URL of fsspec such as ``s3://bucket/folder``.

A file is published either completely or not at all, both in a local folder and at a URL. The other modules rely only
on this property. The steps of publishing a file:

    local   temporary file → fsync → rename; `flush` makes names durable
    URL     temporary file on this machine → one PUT, or an upload in parts (the last request publishes the file)

Names are relative, such as ``done/00000.json``. Files at a URL are copied to this machine before they are mapped.

Left out: object stores without read-after-write consistency (S3, GCS, Azure and MinIO have it); removing the partial
uploads of killed workers (configure a lifecycle rule of the bucket for this).
"""

from __future__ import annotations

import errno
import glob
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..corpus.paths import filesystem, is_remote, open_path, remote_call
from ..util.arguments import file_path, wrong
from ..util.atomic import remove_stale, write_atomically

__all__ = ["LocalStorage", "RemoteStorage", "Storage", "storage_of"]

READ_AHEAD = 256  # number of files that are read in parallel
LISTINGS = 8  # a listing fails if a file vanishes meanwhile; up to this many failures are retried


class Storage(ABC):
    """Base class of the storage of a folder's files.

    Attributes:
        name: the path or URL of the folder, as given.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def absolute(self) -> str:
        """Returns a name of the folder that is valid in every process: an absolute path, or the URL."""

    @abstractmethod
    def location(self, name: str) -> str:
        """Returns the path or URL of a file."""

    @abstractmethod
    def create(self, folders: Iterable[str]) -> None:
        """Creates the folder, and the given folders in it."""

    @abstractmethod
    def sizes(self, folder: str = "") -> dict[str, int]:
        """Returns the files in a folder: name -> size in bytes; empty if the folder is missing.

        The listing can omit a file that another process is replacing, as POSIX permits; `size` finds such a file.
        """

    @abstractmethod
    def times(self, folder: str = "") -> dict[str, float]:
        """Returns the modification times of the files in a folder: name -> seconds since 1970.

        If the folder is missing, the result is empty.
        """

    def names(self, folder: str = "") -> list[str]:
        """Returns the names of the files in a folder; empty if the folder is missing."""
        return list(self.sizes(folder))

    @abstractmethod
    def size(self, name: str) -> int | None:
        """Returns the size of a file; None if the file is missing."""

    @abstractmethod
    def read(self, names: Iterable[str]) -> Iterator[bytes]:
        """Yields the content of files.

        Raises:
            FileNotFoundError: a file is missing.
        """

    @abstractmethod
    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Opens a file for reading at any position."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> None:
        """Removes files; ignores missing ones."""

    @abstractmethod
    def write(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Opens a file for writing. It is published when the ``with`` block ends without an error."""

    @abstractmethod
    def put(self, name: str, data: bytes, *, sweep: bool = False) -> None:
        """Publishes a small file and makes its name durable. `sweep`: first remove the file's stale temporary files."""

    @abstractmethod
    def put_new(self, name: str, data: bytes) -> bool:
        """Publishes a small file like `put`, but only if no file has this name; returns True if it was published.

        If several processes call this function at the same time with the same name, at most one of them gets True.
        """

    @abstractmethod
    def fetch(self, names: Iterable[str]) -> AbstractContextManager[Path]:
        """Returns a context manager that yields a local folder with these files, and may remove the folder on exit.

        Raises:
            FileNotFoundError: a file is missing.
        """

    def temporary(self) -> BinaryIO:
        """Returns a temporary file with space for a whole shard."""
        return cast(BinaryIO, tempfile.TemporaryFile())

    def flush(self, folder: str = "") -> None:  # noqa: B027
        """Makes the names of files in a folder durable, so that they survive a crash."""

    def remove_stale(self, folder: str = "") -> None:  # noqa: B027
        """Removes temporary files that killed processes left in a folder."""


def storage_of(output: str | os.PathLike[str]) -> Storage:
    """Returns the storage of an output folder.

    Raises:
        ConfigError: `output` is not a path, or is a URL with an unknown protocol.
        MissingDependencyError: the package for the protocol of a URL is not installed.

    Examples:
        >>> storage_of("memory://bucket/out").location("plan.json")
        'memory://bucket/out/plan.json'
        >>> type(storage_of("out")).__name__
        'LocalStorage'
    """
    name = file_path(output, "output")
    return RemoteStorage(name) if is_remote(name) else LocalStorage(name)


class LocalStorage(Storage):
    """Storage in a local folder, which can be on a file system that many machines share.

    Attributes:
        path: the folder.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.path = Path(name)

    def absolute(self) -> str:
        """See `Storage`."""
        return str(self.path.absolute())

    def location(self, name: str) -> str:
        """See `Storage`."""
        return str(self.path / name)

    def create(self, folders: Iterable[str]) -> None:
        """See `Storage`."""
        for folder in folders:
            (self.path / folder).mkdir(parents=True, exist_ok=True)
        self.flush()

    def sizes(self, folder: str = "") -> dict[str, int]:
        """See `Storage`."""
        return {name: status.st_size for name, status in self._entries(folder)}

    def times(self, folder: str = "") -> dict[str, float]:
        """See `Storage`."""
        return {name: status.st_mtime for name, status in self._entries(folder)}

    def _entries(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yields the files in a folder, with size and times."""
        try:
            entries = os.scandir(self.path / folder)
        except FileNotFoundError:
            return
        with entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # the file was removed since the listing; usually a temporary file
                    if entry.is_file():
                        yield entry.name, entry.stat()

    def names(self, folder: str = "") -> list[str]:
        """See `Storage`. Does not query the size of each file, which is slow on a shared file system."""
        with suppress(FileNotFoundError):
            return os.listdir(self.path / folder)
        return []

    def size(self, name: str) -> int | None:
        """See `Storage`."""
        try:
            return (self.path / name).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read(self, names: Iterable[str]) -> Iterator[bytes]:
        """See `Storage`."""
        return ((self.path / name).read_bytes() for name in names)

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """See `Storage`."""
        return (self.path / name).open("rb")

    def remove(self, names: Iterable[str]) -> None:
        """See `Storage`."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def write(self, name: str) -> AbstractContextManager[BinaryIO]:
        """See `Storage`."""
        return write_atomically(self.path / name, sweep=False)

    def put(self, name: str, data: bytes, *, sweep: bool = False) -> None:
        """See `Storage`."""
        with write_atomically(self.path / name, sweep=sweep) as file:
            file.write(data)
        self.flush(os.path.dirname(name))

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Storage`."""
        try:
            with write_atomically(self.path / name, replace=False) as file:
                file.write(data)
        except FileExistsError:
            return False
        self.flush(os.path.dirname(name))
        return True

    def fetch(self, names: Iterable[str]) -> AbstractContextManager[Path]:
        """See `Storage`. Returns the folder itself, without checking that the files exist."""
        return nullcontext(self.path)

    def temporary(self) -> BinaryIO:
        """See `Storage`.

        Creates the file in the folder of the shards: the disk of this folder has space for a shard, but the disk of
        TMPDIR can be too small.
        """
        return cast(BinaryIO, tempfile.TemporaryFile(dir=self.path))

    def flush(self, folder: str = "") -> None:
        """See `Storage`."""
        try:
            descriptor = os.open(self.path / folder, os.O_RDONLY)
        except PermissionError:  # Windows cannot open folders
            return
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # some file systems cannot flush folders
                raise
        finally:
            os.close(descriptor)

    def remove_stale(self, folder: str = "") -> None:
        """See `Storage`."""
        remove_stale(self.path / folder)


class RemoteStorage(Storage):
    """Storage at a URL, through fsspec.

    Examples:
        >>> storage = RemoteStorage("memory://bucket/storage")
        >>> with storage.write("a.bin") as file:
        ...     _ = file.write(b"abc")
        >>> storage.sizes(), list(storage.read(["a.bin"]))
        ({'a.bin': 3}, [b'abc'])
    """

    def __init__(self, name: str) -> None:
        super().__init__(name.rstrip("/"))
        if glob.has_magic(name):  # fsspec would treat the name as a glob
            raise wrong("output", name, "the URL of a folder: it has one of the characters *?[")
        self._system, self._root = filesystem(self.name, "output")

    def absolute(self) -> str:
        """See `Storage`."""
        return self.name

    def location(self, name: str) -> str:
        """See `Storage`."""
        return f"{self.name}/{name}"

    def create(self, folders: Iterable[str]) -> None:
        """See `Storage`. Does nothing: object stores have no folders, and a later call reports a missing bucket."""

    def sizes(self, folder: str = "") -> dict[str, int]:
        """See `Storage`."""
        return {name: int(info["size"]) for name, info in self._listing(folder).items()}

    def times(self, folder: str = "") -> dict[str, float]:
        """See `Storage`."""
        found = ((name, _time_of(info)) for name, info in self._listing(folder).items())
        return {name: seconds for name, seconds in found if seconds is not None}

    def _listing(self, folder: str) -> dict[str, dict[str, Any]]:
        """Returns the files in a folder: name -> entry of fsspec's listing."""
        path = self._path(folder)

        def ask() -> dict[str, dict[str, Any]]:
            self._system.invalidate_cache()  # other machines also write files
            found = self._system.ls(path, detail=True)
            return {info["name"].rpartition("/")[2]: info for info in found if info["type"] == "file"}

        for _ in range(LISTINGS):
            try:
                return remote_call(self.location(folder), ask)
            except FileNotFoundError:  # the folder is missing, or a file was removed during the listing
                if not remote_call(self.location(folder), partial(self._system.exists, path)):
                    return {}
        return remote_call(self.location(folder), ask)

    def size(self, name: str) -> int | None:
        """See `Storage`."""
        path = self._path(name)

        def ask() -> int | None:
            self._system.invalidate_cache()
            info = self._system.info(path)
            return int(info["size"]) if info["type"] == "file" else None

        try:
            return remote_call(self.location(name), ask)
        except FileNotFoundError:
            return None

    def read(self, names: Iterable[str]) -> Iterator[bytes]:
        """See `Storage`. Files are read in parallel."""
        left = list(names)
        for start in range(0, len(left), READ_AHEAD):
            some = left[start : start + READ_AHEAD]
            paths = [self._path(name) for name in some]
            where = self.location(some[0]) if len(some) == 1 else self.name
            found = remote_call(where, partial(self._system.cat, paths))
            yield from (found[path] for path in paths)

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """See `Storage`. The file is read in ranges of bytes."""
        return open_path(self.location(name))

    def remove(self, names: Iterable[str]) -> None:
        """See `Storage`."""
        for name in names:
            with suppress(FileNotFoundError):
                remote_call(self.location(name), partial(self._system.rm_file, self._path(name)))

    @contextmanager
    def write(self, name: str) -> Iterator[BinaryIO]:
        """See `Storage`. The file is first written to a local disk, so that memory does not limit its size."""
        with tempfile.TemporaryDirectory(prefix="jeton-") as folder:
            path = Path(folder, os.path.basename(name))
            with path.open("wb") as file:
                yield file
            remote_call(self.location(name), partial(self._system.put_file, str(path), self._path(name)))

    def put(self, name: str, data: bytes, *, sweep: bool = False) -> None:
        """See `Storage`."""
        remote_call(self.location(name), partial(self._system.pipe_file, self._path(name), data))

    def put_new(self, name: str, data: bytes) -> bool:
        """See `Storage`. Two calls at once can both return True if fsspec lacks exclusive creation for the protocol."""
        if self.size(name) is not None:
            return False
        pipe = self._system.pipe_file
        options = {"mode": "create"} if "mode" in signature(pipe).parameters else {}
        try:
            remote_call(self.location(name), partial(pipe, self._path(name), data, **options))
        except OSError:
            if self.size(name) is None:
                raise
            return False  # another call created the file, or this call created it and the response was lost
        return True

    @contextmanager
    def fetch(self, names: Iterable[str]) -> Iterator[Path]:
        """See `Storage`."""
        # Errors are ignored, because Windows cannot remove a file that is still mapped.
        with tempfile.TemporaryDirectory(prefix="jeton-", ignore_cleanup_errors=True) as folder:
            for name in names:
                source, target = self._path(name), Path(folder, name)
                target.parent.mkdir(exist_ok=True)
                remote_call(self.location(name), partial(self._system.get_file, source, str(target)))
            yield Path(folder)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")


def _time_of(info: dict[str, Any]) -> float | None:
    """Returns the modification time of a file from its entry in fsspec's listing; None if the entry has no time.

    The protocol of the URL determines under which key and as which type the time is stored.
    """
    for name in ("LastModified", "last_modified", "mtime", "updated", "created"):
        value = info.get(name)
        if isinstance(value, str):
            with suppress(ValueError):
                value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return float(value)
    return None

"""Atomic writing of files.

Data is written to a temporary file in the target's folder, flushed to disk (fsync), and renamed to the target. If the
disk is full or the process is killed before the rename, the old file stays unchanged. A process holds a lock on its
temporary file. A stale temporary file of a killed process is removed by the next process that writes the target.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: an open file cannot be removed, so no lock is needed
    fcntl = None  # type: ignore[assignment]

__all__ = ["remove_stale", "write_atomically"]

_MOST_CHARS = 50  # of the target's name in a temporary file's name: file systems permit 255 bytes


@contextmanager
def write_atomically(path: str | os.PathLike[str], *, sweep: bool = True, replace: bool = True) -> Iterator[BinaryIO]:
    """Opens a temporary file that replaces ``path`` when the block ends without an error.

    Args:
        path: the target.
        sweep: remove stale temporary files of the target first, which lists its folder. For a folder of many files,
            pass False, and call `remove_stale` once.
        replace: False: the target must not exist when the block ends, also if two processes write it at once.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full; names ``path``, which is unchanged.
        FileExistsError: with ``replace=False``.

    Examples:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> with write_atomically(path) as file:
        ...     _ = file.write(b"whole")
        >>> path.read_bytes()
        b'whole'
    """
    target = os.path.realpath(path)  # a symbolic link stays a link
    folder, name = os.path.split(target)
    name = name[:_MOST_CHARS]
    temporary = os.path.join(folder, f".{name}.{os.urandom(8).hex()}.tmp")
    lock = None
    try:
        descriptor = _create(temporary)
        try:
            lock = os.dup(descriptor) if fcntl else None  # held until the rename
            if sweep:
                _remove_left(folder, re.escape(name), temporary)
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if replace or not _link(temporary, target):
                with suppress(FileNotFoundError):
                    os.chmod(temporary, os.stat(target).st_mode & 0o7777)
                os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        if error.filename != temporary:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # errno selects the subclass
    finally:
        if lock is not None:
            os.close(lock)


def _create(path: str) -> int:
    """Creates a file, locked if the system supports locks."""
    # Not tempfile: its files have mode 0600; files made by `open` respect the umask.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        descriptor = os.open(path, flags, 0o666)
        if fcntl is None:
            return descriptor
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.path.exists(path):
            return descriptor
        os.close(descriptor)  # another process removed it as stale before it was locked


def _link(temporary: str, target: str) -> bool:
    """Renames a file to a name that does not exist; False on a file system without hard links."""
    try:
        os.link(temporary, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), temporary) from None
        return False
    os.unlink(temporary)
    return True


def remove_stale(folder: str | os.PathLike[str]) -> None:
    """Removes the temporary files in a folder that processes left behind when they were killed.

    Examples:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> (folder / ".a.txt.0123456789abcdef.tmp").touch()
        >>> remove_stale(folder)
        >>> list(folder.iterdir())
        []
    """
    _remove_left(os.fspath(folder), ".+", "")


def _remove_left(folder: str, name: str, own: str) -> None:
    """Removes stale temporary files of the names that match a regex: those of processes that have ended."""
    is_temporary = re.compile(rf"\.{name}\.[0-9a-f]{{16}}\.tmp").fullmatch
    with suppress(OSError):
        for entry in os.listdir(folder or "."):
            path = os.path.join(folder, entry)
            if is_temporary(entry) and path != own:
                with suppress(OSError):
                    _remove_if_left(path)


def _remove_if_left(path: str) -> None:
    if fcntl is None:
        os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(descriptor)

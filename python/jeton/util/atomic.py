"""Atomic writing of files.

Data is written to a temporary file in the target's folder, flushed to disk (fsync), and renamed to the target. If the
disk is full or the process is killed before the rename, the old file stays unchanged. A process holds a lock on its
temporary file. A stale temporary file of a killed process is removed by the next process that writes the target.

The folder can be writable by other users. So if the target is a symbolic link, the rename replaces the link and never
writes to the file that it points to. Other hard links to the target keep the old content. Temporary files have random
names and are created exclusively. Symbolic links among the folders of the path are followed. The new file gets the mode
of the old file if this user owns the old file.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

try:
    import fcntl
except ImportError:  # on Windows an open file cannot be removed, so no lock is needed
    fcntl = None  # type: ignore[assignment]

__all__ = ["copy_atomically", "is_stream", "own_mode", "remove_stale", "write_atomically"]

_MOST_CHARS = 50  # characters of the target's name in a temporary file's name; file systems permit 255 bytes in all
# Error numbers for a full disk or an exceeded size limit. If writing a buffer fails with one of these, the exception
# lacks the file's name, so `write_atomically` adds it.
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_DESCRIPTORS = {"/dev/stdout": 1, "/dev/stderr": 2}


@contextmanager
def write_atomically(
    path: str | os.PathLike[str], *, sweep: bool = True, replace: bool = True, streams: bool = False
) -> Iterator[BinaryIO]:
    """Opens a temporary file that replaces ``path`` when the block ends without an error.

    Args:
        path: the target. A symbolic link is replaced, not followed.
        sweep: first remove stale temporary files of the target. This lists the target's folder. To write many files
            into a folder, pass False, and call `remove_stale` once.
        replace: False: raise an error if the target exists when the block ends, also if another process wrote it
            meanwhile.
        streams: True: if ``path`` is a named pipe, a device, or a descriptor of this process (see `is_stream`), it is
            written to, not replaced, when the block ends without an error. For paths that a user names as an output.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full; the error names ``path``, which is
            unchanged.
        IsADirectoryError: ``path`` is a folder, or a link to one.
        FileExistsError: ``replace=False``, and ``path`` exists.

    Examples:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> with write_atomically(path) as file:
        ...     _ = file.write(b"whole")
        >>> path.read_bytes()
        b'whole'
    """
    if streams and is_stream(path):
        with _write_stream(path) as file:
            yield file
        return
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    folder, name = os.path.split(os.fspath(path))
    folder = os.path.realpath(folder)  # resolved once, because the current folder can change
    target = os.path.join(folder, name)
    temporary = os.path.join(folder, f".{name[:_MOST_CHARS]}.{os.urandom(8).hex()}.tmp")
    lock = None
    try:
        descriptor = _create(temporary)
        try:
            lock = os.dup(descriptor) if fcntl else None  # held until the rename
            if sweep:
                _remove_left(folder, re.escape(name[:_MOST_CHARS]), temporary)
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if replace or not _link(temporary, target):
                if (mode := own_mode(target)) is not None:
                    os.chmod(temporary if lock is None else lock, mode)
                os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        if error.filename != temporary and (error.filename is not None or error.errno not in _FULL):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # errno selects the subclass
    finally:
        if lock is not None:
            os.close(lock)


def copy_atomically(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copies the content of a file to a target, which is replaced atomically (`write_atomically`).

    Examples:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_bytes(b"whole")
        >>> copy_atomically(folder / "a.txt", folder / "b.txt")
        >>> (folder / "b.txt").read_bytes()
        b'whole'
    """
    import shutil

    with open(source, "rb") as read, write_atomically(target) as file:
        shutil.copyfileobj(read, file, 1 << 20)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Returns True for a descriptor of this process (``/dev/stdout``, ``/dev/stderr``, ``/dev/fd/3``), a named pipe,
    and a device; False for any other path, including a symbolic link to one of these.

    Examples:
        >>> is_stream("tokenizer.json")
        False
    """
    if os.name != "posix":
        return False
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return _is_stream_mode(mode)


def _is_stream_mode(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """Returns the descriptor of this process that a path names."""
    text = os.fspath(path)
    named = re.fullmatch(r"(?:/dev|/proc/self)/fd/([0-9]{1,9})", text)
    return int(named[1]) if named else _DESCRIPTORS.get(text)


@contextmanager
def _write_stream(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yields a temporary file, which is copied to a stream at the end."""
    import shutil
    import tempfile

    with tempfile.TemporaryFile() as held:
        yield cast(BinaryIO, held)
        held.seek(0)
        try:
            with os.fdopen(_open_stream(path), "wb") as stream:
                shutil.copyfileobj(held, stream, 1 << 20)
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _open_stream(path: str | os.PathLike[str]) -> int:
    own = _descriptor(path)
    if own is not None:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()  # text that was printed earlier must come first
        return os.dup(own)
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW)  # the file may have changed since `is_stream`
    if not _is_stream_mode(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EEXIST, "is no longer a named pipe or a device")
    return descriptor


def own_mode(path: str | os.PathLike[str]) -> int | None:
    """Returns the mode of a file that this user owns; None for a link, another user's file, or a missing file.

    Examples:
        >>> own_mode("missing.txt") is None
        True
    """
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    is_own = not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()
    return facts.st_mode & 0o777 if is_own and stat.S_ISREG(facts.st_mode) else None


def _create(path: str) -> int:
    """Creates a file, locked if the system supports locks."""
    # Not with tempfile, whose files have mode 0600: the mode should follow the umask, as with `open`.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        descriptor = os.open(path, flags, 0o666)
        if fcntl is None:
            return descriptor
        with suppress(OSError):  # the file system may not support locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.path.exists(path):
            return descriptor
        os.close(descriptor)  # another process removed the file as stale before it was locked


def _link(temporary: str, target: str) -> bool:
    """Gives a temporary file its final name by a hard link, unless a file has that name already. Returns False if the
    file system has no hard links.
    """
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
    """Removes temporary files whose names match a regex and whose writing processes have ended."""
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
    # These flags neither follow a link nor wait for a named pipe, either of which another user may have created.
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(descriptor)

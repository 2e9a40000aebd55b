"""Files that are whole or not there.

What is written goes to a new file beside the target, is flushed to the disk, and takes the target's name in one step.
Whatever happens before, a full disk or a killed process, the old file stays as it was. A temporary file belongs to a
process as long as that holds its lock; what a killed process left is removed by the next one that writes the target.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

__all__ = ["write_atomically"]

_MOST_CHARS = 50  # of a name in that of its temporary file: file systems permit 255 bytes


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which becomes ``path`` when the block ends without an error.

    Raises:
        OSError: the folder is not there or cannot be written, or the disk is full; names ``path``, which is as it was.

    Examples:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> with write_atomically(path) as file:
        ...     _ = file.write(b"whole")
        >>> path.read_bytes()
        b'whole'
    """
    target = os.path.realpath(path)  # a link stays a link, to the new content
    folder, name = os.path.split(target)
    name = name[:_MOST_CHARS]
    temporary = os.path.join(folder, f".{name}.{os.urandom(8).hex()}.tmp")
    lock = None
    try:
        descriptor = _create(temporary)
        try:
            lock = os.dup(descriptor) if fcntl else None  # held until the file has its name
            _remove_left(folder, name, temporary)
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
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
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # its subclass follows from the number
    finally:
        if lock is not None:
            os.close(lock)


def _create(path: str) -> int:
    """A new file, locked where the system has locks."""
    # Not tempfile: its files are the owner's alone, where `open` would make one that the user's umask decides.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        descriptor = os.open(path, flags, 0o666)
        if fcntl is None:
            return descriptor
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.path.exists(path):
            return descriptor
        os.close(descriptor)  # another process took it for a left one before it was locked


def _remove_left(folder: str, name: str, own: str) -> None:
    """Removes the temporary files for this name whose processes are gone."""
    is_temporary = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{16}}\.tmp").fullmatch
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

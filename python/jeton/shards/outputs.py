"""Output files of a task. They are hashed while they are written, and published together at the end."""

from __future__ import annotations

import hashlib
import io
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from .storage import Storage

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["OutputFile", "OutputFiles", "sha256_of"]

READ_BYTES = 1 << 20


class OutputFile(io.RawIOBase):
    """Output file that is written sequentially.

    Attributes:
        num_bytes: number of bytes written so far.
        is_discarded: True after an error. Later writes are then ignored, because compressors, for example, still write
            when they are freed.
    """

    def __init__(self, file: BinaryIO, location: str) -> None:
        self._file, self._location, self._sha = file, location, hashlib.sha256()
        self.num_bytes, self.is_discarded = 0, False

    def writable(self) -> bool:
        """Always True."""
        return True

    def write(self, data: ReadableBuffer) -> int:
        """Writes all bytes.

        Raises:
            OSError: a write failed, for example because the disk is full; the error names the file.
        """
        view = memoryview(data).cast("B")
        if self.is_discarded:
            return len(view)
        self._sha.update(view)
        try:
            self._file.write(view)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._location) from None
        self.num_bytes += len(view)
        return len(view)

    def facts(self) -> dict[str, Any]:
        """Returns the size and the SHA-256 of the file."""
        return {"bytes": self.num_bytes, "sha256": self._sha.hexdigest()}


class OutputFiles:
    """Context manager for the files of one shard. They are published when the block ends without an error.

    Attributes:
        facts: name -> size and hash, after the block.
        sync_s: seconds spent on publishing the files (flushing and renaming, or uploading), after the block.

    Examples:
        >>> import tempfile, pathlib
        >>> from jeton.shards.storage import storage_of
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> with OutputFiles(storage_of(folder)) as files:
        ...     _ = files.open("a.bin").write(b"abc")
        >>> (folder / "a.bin").read_bytes(), files.facts["a.bin"]["bytes"]
        (b'abc', 3)
    """

    def __init__(self, storage: Storage, folder: str = "") -> None:
        self._storage, self._prefix, self._stack = storage, f"{folder}/" if folder else "", ExitStack()
        self._open: dict[str, OutputFile] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.sync_s = 0.0

    def open(self, name: str) -> OutputFile:
        """Opens a new output file."""
        file = self._stack.enter_context(self._storage.write(self._prefix + name))
        self._open[name] = OutputFile(file, self._storage.location(self._prefix + name))
        return self._open[name]

    def temporary(self) -> BinaryIO:
        """Returns a temporary file for reading and writing; it is on the folder's disk if the folder is local."""
        return self._storage.temporary()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._open.values():
            file.is_discarded = error is not None
        self.facts = {name: file.facts() for name, file in self._open.items()}
        began = time.perf_counter()
        self._stack.__exit__(kind, error, trace)
        self.sync_s = time.perf_counter() - began


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(READ_BYTES):
            sha.update(data)
    return sha.hexdigest()

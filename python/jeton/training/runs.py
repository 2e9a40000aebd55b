"""Stores counts on disk while a corpus is counted.

Counts are stored if the counts in memory exceed the memory limit, and whenever a checkpoint is saved. The files are:

    runs        ``run-000001.jtr`` and so on: each run has the sorted counts of one contiguous range of the corpus
    state.json  for a checkpoint only: position, options, and names of the runs

A run is written to a temporary file, which is then renamed. For a checkpoint, the run is flushed to disk before it is
renamed, and afterwards the state is replaced atomically. Invariant: whenever the process ends, every run listed in the
state is complete. A run that is not listed is stale and is removed. Ctrl-C is deferred until a save is complete; the
log then reports the state of the checkpoint.

Not supported: two processes that count into the same folder at the same time.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shutil
import signal
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from .. import _core
from ..corpus import Document
from ..errors import ConfigError, FormatError, named
from ..util.atomic import write_atomically

__all__ = ["Position", "RunFolder", "defer_interrupt", "log_kept_counts"]

# Every number in the state file must be below this limit. A byte of the corpus can have up to 128 (2⁷) pretokens, each
# with a position of its own, so the positions of 2⁵⁶ bytes are below 2⁶³ and fit in 64 bits.
MOST = 1 << 56
STATE = "state.json"
MOST_RUNS = 64  # maximum number of runs in one k-way merge; more runs are merged in several passes
RUN = re.compile(r"run-\d{6,}\.jtr(\.([0-9a-f]{16}\.)?tmp)?")


@dataclass(frozen=True, slots=True)
class Position:
    """Position in a corpus: number of documents before it, and a checksum that identifies these documents.

    Examples:
        >>> first = Position().after(Document(b"one", "a"))
        >>> first.documents, first == Position().after(Document(b"two", "a"))
        (1, False)
    """

    documents: int = 0
    checksum: int = 0

    def after(self, document: Document) -> Position:
        """Returns the next position. The checksum covers the document's length and its first and last 256 bytes."""
        data = document.data
        look = b"%d:" % len(data) + data[:256] + data[-256:]
        return Position(self.documents + 1, zlib.crc32(look, self.checksum))


@dataclass
class RunFolder:
    """Folder of runs, with its state.

    Attributes:
        folder: folder of the checkpoint. Without a checkpoint: the folder in which a temporary folder is created for
            the first run; None: the system's default.
        is_checkpoint: True if the state is saved, so that counting can resume.
        options: name -> value; counting only resumes with equal options.
        position: position in the corpus after the last document that the runs contain.
        totals: (documents, bytes, special tokens found) of all runs.
    """

    folder: str | None
    is_checkpoint: bool
    options: dict[str, Any]
    position: Position = Position()
    totals: tuple[int, int, int] = (0, 0, 0)
    _runs: list[str] = field(default_factory=list)
    _next: int = 1
    _temporary: str | None = None
    _is_writing: bool = False

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | None, *, checkpoint: bool, options: dict[str, Any]) -> RunFolder:
        """Opens a folder, and loads the state of a checkpoint if there is one.

        Raises:
            ConfigError: the checkpoint was made with other options.
            FormatError: the state is corrupt, or a run is missing.
        """
        spill = cls(None if folder is None else os.fspath(folder), checkpoint, options)
        if checkpoint and spill.folder is not None:
            Path(spill.folder).mkdir(parents=True, exist_ok=True)
            spill._read_state()
            spill._sweep()
        return spill

    def put(self, counter: _core.Counter, position: Position) -> None:
        """Writes the counts of a counter to a run, and frees their memory.

        Ctrl-C is deferred until the run is written. If a second Ctrl-C interrupts the write, the write is not repeated,
        because the counter may already be empty; the previous state stays valid.

        Raises:
            OSError: the disk is full; earlier runs are unchanged.
        """
        if self._is_writing or (position == self.position and self.is_checkpoint):
            return
        with defer_interrupt():
            self._is_writing = True
            totals = counter.totals()
            self._write(partial(counter.spill, durable=self.is_checkpoint))
            self.position, self.totals = position, totals
            self._save_state()
            self._is_writing = False

    @property
    def has_runs(self) -> bool:
        """True if there is at least one run."""
        return bool(self._runs)

    def runs(self) -> list[str]:
        """Returns the paths of the runs. If there are more than MOST_RUNS, some of them are merged first."""
        while len(self._runs) > MOST_RUNS:
            merged = [self._path(run) for run in self._runs[:MOST_RUNS]]
            self._write(partial(_core.Counter.merge_runs, merged, min_count=0, durable=self.is_checkpoint))
            self._runs = [self._runs[-1], *self._runs[MOST_RUNS:-1]]
            self._save_state()
            for run in merged:
                os.unlink(run)
        return [self._path(run) for run in self._runs]

    def close(self) -> None:
        """Removes the temporary folder. A checkpoint is kept."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _path(self, name: str) -> str:
        return os.path.join(self._home(), name)

    def _home(self) -> str:
        """Returns the folder of the runs: the checkpoint's, or a temporary folder, which is created on first use."""
        if self.is_checkpoint and self.folder is not None:
            return self.folder
        if self._temporary is None:
            if self.folder is not None:
                Path(self.folder).mkdir(parents=True, exist_ok=True)
            self._temporary = tempfile.mkdtemp(prefix="jeton-counts-", dir=self.folder)
        return self._temporary

    def _write(self, write: Callable[[str], object]) -> None:
        """Writes a new run atomically."""
        name = f"run-{self._next:06}.jtr"
        path = self._path(name)
        temporary = f"{path}.{os.urandom(8).hex()}.tmp"
        try:
            write(temporary)
            os.replace(temporary, path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary)
            raise self._explained(error) from None
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        self._next += 1
        self._runs.append(name)

    def _explained(self, error: OSError) -> OSError:
        """Returns the I/O error with advice added to its message."""
        hint = "counts exceed memory_limit and cannot be written here; "
        if error.errno == errno.ENOSPC:
            hint = "the disk is full: counts over memory_limit are written here; "
        kept = "the checkpoint is still valid" if self.is_checkpoint else "pass spill_folder= on a larger disk"
        return OSError(error.errno or errno.EIO, f"{error.strerror or error}; {hint}{kept}", self._home())

    def _save_state(self) -> None:
        if not self.is_checkpoint:
            return
        state = {
            "version": 1,
            "options": self.options,
            "documents": self.position.documents,
            "checksum": self.position.checksum,
            "totals": list(self.totals),
            "next": self._next,
            "runs": self._runs,
        }
        try:
            with write_atomically(self._path(STATE)) as file:
                file.write(json.dumps(state, sort_keys=True).encode())
        except OSError as error:
            raise self._explained(error) from None

    def _read_state(self) -> None:
        path = self._path(STATE)
        try:
            spelled = Path(path).read_bytes()
        except FileNotFoundError:
            return
        try:
            state = json.loads(spelled)
            numbers = [state["documents"], state["checksum"], state["next"], *state["totals"]]
            if state["version"] != 1 or len(numbers) != 6 or not all(type(n) is int and 0 <= n < MOST for n in numbers):
                raise ValueError("invalid numbers")
            runs = list(state["runs"])
            if not all(isinstance(run, str) and RUN.fullmatch(run) for run in runs):
                raise ValueError("invalid names of runs")
            options = dict(state["options"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(f"{path}: not the state of a checkpoint ({error})", format="checkpoint") from None
        for name, given in json.loads(json.dumps(self.options)).items():
            if options.get(name) != given:
                made, now = (json.dumps(value, ensure_ascii=False)[:200] for value in (options.get(name), given))
                message = f"the checkpoint {self.folder} was made with {named(name)} {made}, but this call has {now}"
                raise ConfigError(f"{message}; pass the same, or another folder", option="checkpoint")
        for run in runs:
            if not os.path.isfile(self._path(run)):
                message = f"{path}: its run {run} is missing; count again in another folder"
                raise FormatError(message, format="checkpoint")
        self.position = Position(state["documents"], state["checksum"])
        self.totals = (state["totals"][0], state["totals"][1], state["totals"][2])
        self._runs, self._next = runs, state["next"]

    def _sweep(self) -> None:
        """Removes stale runs: those that the state does not list."""
        for name in os.listdir(self._home()):
            if RUN.fullmatch(name) and name not in self._runs:
                os.unlink(self._path(name))


_log = logging.getLogger("jeton")


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Defers the first SIGINT until the end of the block; a second SIGINT interrupts the block.

    Does nothing outside of the main thread, because Python runs signal handlers only there.

    Examples:
        >>> done = []
        >>> try:
        ...     with defer_interrupt():
        ...         signal.raise_signal(signal.SIGINT)
        ...         done.append("whole")
        ... except KeyboardInterrupt:
        ...     print(done)
        ['whole']
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held: list[FrameType | None] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(frame)
        if len(held) > 1:
            before(number, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        before(signal.SIGINT, held[0])


@contextmanager
def log_kept_counts(checkpoint: str | os.PathLike[str] | None) -> Iterator[None]:
    """Context manager that logs the number of documents in the checkpoint if its block is interrupted.

    Args:
        checkpoint: folder of the checkpoint; None: there is no checkpoint, and no message.
    """
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None:
            documents = sum(map(_documents, [Path(checkpoint, STATE), *Path(checkpoint).glob(f"*/{STATE}")]))
            if documents:
                _log.warning(
                    "interrupted: the checkpoint %s holds the counts of %d documents; the same call resumes after them",
                    os.fspath(checkpoint),
                    documents,
                )
            else:
                _log.warning("interrupted: nothing is kept in the checkpoint %s yet", os.fspath(checkpoint))
        raise


def _documents(path: Path) -> int:
    try:
        documents = json.loads(path.read_bytes())["documents"]
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    return documents if isinstance(documents, int) else 0

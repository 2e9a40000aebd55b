"""Limits of memory, disk and threads for counting and learning.

The caller sets the memory limit; by default it is a quarter of the available memory.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from .. import _core
from ..errors import ConfigError, keyword
from ..util.arguments import file_path, instance
from ..util.machine import available
from ..util.threads import num_threads

__all__ = ["Limits", "MemoryOptions", "make_memory", "parse_bytes"]

# (memory limit as for `parse_bytes`, folder for spilled data)
MemoryOptions: TypeAlias = "tuple[int | str | None, str | os.PathLike[str] | None]"

UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
    "ti": 1 << 40,
}
MIN_BYTES = 1 << 20

# Size of a batch: large enough that the cost of starting threads is negligible, small enough that a batch and its
# counts fit into memory. With a checkpoint, batches are smaller, so that a batch ends soon after Ctrl-C.
BATCH_BYTES = 64 << 20
CHECKPOINT_BATCH_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of memory, disk and threads for counting and learning. They do not change the result.

    `jeton.train`, `jeton.count_pretokens`, `jeton.sizes` and `jeton.measure` have the argument ``limits=``.

    Attributes:
        memory_limit: bytes, or a string such as ``"500MB"``. Counts that exceed the limit are spilled to disk, and
            learning uses memory-mapped files for data that exceeds it. None: a quarter of the available memory of the
            machine or container.
        spill_folder: parent of the temporary folder for spilled data. None: the system's temporary folder.
        checkpoint: folder in which counts are saved every 30 seconds, and merges and Unigram pieces every 20 seconds;
            all are also saved at Ctrl-C. The same call with the same folder resumes, even after the process was killed.
            The folder is not removed.
        threads: number of threads; None: RAYON_NUM_THREADS, or all cores.

    Raises:
        ConfigError: an invalid amount, path or number.

    Examples:
        >>> import jeton
        >>> jeton.count_pretokens(["to be"], limits=jeton.Limits(memory_limit="64MB", threads=1)).total
        2
    """

    memory_limit: int | str | None = None
    spill_folder: str | os.PathLike[str] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        parse_bytes(self.memory_limit)
        num_threads(self.threads)
        for option in ("spill_folder", "checkpoint"):
            if getattr(self, option) is not None:
                file_path(getattr(self, option), option)

    @classmethod
    def of(cls, limits: Limits | None, threads: int | None) -> Limits:
        """Combines the arguments ``limits=`` and ``threads=``.

        Raises:
            ConfigError: `threads` is given twice, or `limits` has another type.
        """
        limits = cls() if limits is None else instance(limits, "limits", cls, "a jeton.Limits or None")
        if threads is None:
            return limits
        if limits.threads is not None:
            raise ConfigError(f"{keyword('threads')} is given twice: as an argument and in {keyword('limits')}")
        return replace(limits, threads=threads)

    @property
    def num_threads(self) -> int:
        """Number of threads: `threads`, or its default."""
        return num_threads(self.threads)

    @property
    def batch_bytes(self) -> int:
        """Size of a batch of documents, in bytes."""
        size = BATCH_BYTES if self.checkpoint is None else CHECKPOINT_BATCH_BYTES
        return max(min(size, parse_bytes(self.memory_limit) // 16), 1 << 20)  # up to three batches are in memory

    @property
    def memory_options(self) -> MemoryOptions:
        """Memory limit, and folder for spilled data."""
        return self.memory_limit, self.spill_folder or self.checkpoint

    def memory(self) -> _core.Memory:
        """Returns the core's memory limit for all steps after counting."""
        return make_memory(*self.memory_options)

    def of_part(self, name: str) -> Limits:
        """Returns the limits for a part of the work, or for a second count. Its checkpoint is the subfolder `name`."""
        return self if self.checkpoint is None else replace(self, checkpoint=Path(self.checkpoint, name))


def parse_bytes(limit: int | str | None) -> int:
    """Parses a limit: a number of bytes, or a string such as ``"500MB"``; None: a quarter of the available memory.

    Raises:
        ConfigError: the limit has another type or syntax, or is below 1 MiB.

    Examples:
        >>> parse_bytes("500MB"), parse_bytes("1.5GiB"), parse_bytes(1 << 30)
        (500000000, 1610612736, 1073741824)
    """
    if limit is None:
        return max(available() // 4, MIN_BYTES)
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d{1,20}(?:\.\d{1,20})?)\s*([kmgt]i?)?b?\s*", limit, re.IGNORECASE)
        value = int(Fraction(match[1]) * UNITS[(match[2] or "").lower()]) if match else None
    else:
        value = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
    if value is None or not MIN_BYTES <= value < 1 << 62:
        example = 'expected at least 1 MiB, such as 500_000_000, "500MB" or "2GiB"'
        message = f"{keyword('memory_limit', limit)} is not a valid amount of memory: {example}"
        raise ConfigError(message)
    return value


def make_memory(limit: int | str | None = None, folder: str | os.PathLike[str] | None = None) -> _core.Memory:
    """Builds the core's memory limit. `folder`: folder for the memory-mapped files of data that exceeds the limit."""
    return _core.Memory(parse_bytes(limit), os.fspath(folder or tempfile.gettempdir()))

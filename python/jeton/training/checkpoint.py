"""Checkpoint of learning: the merges learned so far.

    merges.jtm   a line of JSON with the checksum of the counts and the options, then the merges

The file is replaced atomically every 20 seconds and at Ctrl-C. A later run with the same counts and options applies
these merges in one pass and learns the rest; its vocabulary size may differ.

Left out: Unigram, which starts again from its first round.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import _core
from ..atomic import write_atomically
from ..errors import ConfigError, FormatError
from .counts import Counts
from .limits import Limits

__all__ = ["checkpointed_run"]

FILE_NAME = "merges.jtm"
VERSION = 1
SAVE_EVERY_S = 20.0  # writing the merges of a vocabulary of 128,000 takes some hundredths of a second


def checkpointed_run(
    counts: Counts,
    how: Mapping[str, Any],
    limits: Limits,
    progress: Callable[[int], object] | None = None,
) -> _core.Run:
    """Builds the core's run settings: memory, threads, progress, and the merges of a checkpoint.

    Args:
        counts: the counts to learn from.
        how: all options that determine the merges, as JSON, except the vocabulary size.
        limits: memory, threads, and the folder of the checkpoint, if any.
        progress: called periodically with the number of merges.

    Raises:
        ConfigError: the checkpoint is of other counts or options.
        FormatError: it is corrupt.
    """
    memory, threads = limits.memory(), limits.num_threads
    if limits.checkpoint is None:
        return _core.Run(threads=threads, progress=progress, memory=memory)
    path = Path(limits.checkpoint, FILE_NAME)
    made = {"counts": counts._core.checksum(), "distinct": len(counts), **json.loads(json.dumps(how))}

    def save(merges: bytes) -> None:
        head = {"version": VERSION, "bytes": len(merges), "checksum": zlib.crc32(merges), "made": made}
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(path) as file:
            file.write(json.dumps(head, sort_keys=True).encode() + b"\n" + merges)

    done = _saved(path, made)
    return _core.Run(threads=threads, progress=progress, memory=memory, done=done, save=save, save_every=SAVE_EVERY_S)


def _saved(path: Path, made: Mapping[str, Any]) -> bytes | None:
    """Reads the merges of an earlier run; None if there is no file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    first, _, merges = content.partition(b"\n")
    try:
        head = json.loads(first)
        whole = (head["version"], head["bytes"], head["checksum"]) == (VERSION, len(merges), zlib.crc32(merges))
        before = dict(head["made"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f"{path}: not the merges of a checkpoint ({error})", format="checkpoint") from None
    if not whole:
        raise FormatError(f"{path}: the merges are corrupt; remove the file to learn again", format="checkpoint")
    for name in sorted(made.keys() | before.keys()):
        if before.get(name) != made.get(name):
            then, now = (json.dumps(value, ensure_ascii=False)[:200] for value in (before.get(name), made.get(name)))
            message = f"the merges in {path} were learned with {name} {then}, and this call has {now}"
            raise ConfigError(f"{message}; pass the same, or another folder", option="checkpoint")
    return merges

"""Where learning goes on: the merges so far, in the folder of a checkpoint.

    merges.jtm   a line of JSON, which says what they were learned from and how, and then the merges themselves

The file is replaced in one step, every 20 seconds and at Ctrl-C, so it is always whole. A later run with the same
counts and options does its merges again in one pass and learns the rest; it may ask for another size.

Left out: Unigram, whose rounds begin again.
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
from .counted import Counts
from .counts import Limits

__all__ = ["checkpointed_run"]

FILE_NAME = "merges.jtm"
VERSION = 1
SAVE_EVERY_S = 20.0  # seconds; writing the merges of a vocabulary of 128,000 takes some hundredths of one


def checkpointed_run(
    counts: Counts,
    how: Mapping[str, Any],
    limits: Limits,
    threads: int,
    progress: Callable[[int], object] | None = None,
) -> _core.Run:
    """How learning runs here: with how much memory and how many threads, and from which merges on.

    Args:
        counts: what is learned from.
        how: all options that decide the merges, in JSON's types; not how many there are to be.
        limits: memory, and the folder of the checkpoint, if there is one.
        threads: at most so many.
        progress: gets the number of merges now and then.

    Raises:
        ConfigError: the checkpoint is of other counts or options.
        FormatError: it is damaged.
    """
    memory = limits.memory()
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
    """The merges of an earlier run."""
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
        raise FormatError(f"{path}: the merges are damaged; remove the file to learn again", format="checkpoint")
    for name in sorted(made.keys() | before.keys()):
        if before.get(name) != made.get(name):
            then, now = (json.dumps(value, ensure_ascii=False)[:200] for value in (before.get(name), made.get(name)))
            message = f"the merges in {path} were learned with {name} {then}, and this call has {now}"
            raise ConfigError(f"{message}; pass the same, or another folder", option="checkpoint")
    return merges

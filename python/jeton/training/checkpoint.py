"""Checkpoint of learning: the merges, or the pieces of Unigram, learned so far.

    merges.jtm   a line of JSON with the checksum of the counts and the options, then the merges
    pieces.jtp   the same line, then the pieces after a step of EM or pruning

The file is replaced atomically every 20 seconds and at Ctrl-C. A later run with the same counts and options continues
from there. If that run has another vocabulary size, it can continue from merges, but not from pieces.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import ConfigError, FormatError, named
from ..util.atomic import write_atomically
from .counts import Counts
from .limits import Limits

__all__ = ["checkpointed_piece_run", "checkpointed_run"]

FILE_NAME = "merges.jtm"
PIECES_FILE_NAME = "pieces.jtp"
VERSION = 1
SAVE_EVERY_S = 20.0  # seconds; saving is cheap: some hundredths of a second for the merges of 128,000 entries


def checkpointed_run(
    counts: Counts,
    how: Mapping[str, Any],
    limits: Limits,
    progress: Callable[[int], object] | None = None,
) -> _core.Run:
    """Builds the core's run settings: memory, threads, progress, and the merges of a checkpoint.

    Args:
        counts: the counts to learn from.
        how: all options that determine the merges except the vocabulary size, as JSON.
        limits: memory, threads, and the folder of the checkpoint, if any.
        progress: called periodically with the number of merges learned so far.

    Raises:
        ConfigError: the checkpoint was made from other counts or options.
        FormatError: the checkpoint is corrupt.
    """
    return _run(FILE_NAME, counts, how, limits, progress)


def checkpointed_piece_run(
    counts: Counts,
    how: Mapping[str, Any],
    vocab_size: int,
    limits: Limits,
    progress: Callable[[int], object] | None = None,
) -> _core.Run:
    """Builds the core's run settings for Unigram, with the arguments of `checkpointed_run`.

    The seed pieces depend on the vocabulary size, so a checkpoint for another vocabulary size is not used.

    Raises:
        ConfigError: the checkpoint was made from other counts or options.
        FormatError: the checkpoint is corrupt.
    """
    return _run(PIECES_FILE_NAME, counts, how, limits, progress, size=vocab_size)


def _run(
    name: str,
    counts: Counts,
    how: Mapping[str, Any],
    limits: Limits,
    progress: Callable[[int], object] | None,
    **other: int,
) -> _core.Run:
    """Returns run settings with checkpoint file `name`; `other`: numbers that must equal those in the checkpoint."""
    memory, threads = limits.memory(), limits.num_threads
    if limits.checkpoint is None:
        return _core.Run(threads=threads, progress=progress, memory=memory)
    path = Path(limits.checkpoint, name)
    made = _made(counts, how)
    saved = _saved(path, made, **other)
    return _core.Run(
        threads=threads,
        progress=progress,
        memory=memory,
        done=saved if name == FILE_NAME else None,
        pieces=saved if name == PIECES_FILE_NAME else None,
        save=lambda learned: _save(path, made, learned, **other),
        save_every=SAVE_EVERY_S,
    )


def _made(counts: Counts, how: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the counts and options that identify a checkpoint."""
    return {"counts": counts._core.checksum(), "distinct": len(counts), **json.loads(json.dumps(how))}


def _save(path: Path, made: Mapping[str, Any], learned: bytes, **other: int) -> None:
    head = {"version": VERSION, "bytes": len(learned), "checksum": zlib.crc32(learned), "made": made, **other}
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as file:
        file.write(json.dumps(head, sort_keys=True).encode() + b"\n")
        file.write(learned)


def _saved(path: Path, made: Mapping[str, Any], size: int | None = None) -> bytes | None:
    """Reads the results of an earlier run; None if the file is missing, or was made for another vocabulary size."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    kind = "merges" if size is None else "pieces"
    first, _, learned = content.partition(b"\n")
    try:
        head = json.loads(first)
        whole = (head["version"], head["bytes"], head["checksum"]) == (VERSION, len(learned), zlib.crc32(learned))
        before = dict(head["made"])
        size_before = None if size is None else head["size"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f"{path}: not the {kind} of a checkpoint ({error})", format="checkpoint") from None
    if not whole:
        raise FormatError(f"{path}: the {kind} are corrupt; remove the file to learn again", format="checkpoint")
    for name in sorted(made.keys() | before.keys()):
        if before.get(name) != made.get(name):
            then, now = (json.dumps(value, ensure_ascii=False)[:200] for value in (before.get(name), made.get(name)))
            message = f"the {kind} in {path} were learned with {named(name)} {then}, but this call has {now}"
            raise ConfigError(f"{message}; pass the same, or another folder", option="checkpoint")
    return learned if size_before == size else None

"""Rejects an output folder that is part of the corpus, because a resumed call would read its own output as input."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

from ..corpus.paths import absolute, is_remote
from ..errors import ConfigError
from .tasks import InputFile

__all__ = ["check_apart"]


def check_apart(
    places: Sequence[str | os.PathLike[str]], inputs: Sequence[InputFile], output: str, suffix: str
) -> None:
    """Checks that no path, glob, folder or URL of a corpus includes the files of an output folder.

    Args:
        places: the paths, globs, folders and URLs of the corpus.
        inputs: files of the corpus.
        output: the output folder.
        suffix: suffix of the shards.

    Raises:
        ConfigError: an item of the corpus includes the folder; the message names the item.

    Examples:
        >>> check_apart(["data/*.jsonl"], [], "data/out", ".bin")
        >>> check_apart(["data/*"], [], "data/out", ".bin")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: the output data/out is inside of data/*; pass a folder outside of the corpus
    """
    folder = _whole(output)
    for place in places:
        name = os.fspath(place)
        if _has(name, folder, suffix):
            message = f"the output {output} is inside of {name}"
            raise ConfigError(f"{message}; pass a folder outside of the corpus", option="output")
    for file in inputs:
        if _is_below(file.path, folder):
            message = f"the input {file.path} is inside of the output {output}"
            raise ConfigError(f"{message}; pass a folder outside of the corpus", option="output")


def _has(place: str, folder: str, suffix: str) -> bool:
    """True if a path, glob or folder of a corpus includes the files of an output folder."""
    if os.path.lexists(place) or not glob.has_magic(place):
        head = _whole(place)
        # A hidden folder is no conflict, because the corpus omits hidden folders.
        hidden = any(part.startswith(".") for part in PurePath(folder[len(head) :]).parts)
        return (folder == head or _is_below(folder, head)) and not hidden
    pattern = absolute(place).rstrip("/")
    names = [folder, *map(str, PurePath(folder).parents)] if not is_remote(folder) else [folder]
    if "**" in pattern:
        names.append(f"{folder}/shard-00000{suffix}")
    return any(fnmatchcase(name, pattern) for name in names)


def _whole(path: str) -> str:
    return path.rstrip("/") if is_remote(path) else os.path.realpath(path)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/" + os.sep) + ("/" if is_remote(folder) else os.sep))

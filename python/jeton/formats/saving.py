"""Writing of tokenizer files: chooses the format by the path, and calls the format's writer."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from pathlib import Path

from ..errors import ConfigError, UnsupportedFeatureError, keyword, named
from ..tokenizer import Tokenizer
from ..util.arguments import file_path
from . import bpe_pair, folder, sentencepiece, tekken, tiktoken, tokenizer_json, vocab_txt
from .error_context import LOSSES

__all__ = ["FORMATS", "format_of", "save"]


def _write_gguf(
    tok: Tokenizer,
    path: str | os.PathLike[str],
    accept_loss: Collection[str],
    like: str | os.PathLike[str] | None = None,
) -> None:
    from . import gguf_write  # imported here: this format is rarely written

    gguf_write.write(tok, path, accept_loss, like)


def _write_vocab_dump(tok: Tokenizer, path: str | os.PathLike[str], _: Collection[str]) -> None:
    from . import vocab_dump  # imported here because it imports `drawing`

    vocab_dump.write(tok, path)


_WRITERS: dict[str, Callable[[Tokenizer, str | os.PathLike[str], Collection[str]], None]] = {
    "tokenizer.json": tokenizer_json.write,
    "folder": folder.write,
    "tiktoken": tiktoken.write,
    "sentencepiece": sentencepiece.write,
    "tekken": tekken.write,
    "vocab.txt": vocab_txt.write,
    "merges.txt": bpe_pair.write,
    "gguf": _write_gguf,
    "vocab": _write_vocab_dump,
}
FORMATS = tuple(_WRITERS)
_NAMES = {"tekken.json": "tekken", "vocab.txt": "vocab.txt"}
_SUFFIXES = {
    ".json": "tokenizer.json",
    ".vocab": "vocab",
    ".tiktoken": "tiktoken",
    ".model": "sentencepiece",
    ".gguf": "gguf",
    "": "folder",
}


def format_of(path: str | os.PathLike[str]) -> str:
    """Returns the format for writing to a path, by its suffix.

    Raises:
        ConfigError: no format has this suffix.

    Examples:
        >>> format_of("my.json"), format_of("vocab.txt"), format_of("my.vocab")
        ('tokenizer.json', 'vocab.txt', 'vocab')
    """
    suffix = Path(path).suffix.lower()
    format = "folder" if os.path.isdir(path) else _NAMES.get(Path(path).name) or _SUFFIXES.get(suffix)
    if format is None:
        *known, last = filter(None, _SUFFIXES)
        raise ConfigError(
            f"no format has the suffix {suffix!r}; use {', '.join(known)} or {last}, a file named "
            f"{' or '.join(_NAMES)}, or no suffix for a folder; or pass {keyword('format')}"
        )
    return format


def save(
    tok: Tokenizer,
    path: str | os.PathLike[str],
    format: str | None,
    accept_loss: Collection[str],
    like: str | os.PathLike[str] | None = None,
) -> None:
    """Implements `Tokenizer.save`."""
    if isinstance(accept_loss, str):
        raise ConfigError(f"{named('accept_loss')} takes a collection of names; pass [{accept_loss!r}]")
    if unknown := [name for name in accept_loss if name not in LOSSES]:
        what = f"contains {unknown[0]!r:.60}, which is not the name of a loss; names: {', '.join(LOSSES)}"
        raise ConfigError(f"{named('accept_loss')} {what}", option="accept_loss")
    if not os.fspath(path):
        raise ConfigError("the path to save to is empty", option="path")  # an empty path would be the current folder
    format = format_of(path) if format is None else format
    if format not in _WRITERS:
        raise UnsupportedFeatureError(f"there is no format {format!r}; formats: {', '.join(FORMATS)}", feature=format)
    parent = os.path.dirname(os.fspath(path))
    if parent and format not in ("folder", "merges.txt") and not os.path.isdir(parent):
        raise FileNotFoundError(errno.ENOENT, "the folder to save in does not exist", parent)
    if like is None:
        _WRITERS[format](tok, path, accept_loss)
    elif format == "gguf":
        _write_gguf(tok, path, accept_loss, file_path(like, "like"))
    else:
        raise ConfigError(f"{keyword('like')} is for the format gguf, not for {format}", option="like")

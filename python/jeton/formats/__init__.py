"""Tokenizers ↔ files: one module a format, all through `Definition` and the core's vocabulary.

Content decides the format when reading, never the suffix; when writing the suffix names it. What a format cannot hold
is refused by name. Nothing is pickled into a file or unpickled from one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from ..errors import ConfigError, FormatError, UnsupportedFeatureError
from ..tokenizer import FILES, Tokenizer
from . import folder, listing, tiktoken, tokenizer_json
from .registry import REGISTRY, Known

__all__ = ["FORMATS", "load", "save"]

# Larger than any tokenizer, smaller than what would hurt: read only after a look at the size.
MAX_FILE_BYTES = 1 << 30

FORMATS = ("tokenizer.json", "folder", "vocab", "tiktoken")
_SUFFIXES = {".json": "tokenizer.json", ".vocab": "vocab", ".txt": "vocab", ".tiktoken": "tiktoken", "": "folder"}


def load(
    path_or_name: str | os.PathLike[str],
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    layout: str | None = None,
) -> Tokenizer:
    """Loads a tokenizer from a file or folder, or by its name.

    Args:
        path_or_name: a `tokenizer.json`, a folder that holds one, or one of tiktoken's rank files. Content decides, not
            the suffix. Where there is no such path: a name of the registry (``"o200k_base"``), or a repository of the
            Hugging Face hub, ``"hf:owner/name"`` or ``"hf:owner/name@revision"``; both are downloaded once.
        pattern: how text is split, for a rank file that is not known by its content. Wins over what comes with a known
            one.
        special_tokens: spelling -> id, for a rank file; wins over what comes with a known one; ``{}`` means none.
        layout: an id layout on top of a SentencePiece model.

    Raises:
        FileNotFoundError: there is no such path or name.
        DownloadError: a name whose file is not here and cannot be downloaded; says what to do.
        FormatError: a file that is no tokenizer, or a broken one; says where.
        UnsupportedFeatureError: a feature of the file that is not carried; names it.
        ConfigError: an unknown rank file without `pattern`.

    Examples:
        >>> import jeton, tempfile
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> path = tempfile.mkdtemp() + "/tokenizer.json"
        >>> tok.save(path)
        >>> jeton.load(path) == tok
        True
    """
    if layout is not None:
        raise ConfigError("layout= belongs to SentencePiece models, which are not carried yet", option="layout")
    path = Path(path_or_name)
    if not path.exists():
        path, known = _fetched(path_or_name)
        if known is not None:
            pattern = known.pattern if pattern is None else pattern
            special_tokens = known.special_tokens if special_tokens is None else special_tokens
    if path.is_dir():
        path = folder.tokenizer_file(path)
    data = _read(path)
    if data.lstrip()[:1] == b"{":
        if pattern is not None or special_tokens is not None:
            raise ConfigError("pattern= and special_tokens= are for rank files; a tokenizer.json holds its own")
        return tokenizer_json.read(data, source=str(path))
    if tiktoken.looks_like(data):
        return tiktoken.read(data, source=str(path), pattern=pattern, special_tokens=special_tokens)
    start = data[:16]
    raise FormatError(f"{path}: neither a tokenizer.json nor a rank file; it begins with {start!r}", place="byte 0")


def _fetched(name: str | os.PathLike[str]) -> tuple[Path, Known | None]:
    """The file or folder of a name, and what the registry knows of it."""
    if not isinstance(name, str) or (name not in REGISTRY and not name.startswith("hf:")):
        raise FileNotFoundError(
            f"there is no file or folder {os.fspath(name)!r}, and no tokenizer has this name. "
            f"Names: {', '.join(REGISTRY)}; a repository of the Hugging Face hub is hf:owner/name"
        )
    from .remote import fetch  # what speaks to networks costs more to import than all else together

    return fetch(name), REGISTRY.get(name)


def _read(path: Path) -> bytes:
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise FormatError(f"{path}: {size} bytes are more than a tokenizer has (limit {MAX_FILE_BYTES})")
    return path.read_bytes()


def save(tok: Tokenizer, path: str | os.PathLike[str], format: str | None, accept_loss: Collection[str]) -> None:
    """Writes a tokenizer; see `Tokenizer.save`."""
    if isinstance(accept_loss, str):
        raise ConfigError(f"accept_loss takes a collection of names; pass [{accept_loss!r}]", option="accept_loss")
    if format is None:
        is_folder = os.path.isdir(path)
        suffix = Path(path).suffix.lower()
        format = "folder" if is_folder else _SUFFIXES.get(suffix)
        if format is None:
            known = ", ".join(suffix for suffix in _SUFFIXES if suffix)
            raise ConfigError(
                f"no format has the suffix {suffix!r}; suffixes: {known}, none for a folder; or pass format="
            )
    if format == "tokenizer.json":
        tokenizer_json.write(tok, path, accept_loss)
    elif format == "folder":
        folder.write(tok, path, accept_loss)
    elif format == "vocab":
        listing.write(tok, path)
    elif format == "tiktoken":
        tiktoken.write(tok, path, accept_loss)
    else:
        raise UnsupportedFeatureError(f"there is no format {format!r}; formats: {', '.join(FORMATS)}", feature=format)


FILES.save = save
FILES.to_bytes = tokenizer_json.to_bytes
FILES.from_bytes = tokenizer_json.from_bytes

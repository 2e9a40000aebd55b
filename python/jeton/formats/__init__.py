"""Reading and writing of tokenizer files: one module per format, based on `Definition` and the core's vocabulary.

Readers detect the format by content, never by suffix; for writing, the suffix selects it. Features that a format does
not support are rejected by name. No format uses pickle.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

from ..arguments import file_path
from ..errors import ConfigError, FormatError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from . import bpe_pair, folder, model_folder, objects, sentencepiece, tekken, tiktoken, tokenizer_json, vocab_txt
from .builtin import NAME as DEFAULT
from .builtin import default
from .config import check_added, read_config
from .configured import with_config, with_named
from .error_context import LOSSES
from .naming import NamedTokenizer, names, nearest, resolve
from .registry import REGISTRY
from .remote_code import code_files, refuse_code
from .tokenizer_json import from_bytes, to_bytes, to_pickle

__all__ = [
    "FORMATS",
    "NamedTokenizer",
    "default",
    "format_of",
    "from_bytes",
    "load",
    "names",
    "save",
    "to_bytes",
    "to_pickle",
]

# Limit of a file's size, above that of any tokenizer; checked before reading.
MAX_FILE_BYTES = 1 << 30
# A SentencePiece model may begin with a line feed and a brace, too, so the next character must be a quote or a brace.
_IS_JSON = re.compile(rb"\s*\{\s*[\"}]")


# magic number -> compression
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}


def _write_vocab_dump(tok: Tokenizer, path: str | os.PathLike[str], _: Collection[str]) -> None:
    from . import vocab_dump  # lazy, because it imports `drawing`

    vocab_dump.write(tok, path)


_WRITERS: dict[str, Callable[[Tokenizer, str | os.PathLike[str], Collection[str]], None]] = {
    "tokenizer.json": tokenizer_json.write,
    "folder": folder.write,
    "tiktoken": tiktoken.write,
    "sentencepiece": sentencepiece.write,
    "tekken": tekken.write,
    "vocab.txt": vocab_txt.write,
    "merges.txt": bpe_pair.write,
    "vocab": _write_vocab_dump,
}
FORMATS = tuple(_WRITERS)
_NAMES = {"tekken.json": "tekken", "vocab.txt": "vocab.txt"}
_SUFFIXES = {
    ".json": "tokenizer.json",
    ".vocab": "vocab",
    ".tiktoken": "tiktoken",
    ".model": "sentencepiece",
    "": "folder",
}


def load(
    path_or_name: str | os.PathLike[str] | Any,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    layout: str | Mapping[str, Any] | None = None,
) -> Tokenizer:
    """Loads a tokenizer from a file or folder, or by its name.

    The format is detected by content: `tokenizer.json`, tiktoken's rank files, SentencePiece's `.model`,
    `tekken.json`, ``vocab.json`` with ``merges.txt`` (or ``encoder.json`` with ``vocab.bpe``) in the same folder, and
    BERT's ``vocab.txt``.

    Args:
        path_or_name: a file of one of these formats, or a folder that contains one; in a folder,
            `tokenizer_config.json` sets roles, the chat template and the id layout of its class. If there is no such
            path: a name that `names` lists, with its aliases and models (``"default"``, ``"o200k_base"``,
            ``"o200k"``, ``"gpt-4o"``, ``"bert-base-uncased"``), or a repository of the Hugging Face hub,
            ``"hf:owner/name"`` or ``"hf:owner/name@revision"``. All but the default tokenizer are downloaded once.
            Or a tokenizer in memory: a `tokenizers.Tokenizer`, or a fast tokenizer of transformers.
        pattern: pre-tokenization regex or name, for a rank file. A known rank file has its publisher's pattern and
            normalizer (Qwen's is NFC); this argument replaces both.
        special_tokens: spelling -> id, for a rank file; replaces those of a known one; ``{}`` means none.
        layout: id layout for a SentencePiece model: ``"fairseq"``, ``"xlm-roberta"``, ``"mbart"``, …, or a dict of
            named specials, shift, languages and mask.

    Raises:
        FileNotFoundError: there is no such path or name.
        DownloadError: a name whose file is not cached and cannot be downloaded; the message says what to do.
        FormatError: the file is not a tokenizer, or broken; the error has the place.
        UnsupportedFeatureError: the file has a feature that is not supported; the error names it.
        ConfigError: an unknown rank file without `pattern`.

    Examples:
        >>> import jeton, tempfile
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> path = tempfile.mkdtemp() + "/tokenizer.json"
        >>> tok.save(path)
        >>> jeton.load(path) == tok
        True
    """
    given = {"pattern": pattern, "special_tokens": special_tokens, "layout": layout}
    if objects.is_tokenizer(path_or_name):
        _only(given)
        return _with_tables(objects.read(path_or_name))
    path, name = Path(file_path(path_or_name, "path_or_name")), None
    is_fetched = not path.exists() or not os.fspath(path_or_name)
    if is_fetched:  # an empty path would otherwise be the current folder
        if path_or_name == DEFAULT:
            _only(given)
            return default()
        path, name = _fetched(path_or_name)
    config: dict[str, Any] = {}
    if path.is_dir():
        if not is_fetched:  # downloads were checked already, by the repository's listing
            names = [entry.name for entry in path.iterdir() if entry.is_file()]
            refuse_code(str(path), path, names, code_files(names))
        config = read_config(path)
        path = folder.choose(path)
    data = _read(path)
    tok = _load(path, data, config, given, name)
    if config:
        tok = with_config(tok, config, is_json=path.name == "tokenizer.json")
    return _with_tables(tok)


def _with_tables(tok: Tokenizer) -> Tokenizer:
    if os.environ.get("JETON_TABLES") == "always":
        tok._core.make_tables()
    return tok


def _load(path: Path, data: bytes, config: dict[str, Any], given: dict[str, Any], name: str | None) -> Tokenizer:
    """Reads a tokenizer from a file's content."""
    source = str(path)
    if tiktoken.looks_like(data):
        _only(given, "pattern", "special_tokens")
        pattern, special_tokens = given["pattern"], given["special_tokens"]
        return tiktoken.read(data, source=source, pattern=pattern, special_tokens=special_tokens, name=name)
    is_json = _IS_JSON.match(data) is not None
    if not is_json and sentencepiece.looks_like(data):
        _only(given, "layout")
        return model_folder.read(data, config, source=source, layout=given["layout"])
    if not is_json and not bpe_pair.looks_like(data) and not vocab_txt.looks_like(data):
        if compression := next((name for magic, name in _COMPRESSED.items() if data.startswith(magic)), None):
            raise FormatError(f"{path}: compressed ({compression}); decompress it, then load it", place="byte 0")
        raise FormatError(f"{path}: no tokenizer of any known format; it begins with {data[:16]!r}", place="byte 0")
    _only(given)
    if tekken.looks_like(data):
        return tekken.read(data, source=source)
    is_pair = bpe_pair.looks_like(data)
    if is_json and not is_pair:
        return with_named(tokenizer_json.read(data, source=source), config)
    config = config or read_config(path.parent)
    if is_pair:
        vocab, merges = bpe_pair.partner(path)
        tok = bpe_pair.read(_read(vocab), _read(merges), source=str(vocab), config=config)
    else:
        tok = vocab_txt.read(data, source=source, config=config)
    return check_added(with_named(tok, config), config)


def _only(given: Mapping[str, Any], *names: str) -> None:
    """Rejects arguments that do not apply to the format."""
    for name, value in given.items():
        if value is not None and name not in names:
            raise ConfigError(f"{name}= does not apply to this format, whose files contain it", option=name)


def _fetched(name: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Returns the file or folder of a name, and the registry's name if it is one of the registry."""
    known = resolve(name) if isinstance(name, str) else None
    if known is None:
        given = os.fspath(name)
        similar = nearest(given) if isinstance(name, str) else []
        hint = f"Did you mean {', '.join(similar)}? " if similar else ""
        raise FileNotFoundError(
            f"there is no file or folder {given!r}, and no tokenizer has this name. {hint}"
            "`jeton names` lists the names; a repository of the Hugging Face hub is hf:owner/name"
        )
    from .remote import fetch  # lazy: imports the HTTP client

    return fetch(known), known if known in REGISTRY else None


def _read(path: Path) -> bytes:
    size = path.stat().st_size
    if size <= MAX_FILE_BYTES:
        with _opened(path) as file:
            # a device or a pipe has size 0 and may be endless
            data = file.read() if path.is_file() else file.read(MAX_FILE_BYTES + 1)
        size = len(data)
    if size > MAX_FILE_BYTES:
        raise FormatError(f"{path}: too large for a tokenizer (limit {MAX_FILE_BYTES} bytes)", place="the size")
    return data


def _opened(path: Path) -> AbstractContextManager[BinaryIO]:
    if not path.is_fifo():
        return path.open("rb")
    from ..corpus import open_path  # lazy: importing it takes longer than loading a vocabulary

    return open_path(os.fspath(path))


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
        known = ", ".join(suffix for suffix in _SUFFIXES if suffix)
        names = " and ".join(_NAMES)
        raise ConfigError(
            f"no format has the suffix {suffix!r}; suffixes: {known}, none for a folder; or {names}; or pass format="
        )
    return format


def save(tok: Tokenizer, path: str | os.PathLike[str], format: str | None, accept_loss: Collection[str]) -> None:
    """Implements `Tokenizer.save`."""
    if isinstance(accept_loss, str):
        raise ConfigError(f"accept_loss takes a collection of names; pass [{accept_loss!r}]", option="accept_loss")
    if unknown := [name for name in accept_loss if name not in LOSSES]:
        raise ConfigError(f"no loss is named {unknown[0]!r:.60}; names: {', '.join(LOSSES)}", option="accept_loss")
    if not os.fspath(path):
        raise ConfigError("the path to save to is empty", option="path")  # it would be the current folder
    format = format_of(path) if format is None else format
    if format not in _WRITERS:
        raise UnsupportedFeatureError(f"there is no format {format!r}; formats: {', '.join(FORMATS)}", feature=format)
    _WRITERS[format](tok, path, accept_loss)

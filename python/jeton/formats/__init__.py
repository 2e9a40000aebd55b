"""Reading and writing of tokenizer files: one module per format, based on `Definition` and the core's vocabulary.

For reading, the format is detected by content, never by suffix; for writing, the suffix selects it. A feature that a
format does not support is rejected with an error that names it. No format uses pickle.

```text
detection            content → format; saving: path → format, and its writer
tokenizer_json       Hugging Face's file; hf_parts, hf_template: its pipeline stages
tiktoken, tekken     rank files; registry: patterns, special tokens, roles and templates of known rank files
sentencepiece        `.model`, with id layouts and languages; sentencepiece_parts: Hugging Face's components -> `.model`
model_folder         transformers' folder with a `.model`; class_pipelines: as `AutoTokenizer` reads it
folder               tokenizer.json with its config; helpers: configured, remote_code, discovery
gguf, gguf_write     GGUF: gguf_file: container; gguf_pre: pre-tokenizers; gguf_differences: from the original ids
vocab_txt, bpe_pair  BERT's vocab.txt; vocab.json and merges.txt
vocab_dump           entries and merges as text for people
objects              tokenizers of other libraries in memory
naming, builtin      tokenizers with a name; the default tokenizer, which tools/train_default.py trains
remote/, url         names → local files; copies of files at URLs
cache                loaded tokenizers, by the identity of their files
```

A new format is a module with `read` and `write`, a function in `detection`, a line in `load` and in `saving`; loops
over entries are in `format/` of the core.
"""

from __future__ import annotations

import os
from stat import S_ISFIFO

from ..errors import ConfigError, FormatError, keyword
from ..tokenizer import Tokenizer
from ..util.arguments import file_path
from ..util.lazy import attribute_getter
from . import detection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from typing import Any, BinaryIO, Literal, Never

    from .builtin import default
    from .naming import NamedTokenizer, names
    from .saving import FORMATS, format_of, save
    from .tokenizer_json import from_bytes, to_bytes, to_pickle
else:
    __getattr__ = attribute_getter(
        __name__,
        {
            "default": "builtin",
            **dict.fromkeys(("NamedTokenizer", "names"), "naming"),
            **dict.fromkeys(("FORMATS", "format_of", "save"), "saving"),
            **dict.fromkeys(("from_bytes", "to_bytes", "to_pickle"), "tokenizer_json"),
        },
    )

__all__ = [
    "FORMATS",
    "NamedTokenizer",
    "default",
    "format_of",
    "from_bytes",
    "load",
    "local_path",
    "model_differences",
    "names",
    "save",
    "to_bytes",
    "to_pickle",
]

# Maximum size of a tokenizer file in bytes, larger than all known files; checked before a file is read.
MAX_FILE_BYTES = 1 << 30

# magic number -> compression
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}


def load(
    path_or_name: str | os.PathLike[str] | Any,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    layout: str | Mapping[str, Any] | None = None,
    transformers: Literal[4, 5] | None = None,
    **unknown: Never,
) -> Tokenizer:
    """Loads a tokenizer from a file or folder, or by its name.

    The format is detected by content: `tokenizer.json`, tiktoken's rank files, SentencePiece's `.model`,
    `tekken.json`, ``vocab.json`` with ``merges.txt`` (or ``encoder.json`` with ``vocab.bpe``) in the same folder,
    BERT's ``vocab.txt``, and the metadata of llama.cpp's GGUF.

    Recently loaded tokenizers are cached: a path or name gives the same immutable object while its files are
    unchanged.

    Args:
        path_or_name: a file of one of these formats, or a folder that contains one; in a folder,
            `tokenizer_config.json` sets roles and the chat template, and its ``tokenizer_class`` sets the id layout.
            If there is no such path: a name that `names` lists, with its aliases and models (``"default"``,
            ``"o200k_base"``, ``"o200k"``, ``"gpt-4o"``, ``"bert-base-uncased"``), or a repository of the Hugging Face
            hub, ``"hf:owner/name"`` or ``"hf:owner/name@revision"``. All but the default tokenizer are downloaded once.
            A URL, such as ``"https://…/tokenizer.json"`` or ``"s3://bucket/folder"``, is read with fsspec each time.
            Also accepted: a model that Ollama has pulled (``"ollama:llama3.2"``, ``"ollama:owner/name:tag"``), and a
            tokenizer in memory (a `tokenizers.Tokenizer` or a fast tokenizer of transformers).
        pattern: pre-tokenization regex or name, for a rank file. A known rank file gets its publisher's pattern and
            normalizer (NFC for Qwen); this argument replaces both.
        special_tokens: spelling -> id, for a rank file; replaces the publisher's special tokens of a known rank file;
            ``{}`` means none.
        layout: id layout for a SentencePiece model: ``"fairseq"``, ``"xlm-roberta"``, ``"mbart"``, …, or a dict of
            named specials, shift, languages and mask.
        transformers: major version of transformers (4 or 5): a folder with a ``.model`` is read as `AutoTokenizer` of
            that version reads it; 4.57 and 5 differ. None gives SentencePiece's ids, as the slow classes of 4.57 do.
        unknown: always empty; a keyword of another library raises a `TypeError` that names the keyword to use.

    Raises:
        FileNotFoundError: the path or name does not exist.
        DownloadError: the file of a name is not cached and cannot be downloaded; the message says what to do.
        FormatError: the file is not a tokenizer, or is broken; the error has the location in the file.
        UnsupportedFeatureError: the file has a feature that is not supported; the error names it.
        ConfigError: `pattern` is missing for a rank file that is not known.

    Examples:
        >>> import jeton, tempfile
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> path = tempfile.mkdtemp() + "/tokenizer.json"
        >>> tok.save(path)
        >>> jeton.load(path) == tok
        True
    """
    if unknown:
        from ..util.hints import refuse_keywords

        refuse_keywords(load, unknown)
    given = {
        "pattern": pattern, "special_tokens": special_tokens, "layout": layout, "transformers": transformers
    }  # fmt: skip
    if transformers not in (None, 4, 5) or isinstance(transformers, bool | float):
        message = f"{keyword('transformers', transformers)} is not a supported major version: pass 4 or 5"
        raise ConfigError(message, option="transformers")
    if not isinstance(path_or_name, str | os.PathLike):
        from . import objects

        if objects.is_tokenizer(path_or_name):
            _only(given)
            return _with_tables(objects.read(path_or_name))
    path, name = file_path(path_or_name, "path_or_name"), None
    is_fetched = not os.path.exists(path)
    if is_fetched and "://" in path:
        from .url import local_copy

        with local_copy(path, MAX_FILE_BYTES) as copy:
            return _with_tables(_read_place(copy, given))
    if is_fetched and path_or_name == "default":
        from .builtin import default

        _only(given)
        return default()
    from . import cache

    if is_fetched:
        path, name = _fetched(path_or_name)
    is_cached = special_tokens is None and (layout is None or isinstance(layout, str))
    files = cache.identity(path) if is_cached else ()
    request = (os.path.abspath(path), name, (pattern, layout, transformers))
    tok = cache.find(request, files)
    if tok is None:
        tok = _read_place(path, given, name, is_fetched=is_fetched)
        cache.keep(request, files, tok)
    return _with_tables(tok)


def _read_place(path: str, given: dict[str, Any], name: str | None = None, *, is_fetched: bool = False) -> Tokenizer:
    """Reads a tokenizer from a file or folder.

    Args:
        path: local path of the file or folder.
        given: arguments of `load`.
        name: name of the fetched tokenizer; None if the caller gave a path.
        is_fetched: True if `remote` downloaded the file or folder and checked it.
    """
    config: dict[str, Any] = {}
    is_folder = os.path.isdir(path)
    if is_folder:
        from . import folder
        from .config import read_config
        from .remote_code import code_files, refuse_code

        if not is_fetched:  # for downloads, this check was made with the file list of the repository
            names = [entry.name for entry in os.scandir(path) if entry.is_file()]
            refuse_code(path, path, names, code_files(names))
        config, path = read_config(path), folder.choose(path)
    if _is_gguf(path):
        from . import gguf

        _only(given)
        return gguf.read(path)
    tok = _load(path, _read(path), config, given, name, is_folder=is_folder)
    if config:
        from .configured import with_config

        tok = with_config(tok, config, is_json=os.path.basename(path) == "tokenizer.json")
    return tok


def model_differences(path_or_name: str | os.PathLike[str] | Any) -> dict[str, str]:
    """Returns reasons why the loaded tokenizer can give other ids than the model's own tokenizer.

    A GGUF file cannot represent all features of a tokenizer, so `load` gives the ids of llama.cpp for such a file. Only
    differences that the file itself shows are returned.

    Args:
        path_or_name: as for `load`.

    Returns:
        Cause -> description; causes are ``"normalizer"``, ``"pattern"``, ``"pre"``, ``"prefix"``, ``"special_tokens"``,
        ``"template"``. Empty for other formats.

    Raises:
        FileNotFoundError, FormatError, UnsupportedFeatureError: as `load`.

    Examples:
        >>> model_differences("default")
        {}
    """
    if not isinstance(path_or_name, str | os.PathLike):
        return {}
    path = os.fspath(path_or_name)
    if not os.path.exists(path):
        from .naming import OLLAMA

        if not path.startswith(OLLAMA):
            return {}
        path = _fetched(path)[0]
    elif os.path.isdir(path):
        from . import folder

        path = folder.choose(path)
    if not _is_gguf(path):
        return {}
    from .gguf_differences import differences

    return differences(path)


def _with_tables(tok: Tokenizer) -> Tokenizer:
    if os.environ.get("JETON_TABLES") == "always":
        tok._core.make_tables()
    return tok


def _load(
    path: str, data: bytes, config: dict[str, Any], given: dict[str, Any], name: str | None, *, is_folder: bool
) -> Tokenizer:
    """Reads a tokenizer from a file's content. The module of a format is imported when a file has this format."""
    if detection.is_rank_file(data):
        from . import tiktoken
        from .registry import REGISTRY

        _only(given, "pattern", "special_tokens")
        pattern, special_tokens = given["pattern"], given["special_tokens"]
        name = name if name in REGISTRY else None
        return tiktoken.read(data, source=path, pattern=pattern, special_tokens=special_tokens, name=name)
    is_json = detection.is_json(data)
    if not is_json and detection.is_sentencepiece(data):
        version = given["transformers"]
        if version is not None and (not config or given["layout"] is not None):
            message = (
                f"{keyword('transformers')} applies to a folder with a .model and a tokenizer_config.json, without "
                f"{keyword('layout')}"
            )
            raise ConfigError(message)
        _only(given, "layout", "transformers")
        if config or given["layout"] is not None:
            from . import model_folder

            return model_folder.read(data, config, source=path, layout=given["layout"], version=version)
        from . import sentencepiece

        return sentencepiece.read(data, source=path)
    if data.startswith(b"version https://git-lfs"):
        raise FormatError(f"{path}: a Git LFS pointer, not the file itself; run git lfs pull", place="byte 0")
    is_pair = detection.is_gpt2_pair(data)
    if not is_json and not is_pair and not detection.is_vocab_txt(data):
        if compression := next((name for magic, name in _COMPRESSED.items() if data.startswith(magic)), None):
            raise FormatError(f"{path}: compressed ({compression}); decompress it, then load it", place="byte 0")
        if not data:
            raise FormatError(f"{path}: the file is empty", place="byte 0")
        raise FormatError(f"{path}: no tokenizer of any known format; it begins with {data[:16]!r}", place="byte 0")
    _only(given)
    if is_json and not is_pair:
        if detection.is_tekken(data):
            from . import tekken

            return tekken.read(data, source=path)
        from . import tokenizer_json

        return _with_named(tokenizer_json.read(data, source=path), config)
    from .config import check_added, read_config

    config = config or read_config(os.path.dirname(path))
    if is_pair:
        from . import bpe_pair

        vocab, merges = bpe_pair.partner(path)
        tok = bpe_pair.read(_read(vocab), _read(merges), source=vocab, config=config)
    else:
        from . import vocab_txt

        tok = vocab_txt.read(data, source=path, config=config, is_folder=is_folder)
    return check_added(_with_named(tok, config), config) if config else tok


def _with_named(tok: Tokenizer, config: dict[str, Any]) -> Tokenizer:
    if not config:
        return tok
    from .configured import with_named

    return with_named(tok, config)


def _only(given: Mapping[str, Any], *names: str) -> None:
    """Rejects arguments that do not apply to the format."""
    for name, value in given.items():
        if value is not None and name not in names:
            if name == "pattern":
                raise ConfigError(
                    f"{keyword(name)} applies only to files without a pattern; this file contains its own"
                )
            raise ConfigError(f"{keyword(name)} does not apply to files of this format; omit it")


def local_path(place: str | os.PathLike[str]) -> str:
    """Returns the local file or folder that `load` reads for a path or name. A name's files are downloaded if missing.

    Raises:
        FileNotFoundError, DownloadError: as `load`.

    Examples:
        >>> local_path(__file__) == __file__
        True
    """
    path = file_path(place, "place")
    return path if os.path.exists(path) else _fetched(place)[0]


def _fetched(name: str | os.PathLike[str]) -> tuple[str, str]:
    """Returns the local file or folder of a named tokenizer, and its main name (`name` can be an alias)."""
    from . import cache
    from .naming import is_pinned, nearest, resolve

    known = resolve(name) if isinstance(name, str) else None
    if known is None:
        given = os.fspath(name)
        similar = nearest(given) if isinstance(name, str) else []
        hint = f"Did you mean {', '.join(similar)}? " if similar else ""
        raise FileNotFoundError(
            f"there is no file or folder {given!r}, and no tokenizer has this name. {hint}"
            "`jeton names` lists the names; a repository of the Hugging Face hub is hf:owner/name, a model of Ollama "
            "ollama:name"
        )
    # The files of a pinned name were checked against their hashes when they were read, and have not changed since.
    if is_pinned(known) and (path := cache.path_of(known)) is not None:
        return path, known
    from .remote import fetch  # imported only when needed, because it imports the whole HTTP client

    return os.fspath(fetch(known)), known


def _is_gguf(path: str) -> bool:
    """Tests whether a file is GGUF. A GGUF file also contains a model's weights, so it is not read whole."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return detection.is_gguf(file.read(4))


def _read(path: str) -> bytes:
    size = os.stat(path).st_size
    if size <= MAX_FILE_BYTES:
        with _opened(path) as file:
            # A device or a pipe has the size 0 and may be endless, so the number of bytes read is limited.
            data = file.read() if os.path.isfile(path) else file.read(MAX_FILE_BYTES + 1)
        size = len(data)
    if size > MAX_FILE_BYTES:
        raise FormatError(f"{path}: too large for a tokenizer (limit {MAX_FILE_BYTES} bytes)", place="the size")
    return data


def _opened(path: str) -> AbstractContextManager[BinaryIO]:
    if not S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb")
    from ..corpus import open_path  # imported here: importing it takes longer than loading a vocabulary

    return open_path(path)

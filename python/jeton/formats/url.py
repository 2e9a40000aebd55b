"""Tokenizers at URLs of fsspec: ``https://…/tokenizer.json``, ``s3://bucket/folder``.

Their files are copied into a temporary folder, which is then read like a local folder. There is no known hash to
verify: the server is trusted to have the right tokenizer, and the readers of formats validate its data. No code is
copied.

A web address must name a file, because HTTP has no folders. For ``vocab.json`` or ``merges.txt``, the other file of the
pair is fetched, too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from ..corpus.paths import copy_file, file_name, names_in
from ..errors import JetonError
from .detection import MORE_TEMPLATES, PAIR_NAMES
from .remote_code import code_files

__all__ = ["local_copy"]

# Files that are copied from a folder. Python files that define a tokenizer are not copied: `_copy_folder` creates empty
# files with the same names, because `refuse_code` needs only the names.
_TOKENIZERS = ("tokenizer.json", "tekken.json", "*.model", "vocab.json", "encoder.json", "vocab.txt", "*.tiktoken")
_FILES = (
    *_TOKENIZERS,
    *("merges.txt", "vocab.bpe", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("config.json", "chat_template.jinja"),
)


@contextmanager
def local_copy(url: str, max_bytes: int) -> Iterator[str]:
    """Yields the path of a local copy of a tokenizer's file or folder; errors inside the block name the URL.

    Args:
        url: URL of a file or a folder.
        max_bytes: maximum size of a file.

    Raises:
        FileNotFoundError: the URL has no tokenizer file.
        MissingDependencyError: fsspec, or the package for the protocol, is not installed.

    Examples:
        >>> import fsspec
        >>> fsspec.filesystem("memory").pipe("/tok/tokenizer.json", b"{}")
        >>> with local_copy("memory://tok", 100) as path:
        ...     sorted(os.listdir(path))
        ['tokenizer.json']
    """
    with tempfile.TemporaryDirectory(prefix="jeton-") as folder:
        names = names_in(url)
        path = folder
        if names:
            _copy_folder(url.rstrip("/"), folder, names, max_bytes)
        else:
            path = os.path.join(folder, os.path.basename(file_name(url).rstrip("/")))
            copy_file(url, path, max_bytes)
            _copy_partner(url, path, max_bytes)
        try:
            yield path
        except JetonError as error:
            error.rename(path, url)
            raise
        except OSError as error:
            error.args = tuple(one.replace(path, url) if isinstance(one, str) else one for one in error.args)
            raise


def _copy_folder(url: str, folder: str, names: list[str], max_bytes: int) -> None:
    weights = sorted((name for name in names if name.endswith(".gguf")), key=lambda name: name.startswith("mmproj"))
    has_others = any(fnmatchcase(name, form) for name in names for form in _TOKENIZERS)
    for name in names:
        if any(fnmatchcase(name, form) for form in _FILES) or (not has_others and name in weights[:1]):
            copy_file(f"{url}/{name}", os.path.join(folder, name), max_bytes)
    for name in code_files(names):
        open(os.path.join(folder, name), "wb").close()
    for name in names_in(f"{url}/{MORE_TEMPLATES}"):
        if name.endswith(".jinja"):
            (Path(folder) / MORE_TEMPLATES).mkdir(exist_ok=True)
            copy_file(f"{url}/{MORE_TEMPLATES}/{name}", os.path.join(folder, MORE_TEMPLATES, name), max_bytes)


def _copy_partner(url: str, path: str, max_bytes: int) -> None:
    """Copies the other file of a pair, if the URL names one file of a pair and the other file exists."""
    for pair in PAIR_NAMES:
        for mine, other in (pair, pair[::-1]):
            if path.endswith(mine):
                base, end = file_name(url), url[len(file_name(url)) :]
                try:
                    copy_file(base.removesuffix(mine) + other + end, path.removesuffix(mine) + other, max_bytes)
                except FileNotFoundError:
                    continue

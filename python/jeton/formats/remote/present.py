"""Listing of cached tokenizers, which load without network access.

Left out: validation of the hub's cache; `jeton.load` validates the files when it loads ``hf:owner/name``.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..registry import REGISTRY
from .downloads import find_known
from .hub import PREFIX, hub_cache
from .ollama import ollama_models

__all__ = ["on_this_machine"]

# A snapshot is listed if it contains one of these files. Most snapshots in a cache are models and data sets.
_FILES = ("tokenizer.json", "tekken.json", "tokenizer.model", "vocab.json", "vocab.txt")


def on_this_machine() -> dict[str, str]:
    """Returns name -> argument for `jeton.load`: the name itself, or for ``hf:owner/name`` the newest snapshot folder.

    Models of Ollama are listed even if their files are missing or their tokenizer is not supported.

    Examples:
        >>> import tempfile
        >>> from unittest import mock
        >>> empty = tempfile.mkdtemp()
        >>> with mock.patch.dict(os.environ, JETON_CACHE_DIR=empty, TIKTOKEN_CACHE_DIR=empty, HF_HUB_CACHE=empty,
        ...         OLLAMA_MODELS=empty):
        ...     on_this_machine()
        {}
    """
    return (
        {name: name for name, known in REGISTRY.items() if find_known(known)}
        | _snapshots()
        | {name: name for name in ollama_models()}
    )


def _snapshots() -> dict[str, str]:
    """Returns ``hf:owner/name`` -> newest snapshot folder, for the repositories in the cache of huggingface_hub."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    cache = Path(hub_cache() or os.path.join(base, "huggingface", "hub"))
    found = {}
    for repository in sorted(cache.glob("models--*")):
        name = PREFIX + repository.name.removeprefix("models--").replace("--", "/")
        snapshots = [path for path in repository.glob("snapshots/*") if any((path / file).is_file() for file in _FILES)]
        if snapshots:
            found[name] = str(max(snapshots, key=lambda path: path.stat().st_mtime))
    return found

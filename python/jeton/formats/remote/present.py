"""Which named tokenizers are on this machine already, so that loading them asks no network.

Left out: whether what the hub's cache holds is whole and of a kind that is carried; loading says that.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..registry import REGISTRY
from .downloads import find_known
from .hub import PREFIX, hub_cache

__all__ = ["on_this_machine"]

# What makes a snapshot of a repository worth a look: most of those that a cache holds are models and data.
_FILES = ("tokenizer.json", "tekken.json", "tokenizer.model", "vocab.json", "vocab.txt")


def on_this_machine() -> dict[str, str]:
    """Name -> what to give `jeton.load`: names of the registry as they are, ``hf:owner/name`` the newest folder.

    Examples:
        >>> import tempfile
        >>> from unittest import mock
        >>> empty = tempfile.mkdtemp()
        >>> with mock.patch.dict(os.environ, JETON_CACHE_DIR=empty, TIKTOKEN_CACHE_DIR=empty, HF_HUB_CACHE=empty):
        ...     on_this_machine()
        {}
    """
    return {name: name for name, known in REGISTRY.items() if find_known(known)} | _snapshots()


def _snapshots() -> dict[str, str]:
    """The repositories in the cache that all users of huggingface_hub share."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    cache = Path(hub_cache() or os.path.join(base, "huggingface", "hub"))
    found = {}
    for repository in sorted(cache.glob("models--*")):
        name = PREFIX + repository.name.removeprefix("models--").replace("--", "/")
        snapshots = [path for path in repository.glob("snapshots/*") if any((path / file).is_file() for file in _FILES)]
        if snapshots:
            found[name] = str(max(snapshots, key=lambda path: path.stat().st_mtime))
    return found

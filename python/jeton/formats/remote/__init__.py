"""Names → files on this machine: ``"o200k_base"`` and ``"hf:owner/name"``. Imported when the first name is loaded.

What is fetched is data only, is checked against a hash before anybody reads it, and is kept in a cache; a file is in
the cache whole or not at all. This package finds files; what is in them is the formats' matter.

    JETON_CACHE_DIR       where our downloads are kept (else the platform's cache folder, in a folder `jeton`)
    JETON_OFFLINE         1: ask no network, for anything
    JETON_REGISTRY_URL    a mirror for the files of the registry: https, or http on this machine
    TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR    tiktoken's cache: its files are used, and ours go there
    HF_HUB_OFFLINE, HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN    as in huggingface_hub
"""

from __future__ import annotations

from pathlib import Path

from ...progress import Progress
from .downloads import fetch_known
from .hub import PREFIX, fetch_repository
from .present import on_this_machine

__all__ = ["PREFIX", "fetch", "on_this_machine"]


def fetch(name: str, *, progress: Progress = None) -> Path:
    """The file or folder that a name stands for, downloaded if it is not here yet.

    Args:
        name: a name of the registry, or ``hf:owner/name`` with ``@revision`` behind it if wanted.
        progress: as in `jeton.train`; a download that takes long draws a bar.

    Returns:
        For a name of the registry the file; its content has the registry's hash. For a repository a folder with its
        tokenizer's files, and perhaps others that other programs put there.

    Raises:
        DownloadError: the file is not here and cannot be had; says what to do.
        UnsupportedFeatureError: a repository that needs code of its own.
        MissingDependencyError: ``hf:`` without huggingface_hub.
        ConfigError: no such name, or none that can be.

    Examples:
        >>> fetch("hf:a/b/c")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: 'hf:a/b/c' is no name of a repository: that is hf:owner/name[@revision]
    """
    if name.startswith(PREFIX):
        return fetch_repository(name)
    return fetch_known(name, progress=progress)

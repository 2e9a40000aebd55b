"""Resolution of names (``"o200k_base"``, ``"hf:owner/name"``, ``"ollama:llama3.2"``) to local files, with downloads.

The package is imported on first use.

Only data files are downloaded. Each file is verified by its hash before it is parsed, and is cached atomically. Left
out: parsing, which the modules of the formats do.

    JETON_CACHE_DIR       cache folder (default: `jeton` in the platform's cache folder)
    JETON_OFFLINE         1: no network access
    JETON_REGISTRY_URL    mirror for the registry's files: https, or http on the loopback interface
    TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR    tiktoken's cache, which is read and written
    OLLAMA_MODELS         Ollama's folder of models, which is only read
    HF_HUB_OFFLINE, HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN    as in huggingface_hub
"""

from __future__ import annotations

from pathlib import Path

from ...util.progress import Progress
from .downloads import fetch_known
from .hub import PREFIX, fetch_repository
from .ollama import PREFIX as OLLAMA
from .ollama import find_ollama
from .present import on_this_machine

__all__ = ["PREFIX", "fetch", "on_this_machine"]


def fetch(name: str, *, progress: Progress = None) -> Path:
    """Returns the file or folder of a name, downloading it if it is not cached.

    Args:
        name: a name of the registry, ``hf:owner/name[@revision]``, or ``ollama:name``.
        progress: as in `jeton.train`; long downloads display a progress bar.

    Returns:
        For a name of the registry, the file, verified by the registry's hash. For a repository, a folder with the
        tokenizer's files; other programs may have added files to it. For a model of Ollama, its GGUF file.

    Raises:
        DownloadError: the file is not cached and cannot be downloaded; the message says what to do.
        UnsupportedFeatureError: the repository needs remote code.
        MissingDependencyError: the name begins with ``hf:``, and huggingface_hub is not installed.
        ConfigError: the name is unknown or invalid.
        FileNotFoundError: Ollama has no such model on this machine.

    Examples:
        >>> fetch("hf:a/b/c")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: 'hf:a/b/c' is not the name of a repository; expected hf:owner/name[@revision]
    """
    if name.startswith(PREFIX):
        return fetch_repository(name)
    if name.startswith(OLLAMA):
        return find_ollama(name)
    return fetch_known(name, progress=progress)

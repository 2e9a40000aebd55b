"""Drop-in replacements for other libraries.

    import jeton.compat.tiktoken as tiktoken          replaces one import
    jeton.compat.replace("tiktoken")                  replaces all later imports of this process
    python -m jeton.compat.run tiktoken script.py     replaces imports of an unchanged program and its processes

The original libraries are never imported, except for calls of `tokenizers` that Jeton does not support.

```text
shims/                              packages with a library's name, which import the drop-in
run, report, originals              run programs with drop-ins; report slow calls and names that a drop-in lacks
tiktoken/, sentencepiece/, tokenizers/    the drop-ins, with the same modules as the library
hf_backend/                         calls with the results of Hugging Face's tokenizers, without that library
```
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from ..errors import ConfigError

__all__ = ["PEERS", "replace", "replaced"]

# Library -> its modules -> the modules of Jeton that replace them.
PEERS: dict[str, dict[str, str]] = {
    "tiktoken": {
        "tiktoken": "jeton.compat.tiktoken",
        "tiktoken.core": "jeton.compat.tiktoken.core",
        "tiktoken.load": "jeton.compat.tiktoken.load",
        "tiktoken.model": "jeton.compat.tiktoken.model",
        "tiktoken.registry": "jeton.compat.tiktoken.registry",
        "tiktoken._educational": "jeton.compat.tiktoken._educational",
        "tiktoken._tiktoken": "jeton.compat.tiktoken._tiktoken",
        "tiktoken_ext.openai_public": "jeton.compat.tiktoken.openai_public",
    },
    "sentencepiece": {
        "sentencepiece": "jeton.compat.sentencepiece",
    },
    "tokenizers": {
        "tokenizers": "jeton.compat.tokenizers",
        "tokenizers.decoders": "jeton.compat.tokenizers.decoders",
        "tokenizers.implementations": "jeton.compat.tokenizers.implementations",
        "tokenizers.models": "jeton.compat.tokenizers.models",
        "tokenizers.normalizers": "jeton.compat.tokenizers.normalizers",
        "tokenizers.pre_tokenizers": "jeton.compat.tokenizers.pre_tokenizers",
        "tokenizers.processors": "jeton.compat.tokenizers.processors",
        "tokenizers.tools": "jeton.compat.tokenizers.tools",
        "tokenizers.trainers": "jeton.compat.tokenizers.trainers",
    },
}


def replace(library: str) -> ModuleType:
    """Makes all later imports of a library in this process load the drop-in instead of the library.

    Args:
        library: ``"tiktoken"``, ``"sentencepiece"`` or ``"tokenizers"``.

    Returns:
        The module of the drop-in.

    Raises:
        ConfigError: there is no drop-in for the library, or the library has been imported already.

    Examples:
        >>> import sys
        >>> if "tiktoken" not in sys.modules:
        ...     replace("tiktoken").__name__
        ... else:
        ...     "jeton.compat.tiktoken"
        'jeton.compat.tiktoken'
    """
    for name, ours in _aliases(library).items():
        loaded = sys.modules.get(name)
        if loaded is not None and loaded.__name__ != ours:
            raise ConfigError(f"{name} has been imported already; replace it before its first import", option="library")
    _alias(library)
    return sys.modules[library]


@contextmanager
def replaced(library: str) -> Iterator[None]:
    """Replaces a library within a ``with`` block, unless it has been imported already.

    Raises:
        ConfigError: there is no drop-in for the library.
    """
    if any(name in sys.modules for name in _aliases(library)):
        yield
        return
    added = _alias(library)
    try:
        yield
    finally:
        for name in added:
            sys.modules.pop(name, None)


def _aliases(library: str) -> dict[str, str]:
    if library not in PEERS:
        raise ConfigError(f"there is no drop-in for {library!r}; drop-ins: {', '.join(PEERS)}", option="library")
    return PEERS[library]


def _alias(library: str) -> list[str]:
    """Puts the drop-in's modules into `sys.modules` under the library's names; returns the names."""
    from importlib.util import find_spec

    added = []
    for name, ours in PEERS[library].items():
        parent, _, child = name.rpartition(".")
        if parent and parent not in sys.modules:  # the parent is a namespace package
            if find_spec(parent) is not None:
                import_module(parent)
            else:
                sys.modules[parent] = ModuleType(parent)
                sys.modules[parent].__path__ = []
            added.append(parent)
        sys.modules[name] = import_module(ours)
        added.append(name)
        if parent and sys.modules[parent].__name__ == parent:
            setattr(sys.modules[parent], child, sys.modules[name])
    return added

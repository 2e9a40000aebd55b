"""Encodings by name; finds them in plugins.

A plugin is a module of the namespace package ``tiktoken_ext`` that has ``ENCODING_CONSTRUCTORS``: name -> function that
returns the arguments of `Encoding`. While a plugin is imported, its ``import tiktoken`` imports Jeton's drop-in.

Source: openai/tiktoken, tiktoken/registry.py (behavior).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from ...util.locks import ForkLock
from .. import replaced
from .core import Encoding

__all__ = ["ENCODINGS", "ENCODING_CONSTRUCTORS", "get_encoding", "list_encoding_names"]

PUBLIC = "tiktoken_ext.openai_public"

_lock = ForkLock()
ENCODINGS: dict[str, Encoding] = {}
ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] | None = None


@lru_cache
def _available_plugin_modules() -> Sequence[str]:
    """Returns the names of the plugins' modules."""
    import pkgutil  # imported on use, like all modules that are needed only to load an encoding

    try:
        namespace = import_module("tiktoken_ext")
    except ImportError:
        return [PUBLIC]
    found = [name for _, name, _ in pkgutil.iter_modules(namespace.__path__, "tiktoken_ext.")]
    return [PUBLIC, *(name for name in found if name != PUBLIC)]


def _openai_public() -> Any:
    from . import openai_public

    return openai_public


def _plugin(name: str) -> Any:
    if name == PUBLIC:
        return _openai_public()
    with replaced("tiktoken"):
        return import_module(name)


def _find_constructors() -> None:
    """Fills `ENCODING_CONSTRUCTORS` from the plugins; does not change it if a plugin is wrong."""
    global ENCODING_CONSTRUCTORS
    with _lock:
        if ENCODING_CONSTRUCTORS is not None:
            return
        found: dict[str, Callable[[], dict[str, Any]]] = {}
        for name in _available_plugin_modules():
            constructors = getattr(_plugin(name), "ENCODING_CONSTRUCTORS", None)
            if constructors is None:
                raise ValueError(f"the tiktoken plugin {name} does not define ENCODING_CONSTRUCTORS")
            for encoding, constructor in constructors.items():
                if encoding in found:
                    raise ValueError(f"the tiktoken plugin {name} defines {encoding}, which another one defines, too")
                found[encoding] = constructor
        ENCODING_CONSTRUCTORS = found


def get_encoding(encoding_name: str) -> Encoding:
    """Returns the encoding of the given name. The file of a published encoding is read from the cache or downloaded.

    Raises:
        ValueError: there is no such encoding.
        OSError: the encoding's file is not cached and cannot be downloaded.
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"the name of an encoding must be a str, not {type(encoding_name)}")
    if encoding_name in ENCODINGS:
        return ENCODINGS[encoding_name]
    with _lock:
        if encoding_name in ENCODINGS:
            return ENCODINGS[encoding_name]
        _find_constructors()
        constructors = ENCODING_CONSTRUCTORS or {}
        if encoding_name not in constructors:
            raise ValueError(
                f"Unknown encoding {encoding_name}.\n"
                f"Known: {', '.join(constructors)}; from the plugins {', '.join(_available_plugin_modules())}"
            )
        made = Encoding(**_openai_public().arguments(constructors[encoding_name]))
        return ENCODINGS.setdefault(encoding_name, made)  # a signal handler may have stored the encoding already


def list_encoding_names() -> list[str]:
    """Returns the names of all encodings.

    Examples:
        >>> "cl100k_base" in list_encoding_names()
        True
    """
    with _lock:
        _find_constructors()
        return list(ENCODING_CONSTRUCTORS or ())

"""The visualizer of encodings: the Python code of the original package, run with the drop-in's classes."""

from __future__ import annotations

from typing import Any

from . import original


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(original.package("tools"), name)

"""Ready-made tokenizers: the Python code of Hugging Face's own package, run with Jeton's drop-in classes."""

from __future__ import annotations

from typing import Any

from . import original


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(original.package("implementations"), name)

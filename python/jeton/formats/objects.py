"""Tokenizers of other libraries that are in memory: `tokenizers.Tokenizer` and the fast tokenizers of transformers.

Neither library is imported: the objects serialize themselves. A tokenizer of transformers also saves its configuration
to a temporary folder, from which it is read. The result is therefore the same as if the tokenizer had been saved to a
folder and loaded from there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..tokenizer import Tokenizer
from . import tokenizer_json
from .config import read_config
from .configured import with_config, with_named

__all__ = ["is_tokenizer", "read"]


def is_tokenizer(found: object) -> bool:
    """Tests whether an object is a `tokenizers.Tokenizer`, or a tokenizer of transformers that contains one.

    Examples:
        >>> is_tokenizer("tokenizer.json")
        False
    """
    return hasattr(found, "to_str") or hasattr(getattr(found, "backend_tokenizer", None), "to_str")


def read(found: Any) -> Tokenizer:
    """Reads an object for which `is_tokenizer` is true.

    Raises:
        FormatError, UnsupportedFeatureError: as for a `tokenizer.json`.
    """
    backend = getattr(found, "backend_tokenizer", found)
    tok = tokenizer_json.read(backend.to_str().encode(), source=f"the {type(found).__name__}")
    if backend is found:
        return tok
    import tempfile  # not at the top: a slow import, a tenth of the time that loading a vocabulary takes

    with tempfile.TemporaryDirectory() as path:
        found.save_pretrained(path, legacy_format=False)
        config = read_config(Path(path))
    return with_config(with_named(tok, config), config, is_json=True)

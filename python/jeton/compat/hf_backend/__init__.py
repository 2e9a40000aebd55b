"""Calls with the same results as in Hugging Face's `tokenizers`, on Jeton's core.

`Engine` is the immutable counterpart of a `tokenizers.Tokenizer` in one state: truncation, padding, overflow,
pretokenized input and special tokens are arguments of its calls. It neither imports that library nor refers to its
objects, so a drop-in, an integration or a server can use it. A call raises `Unproven` if its result is not known to be
equal; the caller then calls the library itself.
"""

from __future__ import annotations

from .engine import Engine, Unproven, width_of
from .rows import Rows

__all__ = ["Engine", "Rows", "Unproven", "width_of"]

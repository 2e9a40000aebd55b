"""Calls with the meaning that they have in Hugging Face's `tokenizers`, on Jeton's core.

`Engine` is the immutable counterpart of a `tokenizers.Tokenizer` in one state: truncation, padding, overflow,
pretokenized input and special tokens are arguments. It neither imports that library nor holds its objects, so a
drop-in, an integration or a server can use it. A call whose result is not known to be equal raises `Unproven`; the
caller then calls the library itself.
"""

from __future__ import annotations

from .engine import Engine, Unproven, width_of
from .rows import Rows

__all__ = ["Engine", "Rows", "Unproven", "width_of"]

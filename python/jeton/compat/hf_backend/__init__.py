"""Runs the calls of Hugging Face's `tokenizers` on Jeton's core, with the same results.

`Engine` corresponds to one state of a `tokenizers.Tokenizer` and is immutable: truncation, padding, overflow,
pretokenized input and special tokens are arguments of its calls. It neither imports Hugging Face's library nor refers
to objects of that library, so a drop-in, an integration or a server can use it. A call raises `Unproven` if its result
is not known to equal that of the library; the caller then calls the library itself.
"""

from __future__ import annotations

from .engine import Engine, Unproven, width_of
from .rows import Rows

__all__ = ["Engine", "Rows", "Unproven", "width_of"]

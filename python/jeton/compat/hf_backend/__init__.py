"""Runs the calls of Hugging Face's `tokenizers` on Jeton's core, with the same results.

`Engine` corresponds to one state of a `tokenizers.Tokenizer` and is immutable: truncation, padding, overflow,
pretokenized input and special tokens are arguments of its methods. This package neither imports Hugging Face's library
nor refers to objects of that library, so a drop-in, an integration or a server can use it. If the result of a call may
differ from the result of the library, the call raises `Unproven`, and the caller calls the library instead.
"""

from __future__ import annotations

from .engine import Engine, Unproven, width_of
from .rows import Rows

__all__ = ["Engine", "Rows", "Unproven", "width_of"]

"""`tokenizer_info`: converts a vocabulary for xgrammar.

    compiler = xgrammar.GrammarCompiler(tokenizer_info(tok, size=model.config.vocab_size))

Source: `TokenizerInfo` of xgrammar 0.2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tokenizer import Tokenizer
from ..util.optional import import_optional
from .llguidance import end_ids

__all__ = ["tokenizer_info"]


def tokenizer_info(tok: Tokenizer, *, size: int | None = None, eos: int | Sequence[int] | None = None) -> Any:
    """Returns an `xgrammar.TokenizerInfo` of raw bytes; a special token has no bytes, so no grammar permits it.

    Args:
        tok: the tokenizer.
        size: number of rows of the model's output; None: `Tokenizer.vocab_size`.
        eos: id or ids that end a text; None: the id of the role ``eos``.

    Raises:
        ConfigError: `eos` is None and the tokenizer has no role ``eos``, or an id is not below the number of rows.
        MissingDependencyError: xgrammar is not installed.
    """
    xgrammar = import_optional("xgrammar", "tokenizer_info")
    tokens = tok.vocab_bytes(size).text_tokens
    ends = end_ids(tok, eos, len(tokens))
    return xgrammar.TokenizerInfo(tokens, xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=ends)

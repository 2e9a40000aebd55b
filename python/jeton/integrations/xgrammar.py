"""`tokenizer_info`: the vocabulary in xgrammar's form.

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
    """Returns an `xgrammar.TokenizerInfo` of raw bytes; a special token has none, so no grammar permits it.

    Args:
        tok: the tokenizer.
        size: number of rows of the model's output; None: `Tokenizer.vocab_size`.
        eos: id of the end, or ids; None: that of the role ``eos``.

    Raises:
        ConfigError: no `eos`, and the tokenizer has no such role, or one beyond the rows.
        MissingDependencyError: xgrammar is not installed.
    """
    xgrammar = import_optional("xgrammar", "tokenizer_info")
    tokens = tok.vocab_bytes(size).text_tokens
    ends = end_ids(tok, eos, len(tokens))
    return xgrammar.TokenizerInfo(tokens, xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=ends)

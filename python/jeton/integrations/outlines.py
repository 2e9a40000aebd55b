"""`vocabulary`: converts a vocabulary for outlines-core, which builds an index of the ids that a regex permits.

    index = outlines_core.Index(regex, vocabulary(tok))

Source: `Vocabulary` of outlines-core 0.2.14.
"""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError, keyword
from ..tokenizer import Tokenizer
from ..util.optional import import_optional
from .llguidance import end_ids

__all__ = ["vocabulary"]


def vocabulary(tok: Tokenizer, *, eos: int | None = None) -> Any:
    """Returns an `outlines_core.Vocabulary`, which maps bytes to ids.

    Special tokens are left out, because ordinary text is never encoded as a special token.

    Args:
        tok: the tokenizer.
        eos: id that ends a text; None means the id of the role ``eos``.

    Raises:
        ConfigError: `eos` is None and the tokenizer has no role ``eos``, or `eos` is not in the vocabulary.
        MissingDependencyError: outlines-core is not installed.

    Examples:
        >>> import jeton
        >>> tok = jeton.default().with_roles(eos="<|endoftext|>")
        >>> vocabulary(tok).get(b" the") == tok.encode(" the")
        True
    """
    core = import_optional("outlines_core", "vocabulary")
    end, *more = end_ids(tok, eos)
    if more:
        raise ConfigError(f"{keyword('eos')} must be one id for outlines-core, not a list", option="eos")
    ids: dict[bytes, list[int]] = {}
    for id, data in enumerate(tok.vocab_bytes().text_tokens):
        if data and id != end:
            ids.setdefault(data, []).append(id)
    return core.Vocabulary(end, ids)

"""`VocabBytes`: the data of a vocabulary that constrained decoding needs, as lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ..util.arguments import integer
from .kinds import MAX_ID
from .vocab_view import HasVocabulary

__all__ = ["VocabBytes", "vocab_bytes"]


@dataclass(frozen=True, repr=False)
class VocabBytes:
    """Bytes of each id of a vocabulary.

    Attributes:
        tokens: for each id, the bytes that it adds to decoded text; for a special token, its spelling; for an id that
            the vocabulary lacks, ``b""``.
        special_ids: ids of special tokens, ascending. No text produces them.
        eos_id: id of the role ``eos``; None without this role.
    """

    tokens: list[bytes]
    special_ids: list[int]
    eos_id: int | None

    @property
    def text_tokens(self) -> list[bytes]:
        """Like `tokens`, but with ``b""`` instead of the spelling of each special token."""
        found = self.tokens.copy()
        for id in self.special_ids:
            found[id] = b""
        return found

    def __repr__(self) -> str:
        return f"VocabBytes({len(self.tokens)} tokens, {len(self.special_ids)} special, eos_id={self.eos_id})"


class _Tokenizer(HasVocabulary, Protocol):
    """Members of a tokenizer that this module reads."""

    @property
    def special_tokens(self) -> Mapping[str, int]: ...
    @property
    def eos_id(self) -> int | None: ...
    @property
    def vocab_size(self) -> int: ...


def vocab_bytes(tok: _Tokenizer, size: int | None) -> VocabBytes:
    """Implements `Tokenizer.vocab_bytes`."""
    import numpy as np

    num_rows = tok.vocab_size if size is None else integer(size, "size", tok.vocab_size, MAX_ID + 1)
    ids = tok._core.ids()
    tokens = tok._core.decode_tokens(ids)
    if len(ids) < num_rows:
        rows = np.full(num_rows, b"", object)
        rows[ids] = tokens
        tokens = rows.tolist()
    return VocabBytes(tokens, sorted(tok.special_tokens.values()), tok.eos_id)

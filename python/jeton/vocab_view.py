"""View of a vocabulary: the kinds of entries, and the mapping id -> bytes.

Left out: the entries themselves, which the core stores, and their spelling in files (`spelling`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from ._core import Tokenizer as Core
from .errors import UnknownTokenError

__all__ = ["ADDED", "BYTE", "ENDS_WORD", "MAX_ID", "SPECIAL", "TOKEN", "UNREACHABLE", "UNUSED", "VocabView"]

TOKEN, ENDS_WORD, ADDED, SPECIAL, UNUSED, BYTE, UNREACHABLE = 1, 2, 3, 4, 5, 6, 7  # the core's `Kind`

# Same limit as the core. Above it, arrays indexed by id would be far larger than any embedding.
MAX_ID = (1 << 24) - 1


class HasVocabulary(Protocol):
    """Members of a tokenizer that `VocabView` uses. It holds the tokenizer because the core cannot be pickled."""

    _core: Core

    @property
    def num_tokens(self) -> int: ...
    def id_to_bytes(self, id: int) -> bytes: ...


class VocabView(Mapping[int, bytes]):
    """Mapping id -> bytes; each lookup reads from the core."""

    def __init__(self, tok: HasVocabulary) -> None:
        self._tok = tok

    def __getitem__(self, id: int) -> bytes:
        if not isinstance(id, int):
            raise UnknownTokenError(f"{id!r} is not an id; the vocabulary maps ids to bytes")
        return self._tok.id_to_bytes(id)

    def __iter__(self) -> Iterator[int]:
        return iter(self._tok._core.ids())

    def __len__(self) -> int:
        return self._tok.num_tokens

    def __repr__(self) -> str:
        return f"<vocabulary of {len(self)} tokens>"

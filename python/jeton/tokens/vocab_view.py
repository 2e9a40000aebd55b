"""View of a vocabulary: the mapping id -> bytes.

Left out: storage of the entries, which is in the core, and their spelling in files (`spelling`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from .._core import Tokenizer as Core
from ..errors import UnknownTokenError

__all__ = ["VocabView"]


class HasVocabulary(Protocol):
    """Members of a tokenizer that `VocabView` uses. The view holds the tokenizer because the core cannot be pickled."""

    _core: Core

    def __len__(self) -> int: ...
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
        return len(self._tok)

    def __repr__(self) -> str:
        return f"<vocabulary of {len(self)} tokens>"

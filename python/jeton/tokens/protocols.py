"""Protocols with the members of a tokenizer that modules in lower layers use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .._core import Tokenizer as Core
from ..definition import Definition

__all__ = ["HasCore", "HasSpelling"]


class HasCore(Protocol):
    """A tokenizer, of which only the core is used."""

    _core: Core


class HasSpelling(HasCore, Protocol):
    """Attributes that `Spelling` uses. `Spelling` holds the tokenizer because the core cannot be pickled."""

    @property
    def definition(self) -> Definition: ...  # noqa: D102
    @property
    def _added(self) -> Mapping[bytes, int]: ...

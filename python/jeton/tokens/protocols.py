"""Protocols for modules in lower layers: each lists the members of a tokenizer that such modules use."""

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
    """A tokenizer as `Spelling` uses it. `Spelling` holds the tokenizer, not the core, which cannot be pickled."""

    @property
    def definition(self) -> Definition: ...  # noqa: D102
    @property
    def _added(self) -> Mapping[bytes, int]: ...

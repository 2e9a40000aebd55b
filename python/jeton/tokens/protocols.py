"""Members of a tokenizer that modules below it use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .._core import Tokenizer as Core
from ..definition import Definition

__all__ = ["HasCore", "HasSpelling"]


class HasCore(Protocol):
    """A tokenizer whose core is used."""

    _core: Core


class HasSpelling(HasCore, Protocol):
    """Attributes that `Spelling` uses. It holds the tokenizer because the core cannot be pickled."""

    @property
    def definition(self) -> Definition: ...  # noqa: D102
    @property
    def _added(self) -> Mapping[bytes, int]: ...

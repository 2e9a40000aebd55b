"""What a tokenizer does to a corpus, in figures."""

from __future__ import annotations

from .measure import Measure, measure
from .sizes import Size, Sizes, sizes

__all__ = ["Measure", "Size", "Sizes", "measure", "sizes"]

"""Comparison and measurement of tokenizers."""

from __future__ import annotations

from .compare import Comparison, compare
from .measure import Measure, measure
from .sizes import Size, Sizes, sizes

__all__ = ["Comparison", "Measure", "Size", "Sizes", "compare", "measure", "sizes"]

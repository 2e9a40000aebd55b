"""Comparison and measurement of tokenizers."""

from __future__ import annotations

from .compare import Comparison, compare
from .measure import Measure, measure
from .sizes import Sizes, VocabSize, sizes

__all__ = ["Comparison", "Measure", "Sizes", "VocabSize", "compare", "measure", "sizes"]

"""Comparison and measurement of tokenizers."""

from __future__ import annotations

from .compare import Comparison, compare
from .measure import measure
from .measure_table import Measure, MeasureTable
from .sizes import Sizes, VocabSize, sizes

__all__ = ["Comparison", "Measure", "MeasureTable", "Sizes", "VocabSize", "compare", "measure", "sizes"]

"""What tokenizers do to a text or a corpus, in figures."""

from __future__ import annotations

from .compare import Comparison, compare
from .measure import Measure, measure
from .sizes import Size, Sizes, sizes

__all__ = ["Comparison", "Measure", "Size", "Sizes", "compare", "measure", "sizes"]

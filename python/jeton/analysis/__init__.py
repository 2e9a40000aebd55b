"""What a tokenizer does to a corpus, in figures."""

from __future__ import annotations

from .measure import Measure, measure

__all__ = ["Measure", "measure"]

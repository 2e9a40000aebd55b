"""Comparison of all ways of loading a tokenizer, with the causes of their differences."""

from __future__ import annotations

from .causes import Cause
from .diagnosis import Diagnosis, Disagreement, ReaderRow
from .doctor import doctor

__all__ = ["Cause", "Diagnosis", "Disagreement", "ReaderRow", "doctor"]

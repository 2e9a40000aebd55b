"""Comparison and measurement of tokenizers."""

from __future__ import annotations

from .compare import Comparison, compare
from .corpus_comparison import CorpusComparison, Difference, compare_corpus
from .cost import Cost, CostTable, cost
from .measure import measure
from .measure_table import Measure, MeasureTable
from .parallel import Language, LanguageGroup, LanguageTable, languages
from .sizes import Sizes, VocabSize, sizes

__all__ = [
    "Comparison",
    "CorpusComparison",
    "Cost",
    "CostTable",
    "Difference",
    "Language",
    "LanguageGroup",
    "LanguageTable",
    "Measure",
    "MeasureTable",
    "Sizes",
    "VocabSize",
    "compare",
    "compare_corpus",
    "cost",
    "languages",
    "measure",
    "sizes",
]

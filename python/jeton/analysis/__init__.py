"""Comparison and measurement of tokenizers."""

from __future__ import annotations

from .auditing import Audit, Example, Finding, TemplateCheck, audit, chat_check
from .compare import Comparison, compare
from .corpus_comparison import CorpusComparison, Difference, compare_corpus
from .cost import Cost, CostTable, cost
from .doctoring import Cause, Diagnosis, Disagreement, ReaderRow, doctor
from .measure import measure
from .measure_table import Measure, MeasureTable
from .parallel import Language, LanguageGroup, LanguageTable, languages
from .sizes import sizes
from .sizes_table import Sizes, VocabSize
from .text_difference import Change, TextDifference

__all__ = [
    "Audit",
    "Cause",
    "Change",
    "Comparison",
    "CorpusComparison",
    "Cost",
    "CostTable",
    "Diagnosis",
    "Difference",
    "Disagreement",
    "Example",
    "Finding",
    "Language",
    "LanguageGroup",
    "LanguageTable",
    "Measure",
    "MeasureTable",
    "ReaderRow",
    "Sizes",
    "TemplateCheck",
    "TextDifference",
    "VocabSize",
    "audit",
    "chat_check",
    "compare",
    "compare_corpus",
    "cost",
    "doctor",
    "languages",
    "measure",
    "sizes",
]

"""Comparison and measurement of tokenizers.

```text
compare              tokenizers on one text; text_difference: two texts by one tokenizer, aligned by their ids
corpus_comparison    tokenizers on a corpus, with its plot
measure              bytes per token and more: measure_run measures; measure_table has the result, views and plot
sizes                measures all vocabulary sizes of one training run; sizes_table: the result, with its plot
cost                 tokens, price, and documents longer than a context window
parallel/            number of tokens of the same text in many languages
equality             two tokenizers on comparison_texts: edge_cases and generated_texts
auditing/            rules that find faults of one tokenizer
doctoring/           all ways of loading a tokenizer, compared
named                assigns names to the tokenizers that a call compares
```
"""

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

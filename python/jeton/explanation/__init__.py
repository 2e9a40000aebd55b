"""Step-by-step explanations of a tokenization: the regex alternative that matched each pretoken, and the model's steps.

```text
facts          steps within a pretoken: merges, a lattice, longest-match attempts
agenda         priority queue of SentencePiece's BPE, with stale entries
agenda_report  text for the entries of the agenda
lazy           sequence whose items are computed on access
explanation    explanation of a text, as JSON
explain        builds the explanation from the core's results
entry          merge tree of a vocabulary entry
card           card of a tokenizer, for notebooks
text_report    plain-text report
page           HTML report
```
"""

from __future__ import annotations

from .agenda import Agenda, AgendaEntry
from .card import tokenizer_card
from .entry import entry_tree
from .explain import explain
from .explanation import Explanation
from .facts import (
    Edge,
    ExplainedMerge,
    ExplainedPretoken,
    ExplainedSplit,
    ExplanationTotals,
    Lattice,
    Segmentation,
    WordPieceAttempts,
)
from .lazy import LazySequence

__all__ = [
    "Agenda",
    "AgendaEntry",
    "Edge",
    "ExplainedMerge",
    "ExplainedPretoken",
    "ExplainedSplit",
    "Explanation",
    "ExplanationTotals",
    "Lattice",
    "LazySequence",
    "Segmentation",
    "WordPieceAttempts",
    "entry_tree",
    "explain",
    "tokenizer_card",
]

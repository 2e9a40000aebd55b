"""Step-by-step explanations of a tokenization: the regex alternative that matched each pretoken, and the model's steps.

```text
facts        steps within a pretoken: merges, a lattice, longest-match attempts
lazy         lazily computed sequence
explanation  explanation of a text, as JSON
entry        merge tree of a vocabulary entry
text_report  plain-text report
page         HTML report
```
"""

from __future__ import annotations

from .entry import entry_tree
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
    explained,
)
from .lazy import LazySequence

__all__ = [
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
    "explained",
]

"""How a text became tokens: the part of the pattern that made each pretoken, and what the model did with it.

```text
facts        what happened to a pretoken: merges, a lattice, attempts
lazy         a sequence that is computed when it is asked for
explanation  all of a text, as JSON
entry        what builds an entry of the vocabulary
words, page  for people
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

"""Transformations tokenizer → tokenizer, each with a plan for a model's embeddings.

```text
trees         merge trees of all entries; first_merges: training's smaller vocabularies
prune         fewer entries; removing: checks for removed tokens; references: to removed tokens; renumber: other ids
add_words     words as entries with merges; extend: more merges from a corpus; merge_vocab: two vocabularies
whole_words   words as entries of Unigram and WordPiece models; scores: the lowest score of a Unigram model
growth        common parts of add_words, extend and merge_vocab
align         ids of two tokenizers with the same bytes, and common boundaries in a text
surgery       the result of each transformation; plan: the source of each embedding row
transplant    rows from a donor's embeddings; embeddings: applies a plan to files; safetensors_file: their format
changes       measures the effect of a change on a corpus
```
"""

from __future__ import annotations

from .add_words import add_words
from .align import Alignment, SpanAlignment, align
from .embeddings import read_embeddings
from .extend import extend
from .first_merges import first_merges
from .merge_vocab import merge_vocab
from .plan import Plan
from .prune import prune
from .renumber import renumber
from .surgery import Surgery

__all__ = [
    "Alignment",
    "Plan",
    "SpanAlignment",
    "Surgery",
    "add_words",
    "align",
    "extend",
    "first_merges",
    "merge_vocab",
    "prune",
    "read_embeddings",
    "renumber",
]

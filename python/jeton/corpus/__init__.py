"""Corpora: documents read lazily and in order from files, folders, the network or memory.

The type of the argument selects the kind of source, never its content: a `str` or path is a path, an iterable holds
documents (`str`, `bytes`), rows (mappings) or paths (`Path`), an object with ``read`` is a stream, a `Source` is any of
these with a weight. Every document is returned as validated UTF-8 bytes.

`source` and `paths` interpret the argument, `streams`, `jsonl` and `parquet` read documents from files, `error_policy`
handles invalid ones, `sample` and `held_out` select, `batches` groups, `prefetch` reads in a background thread,
`reader` dispatches on the kind of source, and `reading` combines all of these in `Corpus`.

Left out: counts of pretokens, which ``training`` takes instead of a corpus.
"""

from __future__ import annotations

from ..compression import MAX_EXPANSION
from .batches import Batch, Document
from .error_policy import Skipped
from .paths import files_of, open_path
from .reading import Corpus, open_corpus
from .source import CorpusLike, Source, check_corpus

__all__ = [
    "MAX_EXPANSION",
    "Batch",
    "Corpus",
    "CorpusLike",
    "Document",
    "Skipped",
    "Source",
    "check_corpus",
    "files_of",
    "open_corpus",
    "open_path",
]

"""A corpus: many documents, read lazily and in order from files, folders, the network or memory.

The type of what the caller gives decides, never its content: a `str` or path is a place, an iterable holds documents
(`str`, `bytes`), rows (mappings) or places (`Path`), an object with ``read`` is a stream, a `Source` is any of these
with a weight. Every document comes out as UTF-8 bytes that have been checked.

`source` and `paths` say what is meant, `streams`, `jsonl` and `parquet` take documents out of files, `error_policy` decides
what becomes of broken ones, `sample` which are taken, `batches` groups them, `prefetch` reads while others work, and
`reading` puts these together.

Left out: counts of pretokens (a mapping or `Counts` is not text; ``training`` takes them).
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

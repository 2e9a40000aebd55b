"""Corpora: documents read lazily and in order from files, folders, the network or memory.

The kind of a source depends only on the type of the argument, never on its content. A `str` or path is a path; an
iterable contains documents (`str`, `bytes`), rows (mappings) or paths (`Path`); an object with ``read`` is a stream; a
`Source` is any of these with a weight. The suffix of a file selects its format; for ``.json`` and ``.csv``, the content
of the file is also examined. Every document is returned as validated UTF-8 bytes.

```text
corpus           `Corpus`: sources and the options for reading them; source: `Source`, a source with a weight
paths            paths, globs, folders and URLs → files; listing: the files that are read, and a report of the others
kinds            kind of a file, by suffix and content
source_reader    one source → chunks of documents
streams          text → documents; rows: the same for JSON Lines, Parquet and mappings; records: for JSON arrays, CSV,
                 Arrow and tars; fields: nested fields
error_policy     invalid text and unreadable records
kept_fields      fields of records that are stored with the documents
selection        samples and held-out documents
batches          chunks: documents as they are read, prefetched by a thread; batches: documents as they are processed
document_reader  all sources → documents, in order, with statistics
ranges           ranges of files, which begin at any byte; range_reader: their documents
```

Left out: counts of pretokens, which ``training`` takes instead of a corpus.
"""

from __future__ import annotations

from ..util.compression import MAX_EXPANSION
from .batches import Batch, Document
from .corpus import Corpus
from .document_reader import DocumentReader, open_corpus
from .error_policy import Skipped
from .listing import Listing, Rules, Unread, list_files
from .paths import open_path
from .range_reader import MAX_DOCUMENT, RangeReader
from .ranges import FileRange
from .source import CorpusLike, Source, check_corpus

__all__ = [
    "MAX_DOCUMENT",
    "MAX_EXPANSION",
    "Batch",
    "Corpus",
    "CorpusLike",
    "Document",
    "DocumentReader",
    "FileRange",
    "Listing",
    "RangeReader",
    "Rules",
    "Skipped",
    "Source",
    "Unread",
    "check_corpus",
    "list_files",
    "open_corpus",
    "open_path",
]

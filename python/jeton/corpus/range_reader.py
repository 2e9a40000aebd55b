"""`RangeReader`: reads the documents in given ranges of files, one range after the other.

A task of `jeton.shards` reads its documents in this way, on any machine. The reader runs in the calling thread only,
because many tasks run in parallel. It holds each document in memory, so documents have a maximum size; this size is the
same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from ..errors import FormatError, JetonError
from .batches import Batch, DocumentChunk, batched
from .corpus import Corpus
from .error_policy import ErrorHandler, OnSkip, Skipped
from .kept_fields import KeptFields
from .listing import Lister, log_unread
from .ranges import FileRange
from .source import Source
from .source_reader import GROUP_BYTES, ReadStats, ResolvedSource, SourceReader

__all__ = ["MAX_DOCUMENT", "RangeReader"]

# Small enough that a batch stays in the CPU cache from the reading of its text to the writing of its ids.
BATCH_BYTES = 1 << 20
MAX_DOCUMENT = 1 << 28  # maximum number of bytes of a document; `streams.LONGEST_LINE` is the maximum of a line


class RangeReader:
    """Documents that begin in ranges of files, with statistics.

    Args:
        ranges: the ranges to read, in order; at most one range of each file.
        corpus: options for reading; its sources are not used.
        check: function that is called often, and can raise an exception to stop the reading.
        conversations: True if the field to read holds a list instead of a text. The document is then the list,
            formatted as JSON.
        keep: names of fields of records to keep.
        select: function that selects documents of each chunk.
        on_skip: called with kind, place and reason of each skipped record; the place has the same form as in `skipped`.

    Attributes:
        left_out: file -> number of documents that `select` left out.

    Examples:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/lines.txt"
        >>> with open(path, "w") as file:
        ...     _ = file.write("one\\ntwo\\nthree\\n")
        >>> reader = RangeReader([FileRange(path, 4, 9)], Corpus(path, documents="line"))
        >>> [batch.texts for batch in reader.batches()]
        [[b'two', b'three']]
    """

    def __init__(
        self,
        ranges: Sequence[FileRange],
        corpus: Corpus,
        check: Callable[[], None] = lambda: None,
        conversations: bool = False,
        on_skip: OnSkip | None = None,
        keep: Sequence[str] = (),
        select: Callable[[DocumentChunk], DocumentChunk] | None = None,
    ) -> None:
        self._ranges, self._corpus, self._check, self._conversations = ranges, corpus, check, conversations
        self._keep, self._select = KeptFields(keep), select
        self.left_out: dict[str, int] = {}
        self._handler = ErrorHandler(corpus.errors, on_skip)
        self._stats = ReadStats()

    @property
    def skipped(self) -> dict[str, Skipped]:
        """Kind of error -> skipped records. Line numbers are relative to the range: see `SourceReader.read_range`."""
        return self._handler.skipped

    def skip(self, kind: str, place: str, error: JetonError) -> None:
        """Counts an unusable document as a skipped record; `place` is as in `skipped`.

        Raises:
            JetonError: `error`, unless the policy is ``"skip"``.
        """
        self._handler.skip(kind, place, error)

    @property
    def replaced(self) -> dict[str, int]:
        """File -> number of replacements by U+FFFD."""
        return self._handler.replaced

    @property
    def lines(self) -> dict[str, int]:
        """File -> number of lines that begin in its range; files whose range is the whole file are left out."""
        return self._stats.lines

    @property
    def kept(self) -> dict[str, int]:
        """Name of a field to keep -> number of records that have it."""
        return self._keep.counts

    @property
    def read_s(self) -> float:
        """Seconds spent reading files, excluding decompression and parsing."""
        return self._stats.read_s

    def batches(self, size: int = BATCH_BYTES) -> Iterator[Batch]:
        """Yields the documents in batches of about `size` bytes."""
        return batched(self._chunks(), {0: Fraction(1)}, size)

    def _chunks(self) -> Iterator[DocumentChunk]:
        resolved = ResolvedSource.of(Source([]), 0, self._corpus, Lister())
        resolved = replace(resolved, conversations=self._conversations, keep=self._keep)
        reader = SourceReader(self._stats, self._handler, GROUP_BYTES, None, MAX_DOCUMENT, self._check)
        for part in self._ranges:
            for chunk in reader.read_range(part, resolved):
                self._check()
                if len(chunk.texts):
                    bounded = self._bounded(chunk)
                    chosen = bounded if self._select is None else self._select(bounded)
                    if left_out := len(bounded.texts) - len(chosen.texts):
                        self.left_out[chunk.name] = self.left_out.get(chunk.name, 0) + left_out
                    if len(chosen.texts):
                        yield chosen
        log_unread(tuple(self._stats.members.values()))

    def _bounded(self, chunk: DocumentChunk) -> DocumentChunk:
        """Removes documents over the maximum size.

        Only chunks of tables can contain such documents; the readers of other kinds of files reject them.
        """
        if chunk.texts.num_bytes <= MAX_DOCUMENT:
            return chunk
        import numpy as np

        is_kept = np.frombuffer(chunk.texts.lengths(), "<i8") <= MAX_DOCUMENT
        for index in np.flatnonzero(~is_kept).tolist():
            source = chunk.source(index)
            message = f"{source}: one document has more than {MAX_DOCUMENT:,} bytes; split the document"
            error = FormatError(message, format="text", place=f"byte {MAX_DOCUMENT}")
            self._handler.skip("too large", source, error)
        return chunk if is_kept.all() else chunk.select(np.flatnonzero(is_kept).tolist())

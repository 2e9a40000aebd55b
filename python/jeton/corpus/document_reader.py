"""`DocumentReader`: reads the documents of sources in order, and counts statistics.

Memory: a few blocks of some megabytes, or a whole file if each text file is one document. `DocumentReader.batches`
prefetches files in a background thread (`prefetch`). Iterables that the caller passes are not prefetched, because some
of them can only be used in the caller's thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from .batches import Batch, Document, DocumentChunk, PrefetchQueue, batched, prefetch
from .corpus import Corpus
from .error_policy import ErrorHandler, Skipped
from .listing import Lister, log_unread
from .selection import HeldOutSplit, Sample
from .source import CorpusLike, sources_of
from .source_reader import GROUP_BYTES, ReadStats, ResolvedSource, SourceReader

__all__ = ["DocumentReader", "open_corpus"]

_log = logging.getLogger("jeton")

# Default size of a batch: see `DocumentReader.batches`.
BATCH_BYTES = 16 << 20

Chunks: TypeAlias = Iterator[DocumentChunk]


def open_corpus(
    corpus: CorpusLike | Corpus | DocumentReader,
    **options: Any,
) -> DocumentReader:
    """Opens a corpus.

    Args:
        corpus: sources, a `Corpus`, or a `DocumentReader`, which is returned.
        options: fields of `Corpus`, which override the fields of the given corpus.

    Returns:
        The reader of the corpus. Paths have been expanded; no document has been read.

    Raises:
        FileNotFoundError: there is no such file, a glob has no match, or a folder has no files.
        ConfigError: an option or the type of a source is invalid.
        MissingDependencyError: a source is a URL, and fsspec is not installed.

    Examples:
        >>> [document.data for document in open_corpus(["one", b"two", {"text": "three"}])]
        [b'one', b'two', b'three']
    """
    if isinstance(corpus, DocumentReader):
        return corpus
    corpus = replace(Corpus.of(corpus), **options)
    sample = Sample(corpus.sample_bytes, corpus.seed) if corpus.sample_bytes is not None else None
    sources: list[ResolvedSource] = []
    lister = Lister()
    index = -1
    for source in sources_of(corpus.sources):
        # Consecutive sources of weight 1 share a group, because many files on a command line are one corpus.
        if not sources or not sources[-1].source.weight == source.weight == 1:
            index += 1
        sources.append(ResolvedSource.of(source, index, corpus, lister))
    log_unread(lister.unread)
    return DocumentReader(sources, ErrorHandler(corpus.errors), sample)


class DocumentReader:
    """Documents in order, with reading statistics.

    Each iteration begins at the first document again, except if the corpus is an iterator or a stream.

    Attributes:
        total_bytes: size on disk of all files, before decompression; None if unknown (streams, documents in memory,
            pipes).
        num_files: number of opened files.
        num_documents: number of documents read; with a sample, documents that were read but not chosen are included.
        num_empty: number of empty files, which are not errors.
        replaced: file (or ``"corpus"`` for documents in memory) -> number of replacements by U+FFFD.
        skipped: kind of error -> skipped records.

    Examples:
        >>> corpus = open_corpus(["café"])
        >>> [(document.data, document.source) for document in corpus]
        [(b'caf\\xc3\\xa9', 'corpus[0]')]
        >>> corpus.num_documents, corpus.bytes_read
        (1, 5)
    """

    def __init__(
        self,
        sources: list[ResolvedSource],
        handler: ErrorHandler,
        sample: Sample | None,
        keep: Callable[[Chunks], Chunks] | None = None,
    ) -> None:
        self._sources, self._handler, self._sample, self._keep = sources, handler, sample, keep
        # Only set in the held-out reader of `split`, and only if the corpus can be read once. Contains the chunks that
        # the learning reader has set aside. The held-out reader returns these chunks instead of the sources' chunks.
        self._kept_before: list[DocumentChunk] | None = None
        sizes = [resolved.size() for resolved in sources]
        self.total_bytes = None if None in sizes else sum(size or 0 for size in sizes)
        self._stats = ReadStats()

    @property
    def num_weight_groups(self) -> int:
        """Number of groups of sources that are counted separately; all sources of a group have the same weight."""
        return len({resolved.weight_group for resolved in self._sources})

    @property
    def num_files(self) -> int:
        """Number of opened files."""
        return self._stats.num_files

    @property
    def num_documents(self) -> int:
        """Number of documents read; with a sample, documents that were read but not chosen are included."""
        return self._stats.num_documents

    @property
    def num_empty(self) -> int:
        """Number of empty files."""
        return self._stats.num_empty

    @property
    def replaced(self) -> dict[str, int]:
        """File -> number of replacements by U+FFFD."""
        return self._handler.replaced

    @property
    def skipped(self) -> dict[str, Skipped]:
        """Kind of error -> skipped records."""
        return self._handler.skipped

    @property
    def num_skipped(self) -> int:
        """Number of skipped records of all kinds."""
        return self._handler.num_skipped

    @property
    def bytes_read(self) -> int:
        """Number of bytes read so far, out of `total_bytes`: bytes on disk, before decompression."""
        return self._stats.bytes_read

    def complaints(self) -> list[str]:
        """Returns lines for a report of replacements and skipped records."""
        return self._handler.complaints()

    def log_complaints(self, prefix: str = "") -> None:
        """Logs warnings about replacements and skipped records."""
        for complaint in self.complaints():
            _log.warning(prefix + complaint, extra={"skipped": self.num_skipped})
        log_unread(tuple(self._stats.members.values()))

    def split(self, share: float, seed: int = 0) -> tuple[DocumentReader, DocumentReader]:
        """Splits the corpus into a corpus to learn from, and a held-out corpus with about `share` of the bytes.

        Whole documents from all parts of the corpus are held out. Documents over 64 KiB are first split into blocks of
        lines.
        If the corpus can be read only once, the held-out documents are kept in memory. They are available after the
        corpus to learn from has been read.

        Raises:
            ConfigError: `share` is not between 0 and 1.

        Examples:
            >>> learn, measure = open_corpus([f"document {i}" for i in range(1000)]).split(0.1)
            >>> len(list(learn)), len(list(measure))
            (897, 103)
        """
        split = HeldOutSplit(share, seed)
        aside: list[DocumentChunk] | None = None if self.is_readable_again() else []
        handlers = [ErrorHandler(self._handler.policy) for _ in range(2)]
        learn = DocumentReader(
            self._sources, handlers[0], self._sample, lambda chunks: split.side(chunks, False, aside)
        )
        measure = DocumentReader(self._sources, handlers[1], self._sample, lambda chunks: split.side(chunks, True))
        measure._kept_before = aside
        return learn, measure

    def __iter__(self) -> Iterator[Document]:
        self._choose(None)
        for chunk in self._chosen(self._chunks(group_bytes=1)):
            for index, text in enumerate(chunk.texts.to_list()):
                yield Document(text, chunk.source(index))

    def batches(self, size: int = BATCH_BYTES, report: Callable[[int], None] | None = None) -> Iterator[Batch]:
        """Yields batches of about `size` bytes, each of a single weight group; prefetches files.

        Args:
            size: number of bytes of a batch. At most 1.5 times this number of bytes are prefetched.
            report: function that is called with the number of bytes read while a sample is chosen.

        Examples:
            >>> [batch.texts for batch in open_corpus(["one", "two"]).batches()]
            [[b'one', b'two']]
        """
        self._choose(report)
        if self._kept_before is None and all(resolved.files is not None for resolved in self._sources):
            chunks = prefetch(lambda queue: self._chosen(self._chunks(queue=queue)), size + size // 2)
        else:
            chunks = self._chosen(self._chunks())
        weights = {resolved.weight_group: resolved.source.exact_weight for resolved in self._sources}
        yield from batched(chunks, weights, size)

    def _choose(self, report: Callable[[int], None] | None) -> None:
        """Chooses the sample in a first pass, if a sample is requested and the corpus can be read again."""
        if self._sample is None or self._sample.is_chosen or not self.is_readable_again():
            return

        def watched() -> Iterator[DocumentChunk]:
            for chunk in self._chunks():
                if report is not None:
                    report(chunk.position)
                yield chunk

        self._sample.choose(watched())

    def _chosen(self, chunks: Iterator[DocumentChunk]) -> Iterator[DocumentChunk]:
        if self._kept_before is not None:
            return iter(self._kept_before)
        if self._sample is not None:
            chunks = self._sample.of(chunks)
        return chunks if self._keep is None else self._keep(chunks)

    def is_readable_again(self) -> bool:
        """Tests whether the corpus can be read again; false if it contains an iterator, a stream or a pipe."""
        return all(resolved.is_readable_again() for resolved in self._sources)

    def _chunks(self, *, group_bytes: int = GROUP_BYTES, queue: PrefetchQueue | None = None) -> Iterator[DocumentChunk]:
        self._handler.reset()
        self._stats = ReadStats()
        reader = SourceReader(self._stats, self._handler, group_bytes, queue)
        for resolved in self._sources:
            for chunk in reader.read(resolved):
                self._stats.num_documents += len(chunk.texts)
                if len(chunk.texts):
                    yield chunk

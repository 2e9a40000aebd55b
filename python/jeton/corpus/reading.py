"""`Corpus`: sources → documents, in order, and what was seen of them.

Memory: a few blocks of some megabytes; a whole file where a text file is one document. Files are read ahead in a thread
(`prefetch`) when documents are taken in batches; what a caller iterates over is not, for it may belong to the caller's
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from ..arguments import integer, string
from ..compression import MAX_EXPANSION
from .batches import Batch, Document, DocumentChunk, batched
from .error_policy import ErrorHandler, ErrorPolicy, Skipped
from .held_out import HeldOutSplit
from .prefetch import PrefetchQueue, prefetch
from .reader import GROUP_BYTES, Reader, ReadStats, ResolvedSource, check_documents, check_expansion
from .sample import MASK, Sample
from .source import CorpusLike, sources_of

__all__ = ["Corpus", "open_corpus"]

# What a batch has by default: see `Corpus.batches`.
BATCH_BYTES = 16 << 20

Chunks: TypeAlias = Iterator[DocumentChunk]


def open_corpus(
    corpus: CorpusLike | Corpus,
    *,
    documents: Literal["file", "line"] = "file",
    field: str = "text",
    errors: ErrorPolicy = "strict",
    sample_bytes: int | None = None,
    seed: int = 0,
    encoding: str = "utf-8",
    max_expansion: int | None = MAX_EXPANSION,
) -> Corpus:
    """Opens what the caller means by a corpus.

    Args:
        corpus: a path, glob, folder (all files below it, sorted; hidden ones are left out) or URL; an iterable of
            `str`/`bytes` (documents), of mappings (rows; `datasets`, too), of `Path` (files); a binary stream; a
            `Source` or a list of them; a `Corpus`, which is taken as it was opened. ``.gz``, ``.bz2``, ``.xz`` and
            ``.zst`` are decompressed; a ``.jsonl`` or ``.parquet`` file holds one document per row.
        documents: ``"file"``: a text file is one document; ``"line"``: every line is one, without its line end.
        field: which field of a row holds the text.
        errors: what to do with bytes that are not UTF-8, with lone surrogates and with records that cannot be read:
            ``"strict"`` raises; ``"replace"`` puts U+FFFD where text is not UTF-8, and raises for the rest;
            ``"skip"`` leaves the record out. Both count, in `Corpus.replaced` and `Corpus.skipped`.
        sample_bytes: take a sample of about this many bytes, in whole documents from all over the corpus; see `Sample`.
        seed: which sample.
        encoding: how text files, streams and `bytes` are encoded, by a name that Python knows (``"gb18030"``); Parquet
            is always UTF-8.
        max_expansion: how many times the size of its compressed file a text may have; None allows any size. The first
            4 MiB are always allowed.

    Returns:
        The corpus; nothing has been read yet, but places that are given by name have been looked up.

    Raises:
        FileNotFoundError: no such file, no match for the glob, or a folder without files.
        ConfigError: an option or a type that cannot be meant.
        MissingDependencyError: a URL without fsspec.

    Examples:
        >>> [document.data for document in open_corpus(["one", b"two", {"text": "three"}])]
        [b'one', b'two', b'three']
    """
    if isinstance(corpus, Corpus):
        return corpus
    check_documents(documents)
    string(field, "field")
    integer(seed, "seed", 0, MASK)
    check_expansion(max_expansion)
    handler = ErrorHandler(errors)
    sample = Sample(sample_bytes, seed) if sample_bytes is not None else None
    sources: list[ResolvedSource] = []
    index = -1
    for source in sources_of(corpus):
        # Sources of weight 1 that follow each other are counted together: many files on a command line are one corpus.
        if not sources or not sources[-1].source.weight == source.weight == 1:
            index += 1
        sources.append(
            ResolvedSource.of(
                source,
                index,
                documents=source.documents or documents,
                field=source.field or field,
                encoding=source.encoding or encoding,
                max_expansion=max_expansion,
            )
        )
    return Corpus(sources, handler, sample)


class Corpus:
    """Documents in order, and what has been seen of them so far; iterating again starts again (an iterator ends once).

    Attributes:
        total_bytes: size on disk of all files, as they lie there; None when it cannot be known (streams, documents in
            memory, pipes).
        num_files, num_documents: how many have been begun; of a sample, all that were looked at.
        num_empty: files that held nothing, which is no error.
        replaced: file (or ``"corpus"`` for documents in memory) -> places where U+FFFD was put.
        skipped: kind of fault -> the records that were left out for it.

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
        self._kept_before: list[DocumentChunk] | None = (
            None  # what another corpus put aside, in the place of the sources
        )
        sizes = [resolved.size() for resolved in sources]
        self.total_bytes = None if None in sizes else sum(size or 0 for size in sizes)
        self._stats = ReadStats()

    @property
    def num_weight_groups(self) -> int:
        """Groups of sources that are counted apart, each by its weight."""
        return len({resolved.weight_group for resolved in self._sources})

    @property
    def num_files(self) -> int:
        """See the class."""
        return self._stats.num_files

    @property
    def num_documents(self) -> int:
        """See the class."""
        return self._stats.num_documents

    @property
    def num_empty(self) -> int:
        """See the class."""
        return self._stats.num_empty

    @property
    def replaced(self) -> dict[str, int]:
        """See the class."""
        return self._handler.replaced

    @property
    def skipped(self) -> dict[str, Skipped]:
        """See the class."""
        return self._handler.skipped

    @property
    def num_skipped(self) -> int:
        """Records of all kinds that were left out."""
        return self._handler.num_skipped

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, counted as `total_bytes` counts them: on disk, before decompression."""
        return self._stats.bytes_read

    def complaints(self) -> list[str]:
        """What has to be told about what was repaired and what was skipped, line by line."""
        return self._handler.complaints()

    def split(self, share: float, seed: int = 0) -> tuple[Corpus, Corpus]:
        """A corpus to learn from, and one with about `share` of the bytes, to measure on; together they are this one.

        Documents are held out whole, from all over the corpus; those over 64 KiB are cut into blocks of lines first.
        What can be read only once is held in memory, and is there when the first of the two has been read.

        Raises:
            ConfigError: a share that is not between 0 and 1.

        Examples:
            >>> learn, measure = open_corpus([f"document {i}" for i in range(1000)]).split(0.1)
            >>> len(list(learn)), len(list(measure))
            (897, 103)
        """
        split = HeldOutSplit(share, seed)
        aside: list[DocumentChunk] | None = None if self.is_readable_again() else []
        handlers = [ErrorHandler(self._handler.policy) for _ in range(2)]
        learn = Corpus(self._sources, handlers[0], self._sample, lambda chunks: split.side(chunks, False, aside))
        measure = Corpus(self._sources, handlers[1], self._sample, lambda chunks: split.side(chunks, True))
        measure._kept_before = aside
        return learn, measure

    def __iter__(self) -> Iterator[Document]:
        self._choose(None)
        for chunk in self._chosen(self._chunks(group_bytes=1)):
            for index, text in enumerate(chunk.texts):
                yield Document(text, chunk.source(index))

    def batches(self, size: int = BATCH_BYTES, report: Callable[[int], None] | None = None) -> Iterator[Batch]:
        """The documents in groups of about `size` bytes, none with documents of two sources, read ahead.

        Args:
            size: bytes in a batch; half as many again may have been read ahead.
            report: while a sample is chosen, called with the bytes that have been looked at.

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
        """Reads for the sizes what can be read again, if there is a sample to choose."""
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
        """Whether it is the same when it is read once more: no iterator, stream or pipe."""
        return all(resolved.is_readable_again() for resolved in self._sources)

    def _chunks(self, *, group_bytes: int = GROUP_BYTES, queue: PrefetchQueue | None = None) -> Iterator[DocumentChunk]:
        self._handler.reset()
        self._stats = ReadStats()
        reader = Reader(self._stats, self._handler, group_bytes, queue)
        for resolved in self._sources:
            for chunk in reader.read(resolved):
                self._stats.num_documents += len(chunk.texts)
                if chunk.texts:
                    yield chunk

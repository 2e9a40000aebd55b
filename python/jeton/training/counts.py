"""corpus → counts of its distinct pretokens.

Documents are read here and go to the core in batches, which counts them on all cores with the interpreter released.

Left out: spilling to disk, sampling, saving counts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Literal

from .. import _core
from ..corpus import Batch, Corpus, CorpusLike, open_corpus
from ..definition import Pattern
from ..errors import ConfigError, InvalidTextError
from ..progress import Progress, ProgressEvent, Reporter, make_reporter
from ..threads import num_threads

__all__ = ["Counts", "count", "count_pretokens"]

_log = logging.getLogger("jeton")

# Documents go to the core in batches of this size: large enough that joining the threads' tables costs little beside
# counting, small enough that a batch of files fits beside its counts.
BATCH_BYTES = 64 << 20


class Counts:
    """Distinct pretokens and how often each stands in a corpus, in order of first appearance.

    Attributes:
        pattern: how the text was split; None for counts that a caller gave.
        documents: how many documents were counted.
        corpus_bytes: their bytes.
        special_tokens: the special tokens that cut the documents.
        special_tokens_found: how often one of them stood in a document.
        skipped: kind of fault -> records that were left out for it (``errors="skip"``).

    Examples:
        >>> import jeton
        >>> counts = jeton.count_pretokens(["low low lower"], pattern="gpt2")
        >>> counts.items()
        [(b'low', 1), (b' low', 1), (b' lower', 1)]
        >>> (counts + counts).total
        6
    """

    def __init__(
        self,
        core: _core.Counts,
        *,
        pattern: Pattern | None,
        documents: int,
        corpus_bytes: int,
        special_tokens: Sequence[str] = (),
        special_tokens_found: int = 0,
        skipped: Mapping[str, int] | None = None,
    ) -> None:
        self._core = core
        self.pattern = pattern
        self.documents = documents
        self.corpus_bytes = corpus_bytes
        self.special_tokens = tuple(special_tokens)
        self.special_tokens_found = special_tokens_found
        self.skipped = dict(skipped or {})

    @classmethod
    def from_mapping(cls, counts: Mapping[str, int] | Mapping[bytes, int]) -> Counts:
        """Counts that somebody else made: pretoken -> count. The empty pretoken is no text and is left out.

        Raises:
            ConfigError: a count that is no integer from 0 to 2⁶⁴ - 1.

        Examples:
            >>> Counts.from_mapping({"low": 5, "lower": 2}).total
            7
        """
        items = []
        for pretoken, count in counts.items():
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 1 << 64:
                raise ConfigError(f"the count of {pretoken!r} is {count!r}, not an integer from 0 to 2^64 - 1")
            if pretoken:
                items.append((_bytes(pretoken), count))
        corpus_bytes = sum(len(pretoken) * count for pretoken, count in items)
        return cls(_core.Counts.from_items(items), pattern=None, documents=0, corpus_bytes=corpus_bytes)

    def __len__(self) -> int:
        """Distinct pretokens."""
        return len(self._core)

    @property
    def total(self) -> int:
        """Pretokens, with repetition."""
        return self._core.total

    def items(self) -> list[tuple[bytes, int]]:
        """(pretoken, count) in order of first appearance.

        Examples:
            >>> Counts.from_mapping({"low": 5, "lower": 2}).items()
            [(b'low', 5), (b'lower', 2)]
        """
        return self._core.items()

    def most_common(self, n: int | None = None) -> list[tuple[bytes, int]]:
        """The n most frequent, most frequent first; ties by first appearance.

        Examples:
            >>> Counts.from_mapping({"low": 2, "new": 6, "wide": 2}).most_common(2)
            [(b'new', 6), (b'low', 2)]
        """
        return sorted(self.items(), key=lambda item: -item[1])[:n]

    def __add__(self, other: Counts) -> Counts:
        """Both corpora together, this one first."""
        if not isinstance(other, Counts):
            return NotImplemented
        if self.pattern != other.pattern or self.special_tokens != other.special_tokens:
            raise ConfigError("counts made with different patterns or special tokens cannot be added")
        return Counts(
            self._core.merged(other._core),
            pattern=self.pattern,
            documents=self.documents + other.documents,
            corpus_bytes=self.corpus_bytes + other.corpus_bytes,
            special_tokens=self.special_tokens,
            special_tokens_found=self.special_tokens_found + other.special_tokens_found,
            skipped={
                kind: self.skipped.get(kind, 0) + other.skipped.get(kind, 0)
                for kind in {**self.skipped, **other.skipped}
            },
        )

    def scaled(self, weight: int | Fraction) -> Counts:
        """Every count times a weight, rounded to the nearest integer, halves to even; what becomes 0 is left out.

        Examples:
            >>> Counts.from_mapping({"low": 5, "new": 1}).scaled(Fraction(1, 2)).items()
            [(b'low', 2)]
        """
        if weight == 1:
            return self
        scaled = ((pretoken, round(count * weight)) for pretoken, count in self.items())
        return Counts(
            _core.Counts.from_items([item for item in scaled if item[1]]),
            pattern=self.pattern,
            documents=self.documents,
            corpus_bytes=round(self.corpus_bytes * weight),
            special_tokens=self.special_tokens,
            special_tokens_found=self.special_tokens_found,
            skipped=self.skipped,
        )

    def __repr__(self) -> str:
        return f"Counts({len(self)} distinct pretokens, {self.total} in all)"


def _bytes(pretoken: str | bytes) -> bytes:
    try:
        return pretoken.encode() if isinstance(pretoken, str) else pretoken
    except UnicodeEncodeError as error:
        raise InvalidTextError(f"the pretoken {pretoken!r} holds a lone surrogate", position=error.start) from None


def count_pretokens(
    corpus: CorpusLike,
    *,
    pattern: str | None = "o200k",
    special_tokens: Sequence[str] = (),
    documents: Literal["file", "line"] = "file",
    field: str = "text",
    errors: Literal["strict", "replace", "skip"] = "strict",
    sample_bytes: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
) -> Counts:
    """Counts the pretokens of a corpus.

    Args:
        corpus: a path, glob, folder or URL; an iterable of documents (`str`, `bytes`), rows or `Path`s; a list of
            `Source`s, whose weights multiply their counts.
        pattern: how to split: a name or a regex. None does not split.
        special_tokens: cut the documents where they stand and are never counted.
        documents: a text file is one document, or one a line.
        field: the field of rows (JSONL, Parquet, mappings) that holds the text.
        errors: what to do with bytes that are not UTF-8: ``"strict"`` raises, ``"replace"`` puts U+FFFD and says so;
            ``"skip"`` leaves out every record that cannot be read, and says so.
        sample_bytes: count a sample of about this many bytes, in whole documents from all over the corpus.
        seed: which sample.
        threads: all cores by default, or what RAYON_NUM_THREADS says.
        progress: None draws a bar in a terminal; True, False, or a function that gets each event.

    Returns:
        64-bit counts in order of first appearance; the same for any number of threads.

    Raises:
        FileNotFoundError: a path that is not there; says how to pass text instead.
        InvalidTextError: bytes that are not UTF-8; names the file and the byte.
        FormatError: a compressed file or a row of JSONL that is broken.

    Examples:
        >>> import jeton
        >>> jeton.count_pretokens(["to be or not to be"], pattern="gpt2").most_common(1)
        [(b' be', 2)]
    """
    opened = open_corpus(corpus, documents=documents, field=field, errors=errors, sample_bytes=sample_bytes, seed=seed)
    with make_reporter(progress) as report:
        return count(opened, Pattern.of(pattern), list(special_tokens), num_threads(threads), report)


def _batches(corpus: Corpus, report: Reporter, kept: list[bytes] | None) -> Iterator[Batch]:
    """The documents in groups of about BATCH_BYTES."""
    report(ProgressEvent("count", 0, corpus.total_bytes, "B"))
    for batch in corpus.batches(
        BATCH_BYTES, lambda done: report(ProgressEvent("sample", done, corpus.total_bytes, "B"))
    ):
        if kept is not None:
            kept += batch.texts
        yield batch
        report(ProgressEvent("count", batch.bytes_read, corpus.total_bytes, "B"))
    total = corpus.total_bytes if corpus.total_bytes is not None else corpus.bytes_read
    report(ProgressEvent("count", corpus.bytes_read, total, "B"))


def count(
    corpus: Corpus,
    pattern: Pattern,
    special_tokens: list[str],
    threads: int,
    report: Reporter,
    kept: list[bytes] | None = None,
) -> Counts:
    """Counts an opened corpus, each source by its weight. Documents are also appended to `kept`, for those who want to
    see them again.
    """
    batches = _batches(corpus, report, kept)
    counts: Counts | None = None
    for (_, weight), source in groupby(batches, key=lambda batch: (batch.part, batch.weight)):
        counted = _count_source(source, pattern, special_tokens, threads).scaled(weight)
        counts = counted if counts is None else counts + counted
    if counts is None:
        counts = _count_source((), pattern, special_tokens, threads)
    for complaint in corpus.complaints():
        _log.warning(complaint, extra={"skipped": corpus.num_skipped})
    counts.skipped = {kind: skipped.count for kind, skipped in corpus.skipped.items()}
    return counts


def _count_source(batches: Iterable[Batch], pattern: Pattern, special_tokens: list[str], threads: int) -> Counts:
    """Counts the batches of one source."""
    counter = _core.Counter(pattern.text, is_regex=pattern.is_regex, special_tokens=special_tokens)
    for batch in batches:
        try:
            counter.add(batch.texts, threads=threads)
        except InvalidTextError as error:  # a regex that takes too many steps
            source = batch.source(getattr(error, "document", 0))
            raise InvalidTextError(f"{source}: {error}", position=error.position, source=source) from None
    core, documents, corpus_bytes, found = counter.finish()
    return Counts(
        core,
        pattern=pattern,
        documents=documents,
        corpus_bytes=corpus_bytes,
        special_tokens=special_tokens,
        special_tokens_found=found,
    )

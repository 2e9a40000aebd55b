"""corpus → counts of its distinct pretokens.

Documents are read here and go to the core in batches, which counts them on all cores with the interpreter released.

Left out: spilling to disk, sampling, saving counts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from .. import _core
from ..corpus import Corpus, CorpusLike, Document, open_corpus
from ..definition import Part, Pattern
from ..errors import ConfigError, InvalidTextError
from ..progress import Progress, ProgressEvent, Reporter, make_reporter
from ..threads import num_threads
from .stages import Stages

__all__ = ["Counts", "count", "count_pretokens"]

_log = logging.getLogger("jeton")

# Documents go to the core in batches of this size: large enough that joining the threads' tables costs little beside
# counting, small enough that a batch of files fits beside its counts.
BATCH_BYTES = 64 << 20


class Counts:
    """Distinct pretokens and how often each stands in a corpus, in order of first appearance.

    Attributes:
        stages: what was done to each document before; None for counts that a caller gave.
        documents: how many documents were counted.
        corpus_bytes: their bytes.
        special_tokens: the special tokens that cut the documents.
        special_tokens_found: how often one of them stood in a document.

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
        stages: Stages | None,
        documents: int,
        corpus_bytes: int,
        special_tokens: Sequence[str] = (),
        special_tokens_found: int = 0,
    ) -> None:
        self._core = core
        self.stages = stages
        self.documents = documents
        self.corpus_bytes = corpus_bytes
        self.special_tokens = tuple(special_tokens)
        self.special_tokens_found = special_tokens_found

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
        return cls(_core.Counts.from_items(items), stages=None, documents=0, corpus_bytes=corpus_bytes)

    @property
    def pattern(self) -> Pattern | None:
        """The pattern that split the text, where it was all that was done to it; else None.

        Examples:
            >>> import jeton
            >>> jeton.count_pretokens(["low lower"], pattern="gpt2").pattern.text
            'gpt2'
        """
        return self.stages.pattern if self.stages is not None else None

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
        self._check_kin(other, "added")
        return Counts(
            self._core.merged(other._core),
            stages=self.stages,
            documents=self.documents + other.documents,
            corpus_bytes=self.corpus_bytes + other.corpus_bytes,
            special_tokens=self.special_tokens,
            special_tokens_found=self.special_tokens_found + other.special_tokens_found,
        )

    def _check_kin(self, other: Counts, done: str) -> None:
        """Counts of texts that were split otherwise are counts of something else."""
        mine, others = self.stages, other.stages
        if (mine is None) != (others is None) or (mine and others and not mine.is_same(others)):
            names = [stages.describe() if stages else "a mapping" for stages in (mine, others)]
            raise ConfigError(f"counts made with {names[0]} and with {names[1]} cannot be {done}")
        if set(self.special_tokens) != set(other.special_tokens):
            tokens = [list(counts.special_tokens) for counts in (self, other)]
            raise ConfigError(f"counts cut at the special tokens {tokens[0]} and at {tokens[1]} cannot be {done}")

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
    normalizer: Sequence[Part] = (),
    pretokenizer: Sequence[Part] | None = None,
    special_tokens: Sequence[str] = (),
    documents: Literal["file", "line"] = "file",
    field: str = "text",
    errors: Literal["strict", "replace"] = "strict",
    threads: int | None = None,
    progress: Progress = None,
) -> Counts:
    """Counts the pretokens of a corpus.

    Args:
        corpus: a path, glob or folder; an iterable of documents (`str`, `bytes`) or of `Path`s.
        pattern: how to split: a name or a regex. None does not split.
        normalizer: parts that rewrite each document before, as in `Definition`: ``[{"type": "NFC"}]``. None by default.
        pretokenizer: parts that cut it, in the place of `pattern`: ``tok.definition.pretokenizer``.
        special_tokens: cut the documents where they stand and are never counted.
        documents: a text file is one document, or one a line.
        field: the field of JSONL that holds the text.
        errors: what to do with bytes that are not UTF-8: ``"strict"`` raises, ``"replace"`` puts U+FFFD and says so.
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
        >>> jeton.count_pretokens(["To be"], pattern="gpt2", normalizer=[{"type": "Lowercase"}]).items()
        [(b'to', 1), (b' be', 1)]
    """
    opened = open_corpus(corpus, documents=documents, field=field, errors=errors)
    with make_reporter(progress) as report:
        return count(
            opened, Stages.make(pattern, normalizer, pretokenizer), list(special_tokens), num_threads(threads), report
        )


def _batches(corpus: Corpus, report: Reporter, kept: list[bytes] | None) -> Iterator[list[Document]]:
    """The documents in groups of about BATCH_BYTES."""
    batch: list[Document] = []
    size = 0
    report(ProgressEvent("count", 0, corpus.total_bytes, "B"))
    for document in corpus:
        batch.append(document)
        size += len(document.data) + 64
        if kept is not None:
            kept.append(document.data)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
            report(ProgressEvent("count", corpus.bytes_read, corpus.total_bytes, "B"))
    yield batch
    total = corpus.total_bytes if corpus.total_bytes is not None else corpus.bytes_read
    report(ProgressEvent("count", corpus.bytes_read, total, "B"))


def count(
    corpus: Corpus,
    stages: Stages,
    special_tokens: list[str],
    threads: int,
    report: Reporter,
    kept: list[bytes] | None = None,
) -> Counts:
    """Counts an opened corpus. Documents are also appended to `kept`, for those who want to see them again."""
    counter = _core.Counter(stages.core_json(), special_tokens=special_tokens)
    for batch in _batches(corpus, report, kept):
        try:
            counter.add([document.data for document in batch], threads=threads)
        except InvalidTextError as error:  # a regex that takes too many steps
            source = batch[getattr(error, "document", 0)].source
            raise InvalidTextError(f"{source}: {error}", position=error.position, source=source) from None
    core, documents, corpus_bytes, found = counter.finish()
    for file, places in corpus.replaced.items():
        _log.warning("%s: %d places that are not UTF-8 became U+FFFD", file, places)
    return Counts(
        core,
        stages=stages,
        documents=documents,
        corpus_bytes=corpus_bytes,
        special_tokens=special_tokens,
        special_tokens_found=found,
    )

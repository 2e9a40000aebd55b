"""corpus → counts of its distinct pretokens.

Documents are read here and go to the core in batches, which counts them on all cores with the interpreter released.
What memory has no room for goes to disk (`spilling`), and so does what is to be gone on with later.

What passed the limit lies in mapped files at the end, too (`Limits.memory`).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Literal

from .. import _core
from ..arguments import file_path, integer, strings
from ..corpus import MAX_EXPANSION, Batch, Corpus, CorpusLike, Document, open_corpus
from ..definition import Component
from ..errors import ConfigError, InvalidTextError
from ..progress import Progress, ProgressEvent, Reporter, make_reporter
from ..special import spell
from ..threads import num_threads
from .counted import MAX_COUNT, Counts, Dropped
from .interrupted import log_kept_counts
from .memory_limit import MemoryOptions, make_memory, parse_bytes
from .spilling import STATE, Position, Spill
from .stages import Stages

__all__ = ["Counts", "Limits", "count", "count_pretokens"]

_log = logging.getLogger("jeton")

# Documents go to the core in batches of this size: large enough that starting threads costs nothing beside counting,
# small enough that a batch of files fits beside its counts. With a checkpoint a batch must end soon after Ctrl-C.
BATCH_BYTES = 64 << 20
CHECKPOINT_BATCH_BYTES = 16 << 20

# After Ctrl-C a batch has so many seconds to end, so that what it counted is kept.
PATIENCE = 0.6

# A checkpoint is written when so many seconds have passed since the last; writing takes some tenths of one.
CHECKPOINT_EVERY = 30.0

# The share of the limit that tables may fill before they are written to disk: one that doubles takes its room twice,
# and texts need some.
TABLES_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Limits:
    """How counting and learning use memory and disk. No limit changes the result, save `min_count`.

    Attributes:
        memory_limit: bytes of memory from which on counts go to disk; as in `count_pretokens`.
        spill_folder: where; a folder of its own is made in it, and removed afterwards.
        checkpoint: a folder that is kept, from which the same call goes on.
        min_count: pretokens that occur less often are left out at the end.
    """

    memory_limit: int | str | None = None
    spill_folder: str | os.PathLike[str] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    min_count: int = 1

    def __post_init__(self) -> None:
        """Checks them before a corpus is opened."""
        parse_bytes(self.memory_limit)
        integer(self.min_count, "min_count", 0, MAX_COUNT)
        for option in ("spill_folder", "checkpoint"):
            if getattr(self, option) is not None:
                file_path(getattr(self, option), option)

    @property
    def batch_bytes(self) -> int:
        """The size of the batches in which documents are counted."""
        size = BATCH_BYTES if self.checkpoint is None else CHECKPOINT_BATCH_BYTES
        return max(min(size, parse_bytes(self.memory_limit) // 16), 1 << 20)  # up to three are in memory

    @property
    def memory_options(self) -> MemoryOptions:
        """The limit, and the folder for what exceeds it."""
        return self.memory_limit, self.spill_folder or self.checkpoint

    def memory(self) -> _core.Memory:
        """The limit for what the core holds beyond counting."""
        return make_memory(*self.memory_options)

    def of_stage(self, name: str) -> Limits:
        """For a second count of the same corpus: a checkpoint of its own, and all its pretokens, which are lines."""
        checkpoint = None if self.checkpoint is None else Path(self.checkpoint, name)
        return replace(self, checkpoint=checkpoint, min_count=1)

    def of_source(self, part: int) -> Limits:
        """For one of several sources, whose counts are kept apart: a checkpoint of its own, and all its pretokens."""
        checkpoint = None if self.checkpoint is None else Path(self.checkpoint, f"source-{part:04}")
        return replace(self, checkpoint=checkpoint, min_count=1)

    def open(self, stages: Stages, special_tokens: Sequence[str]) -> Spill:
        """The place on disk for counts of these stages."""
        options = {"stages": stages.to_json(), "special_tokens": sorted(special_tokens)}
        folder = self.checkpoint if self.checkpoint is not None else self.spill_folder
        return Spill.open(folder, checkpoint=self.checkpoint is not None, options=options)


def count_pretokens(
    corpus: CorpusLike,
    *,
    pattern: str | None = "o200k",
    normalizer: Sequence[Component] = (),
    pretokenizer: Sequence[Component] | None = None,
    special_tokens: Sequence[str] = (),
    documents: Literal["file", "line"] = "file",
    field: str = "text",
    errors: Literal["strict", "replace", "skip"] = "strict",
    encoding: str = "utf-8",
    max_expansion: int | None = MAX_EXPANSION,
    sample_bytes: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
    memory_limit: int | str | None = None,
    spill_folder: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    min_count: int = 1,
) -> Counts:
    """Counts the pretokens of a corpus.

    Args:
        corpus: a path, glob, folder or URL; an iterable of documents (`str`, `bytes`), rows or `Path`s; a list of
            `Source`s, whose weights multiply their counts.
        pattern: how to split: a name or a regex. None does not split.
        normalizer: parts that rewrite each document before, as in `Definition`: ``[{"type": "NFC"}]``. None by default.
        pretokenizer: parts that cut it, in the place of `pattern`: ``tok.definition.pretokenizer``.
        special_tokens: cut the documents where they stand and are never counted.
        documents: a text file is one document, or one a line.
        field: the field of rows (JSONL, Parquet, mappings) that holds the text.
        errors: what to do with bytes that are not UTF-8: ``"strict"`` raises, ``"replace"`` puts U+FFFD and says so;
            ``"skip"`` leaves out every record that cannot be read, and says so.
        encoding: how text files, streams and `bytes` are encoded: ``"gb18030"``, or another name that Python knows.
        max_expansion: how many times the size of its compressed file a text may have, beyond its first 4 MiB; more is
            refused as a decompression bomb. None allows any size.
        sample_bytes: count a sample of about this many bytes, in whole documents from all over the corpus.
        seed: which sample.
        threads: all cores by default, or what RAYON_NUM_THREADS says.
        progress: None draws a bar in a terminal; True, False, or a function that gets each event.
        memory_limit: bytes, or a string as ``"500MB"``: tables that fill it go to disk; a quarter of the machine's
            memory (or the container's) by default.
        spill_folder: where they go, in a folder that is removed afterwards; the system's temporary one by default.
        checkpoint: a folder in which counts are saved every half minute and at Ctrl-C. The same call with the same
            folder goes on from there, also after the process was killed. It is not removed.
        min_count: pretokens that occur less often are left out; `Counts.dropped` says what they were.

    Returns:
        64-bit counts in order of first appearance; the same for any number of threads, any limit of memory, and
        however often counting was interrupted.

    Raises:
        FileNotFoundError: a path that is not there; says how to pass text instead.
        InvalidTextError: bytes that are not UTF-8; names the file and the byte.
        FormatError: a compressed file or a row of JSONL that is broken; a file that expands too much; a document that
            memory has no place for; a checkpoint that is damaged.
        ConfigError: options that cannot be, or a checkpoint of another corpus or of other options.
        OSError: the disk is full. A checkpoint stays as it was last saved.

    Examples:
        >>> import jeton
        >>> jeton.count_pretokens(["to be or not to be"], pattern="gpt2").most_common(1)
        [(b' be', 2)]
        >>> jeton.count_pretokens(["To be"], pattern="gpt2", normalizer=[{"type": "Lowercase"}]).items()
        [(b'to', 1), (b' be', 1)]
    """
    limits = Limits(memory_limit, spill_folder, checkpoint, min_count)
    stages = Stages.make(pattern, normalizer, pretokenizer)
    for token in strings(special_tokens, "special_tokens"):
        spell(token)
    opened = open_corpus(corpus, documents=documents, field=field, errors=errors, sample_bytes=sample_bytes, seed=seed)
    opened = open_corpus(
        corpus, documents=documents, field=field, errors=errors, sample_bytes=sample_bytes, seed=seed,
        encoding=encoding, max_expansion=max_expansion,
    )  # fmt: skip
    with make_reporter(progress) as report:
        return count(opened, stages, list(special_tokens), num_threads(threads), report, limits=limits)


def count(
    corpus: Corpus,
    stages: Stages,
    special_tokens: list[str],
    threads: int,
    report: Reporter,
    kept: list[bytes] | None = None,
    limits: Limits | None = None,
) -> Counts:
    """Counts an opened corpus, each source by its weight. Documents are also appended to `kept`, for those who want to
    see them again.
    """
    limits = limits or Limits()
    batches = _batches(corpus, limits.batch_bytes, report, kept)
    counts: Counts | None = None
    alone = True
    with log_kept_counts(limits.checkpoint, STATE):
        for (group, weight), source in groupby(batches, key=lambda batch: (batch.weight_group, batch.weight)):
            alone = corpus.num_weight_groups == 1 and weight == 1
            own = limits if alone else limits.of_source(group)
            counted = _count_source(source, stages, special_tokens, threads, own)
            weighed = counted if weight == 1 else counted.scaled(weight)
            counts = weighed if counts is None else counts + weighed
    if counts is None:
        counts = _count_source(iter(()), stages, special_tokens, threads, limits)
    elif not alone and limits.min_count > 1:
        counts = counts.without_rare(limits.min_count)
    counts.skipped = {kind: skipped.count for kind, skipped in corpus.skipped.items()}
    for complaint in corpus.complaints():
        _log.warning(complaint, extra={"skipped": corpus.num_skipped})
    if counts.dropped is not None:
        _log.warning(
            "dropped %d pretokens that occur less than %d times, %d occurrences of %d: the count of a pair is too low "
            "by no more than it stands in these",
            *(counts.dropped.distinct, limits.min_count, counts.dropped.occurrences),
            counts.total + counts.dropped.occurrences,
        )
    return counts


def _count_source(
    batches: Iterator[Batch], stages: Stages, special_tokens: list[str], threads: int, limits: Limits
) -> Counts:
    """Counts the batches of one source."""
    spill = limits.open(stages, special_tokens)
    try:
        counter = _core.Counter(stages.core_json(), special_tokens=special_tokens, totals=spill.totals)
        _CountingRun(batches, counter, spill, parse_bytes(limits.memory_limit), threads).count()
        documents, corpus_bytes, found = counter.totals()
        core, dropped = counter.finish(spill.runs(), limits.min_count, limits.memory())
    finally:
        spill.close()
    return Counts(
        core,
        stages=stages,
        documents=documents,
        corpus_bytes=corpus_bytes,
        special_tokens=special_tokens,
        special_tokens_found=found,
        dropped=Dropped(limits.min_count, *dropped) if limits.min_count > 1 else None,
        memory_options=(limits.memory_limit, limits.spill_folder),
    )


def _batches(corpus: Corpus, size: int, report: Reporter, kept: list[bytes] | None) -> Iterator[Batch]:
    """The documents in groups, and how far they are."""
    report(ProgressEvent("count", 0, corpus.total_bytes, "B"))
    for batch in corpus.batches(size, lambda done: report(ProgressEvent("sample", done, corpus.total_bytes, "B"))):
        if kept is not None:
            kept += batch.texts
        yield batch
        report(ProgressEvent("count", batch.bytes_read, corpus.total_bytes, "B"))
    total = corpus.total_bytes if corpus.total_bytes is not None else corpus.bytes_read
    report(ProgressEvent("count", corpus.bytes_read, total, "B"))


class _CountingRun:
    """One source of a corpus on its way through a counter."""

    def __init__(
        self, batches: Iterator[Batch], counter: _core.Counter, spill: Spill, limit: int, threads: int
    ) -> None:
        self._batches, self._counter, self._spill, self._threads = batches, counter, spill, threads
        self._most = int(limit * TABLES_SHARE)
        self._began = spill.position
        # Before and after the present batch: a signal may come at any place, and the counter knows which of them holds.
        self._positions = {self._began.documents: self._began}
        self._saved = time.monotonic()

    def count(self) -> None:
        """Counts what is not counted yet."""
        try:
            for batch, start in self._rest():
                self._add(batch, start)
                if self._counter.memory()[0] > self._most or self._is_time():
                    self._put()
        except KeyboardInterrupt:
            if self._spill.is_checkpoint:
                with suppress(RuntimeError):  # the counter stopped in the middle of a batch: the last state stays
                    self._put()
            raise
        if self._spill.is_checkpoint or self._spill.has_runs:
            self._put()  # so that only one source is in memory when all are merged

    def _add(self, batch: Batch, start: int) -> None:
        """Counts a batch from one of its documents on."""
        texts = batch.texts[start:] if start else batch.texts
        before = after = self._positions[max(self._positions)]
        if self._spill.is_checkpoint:
            for text in texts:
                after = after.after(Document(text, ""))
        self._positions = {before.documents: before, after.documents: after}
        patience = PATIENCE if self._spill.is_checkpoint else 0.0
        try:
            self._counter.add(texts, threads=self._threads, patience=patience)
        except InvalidTextError as error:  # a regex that takes too many steps
            source = batch.source(start + getattr(error, "document", 0))
            raise InvalidTextError(f"{source}: {error}", position=error.position, source=source) from None

    def _is_time(self) -> bool:
        return self._spill.is_checkpoint and time.monotonic() - self._saved > CHECKPOINT_EVERY

    def _put(self) -> None:
        documents = self._counter.totals()[0]
        self._spill.put(self._counter, self._positions.get(documents, Position(documents)))
        self._saved = time.monotonic()

    def _rest(self) -> Iterator[tuple[Batch, int]]:
        """The batches behind the checkpoint's position, which must be in this source, and where to begin in each."""
        passed = Position()
        for batch in self._batches:
            start = 0
            while start < len(batch.texts) and passed.documents < self._began.documents:
                passed = passed.after(Document(batch.texts[start], ""))
                self._check(passed)
                start += 1
            if start < len(batch.texts):
                yield batch, start
        self._check(passed, at_end=True)

    def _check(self, passed: Position, *, at_end: bool = False) -> None:
        """That documents passed over are those that were counted."""
        began = self._began
        is_other = passed.documents == began.documents and passed != began
        if is_other or (at_end and passed.documents < began.documents):
            message = (
                f"the checkpoint {self._spill.folder} is of another corpus: its {began.documents} documents are not "
                f"the first of this one, of which {passed.documents} were read; pass the same corpus, or another folder"
            )
            raise ConfigError(message, option="checkpoint")

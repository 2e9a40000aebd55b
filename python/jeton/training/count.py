"""Counts the distinct pretokens of a corpus.

This module reads documents in batches. The core counts each batch on all cores with the GIL released. Counts that
exceed the memory limit, and counts for a checkpoint, are written to disk as sorted runs (`runs`). A result that exceeds
the limit is memory-mapped (`Limits.memory`).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import reduce
from itertools import groupby
from operator import add

from .. import _core
from ..corpus import Batch, Corpus, CorpusLike, Document, DocumentReader, Rules, Source, open_corpus
from ..corpus.kinds import is_folder_kind, kind_of
from ..corpus.listing import Lister, log_unread
from ..corpus.paths import file_name, is_remote, names_in
from ..definition import Component
from ..errors import ConfigError, InvalidTextError
from ..tokens.special import spell
from ..util.arguments import integer, strings
from ..util.progress import Progress, ProgressEvent, Reporter, make_reporter
from .counts import MAX_COUNT, Counts
from .dropped import DroppedPretokens
from .limits import Limits, parse_bytes
from .runs import Position, RunFolder, log_kept_counts
from .stages import Stages

__all__ = ["count", "count_batches", "count_pretokens", "counts_of", "without_rare"]

_log = logging.getLogger("jeton")

SUFFIX = ".jtc"  # suffix of files of counts
PLAN, MANIFEST, JOINED = "plan.json", "manifest.json", "joined."  # files in a folder of shards; the last is a prefix

# Time in seconds that is allowed after Ctrl-C for finishing the current batch, so that its counts are not lost.
PATIENCE = 0.6

# Seconds between checkpoints; writing a checkpoint takes some tenths of a second.
CHECKPOINT_EVERY = 30.0

# Share of the memory limit at which hash tables are spilled to disk. The rest of the limit is needed for texts
# and for growing tables, which have their old and new slots in memory at once.
TABLES_SHARE = 0.3


def counts_of(corpus: object) -> Counts | None:
    """Loads the sum of weighted counts if the corpus consists of files of counts; else returns None.

    Files are recognized by their suffix, not by their content. A file that is listed several times is added once. A
    folder stands for all of its files of counts; in a folder of shards, the joined file is left out.

    Raises:
        ConfigError: files of counts are mixed with other files, or shards of counts are not complete.

    Examples:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> Counts.from_mapping({"low": 5}).save(folder / "words.jtc")
        >>> counts_of(folder).items(), counts_of([folder, folder / "words.jtc"]).items(), counts_of("words.txt")
        ([(b'low', 5)], [(b'low', 5)], None)
    """
    if isinstance(corpus, Corpus):
        corpus = corpus.sources
    if isinstance(corpus, str | os.PathLike | Source):
        corpus = [corpus]
    elif not isinstance(corpus, list | tuple) or not all(isinstance(place, os.PathLike | Source) for place in corpus):
        return None
    sources = [place if isinstance(place, Source) else Source(place) for place in corpus]
    names = [os.fsdecode(s.place) if isinstance(s.place, str | os.PathLike) else "" for s in sources]
    found = [_counts_at(name) for name in names]
    if not any(found):
        return None
    first = next(files[0] for files in found if files)
    if not all(found):
        other = names[found.index([])]
        raise ConfigError(f"{first} is a file of counts, but {other} is not: count the latter first", option="corpus")
    lister = Lister()
    weighted = [
        (file, source.exact_weight)
        for files, source in zip(found, sources, strict=True)
        for place in files
        for file in lister.add(place, Rules(input_type="text"), (None, source.exact_weight))
    ]
    log_unread(lister.unread)
    return reduce(add, (Counts.load(file).scaled(weight) for file, weight in weighted))


def _counts_at(name: str) -> list[str]:
    """Returns the files of counts, or globs of such files, at a path or URL; empty if there are none.

    Raises:
        ConfigError: as `counts_of`.
    """
    if file_name(name).lower().endswith(SUFFIX):
        return [name]
    names = names_in(name) if name else []
    counts = [file for file in names if file.lower().endswith(SUFFIX) and not file.startswith(".")]
    if not counts:
        return []
    other = next((file for file in names if is_folder_kind(file) and kind_of(file) not in ("json", "csv", "tsv")), None)
    if other is not None:
        raise ConfigError(f"{name} contains files of counts and {other}: pass only files of one kind", option="corpus")
    if PLAN in names and MANIFEST not in names:
        raise ConfigError(
            f"{name} has shards of counts that are not complete: run and merge them first", option="corpus"
        )
    if len(counts) > 1:
        counts = [file for file in counts if not file.startswith(JOINED)]
    return [f"{name.rstrip('/')}/{file}" if is_remote(name) else os.path.join(name, file) for file in counts]


def count_pretokens(
    corpus: CorpusLike | Corpus,
    *,
    pattern: str | None = "o200k",
    normalizer: Sequence[Component] = (),
    pretokenizer: Sequence[Component] | None = None,
    special_tokens: Sequence[str] = (),
    min_count: int = 1,
    threads: int | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
) -> Counts:
    """Counts the pretokens of a corpus.

    Args:
        corpus: a path, glob, folder or URL; an iterable of documents (`str`, `bytes`), rows or `Path`s; a list of
            `Source`s, whose weights multiply their counts; or a `Corpus`, which has more options of reading.
        pattern: pre-tokenization pattern: a name or a regex. None does not split.
        normalizer: components that rewrite each document first, as in `Definition`: ``[{"type": "NFC"}]``.
        pretokenizer: components that split each document, instead of `pattern`: ``tok.definition.pretokenizer``.
        special_tokens: special tokens, which split the documents and are not counted.
        min_count: pretokens with a lower count are dropped; `Counts.dropped` describes them.
        threads: number of threads; None: RAYON_NUM_THREADS, or all cores.
        progress: None draws a bar in a terminal; True, False, or a function that is called with each event.
        limits: limits of memory and disk, and a checkpoint to resume from.

    Returns:
        64-bit counts in order of first appearance. They do not depend on threads, memory limit or interruptions.

    Raises:
        FileNotFoundError: a path is missing; the message says how to pass text instead.
        InvalidTextError: invalid UTF-8; the message names the file and the byte.
        FormatError: a corrupt compressed file or JSONL row; a file that expands too much; a document that is too large
            for memory; a corrupt checkpoint.
        ConfigError: invalid options, or the checkpoint was made from another corpus or with other options.
        OSError: the disk is full. A checkpoint keeps its last saved state.

    Examples:
        >>> import jeton
        >>> jeton.count_pretokens(["to be or not to be"], pattern="gpt2").most_common(1)
        [(b' be', 2)]
        >>> jeton.count_pretokens(["To be"], pattern="gpt2", normalizer=[{"type": "Lowercase"}]).items()
        [(b'to', 1), (b' be', 1)]
    """
    limits = Limits.of(limits, threads)
    integer(min_count, "min_count", 0, MAX_COUNT)
    stages = Stages.make(pattern, normalizer, pretokenizer)
    for index, token in enumerate(strings(special_tokens, "special_tokens")):
        spell(token, f"special_tokens[{index}]")
    reader = open_corpus(corpus)
    with make_reporter(progress) as report:
        return count(reader, stages, list(special_tokens), report, limits=limits, min_count=min_count)


def count(
    corpus: DocumentReader,
    stages: Stages,
    special_tokens: list[str],
    report: Reporter,
    *,
    limits: Limits,
    min_count: int = 1,
    kept: list[bytes] | None = None,
) -> Counts:
    """Counts an opened corpus, each source with its weight. Appends the documents to `kept`, unless it is None."""
    batches = _batches(corpus, limits.batch_bytes, report, kept)
    counts: Counts | None = None
    alone = True
    with log_kept_counts(limits.checkpoint):
        for (group, weight), source in groupby(batches, key=lambda batch: (batch.weight_group, batch.weight)):
            alone = corpus.num_weight_groups == 1 and weight == 1
            own, least = (limits, min_count) if alone else (limits.of_part(f"source-{group:04}"), 1)
            counted = count_batches(source, stages, special_tokens, own, least)
            weighed = counted if weight == 1 else counted.scaled(weight)
            counts = weighed if counts is None else counts + weighed
    if counts is None:
        counts = count_batches(iter(()), stages, special_tokens, limits, min_count)
    elif not alone and min_count > 1:
        counts = counts.without_rare(min_count)
    counts.skipped = {kind: skipped.count for kind, skipped in corpus.skipped.items()}
    corpus.log_complaints()
    _log_dropped(counts)
    return counts


def without_rare(counts: Counts, min_count: int) -> Counts:
    """Drops the pretokens with a count below `min_count` and logs a warning, as `count_pretokens` does."""
    if min_count <= 1:
        return counts
    kept = counts.without_rare(min_count)
    _log_dropped(kept)
    return kept


def _log_dropped(counts: Counts) -> None:
    """Logs a warning about dropped pretokens."""
    if counts.dropped is not None:
        _log.warning(
            "dropped %d pretokens with fewer than %d occurrences (%d of all %d occurrences); counts of "
            "pairs do not include them",
            *(counts.dropped.distinct, counts.dropped.min_count, counts.dropped.occurrences),
            counts.total + counts.dropped.occurrences,
        )


def count_batches(
    batches: Iterator[Batch], stages: Stages, special_tokens: list[str], limits: Limits, min_count: int = 1
) -> Counts:
    """Counts the batches of one source; all documents have the same weight.

    Logging, and setting `Counts.skipped`, is left to the caller.
    """
    options = {"stages": stages.to_json(), "special_tokens": sorted(special_tokens)}
    folder = limits.checkpoint if limits.checkpoint is not None else limits.spill_folder
    spill = RunFolder.open(folder, checkpoint=limits.checkpoint is not None, options=options)
    try:
        counter = _core.Counter(stages.core_json(), special_tokens=special_tokens, totals=spill.totals)
        _CountingRun(batches, counter, spill, parse_bytes(limits.memory_limit), limits.num_threads).count()
        documents, corpus_bytes, found = counter.totals()
        core, dropped = counter.finish(spill.runs(), min_count, limits.memory())
    finally:
        spill.close()
    return Counts(
        core,
        stages=stages,
        documents=documents,
        corpus_bytes=corpus_bytes,
        special_tokens=special_tokens,
        special_tokens_found=found,
        dropped=DroppedPretokens(min_count, *dropped) if min_count > 1 else None,
        memory_options=(limits.memory_limit, limits.spill_folder),
    )


def _batches(corpus: DocumentReader, size: int, report: Reporter, kept: list[bytes] | None) -> Iterator[Batch]:
    """Yields the batches of a corpus and reports progress."""
    report(ProgressEvent("count", 0, corpus.total_bytes, "B"))
    for batch in corpus.batches(size, lambda done: report(ProgressEvent("sample", done, corpus.total_bytes, "B"))):
        if kept is not None:
            kept += batch.texts
        yield batch
        report(ProgressEvent("count", batch.bytes_read, corpus.total_bytes, "B"))
    total = corpus.total_bytes if corpus.total_bytes is not None else corpus.bytes_read
    report(ProgressEvent("count", corpus.bytes_read, total, "B"))


class _CountingRun:
    """Counts documents of a corpus, all with the same weight."""

    def __init__(
        self, batches: Iterator[Batch], counter: _core.Counter, spill: RunFolder, limit: int, threads: int
    ) -> None:
        self._batches, self._counter, self._spill, self._threads = batches, counter, spill, threads
        self._most = int(limit * TABLES_SHARE)
        self._began = spill.position
        # Positions before and after the current batch, by number of documents. If a signal interrupts a batch, the
        # counter's number of documents tells which of the two positions is valid.
        self._positions = {self._began.documents: self._began}
        self._saved = time.monotonic()

    def count(self) -> None:
        """Counts all documents after the checkpoint."""
        try:
            for batch, start in self._rest():
                self._add(batch, start)
                if self._counter.memory()[0] > self._most or self._is_time():
                    self._put()
        except KeyboardInterrupt:
            if self._spill.is_checkpoint:
                with suppress(RuntimeError):  # the counter stopped within a batch: keep the last saved state
                    self._put()
            raise
        if self._spill.is_checkpoint or self._spill.has_runs:
            self._put()  # frees memory: the last counts and the merged counts together could exceed the limit

    def _add(self, batch: Batch, start: int) -> None:
        """Counts the documents of a batch from index `start` on."""
        before = after = self._positions[max(self._positions)]
        if self._spill.is_checkpoint:
            for text in batch.texts[start:]:
                after = after.after(Document(text, ""))
        self._positions = {before.documents: before, after.documents: after}
        patience = PATIENCE if self._spill.is_checkpoint else 0.0
        try:
            self._counter.add(batch.columns, threads=self._threads, skip=start, patience=patience)
        except InvalidTextError as error:  # a regex exceeded its step budget
            source = batch.source(start + getattr(error, "document", 0))
            raise InvalidTextError(f"{source}: {error}", position=error.position, source=source) from None

    def _is_time(self) -> bool:
        return self._spill.is_checkpoint and time.monotonic() - self._saved > CHECKPOINT_EVERY

    def _put(self) -> None:
        documents = self._counter.totals()[0]
        self._spill.put(self._counter, self._positions.get(documents, Position(documents)))
        self._saved = time.monotonic()

    def _rest(self) -> Iterator[tuple[Batch, int]]:
        """Yields the batches after the checkpoint's position, each with the index of its first uncounted document."""
        passed = Position()
        for batch in self._batches:
            start = 0
            while passed.documents < self._began.documents and start < len(batch):
                passed = passed.after(Document(batch.texts[start], ""))
                self._check(passed)
                start += 1
            if start < len(batch):
                yield batch, start
        self._check(passed, at_end=True)

    def _check(self, passed: Position, *, at_end: bool = False) -> None:
        """Checks that the documents skipped so far are those that were counted before the checkpoint.

        Raises:
            ConfigError: the documents differ.
        """
        began = self._began
        is_other = passed.documents == began.documents and passed != began
        if is_other or (at_end and passed.documents < began.documents):
            message = (
                f"the checkpoint {self._spill.folder} belongs to another corpus: its {began.documents} "
                f"documents are not the first ones of this corpus ({passed.documents} were read); pass the "
                "same corpus, or another folder"
            )
            raise ConfigError(message, option="checkpoint")

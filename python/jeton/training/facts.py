"""Facts of a training run: attached to the tokenizer, written as a log, or printed as a trace.

`TrainingLog` has every merge, with the token counts of the corpus after the merge. `trace_training` repeats a training
run on small input and prints the lines of the replay (`Replay.lines`).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, overload

from ..definition import TrainingFacts
from ..drawing import quoted
from ..errors import ConfigError, TrainingError
from ..tokenizer import Tokenizer
from ..tokens.spelling import Spelling
from ..training_step import TrainingStep
from ..util.atomic import write_atomically
from .counts import Counts
from .replay import replay_texts

__all__ = ["TrainingLog", "trace_training", "why_stopped", "with_facts", "write_log"]

_log = logging.getLogger("jeton")


def why_stopped(num_merges: int, asked: int, min_frequency: int) -> str | None:
    """Returns the reason for fewer merges than requested; None if there are enough.

    Examples:
        >>> why_stopped(3, 5, 1), why_stopped(5, 5, 1)
        ('no pair is left after 3 of 5 merges', None)
    """
    if num_merges >= asked:
        return None
    what = "no pair is left" if min_frequency <= 1 else f"no pair occurs {min_frequency} times"
    return f"{what} after {num_merges} of {asked} merges"


def with_facts(tok: Tokenizer, counts: Counts, *, began: float, stopped: str | None, **facts: Any) -> Tokenizer:
    """Returns the tokenizer with the facts of its training; logs a warning if training stopped early.

    Args:
        tok: the trained tokenizer.
        counts: counts that it was trained on.
        began: start time, by `time.perf_counter`.
        stopped: reason for an early stop, or None.
        facts: the other fields of `TrainingFacts`.
    """
    if stopped:
        _log.warning("training stopped early: %s; the vocabulary has %d entries", stopped, len(tok))
    counted = TrainingFacts(
        stopped=stopped,
        documents=counts.documents,
        corpus_bytes=counts.corpus_bytes,
        pretokens=counts.total,
        distinct_pretokens=len(counts),
        special_tokens_found=counts.special_tokens_found,
        records_skipped=sum(counts.skipped.values()),
        seconds=time.perf_counter() - began,
        **facts,
    )
    return tok._with_facts(training=counted)


class TrainingLog(Sequence[TrainingStep]):
    """Merges in the order of learning, stored in columns. Exists only in the process that ran the training."""

    def __init__(
        self,
        tok: Tokenizer,
        columns: tuple[list[int], list[int], list[int]],
        corpus_bytes: int,
        merges: Sequence[tuple[int, int, int]] | None = None,
    ) -> None:
        """Builds the log from the core's columns: pair counts, corpus tokens, tokens in use.

        `merges` is needed if the tokenizer's model stores no merges.
        """
        self._tok = tok
        self._merges = merges
        self._columns = columns
        self._corpus_bytes = corpus_bytes

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, index: int) -> TrainingStep: ...
    @overload
    def __getitem__(self, index: slice) -> list[TrainingStep]: ...
    def __getitem__(self, index: int | slice) -> TrainingStep | list[TrainingStep]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        rank = range(len(self))[index]
        pair_count, corpus_tokens, tokens_in_use = (column[rank] for column in self._columns)
        merges = self._tok.merges if self._merges is None else self._merges
        left, right, id = merges[rank]
        token = Spelling(self._tok)(id)
        bytes_per_token = self._corpus_bytes / corpus_tokens
        return TrainingStep(rank, id, left, right, token, pair_count, corpus_tokens, tokens_in_use, bytes_per_token)


def write_log(facts: TrainingFacts, path: str | os.PathLike[str]) -> None:
    """Writes the log as tab-separated text, with a header and one merge per line, atomically."""
    if not isinstance(facts.log, TrainingLog):
        raise TrainingError("the training log is only available in the process that trained")
    spelling = Spelling(facts.log._tok)
    with write_atomically(path, streams=True) as file:
        file.write(("\t".join([*TrainingStep._fields[:4], "pair", *TrainingStep._fields[4:]]) + "\n").encode())
        for step in facts.log:
            pair = "+".join(quoted(spelling(id)) for id in (step.left, step.right))
            row = [*step[:4], pair, quoted(step.token), *step[5:8], f"{step.bytes_per_token:.4f}"]
            file.write(("\t".join(map(str, row)) + "\n").encode())


def trace_training(
    tok: Tokenizer,
    texts: Sequence[bytes],
    counts: Sequence[int] | None,
    *,
    split: bool,
    write: Callable[[str], None],
) -> None:
    """Replays a training run, and passes one line per merge to `write`.

    Args:
        tok: the trained tokenizer.
        texts: training documents, or with split=False the pretokens.
        counts: count of each text; None: every count is 1.
        split: True if the texts are documents, which are split into pretokens.
        write: called with each line.

    Raises:
        ConfigError: the texts exceed the limit of a replay.

    Examples:
        >>> import jeton
        >>> _ = jeton.train(["abcababcaabc"], 258, pattern="none", tie_break="first", trace=True, progress=False)
        ['a', 'b', 'c', 'a', 'b', 'a', 'b', 'c', 'a', 'a', 'b', 'c']
        (97, 98) -> 256 'ab' ×4  ['ab', 'c', 'ab', 'ab', 'c', 'a', 'ab', 'c']
        (256, 99) -> 257 'abc' ×3  ['abc', 'ab', 'abc', 'a', 'abc']
    """
    try:
        run = replay_texts(tok, texts, counts, split=split, top=0)
    except ConfigError as error:
        error.option = "trace"
        raise
    for line in run.lines():
        write(line)

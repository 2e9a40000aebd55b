"""Facts of a training run, attached to the trained tokenizer."""

from __future__ import annotations

import logging
import time
from typing import Any

from ..definition import TrainingFacts
from ..tokenizer import Tokenizer
from .counted import Counts

__all__ = ["why_stopped", "with_facts"]

_log = logging.getLogger("jeton")


def why_stopped(num_merges: int, asked: int, min_frequency: int) -> str | None:
    """Reason for fewer merges than requested; None if there are enough.

    Examples:
        >>> why_stopped(3, 5, 1), why_stopped(5, 5, 1)
        ('no pair is left after 3 of 5 merges', None)
    """
    if num_merges >= asked:
        return None
    what = "no pair is left" if min_frequency <= 1 else f"no pair occurs {min_frequency} times"
    return f"{what} after {num_merges} of {asked} merges"


def with_facts(tok: Tokenizer, counts: Counts, *, began: float, stopped: str | None, **facts: Any) -> Tokenizer:
    """The tokenizer with the facts of its training; logs a warning if training stopped early.

    Args:
        tok: the trained tokenizer.
        counts: its counts.
        began: start time, by `time.perf_counter`.
        stopped: reason for an early stop, or None.
        facts: the other fields of `TrainingFacts`.
    """
    if stopped:
        _log.warning("training stopped early: %s; the vocabulary has %d entries", stopped, tok.num_tokens)
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

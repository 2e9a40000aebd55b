"""Extends a vocabulary: learns more merges, which come after the existing merges."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..corpus import Corpus, CorpusLike, open_corpus
from ..definition import Bpe, TieBreak
from ..errors import ConfigError, TrainingError, keyword
from ..tokenizer import Tokenizer
from ..tokens.kinds import MAX_ID
from ..training import Counts, Limits, Rules
from ..training.checkpoint import checkpointed_run
from ..training.count import count, counts_of
from ..training.facts import why_stopped
from ..training.request import TIE_BREAKS
from ..training.stages import Stages
from ..util.arguments import choice, instance, integer
from ..util.progress import Progress, ProgressEvent, Reporter, make_reporter
from .changes import check_counts, checked_corpus, effect
from .growth import check_merges, grown
from .surgery import Surgery

__all__ = ["extend"]


def extend(
    tok: Tokenizer,
    corpus: CorpusLike | Corpus | Counts,
    n: int,
    *,
    protect: CorpusLike | Corpus | Counts | None = None,
    other: CorpusLike | Corpus | None = None,
    tie_break: TieBreak | None = None,
    min_frequency: int = 1,
    rules: Rules | None = None,
    threads: int | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
) -> Surgery:
    """Continues training from the merges of a tokenizer, and appends `n` merges that a corpus yields.

    The new merges come after all old merges, and their ids after the last id. Text is encoded as before, except where
    two adjacent tokens are the pair of a new merge. All new entries are reachable.

    Args:
        tok: a tokenizer with BPE merges or ranks.
        corpus: text of the new language or domain, as for `jeton.train`; or counts of this tokenizer's pretokens.
        n: number of new merges.
        protect: text whose encoding must not change. No new merge joins two tokens that are adjacent in this text. The
            text is protected in two encodings: with its special tokens permitted, and with its special tokens as
            ordinary text. Flags of added tokens (``lstrip``, …) are ignored in this text.
        other: another text, for which the report gives the share of changed tokens.
        tie_break: order of pairs with equal counts; default: that of the tokenizer's training, or ``"lowest_ids"``.
        min_frequency: pairs with a lower count are not merged.
        rules: constraints on the new tokens.
        threads, progress, limits: as in `jeton.train`.

    Returns:
        The larger tokenizer. The report has bytes per token before and after, on the training corpus itself. For a
        better estimate, call `jeton.measure` with held-out text.

    Raises:
        ConfigError: the counts were made with other stages, or an option is invalid.
        TrainingError: the corpus has no text.
        UnsupportedFeatureError: the model has no list of merges or ranks, or has an end-of-word mark or a continuing
            prefix.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
        >>> done = jeton.extend(tok, ["slower slowest slowly"], 2, progress=False)
        >>> [done.tokenizer.id_to_bytes(id) for id in (260, 261)], done.tokenizer.encode("low lower")
        ([b'slow', b' slow'], [257, 259, 114])

    Source:
        Continued BPE training: Purason et al. 2025, arXiv 2512.03989. The learner:
        docs/decisions/0001-one-incremental-learner.md.
    """
    instance(tok, "tok", Tokenizer, "a Tokenizer")
    integer(n, "n", 1, MAX_ID + 1 - tok.vocab_size)
    integer(min_frequency, "min_frequency", 0, (1 << 64) - 1)
    for option, text in (("corpus", corpus), ("protect", protect), ("other", other)):
        checked_corpus(text, option)
    if corpus is None:
        raise ConfigError("corpus is None: pass text or counts to learn from", option="corpus")
    check_merges(tok, "extend", pieces=False)
    facts = tok.training
    if tie_break is None:
        tie_break = (facts.tie_break if facts else None) or "lowest_ids"
    choice(tie_break, "tie_break", TIE_BREAKS)
    limits = Limits.of(limits, threads)
    model = tok.definition.model
    by_character = isinstance(model, Bpe) and model.level == "char"
    rules_json = Rules.of(rules).core_json(by_character=by_character)
    with make_reporter(progress) as report:
        counts = _counts(tok, corpus, report, limits)
        if not counts.total:
            raise TrainingError("the corpus contains no text to learn from")
        protected = None if protect is None else _protected(tok, protect, report, limits)
        options = {
            "extend": tok.fingerprint,
            "tie_break": tie_break,
            "min_frequency": min_frequency,
            "rules": rules_json,
            "protect": None if protected is None else protected.checksum(),
        }
        run = checkpointed_run(counts, options, limits, lambda done: report(ProgressEvent("merge", done, n, "merges")))
        vocabulary, pair_counts, *_ = counts._core.learn_more(
            tok._core,
            tok._core.vocabulary(),
            tie_break=tie_break,
            num_merges=n,
            min_frequency=min_frequency,
            by_character=by_character,
            rules_json=rules_json,
            run=run,
            extends=True,
            protect=protected,
        )
    made, plan, trees = grown(tok, vocabulary)
    new = np.arange(tok.vocab_size, made.vocab_size)
    facts_of_run: dict[str, Any] = {
        "verb": "extend",
        "before": len(tok),
        "after": len(made),
        "new_entries": len(pair_counts),
        "stopped": why_stopped(len(pair_counts), n, min_frequency),
        "unreachable": new[~trees.is_reached[new]].tolist(),
        **_compression(tok, made, counts),
    }
    if protected is not None:
        facts_of_run["protected_pretokens"] = len(protected)
    if other is not None:
        facts_of_run["other"] = effect(tok, made, other, tok.vocab_size)
    return Surgery(made, plan, facts_of_run)


def _counts(tok: Tokenizer, corpus: Any, report: Reporter, limits: Limits, *, special: bool = True) -> Counts:
    """Counts the tokenizer's pretokens. Added tokens split the text; special tokens do so only if `special` is True."""
    counts = corpus if isinstance(corpus, Counts) else counts_of(corpus)
    if counts is not None:
        check_counts(tok, counts)
        return counts
    added = [token.content for token in tok.added_tokens.values() if special or not token.special]
    return count(open_corpus(corpus), Stages.of(tok.definition), added, report, limits=limits)


def _protected(tok: Tokenizer, corpus: Any, report: Reporter, limits: Limits) -> _core.Counts:
    """Counts the pretokens of the protected text (argument `protect` of `extend`: its encoding must not change).

    The text is counted with special tokens permitted. If special tokens are found, the text is counted a second time,
    with special tokens as ordinary text, and both counts are added.

    Raises:
        ConfigError: the text contains special tokens and cannot be read twice.
    """
    counts = _counts(tok, corpus, report, limits.of_part("protect"))
    if isinstance(corpus, Counts) or not counts.special_tokens_found or counts_of(corpus) is not None:
        return counts._core
    if not open_corpus(corpus).is_readable_again():
        raise ConfigError(f"{keyword('protect')} holds special tokens and is read twice: pass paths or a list")
    plain = _counts(tok, corpus, report, limits.of_part("protect-plain"), special=False)
    return counts._core.merged(plain._core, limits.memory())


def _compression(before: Tokenizer, after: Tokenizer, counts: Counts) -> dict[str, float]:
    """Returns the corpus's bytes per token, for both tokenizers. The bytes are counted before normalization."""
    figures = {}
    for name, tok in (("before", before), ("after", after)):
        tokens = int(np.frombuffer(tok._core.count_ids(counts._core), "<i8").sum())
        if tokens < 0:
            raise ConfigError("the counts are too large to add up", option="corpus")
        figures[f"bytes_per_token_{name}"] = counts.corpus_bytes / tokens if tokens else 0.0
    return figures

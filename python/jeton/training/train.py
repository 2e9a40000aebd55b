"""counts → tokenizer: `train`.

`options` checks the arguments; the core learns with the GIL released. The result depends only on the documents and
their order, not on threads or on the distribution of documents over files.

Peer presets, WordPiece and Unigram are trained by `by_preset`. Plain version: reference/step04_train.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from ..added_tokens import AddedToken, with_added_tokens
from ..arguments import file_path, integer, wrong
from ..corpus import Corpus, CorpusLike, DocumentReader, open_corpus
from ..definition import Bpe, Definition, EndOfWordStyle, Pattern, SymbolLevel, TieBreak
from ..errors import ConfigError, TrainingError
from ..progress import Progress, make_reporter
from ..tokenizer import Tokenizer
from .count import count
from .counts import MAX_COUNT, Counts
from .counts_file import counts_of
from .facts import TrainingLog, trace_training, why_stopped, with_facts, write_log
from .learn import LearnedMerges, check_required, learn_merges
from .limits import Limits
from .options import Plan
from .presets import MinBpe, TrainingPreset, TrainingRequest, resolve
from .presets.run import train_with_preset
from .rules import Rules, Superwords
from .stages import Stages

__all__ = ["train"]


def train(
    corpus: CorpusLike | Corpus | Mapping[str, int] | Counts,
    vocab_size: int = 32_000,
    *,
    algorithm: str = "bpe",
    level: SymbolLevel | None = None,
    pattern: str | None = None,
    tie_break: TieBreak | None = None,
    min_frequency: int | None = None,
    special_tokens: Sequence[str] = (),
    unk_token: str | None = None,
    end_of_word: str | None = None,
    end_of_word_style: EndOfWordStyle | None = None,
    preset: str | TrainingPreset | None = None,
    rules: Rules | Sequence[str] | None = None,
    superwords: Superwords | bool | None = None,
    min_count: int = 1,
    documents: Literal["file", "line"] | None = None,
    field: str | None = None,
    errors: Literal["strict", "replace", "skip"] | None = None,
    threads: int | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
    log: str | os.PathLike[str] | None = None,
    trace: bool | Callable[[str], None] = False,
) -> Tokenizer:
    """Trains a tokenizer.

    Args:
        corpus: a path, glob, folder or URL; an iterable of documents (`str`, `bytes`), rows or `Path`s; a list of
            `Source`s, whose weights multiply their counts; a `Corpus`, which has more options of reading; a mapping
            pretoken -> count; `Counts`, or the path of a file of them (``.jtc``).
        vocab_size: total number of entries: alphabet, merges and special tokens.
        algorithm: ``"bpe"``; ``"wordpiece"`` (same as ``preset="bert"``); or ``"unigram"``, SentencePiece's algorithm,
            with its options in `jeton.training.presets.SentencePieceUnigram`.
        level: ``"byte"`` starts from the 256 bytes, ``"char"`` from the characters of the corpus. Default: ``"char"``
            with `end_of_word`, else ``"byte"``.
        pattern: pre-tokenization pattern: a name or a regex (tiktoken's dialect); ``"none"`` does not split. Default:
            ``"o200k"`` at byte level, ``"none"`` at character level, words between white space with `end_of_word`.
        tie_break: order of pairs with equal counts: ``"lowest_ids"`` (the default), ``"first"``, ``"highest_pair"``,
            ``"shortest"``. Ids are those of this tokenizer; Hugging Face numbers its alphabet differently, so pass
            ``preset="hf"`` for its merges.
        min_frequency: pairs with a lower count are not merged. Default: 1, or that of the preset.
        special_tokens: control tokens. They split the documents, are never learned, and get the last ids.
        unk_token: replaces characters that are not in the corpus; one of the special tokens, or an additional one.
        end_of_word: end-of-word mark, such as ``"</w>"``.
        end_of_word_style: ``"symbol"``: the mark is a symbol of its own (the default); ``"suffix"``: it is part of the
            word's last character.
        preset: rules of a peer library, by name or with options: ``"minbpe"``, ``"hf"``, ``"sentencepiece"``,
            ``"subword-nmt"``, ``"bert"``; see `jeton.training.presets`. Contradicting arguments are refused.
        rules: constraints on merged tokens: `Rules`, or names of rules: ``"whole_characters"``, ``"one_class"``,
            ``"one_script"``, ``"lone_punctuation"``, ``"digits_from_right"``.
        superwords: a second stage whose merges may cross words: True, or `Superwords`. The corpus is read twice.
        min_count: pretokens with a lower count are dropped before learning; it bounds memory, and changes the result.
        documents, field, errors: as in `Corpus`, for sources that are not in one.
        threads: number of threads; None: RAYON_NUM_THREADS, or all cores. Does not change the result.
        progress: None draws a bar in a terminal; True, False, or a function that is called with each `ProgressEvent`.
        limits: memory, disk, and a checkpoint to resume from.
        log: file for the training log: each merge with pair, count, token, tokens in use, bytes per token.
        trace: for small input: print the whole sequence before and after each merge; or a function that is called with
            each line.

    Returns:
        The tokenizer; `tok.training` holds the facts of the run, including the reason for an early stop.

    Raises:
        ConfigError: invalid options, such as a vocabulary smaller than the alphabet.
        TrainingError: a corpus without text.
        FileNotFoundError, InvalidTextError, FormatError: as `count_pretokens`.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=259, pattern="gpt2", progress=False)
        >>> [tok.vocab[new] for _, _, new in tok.merges]
        [b'lo', b'low', b' low']
        >>> words = jeton.train({"low": 5, "newest": 6}, 9, end_of_word="</w>", tie_break="first", progress=False)
        >>> words.id_to_token(words.merges[0][2])
        'ne'

    Source:
        Sennrich et al. 2016, arXiv 1508.07909, section 3.2; tie rules as in DESIGN. Plain version:
        reference/step04_train.py.
    """
    if log is not None:
        file_path(log, "log")
    if not isinstance(trace, bool) and not callable(trace):
        raise wrong("trace", trace, "True, False or a function that takes a line")
    kept: list[bytes] | None = [] if trace else None
    limits = Limits.of(limits, threads)
    integer(min_count, "min_count", 0, MAX_COUNT)
    if (saved := counts_of(corpus)) is not None:
        corpus = saved
    elif not isinstance(corpus, DocumentReader | Mapping | Counts):
        corpus = Corpus.of(corpus, documents=documents, field=field, errors=errors)
    peer = resolve(preset, algorithm)
    limited, across = Rules.of(rules), Superwords.of(superwords)
    if isinstance(peer, MinBpe):
        pattern = pattern if peer.pattern is None else peer.pattern
    elif peer is not None:
        if limited != Rules() or across:
            raise ConfigError(
                f"preset={peer.name!r} has its own rules; rules= and superwords= are not supported", option="rules"
            )
        request = TrainingRequest.make(
            vocab_size, level, pattern, tie_break, min_frequency, special_tokens, unk_token, end_of_word,
            end_of_word_style,
        )  # fmt: skip
        tok, counts = train_with_preset(
            peer, corpus, request, progress=progress, limits=limits, min_count=min_count, kept=kept, trace=bool(trace)
        )
        return _shown(_of_sample(tok, corpus), counts, log, trace, kept)
    plan = Plan.make(
        vocab_size, algorithm, level, pattern, tie_break, 1 if min_frequency is None else min_frequency,
        special_tokens, unk_token, end_of_word, "symbol" if end_of_word_style is None else end_of_word_style,
        peer.name if peer else None,
    )  # fmt: skip
    plan = plan.with_rules(limited, across)
    check_required(limited, plan.encoding_pattern, by_character=plan.level == "char")
    if trace and across:
        raise ConfigError("trace= does not show two stages; log= does", option="trace")
    began = time.perf_counter()
    with make_reporter(progress) as report:
        again: Callable[[Pattern], Counts] | None = None
        if isinstance(corpus, Mapping):
            counts = Counts.from_mapping(corpus)
        elif isinstance(corpus, Counts):
            counts = _check_pattern(corpus, plan, pattern)
        else:
            reader, cuts, stages = open_corpus(corpus), plan.special_tokens, Stages.of(plan.pattern)

            def recount(pattern: Pattern) -> Counts:
                return count(reader, Stages.of(pattern), cuts, report, limits=limits.of_part("across"))

            counts = count(reader, stages, cuts, report, limits=limits, min_count=min_count, kept=kept)
            again = recount if reader.is_readable_again() else None
        if not counts.total:
            raise TrainingError("the corpus holds no text to learn from")
        tok = _built(counts, learn_merges(counts, plan, again, limits, report), plan, began)
    return _shown(_of_sample(tok, corpus), counts, log, trace, kept)


def _of_sample(tok: Tokenizer, corpus: object) -> Tokenizer:
    """Records the sample of the corpus in the training facts."""
    if not isinstance(corpus, Corpus) or corpus.sample_bytes is None or tok.training is None:
        return tok
    return tok._with_facts(training=replace(tok.training, sample_bytes=corpus.sample_bytes, seed=corpus.seed))


def _shown(
    tok: Tokenizer,
    counts: Counts,
    log: str | os.PathLike[str] | None,
    trace: bool | Callable[[str], None],
    kept: list[bytes] | None,
) -> Tokenizer:
    """Writes the requested log and trace."""
    if log is not None and tok.training is not None:
        write_log(tok.training, log)
    if trace:
        write = trace if callable(trace) else print
        if kept:
            trace_training(tok, kept, None, split=True, write=write)
        else:
            pretokens, numbers = zip(*counts.items(), strict=True)
            trace_training(tok, pretokens, numbers, split=False, write=write)
    return tok


def _check_pattern(counts: Counts, plan: Plan, pattern: str | None) -> Counts:
    """Checks that counts were made with the tokenizer's pattern and special tokens.

    Raises:
        ConfigError: they were not.
    """
    if counts.stages is not None and not counts.stages.is_same(Stages.of(plan.pattern)):
        given = f"pattern={pattern!r}" if pattern else f"the default pattern {plan.pattern.text!r}"
        raise ConfigError(
            f"the counts were made with {counts.stages.describe()}, which differs from {given}; pass the same",
            option="pattern",
        )
    uncut = [token for token in plan.special_tokens if token not in counts.special_tokens and token != plan.unk_token]
    if counts.stages is not None and uncut:
        raise ConfigError(
            f"the counts were not split at the special token {uncut[0]!r}, so it could be learned; pass "
            "special_tokens= to count_pretokens, or add it afterwards with add_tokens",
            option="special_tokens",
        )
    return counts


def _built(counts: Counts, learned: LearnedMerges, plan: Plan, began: float) -> Tokenizer:
    """Builds the tokenizer, with the facts of its training."""
    vocabulary = learned.vocabulary
    num_merges = len(learned.columns[0])
    start = vocabulary.next_id()
    special = [(start + i, AddedToken(token)) for i, token in enumerate(plan.special_tokens)]
    vocabulary = with_added_tokens(vocabulary, special)
    model = Bpe(
        level=plan.level,
        end_of_word=plan.end_of_word,
        end_of_word_style=plan.end_of_word_style,
        unk_token=plan.unk_token,
    )
    part = plan.encoding_pattern.part()
    tok = Tokenizer(Definition(model, pretokenizer=(part,) if part else ()), vocabulary)
    return with_facts(
        tok,
        counts,
        began=began,
        stopped=why_stopped(num_merges, learned.asked, plan.min_frequency),
        algorithm="bpe",
        preset=plan.preset,
        rules=plan.rules.to_json() or None,
        superwords=plan.superwords.to_json() if plan.superwords else None,
        tie_break=plan.tie_break,
        min_frequency=plan.min_frequency,
        vocab_size=plan.vocab_size,
        num_merges=num_merges,
        log=TrainingLog(tok, learned.columns, counts.corpus_bytes),
    )

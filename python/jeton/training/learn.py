"""counts → tokenizer: `train`.

Options are decided in `options`; learning is the core's, with the interpreter released. The result depends on the
documents and their order alone: not on threads, and not on how documents are spread over files.

Presets of the peers, WordPiece and Unigram go through `by_preset`. Plain version: reference/step04_train.py.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from ..corpus import CorpusLike, open_corpus
from ..definition import Bpe, Definition, EndOfWordStyle, Level, TieBreak, TrainingFacts
from ..errors import ConfigError, TrainingError
from ..progress import Progress, ProgressEvent, Reporter, make_reporter
from ..threads import num_threads
from ..tokenizer import Tokenizer
from .by_preset import train_by
from .counts import Counts, count
from .log import TrainingLog, write_log
from .options import Plan
from .presets import Asked, MinBpe, Preset, resolve
from .stages import Stages
from .trace import trace_training

__all__ = ["train"]

_log = logging.getLogger("jeton")


def train(
    corpus: CorpusLike | Mapping[str, int] | Counts,
    vocab_size: int = 32_000,
    *,
    algorithm: str = "bpe",
    level: Level | None = None,
    pattern: str | None = None,
    normalizer: None = None,
    tie_break: TieBreak | None = None,
    min_frequency: int | None = None,
    special_tokens: Sequence[str] = (),
    unk_token: str | None = None,
    end_of_word: str | None = None,
    end_of_word_style: EndOfWordStyle | None = None,
    preset: str | Preset | None = None,
    threads: int | None = None,
    progress: Progress = None,
    documents: Literal["file", "line"] = "file",
    field: str = "text",
    errors: Literal["strict", "replace"] = "strict",
    log: str | os.PathLike[str] | None = None,
    trace: bool | Callable[[str], None] = False,
) -> Tokenizer:
    """Trains a tokenizer.

    Args:
        corpus: a path, glob or folder; an iterable of documents (`str`, `bytes`) or of `Path`s; a mapping pretoken ->
            count; or `Counts`.
        vocab_size: all entries: alphabet, merges and special tokens.
        algorithm: ``"bpe"``; ``"wordpiece"`` (which is ``preset="bert"``); or ``"unigram"``, which learns as
            SentencePiece does and takes its options in `jeton.training.presets.SentencePieceUnigram`.
        level: ``"byte"`` starts from the 256 bytes, ``"char"`` from the characters of the corpus. By default ``"char"``
            when `end_of_word` is set, else ``"byte"``.
        pattern: how text is split before merging: a name or a regex (tiktoken's dialect); ``"none"`` does not split. By
            default ``"o200k"`` at byte level, ``"none"`` at character level, white-space words with `end_of_word`.
        normalizer: none is carried yet.
        tie_break: which of several most frequent pairs goes first: ``"lowest_ids"`` (the default), ``"first"``,
            ``"highest_pair"``, ``"shortest"``.
        min_frequency: pairs less frequent than this are not merged; 1, or what the preset has.
        special_tokens: control tokens. They cut the documents, are never learned, and get the last ids.
        unk_token: stands in for characters that training did not see; one of the special tokens, or one more.
        end_of_word: mark the end of each word with this, as in ``"</w>"``.
        end_of_word_style: the mark is a ``"symbol"`` of its own (the default), or a ``"suffix"`` of the word's last
            character.
        preset: the rules of a peer, by name or with its options: ``"minbpe"``, ``"hf"``, ``"sentencepiece"``,
            ``"subword-nmt"``, ``"bert"``; see `jeton.training.presets`. What contradicts them is refused.
        threads: all cores by default, or what RAYON_NUM_THREADS says. Does not change the result.
        progress: None draws a bar in a terminal; True, False, or a function that gets each `ProgressEvent`.
        documents, field, errors: how files are read, as in `count_pretokens`.
        log: a file to write the training log to: each merge with pair, count, token, tokens in use, bytes per token.
        trace: on small input, print the whole sequence before and after each merge; or a function that gets the lines.

    Returns:
        The tokenizer; `tok.training` says what was counted, and why training stopped when it stopped early.

    Raises:
        ConfigError: options that cannot work, such as a vocabulary size under the alphabet.
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
    kept: list[bytes] | None = [] if trace else None
    rules = resolve(preset, algorithm)
    if isinstance(rules, MinBpe):
        pattern = pattern if rules.pattern is None else rules.pattern
    elif rules is not None:
        asked = Asked.make(
            vocab_size, level, pattern, normalizer, tie_break, min_frequency, special_tokens, unk_token, end_of_word,
            end_of_word_style,
        )  # fmt: skip
        reading = {"documents": documents, "field": field, "errors": errors}
        tok, counts = train_by(
            rules, corpus, asked, threads=threads, progress=progress, reading=reading, kept=kept, trace=bool(trace)
        )
        return _shown(tok, counts, log, trace, kept)
    plan = Plan.make(
        vocab_size, algorithm, level, pattern, normalizer, tie_break, 1 if min_frequency is None else min_frequency,
        special_tokens, unk_token, end_of_word, end_of_word_style or "symbol", rules.name if rules else None,
    )  # fmt: skip
    began = time.perf_counter()
    with make_reporter(progress) as report:
        if isinstance(corpus, Mapping):
            counts = Counts.from_mapping(corpus)
        elif isinstance(corpus, Counts):
            counts = _check_pattern(corpus, plan, pattern)
        else:
            opened = open_corpus(corpus, documents=documents, field=field, errors=errors)
            counts = count(opened, Stages.of(plan.pattern), plan.special_tokens, num_threads(threads), report, kept)
        if not counts.total:
            raise TrainingError("the corpus holds no text to learn from")
        tok = _learn(counts, plan, num_threads(threads), report, began)
    return _shown(tok, counts, log, trace, kept)


def _shown(
    tok: Tokenizer,
    counts: Counts,
    log: str | os.PathLike[str] | None,
    trace: bool | Callable[[str], None],
    kept: list[bytes] | None,
) -> Tokenizer:
    """Writes what is asked for about the run."""
    if log is not None and tok.training is not None:
        write_log(tok.training, log)
    if trace:
        texts = kept or [pretoken for pretoken, _ in counts.items()]
        trace_training(tok, texts, split=bool(kept), write=trace if callable(trace) else print)
    return tok


def _check_pattern(counts: Counts, plan: Plan, pattern: str | None) -> Counts:
    """Counts carry the pattern they were made with; with another one the tokenizer would split otherwise."""
    if counts.stages is not None and not counts.stages.is_same(Stages.of(plan.pattern)):
        asked = f"pattern={pattern!r}" if pattern else f"the default pattern {plan.pattern.text!r}"
        raise ConfigError(
            f"the counts were made with {counts.stages.describe()}, and {asked} is another; pass the same",
            option="pattern",
        )
    uncut = [token for token in plan.special_tokens if token not in counts.special_tokens and token != plan.unk_token]
    if counts.stages is not None and uncut:
        raise ConfigError(
            f"the counts were not cut at the special token {uncut[0]!r}, so it could be learned; pass special_tokens= "
            "to count_pretokens, or add it afterwards with add_tokens",
            option="special_tokens",
        )
    return counts


def _learn(counts: Counts, plan: Plan, threads: int, report: Reporter, began: float) -> Tokenizer:
    room = plan.vocab_size - len(plan.special_tokens)
    try:
        vocabulary, num_symbols, pair_counts, corpus_tokens, in_use = counts._core.learn(
            level=plan.level,
            end_of_word_style=plan.end_of_word_style if plan.end_of_word else None,
            end_of_word=plan.end_of_word or "",
            tie_break=plan.tie_break,
            vocab_size=room,
            first_id=0,
            by_code_point=False,
            min_frequency=plan.min_frequency,
            threads=threads,
            progress=lambda done: report(ProgressEvent("merge", done, room, "merges")),
        )
    except ConfigError as error:
        error.option = "vocab_size"  # what only the corpus can tell: its characters take more than there is room for
        raise
    num_merges = len(pair_counts)
    report(ProgressEvent("merge", num_merges, num_merges, "merges"))
    start = vocabulary.next_id()
    special = {token: start + i for i, token in enumerate(plan.special_tokens)}
    vocabulary = vocabulary.with_added(
        list(special.values()), [token.encode() for token in special], [True] * len(special)
    )
    model = Bpe(
        level=plan.level,
        end_of_word=plan.end_of_word,
        end_of_word_style=plan.end_of_word_style,
        unk_token=plan.unk_token,
    )
    part = plan.pattern.part()
    tok = Tokenizer(Definition(model, pretokenizer=(part,) if part else ()), vocabulary)
    stopped = _why_stopped(num_merges, room - num_symbols, plan.min_frequency)
    if stopped:
        _log.warning("training stopped early: %s; the vocabulary has %d entries", stopped, tok.num_tokens)
    facts = TrainingFacts(
        algorithm="bpe",
        preset=plan.preset,
        tie_break=plan.tie_break,
        min_frequency=plan.min_frequency,
        vocab_size=plan.vocab_size,
        num_merges=num_merges,
        stopped=stopped,
        documents=counts.documents,
        corpus_bytes=counts.corpus_bytes,
        pretokens=counts.total,
        distinct_pretokens=len(counts),
        special_tokens_found=counts.special_tokens_found,
        seconds=time.perf_counter() - began,
        log=TrainingLog(tok, (pair_counts, corpus_tokens, in_use), counts.corpus_bytes),
    )
    return tok._with_facts(training=facts)


def _why_stopped(num_merges: int, asked: int, min_frequency: int) -> str | None:
    if num_merges == asked:
        return None
    what = "no pair is left" if min_frequency <= 1 else f"no pair occurs {min_frequency} times"
    return f"{what} after {num_merges} of {asked} merges"

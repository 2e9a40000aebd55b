"""corpus → counts → tokenizer: `train`.

`TrainingRequest` checks the arguments. A preset (`presets`) turns them into a `Recipe`, which defines counting,
learning and the tokenizer. This module runs the recipe. The core learns with the GIL released. The result depends only
on the documents and their order. It depends neither on the number of threads nor on which file contains a document.

Plain version: reference/step04_train.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ..corpus import Corpus, CorpusLike, DocumentReader, open_corpus
from ..definition import Bpe, EndOfWordStyle, SymbolLevel, TieBreak
from ..errors import ConfigError, TrainingError, keyword
from ..tokenizer import Tokenizer
from ..util.arguments import file_path, integer, wrong
from ..util.progress import Progress, ProgressEvent, Reporter, make_reporter
from .count import count, counts_of, without_rare
from .counts import MAX_COUNT, Counts
from .facts import TrainingLog, trace_training, why_stopped, with_facts, write_log
from .limits import Limits
from .presets import LearningContext, Recipe, TrainingPreset, resolve
from .request import TrainingRequest
from .rules import Rules, Superwords

__all__ = ["train"]


def train(
    corpus: CorpusLike | Corpus | Mapping[str, int] | Counts,
    vocab_size: int = 32_000,
    *,
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
            pretoken -> count; `Counts`, or the path of a file of counts (``.jtc``).
        vocab_size: total number of entries: alphabet, merges and special tokens.
        level: ``"byte"`` starts from the 256 bytes, ``"char"`` from the characters of the corpus. Default: ``"char"``
            with `end_of_word`, else ``"byte"``.
        pattern: pre-tokenization pattern: a name or a regex (tiktoken's dialect); ``"none"`` does not split. Default:
            ``"o200k"`` at byte level, ``"none"`` at character level, words between white space with `end_of_word`.
        tie_break: order in which pairs with equal counts are merged: ``"lowest_ids"`` (the default), ``"first"``,
            ``"highest_pair"``, ``"shortest"``. `lowest_ids` compares ids of this tokenizer. Hugging Face gives the
            alphabet other ids: to learn the same merges as Hugging Face, pass ``preset="hf"``.
        min_frequency: pairs with a lower count are not merged. Default: 1, or the default of the preset.
        special_tokens: control tokens. They split the documents, are never learned, and get the last ids.
        unk_token: token for characters that are not in the corpus; one of the special tokens, or an additional one.
        end_of_word: end-of-word mark, such as ``"</w>"``.
        end_of_word_style: ``"symbol"`` (the default): the mark is a separate symbol; ``"suffix"``: the mark is part of
            the word's last character.
        preset: another algorithm, or the rules of a peer library, by name or with options: ``"unigram"``; ``"bert"``
            (WordPiece), ``"hf"``, ``"minbpe"``, ``"sentencepiece"``, ``"sentencepiece-unigram"``, ``"subword-nmt"``.
            See `jeton.training.presets`. None: BPE by the options above. Arguments that contradict the preset raise an
            error.
        rules: constraints on merged tokens: `Rules`, or names of rules: ``"whole_characters"``, ``"one_class"``,
            ``"one_script"``, ``"lone_punctuation"``, ``"digits_from_right"``.
        superwords: add a second stage whose merges can cross words: True, or `Superwords`. The corpus is read twice.
        min_count: pretokens with a lower count are dropped before learning, which bounds memory, but changes the
            result.
        threads: number of threads; None: RAYON_NUM_THREADS, or all cores. Does not change the result.
        progress: None draws a bar in a terminal; True, False, or a function that is called with each `ProgressEvent`.
        limits: limits of memory and disk, and a checkpoint to resume from.
        log: file for the training log: each merge with pair, count, token, tokens in use, bytes per token.
        trace: for small input: print the whole sequence before and after each merge; or a function that is called with
            each line.

    Returns:
        The tokenizer; `tok.training` has facts about the run, including the reason for an early stop.

    Raises:
        ConfigError: invalid options, such as a vocabulary smaller than the alphabet.
        TrainingError: the corpus has no text.
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
        Sennrich et al. 2016, arXiv 1508.07909, section 3.2. Tie rules: docs/training.md. Plain version:
        reference/step04_train.py.
    """
    if log is not None:
        file_path(log, "log")
    if not isinstance(trace, bool) and not callable(trace):
        raise wrong("trace", trace, "True, False or a function that takes a line")
    limits = Limits.of(limits, threads)
    integer(min_count, "min_count", 0, MAX_COUNT)
    if (saved := counts_of(corpus)) is not None:
        corpus = saved
    if not isinstance(corpus, DocumentReader | Mapping | Counts):
        corpus = Corpus.of(corpus)
    resolved = resolve(preset)
    request = TrainingRequest(
        vocab_size=vocab_size,
        level=level,
        pattern=pattern,
        tie_break=tie_break,
        min_frequency=min_frequency,
        special_tokens=special_tokens,
        unk_token=unk_token,
        end_of_word=end_of_word,
        end_of_word_style=end_of_word_style,
        rules=Rules.of(rules),
        superwords=Superwords.of(superwords),
    )
    kept: list[bytes] | None = [] if trace else None
    tok, counts = _train(corpus, resolved, request, limits, min_count, progress, kept)
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


def _train(
    corpus: Corpus | DocumentReader | Mapping[str, int] | Counts,
    preset: TrainingPreset,
    request: TrainingRequest,
    limits: Limits,
    min_count: int,
    progress: Progress,
    kept: list[bytes] | None,
) -> tuple[Tokenizer, Counts]:
    """Trains a tokenizer; also returns the counts.

    Args:
        corpus: as for `train`.
        preset: the training rules.
        request: other arguments of `train`.
        limits, min_count, progress: as for `train`.
        kept: list to which the documents are appended, for the trace; None: no trace.
    """
    recipe = preset.recipe(request)
    if kept is not None:
        _check_trace(recipe, preset)
    began = time.perf_counter()
    with make_reporter(progress) as report:
        counts, recount = _counted(corpus, request, recipe, limits, min_count, report, kept)
        if not counts.total:
            raise TrainingError("the corpus contains no text to learn from")
        context = LearningContext(
            counts=counts,
            limits=limits,
            options={"preset": preset.name, "options": preset.to_json(), "asked": request.to_json()},
            progress=lambda done: report(ProgressEvent("merge", done, request.vocab_size, recipe.unit)),
            recount=recount,
        )
        try:
            learned = recipe.learn(context)
        except ConfigError as error:
            error.option = error.option or "vocab_size"  # the core names no option if the alphabet is too large
            raise
        num_merges = len(learned.columns[0])
        report(ProgressEvent("merge", num_merges, num_merges, recipe.unit))
    tok = Tokenizer(recipe.definition, learned.vocabulary)
    sampled = corpus if isinstance(corpus, Corpus) and corpus.sample_bytes is not None else None
    tok = with_facts(
        tok,
        counts,
        began=began,
        stopped=learned.stopped or why_stopped(num_merges, learned.num_requested, recipe.min_frequency),
        algorithm=preset.algorithm,
        tie_break=recipe.tie_break,
        min_frequency=recipe.min_frequency,
        vocab_size=request.vocab_size,
        num_merges=num_merges,
        rules=request.rules.to_json() or None,
        superwords=request.superwords.to_json() if request.superwords else None,
        sample_bytes=None if sampled is None else sampled.sample_bytes,
        seed=None if sampled is None else sampled.seed,
        log=TrainingLog(tok, learned.columns, counts.corpus_bytes, learned.merges),
        **preset.facts(),
    )
    return tok, counts


def _counted(
    corpus: Corpus | DocumentReader | Mapping[str, int] | Counts,
    request: TrainingRequest,
    recipe: Recipe,
    limits: Limits,
    min_count: int,
    report: Reporter,
    kept: list[bytes] | None,
) -> tuple[Counts, Callable[[], Counts] | None]:
    """Returns the counts to learn from, and a function that counts the corpus again for a second stage, or None.

    Raises:
        ConfigError: the counts do not fit the recipe, or the corpus cannot be read again for the second stage.
    """
    if isinstance(corpus, Mapping | Counts):
        _check_readable_again(recipe, False)
        counts = corpus if isinstance(corpus, Counts) else Counts.from_mapping(corpus)
        _check_counts(counts, request, recipe)
        return without_rare(counts, min_count), None
    reader = open_corpus(corpus.by_line() if recipe.by_line and isinstance(corpus, Corpus) else corpus)
    _check_readable_again(recipe, reader.is_readable_again())
    cuts = list(recipe.special_tokens)
    counts = count(reader, recipe.stages, cuts, report, limits=limits, min_count=min_count, kept=kept)
    if recipe.second_stages is None:
        return counts, None
    return counts, partial(count, reader, recipe.second_stages, cuts, report, limits=limits.of_part("across"))


def _check_counts(counts: Counts, request: TrainingRequest, recipe: Recipe) -> None:
    """Checks that counts were made with the recipe's stages and special tokens. Counts from a mapping always pass.

    Raises:
        ConfigError: the stages or special tokens differ.
    """
    if counts.stages is None:
        return
    if not counts.stages.is_same(recipe.stages):
        is_pattern = recipe.stages.pattern is not None
        by_default = " by default" if is_pattern and request.pattern is None else ""
        raise ConfigError(
            f"the counts were made with {counts.stages.describe()}, but this call counts with "
            f"{recipe.stages.describe()}{by_default}; count and train with the same options, or pass the corpus",
            option="pattern" if is_pattern else "preset",
        )
    for token in request.special_tokens:
        if token in recipe.special_tokens and token not in (*counts.special_tokens, request.unk_token):
            raise ConfigError(
                f"the counts were not split at the special token {token!r}, so it could be learned; pass "
                f"{keyword('special_tokens')} to count_pretokens, or add it afterwards with add_tokens",
                option="special_tokens",
            )


def _check_readable_again(recipe: Recipe, is_readable_again: bool) -> None:
    """Checks that the corpus can be counted a second time if the recipe requires it.

    Raises:
        ConfigError: the corpus cannot be counted again.
    """
    if recipe.second_stages is not None and not is_readable_again:
        raise ConfigError(
            f"{keyword('superwords')} reads the corpus twice: pass paths or a list, not an iterator, a stream, a "
            "pipe or counts",
        )


def _check_trace(recipe: Recipe, preset: TrainingPreset) -> None:
    """Checks that the merges can be replayed.

    Raises:
        ConfigError: the model is not BPE, the model has a continuing-subword prefix, or learning has two stages.
    """
    model = recipe.definition.model
    if not isinstance(model, Bpe) or model.continuing_subword_prefix:
        raise ConfigError(
            f"{keyword('trace')} is not supported for {keyword('preset', preset.name)}; use {keyword('log')} instead"
        )
    if recipe.second_stages is not None:
        raise ConfigError(f"{keyword('trace')} does not show two stages; use {keyword('log')} instead")

"""corpus → counts → tokenizer, with the rules of a peer library.

The preset (`presets`) defines counting, learning and the tokenizer; this module runs it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from ...corpus import Corpus, DocumentReader, open_corpus
from ...definition import Bpe, Definition
from ...errors import ConfigError, TrainingError
from ...progress import Progress, ProgressEvent, make_reporter
from ...tokenizer import Tokenizer
from ..checkpoint import checkpointed_run
from ..count import count
from ..counts import Counts
from ..facts import TrainingLog, why_stopped, with_facts
from ..limits import Limits
from . import Recipe, TrainingPreset, TrainingRequest

__all__ = ["train_with_preset"]


def train_with_preset(
    preset: TrainingPreset,
    corpus: Corpus | DocumentReader | Mapping[str, int] | Counts,
    request: TrainingRequest,
    *,
    progress: Progress,
    limits: Limits,
    min_count: int,
    kept: list[bytes] | None,
    trace: bool = False,
) -> tuple[Tokenizer, Counts]:
    """Trains a tokenizer; returns the counts, too.

    Args:
        preset: the rules.
        corpus: as for `train`.
        request: other arguments of `train`.
        progress, limits, min_count: as for `train`.
        kept: a list to which the documents are appended, or None.
        trace: True if the merges will be replayed.

    Raises:
        ConfigError: contradicting options, or counts made with other stages.
        TrainingError: a corpus without text.
    """
    recipe = preset.recipe(request)
    if trace:
        _check_trace(recipe.definition, preset)
    began = time.perf_counter()
    with make_reporter(progress) as report:
        if isinstance(corpus, Mapping):
            counts = Counts.from_mapping(corpus)
        elif isinstance(corpus, Counts):
            counts = _checked(corpus, recipe, preset)
        else:
            reader = open_corpus(corpus.by_line() if recipe.by_line and isinstance(corpus, Corpus) else corpus)
            cuts = list(recipe.special_tokens)
            counts = count(reader, recipe.stages, cuts, report, limits=limits, min_count=min_count, kept=kept)
        if not counts.total:
            raise TrainingError("the corpus holds no text to learn from")
        run = checkpointed_run(
            counts,
            {"preset": preset.name, "options": preset.to_json(), "asked": request.to_json()},
            limits,
            lambda done: report(ProgressEvent("merge", done, request.vocab_size, recipe.unit)),
        )
        try:
            learned = recipe.learn(counts, run)
        except ConfigError as error:
            error.option = "vocab_size"  # the only error left: more characters in the corpus than entries
            raise
        num_merges = len(learned.columns[0])
        report(ProgressEvent("merge", num_merges, num_merges, recipe.unit))
    tok = Tokenizer(recipe.definition, learned.vocabulary)
    tok = with_facts(
        tok,
        counts,
        began=began,
        stopped=learned.stopped
        or why_stopped(num_merges, recipe.num_merges(learned.num_symbols), recipe.min_frequency),
        algorithm=recipe.algorithm,
        preset=preset.name,
        preset_options=preset.to_json() or None,
        tie_break=recipe.tie_break,
        min_frequency=recipe.min_frequency,
        vocab_size=request.vocab_size,
        num_merges=num_merges,
        log=TrainingLog(tok, learned.columns, counts.corpus_bytes, learned.merges),
    )
    return tok, counts


def _checked(counts: Counts, recipe: Recipe, preset: TrainingPreset) -> Counts:
    """Checks that counts were made with the stages of the preset.

    Raises:
        ConfigError: they were not.
    """
    if counts.stages is not None and not counts.stages.is_same(recipe.stages):
        raise ConfigError(
            f"the counts were made with {counts.stages.describe()}, and preset={preset.name!r} counts with "
            f"{recipe.stages.describe()}; pass the corpus, or count with the same",
            option="preset",
        )
    return counts


def _check_trace(definition: Definition, preset: TrainingPreset) -> None:
    """Checks that the merges can be replayed.

    Raises:
        ConfigError: not BPE, or merges that strip a prefix.
    """
    if not isinstance(definition.model, Bpe) or definition.model.continuing_subword_prefix:
        raise ConfigError(f"trace= is not supported for preset={preset.name!r}; log= is", option="trace")

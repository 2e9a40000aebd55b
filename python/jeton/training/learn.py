"""counts → merges, under the constraints of options, `Rules` and `Superwords`.

Three steps: merges inside pretokens; for superwords, merges across words, on the same corpus with a coarser pattern;
and merges that complete required tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from .._core import Vocabulary, learn_more
from ..definition import Bpe, Definition, Pattern
from ..errors import ConfigError
from ..progress import ProgressEvent, Reporter
from ..tokenizer import Tokenizer
from .checkpoint import checkpointed_run
from .counts import Counts
from .limits import Limits
from .options import Plan
from .rules import Rules, add_required

__all__ = ["LearnedMerges", "check_required", "learn_merges"]

Columns: TypeAlias = tuple[list[int], list[int], list[int]]  # pair counts, corpus tokens, tokens in use


@dataclass(frozen=True)
class LearnedMerges:
    """Result of learning.

    Attributes:
        vocabulary: alphabet and merges.
        num_symbols: size of the alphabet.
        columns: columns of the training log.
        asked: requested number of merges.
    """

    vocabulary: Vocabulary
    num_symbols: int
    columns: Columns
    asked: int


def learn_merges(
    counts: Counts,
    plan: Plan,
    again: Callable[[Pattern], Counts] | None,
    limits: Limits,
    report: Reporter,
) -> LearnedMerges:
    """Learns all merges.

    Args:
        counts: the pretokens.
        plan: options of training.
        again: counts the same corpus with another pattern; None if it cannot be reread.
        limits: memory, threads, and the checkpoint of merges.
        report: called with progress events.

    Raises:
        ConfigError: superwords with a corpus that cannot be reread; a vocabulary that is too small for the alphabet or
            the required tokens.
    """
    max_entries = plan.vocab_size - len(plan.special_tokens)
    first = max_entries if plan.superwords is None else plan.superwords.first_size(max_entries)
    if plan.superwords is not None and again is None:
        raise ConfigError(
            "superwords= reads the corpus twice: pass paths or a list, not an iterator, a stream, a pipe or counts",
            option="superwords",
        )
    learned = _learn_inside(counts, plan, max_entries, first, limits, report)
    if plan.superwords is not None and again is not None:
        second = again(Pattern.of(plan.superwords.pattern))
        learned = _learn_across(learned, second, plan, max_entries, limits.of_part("across"), report)
    report(ProgressEvent("merge", len(learned.columns[0]), len(learned.columns[0]), "merges"))
    return _append_required(learned, plan, max_entries)


def _learn_inside(
    counts: Counts, plan: Plan, max_entries: int, first: int, limits: Limits, report: Reporter
) -> LearnedMerges:
    """Learns the merges inside pretokens."""
    rules = plan.rules.core_json(by_character=plan.level == "char")
    how = {
        "level": plan.level,
        "end_of_word": plan.end_of_word,
        "end_of_word_style": plan.end_of_word_style,
        "tie_break": plan.tie_break,
        "min_frequency": plan.min_frequency,
        "rules": rules,
    }
    run = checkpointed_run(
        counts, how, limits, lambda done: report(ProgressEvent("merge", done, max_entries, "merges"))
    )
    try:
        vocabulary, num_symbols, *columns = counts._core.learn(
            level=plan.level,
            end_of_word_style=plan.end_of_word_style if plan.end_of_word else None,
            end_of_word=plan.end_of_word or "",
            tie_break=plan.tie_break,
            vocab_size=first,
            first_id=0,
            by_code_point=False,
            min_frequency=plan.min_frequency,
            rules_json=rules,
            run=run,
        )
    except ConfigError as error:
        error.option = "vocab_size"  # the only error left: more characters in the corpus than entries
        raise
    return LearnedMerges(vocabulary, num_symbols, (columns[0], columns[1], columns[2]), max_entries - num_symbols)


def _learn_across(
    learned: LearnedMerges, counts: Counts, plan: Plan, max_entries: int, limits: Limits, report: Reporter
) -> LearnedMerges:
    """Learns merges on text split by another pattern, starting from the tokens that the first merges yield."""
    superwords = plan.superwords
    done = len(learned.columns[0])
    known = Tokenizer(Definition(Bpe(level=plan.level)), learned.vocabulary)
    rules = replace(plan.rules, max_words=superwords.max_words if superwords else None)
    rules_json = rules.core_json(by_character=plan.level == "char")
    how = {
        "first": known.fingerprint,
        "tie_break": plan.tie_break,
        "min_frequency": plan.min_frequency,
        "rules": rules_json,
    }
    run = checkpointed_run(
        counts, how, limits, lambda more: report(ProgressEvent("merge", done + more, max_entries, "merges"))
    )
    vocabulary, *columns = learn_more(
        counts._core,
        known._core,
        learned.vocabulary,
        tie_break=plan.tie_break,
        num_merges=max_entries - learned.num_symbols - done,
        min_frequency=plan.min_frequency,
        by_character=plan.level == "char",
        rules_json=rules_json,
        run=run,
    )
    first, second = learned.columns, columns
    joined = (first[0] + second[0], first[1] + second[1], first[2] + second[2])
    return replace(learned, vocabulary=vocabulary, columns=joined)


def _append_required(learned: LearnedMerges, plan: Plan, max_entries: int) -> LearnedMerges:
    """Appends the merges of required tokens. Their pairs were not counted, so the log has 0 there."""
    if not plan.rules.required:
        return learned
    by_character = plan.level == "char"
    vocabulary, kept = add_required(learned.vocabulary, plan.rules.required, max_entries, by_character=by_character)
    added = len(vocabulary.columns()[3]) - kept
    counted, tokens, in_use = (column[:kept] for column in learned.columns)
    counted += [0] * added
    tokens += tokens[-1:] * added if tokens else [0] * added
    in_use += in_use[-1:] * added if in_use else [0] * added
    return replace(learned, vocabulary=vocabulary, columns=(counted, tokens, in_use))


def check_required(rules: Rules, pattern: Pattern, *, by_character: bool) -> None:
    """Refuses required tokens that no text can yield.

    Raises:
        ConfigError: the pattern splits one, or another rule forbids it.
    """
    for text in rules.required:
        if len(pattern.split(text)) != 1:
            raise ConfigError(f"the required token {text!r} is split by the pattern", option="rules")
        if not rules.holds([text.encode()], by_character=by_character)[0]:
            raise ConfigError(f"the required token {text!r} breaks another rule", option="rules")

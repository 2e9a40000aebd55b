"""Jeton's own training rules, which `train` applies without a preset: BPE under `Rules` and `Superwords`.

Learning has three steps: merges inside pretokens; for superwords, merges across words, on the same corpus split by a
coarser pattern; and merges that complete required tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from ...definition import Bpe, Definition, Pattern, SymbolLevel, TieBreak
from ...errors import ConfigError, keyword, named
from ...tokenizer import Tokenizer
from ...tokens.added import AddedToken, with_added_tokens
from ..request import NO_RULES, TrainingRequest, with_unk
from ..required import add_required, check_required
from ..stages import Stages
from .base import Learned, LearningContext, Recipe, TrainingPreset

__all__ = ["Native"]


@dataclass(frozen=True)
class Native(TrainingPreset):
    """Jeton's own rules."""

    name: ClassVar[str] = "native"
    default_tie_break: ClassVar[TieBreak] = "lowest_ids"
    default_byte_pattern: ClassVar[str] = "o200k"

    def recipe(self, request: TrainingRequest) -> Recipe:
        """Implements `TrainingPreset.recipe`."""
        level: SymbolLevel = request.level or ("byte" if request.end_of_word is None else "char")
        min_frequency = 1 if request.min_frequency is None else request.min_frequency
        pattern = self._pattern(request, level)
        request = replace(  # fills in all defaults
            request,
            level=level,
            end_of_word_style=request.end_of_word_style or "symbol",
            tie_break=request.tie_break or self.default_tie_break,
            min_frequency=min_frequency,
            special_tokens=with_unk(request.special_tokens, request.unk_token),
        )
        _check_size(request)
        encoding_pattern = pattern if request.superwords is None else Pattern.of(request.superwords.pattern)
        check_required(request.rules, encoding_pattern, by_character=request.by_character)
        model = Bpe(
            level=level,
            end_of_word=request.end_of_word,
            end_of_word_style=request.end_of_word_style or "symbol",
            unk_token=request.unk_token,
        )
        part = encoding_pattern.part()
        return Recipe(
            tie_break=request.tie_break,
            min_frequency=min_frequency,
            stages=Stages.of(pattern),
            learn=partial(_learn, request),
            definition=Definition(model, pretokenizer=(part,) if part else ()),
            special_tokens=tuple(request.special_tokens),
            second_stages=None if request.superwords is None else Stages.of(encoding_pattern),
        )

    def _pattern(self, request: TrainingRequest, level: SymbolLevel) -> Pattern:
        """Returns the pattern of the first stage of learning."""
        default = "whitespace" if request.end_of_word else self.default_byte_pattern if level == "byte" else "none"
        pattern = default if request.pattern is None else request.pattern
        if request.end_of_word:
            if pattern != "whitespace":
                raise ConfigError(
                    f"{named('end_of_word')} needs words that are separated by white space; "
                    f"{keyword('pattern', pattern)} splits differently, so omit it",
                    option="pattern",
                )
            for option, is_given in (("rules", request.rules != NO_RULES), ("superwords", request.superwords)):
                if is_given:
                    raise ConfigError(f"{keyword(option)} is not supported together with {named('end_of_word')}")
        return request.rules.pattern(Pattern.of(pattern))

    def facts(self) -> dict[str, Any]:
        """Implements `TrainingPreset.facts`."""
        return {"preset": None}


def _check_size(request: TrainingRequest) -> None:
    """Checks that special tokens and the alphabet, if its size is known before training, fit into the vocabulary."""
    marked, num_special = request.end_of_word is not None, len(request.special_tokens)
    alphabet = 0 if request.by_character else 512 if marked and request.end_of_word_style == "suffix" else 256 + marked
    least = max(alphabet + num_special, 1)
    if request.vocab_size < least:
        what = f"{alphabet} symbols of the alphabet and {num_special} special tokens"
        raise ConfigError(f"{keyword('vocab_size', request.vocab_size)} is too small: {what} need at least {least}")
    if request.superwords is not None and isinstance(request.superwords.from_size, int):
        first_size = request.superwords.first_size(request.vocab_size - num_special)
        if first_size < alphabet:
            option = keyword("from_size", request.superwords.from_size)
            raise ConfigError(
                f"{option} leaves {first_size} entries to the first stage, but the alphabet alone has {alphabet}"
            )


def _learn(request: TrainingRequest, context: LearningContext) -> Learned:
    """Learns all merges: those inside pretokens, those across words, and those that required tokens need."""
    max_entries = request.vocab_size - len(request.special_tokens)
    learned = _inside(request, context, max_entries)
    if request.superwords is not None:
        learned = _across(request, learned, context.second_stage(len(learned.columns[0])))
    if request.rules.required:
        learned = _with_required(request, learned, max_entries)
    start = learned.vocabulary.next_id()
    added = [(start + i, AddedToken(token)) for i, token in enumerate(request.special_tokens)]
    return replace(learned, vocabulary=with_added_tokens(learned.vocabulary, added))


def _inside(request: TrainingRequest, context: LearningContext, max_entries: int) -> Learned:
    """Learns the merges inside pretokens."""
    names = ("level", "end_of_word", "end_of_word_style", "tie_break", "min_frequency")
    options: dict[str, Any] = {name: getattr(request, name) for name in names}
    options["rules"] = request.rules.core_json(by_character=request.by_character)
    first_size = max_entries if request.superwords is None else request.superwords.first_size(max_entries)
    vocabulary, num_symbols, *columns = context.counts._core.learn(
        **options, vocab_size=first_size, run=context.run(options)
    )
    return Learned(vocabulary, max_entries - num_symbols, (columns[0], columns[1], columns[2]))


def _across(request: TrainingRequest, learned: Learned, context: LearningContext) -> Learned:
    """Learns merges across words, in text that a coarse pattern has split and the earlier merges have encoded."""
    first = learned.columns
    known = Tokenizer(Definition(Bpe(level=request.level or "byte")), learned.vocabulary)
    max_words = request.superwords.max_words if request.superwords else None
    rules = replace(request.rules, max_words=max_words).core_json(by_character=request.by_character)
    options: dict[str, Any] = {"tie_break": request.tie_break, "min_frequency": request.min_frequency}
    vocabulary, *second = context.counts._core.learn_more(
        known._core,
        learned.vocabulary,
        **options,
        num_merges=learned.num_requested - len(first[0]),
        by_character=request.by_character,
        rules_json=rules,
        run=context.run({"first": known.fingerprint, "rules": rules, **options}),
    )
    columns = (first[0] + second[0], first[1] + second[1], first[2] + second[2])
    return replace(learned, vocabulary=vocabulary, columns=columns)


def _with_required(request: TrainingRequest, learned: Learned, max_entries: int) -> Learned:
    """Appends the merges of required tokens. In the log, the counts of their pairs are 0, as they were not counted."""
    vocabulary, kept = add_required(
        learned.vocabulary, request.rules.required, max_entries, by_character=request.by_character
    )
    added = len(vocabulary.columns()[3]) - kept
    counted, tokens, in_use = (column[:kept] for column in learned.columns)
    counted += [0] * added
    tokens += tokens[-1:] * added if tokens else [0] * added
    in_use += in_use[-1:] * added if in_use else [0] * added
    return replace(learned, vocabulary=vocabulary, columns=(counted, tokens, in_use))

"""Jeton's own training rules, which `train` applies without a preset: BPE under `Rules` and `Superwords`.

Learning has three steps: merges inside pretokens; for superwords, merges across words, on the same corpus with a
coarser pattern; and merges that complete required tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..._core import learn_more
from ...definition import Bpe, Definition, EndOfWordStyle, Pattern, SymbolLevel, TieBreak
from ...errors import ConfigError
from ...tokenizer import Tokenizer
from ...tokens.added import AddedToken, with_added_tokens
from ..request import NO_RULES, TrainingRequest, with_unk
from ..required import add_required, check_required
from ..rules import Rules, Superwords
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
        level = request.level or ("byte" if request.end_of_word is None else "char")
        style = request.end_of_word_style or "symbol"
        rules, superwords = request.rules, request.superwords
        special = with_unk(request.special_tokens, request.unk_token)
        pattern = self._pattern(request, level)
        _check_size(request, level, style, len(special))
        encoding_pattern = pattern if superwords is None else Pattern.of(superwords.pattern)
        check_required(rules, encoding_pattern, by_character=level == "char")
        learner = _Learner(
            level=level,
            end_of_word=request.end_of_word,
            end_of_word_style=style,
            tie_break=request.tie_break or self.default_tie_break,
            min_frequency=1 if request.min_frequency is None else request.min_frequency,
            rules=rules,
            superwords=superwords,
            max_entries=request.vocab_size - len(special),
            special_tokens=special,
        )
        model = Bpe(level=level, end_of_word=request.end_of_word, end_of_word_style=style, unk_token=request.unk_token)
        part = encoding_pattern.part()
        return Recipe(
            tie_break=learner.tie_break,
            min_frequency=learner.min_frequency,
            stages=Stages.of(pattern),
            learn=learner.learn,
            definition=Definition(model, pretokenizer=(part,) if part else ()),
            special_tokens=special,
            second_stages=None if superwords is None else Stages.of(encoding_pattern),
        )

    def _pattern(self, request: TrainingRequest, level: SymbolLevel) -> Pattern:
        """Pattern of the (first) stage of learning."""
        default = "whitespace" if request.end_of_word else self.default_byte_pattern if level == "byte" else "none"
        pattern = default if request.pattern is None else request.pattern
        if request.end_of_word:
            if pattern != "whitespace":
                raise ConfigError(
                    f"end_of_word marks words, which white space separates; pattern={pattern!r} splits differently",
                    option="pattern",
                )
            for option, is_given in (("rules", request.rules != NO_RULES), ("superwords", request.superwords)):
                if is_given:
                    raise ConfigError(f"{option}= is not supported together with end_of_word", option=option)
        return request.rules.pattern(Pattern.of(pattern))

    def facts(self) -> dict[str, Any]:
        """Implements `TrainingPreset.facts`."""
        return {"preset": None}


def _check_size(request: TrainingRequest, level: SymbolLevel, style: EndOfWordStyle, num_special: int) -> None:
    """Checks that the alphabet, as far as it is known before counting, and the special tokens fit."""
    marked = request.end_of_word is not None
    alphabet = 0 if level == "char" else 512 if marked and style == "suffix" else 256 + marked
    least = max(alphabet + num_special, 1)
    if request.vocab_size < least:
        what = f"{alphabet} symbols of the alphabet and {num_special} special tokens"
        raise ConfigError(
            f"vocab_size={request.vocab_size} is too small: {what} need at least {least}", option="vocab_size"
        )


@dataclass(frozen=True, kw_only=True)
class _Learner:
    """Options of learning, with every default filled in.

    Attributes:
        max_entries: maximum number of entries without the special tokens.
    """

    level: SymbolLevel
    end_of_word: str | None
    end_of_word_style: EndOfWordStyle
    tie_break: TieBreak
    min_frequency: int
    rules: Rules
    superwords: Superwords | None
    max_entries: int
    special_tokens: tuple[str, ...]

    @property
    def _by_character(self) -> bool:
        return self.level == "char"

    def learn(self, context: LearningContext) -> Learned:
        """Learns all merges."""
        learned = self._inside(context)
        if self.superwords is not None:
            learned = self._across(learned, context.second_stage(len(learned.columns[0])), self.superwords.max_words)
        if self.rules.required:
            learned = self._with_required(learned)
        start = learned.vocabulary.next_id()
        added = [(start + i, AddedToken(token)) for i, token in enumerate(self.special_tokens)]
        return replace(learned, vocabulary=with_added_tokens(learned.vocabulary, added))

    def _inside(self, context: LearningContext) -> Learned:
        """Learns the merges inside pretokens."""
        rules = self.rules.core_json(by_character=self._by_character)
        options = {
            "level": self.level,
            "end_of_word": self.end_of_word,
            "end_of_word_style": self.end_of_word_style,
            "tie_break": self.tie_break,
            "min_frequency": self.min_frequency,
            "rules": rules,
        }
        vocabulary, num_symbols, *columns = context.counts._core.learn(
            level=self.level,
            end_of_word_style=self.end_of_word_style if self.end_of_word else None,
            end_of_word=self.end_of_word or "",
            tie_break=self.tie_break,
            vocab_size=self.max_entries if self.superwords is None else self.superwords.first_size(self.max_entries),
            first_id=0,
            by_code_point=False,
            min_frequency=self.min_frequency,
            rules_json=rules,
            run=context.run(options),
        )
        return Learned(vocabulary, self.max_entries - num_symbols, (columns[0], columns[1], columns[2]))

    def _across(self, learned: Learned, context: LearningContext, max_words: int | None) -> Learned:
        """Learns merges on text split by another pattern, starting from the tokens that the first merges yield."""
        first = learned.columns
        known = Tokenizer(Definition(Bpe(level=self.level)), learned.vocabulary)
        rules = replace(self.rules, max_words=max_words).core_json(by_character=self._by_character)
        options = {
            "first": known.fingerprint,
            "tie_break": self.tie_break,
            "min_frequency": self.min_frequency,
            "rules": rules,
        }
        vocabulary, *second = learn_more(
            context.counts._core,
            known._core,
            learned.vocabulary,
            tie_break=self.tie_break,
            num_merges=learned.num_requested - len(first[0]),
            min_frequency=self.min_frequency,
            by_character=self._by_character,
            rules_json=rules,
            run=context.run(options),
        )
        columns = (first[0] + second[0], first[1] + second[1], first[2] + second[2])
        return replace(learned, vocabulary=vocabulary, columns=columns)

    def _with_required(self, learned: Learned) -> Learned:
        """Appends the merges of required tokens. Their pairs were not counted, so the log has 0 there."""
        vocabulary, kept = add_required(
            learned.vocabulary, self.rules.required, self.max_entries, by_character=self._by_character
        )
        added = len(vocabulary.columns()[3]) - kept
        counted, tokens, in_use = (column[:kept] for column in learned.columns)
        counted += [0] * added
        tokens += tokens[-1:] * added if tokens else [0] * added
        in_use += in_use[-1:] * added if in_use else [0] * added
        return replace(learned, vocabulary=vocabulary, columns=(counted, tokens, in_use))

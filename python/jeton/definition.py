"""What a tokenizer is, beside its vocabulary: the neutral form between files, training and the core.

How it was trained is part of it, though it changes no id.

Every format reads into a `Definition` and a core vocabulary, and writes from them. Vocabulary entries and merges stay
in the core; Python never looks inside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from . import _core
from .errors import ConfigError

__all__ = ["Definition", "EndOfWordStyle", "Level", "Pattern", "TieBreak", "TrainingFacts", "TrainingStep"]

Level = Literal["byte", "char"]
TieBreak = Literal["first", "lowest_ids", "highest_pair", "shortest"]
EndOfWordStyle = Literal["symbol", "suffix"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """How text is split: a name, or a regex in tiktoken's dialect.

    Attributes:
        text: one of the names of `Pattern.names`, or the regex.
        is_regex: which of the two it is.

    Examples:
        >>> Pattern.of("o200k").is_regex, Pattern.of(r"\\w+|\\s+").is_regex
        (False, True)
    """

    text: str
    is_regex: bool

    @staticmethod
    def names() -> list[str]:
        """The patterns that have a name."""
        return _core.pattern_names()

    @classmethod
    def of(cls, pattern: str | None) -> Pattern:
        """A name where it is one, else a regex; None is ``"none"``.

        Raises:
            ConfigError: the regex does not compile, or a bare word is no name. (A regex of letters only would split
                text at that word; nobody has wanted that yet, and a misspelled name is common.)
        """
        if pattern is None:
            return cls("none", False)
        try:
            pattern.encode()
        except UnicodeEncodeError:
            raise ConfigError("the pattern holds a lone surrogate and is no Unicode text", option="pattern") from None
        names = cls.names()
        if pattern in names:
            return cls(pattern, False)
        if re.fullmatch(r"[A-Za-z0-9_-]+", pattern):
            known = ", ".join(names)
            raise ConfigError(
                f"there is no pattern named {pattern!r}; names: {known}; or pass a regex", option="pattern"
            )
        _core.split_text("", pattern, is_regex=True)  # compiles it, so that the error comes here and not later
        return cls(pattern, True)

    def split(self, text: str | bytes) -> list[tuple[int, int]]:
        """The byte ranges of the pretokens of a text.

        Examples:
            >>> Pattern.of("gpt2").split("two words")
            [(0, 3), (3, 9)]
        """
        return _core.split_text(text, self.text, is_regex=self.is_regex)


class TrainingStep(NamedTuple):
    """One merge, and the corpus after it: a row of the training log."""

    rank: int
    id: int
    left: int
    right: int
    token: bytes
    pair_count: int
    corpus_tokens: int
    tokens_in_use: int
    bytes_per_token: float


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """How a tokenizer was trained. Saved with it, save for what differs from run to run.

    Attributes:
        algorithm: ``"bpe"``.
        preset, tie_break, min_frequency: as asked.
        vocab_size: as asked; the tokenizer may have stopped short of it.
        num_merges: how many were learned.
        stopped: why training ended before `vocab_size`, or None.
        documents, corpus_bytes, pretokens, distinct_pretokens: what was counted.
        special_tokens_found: how often a special token stood in the corpus, where it cut the document.
        seconds: counting and learning, wall time; only in the process that trained.
        log: every merge; only in the process that trained.

    Examples:
        >>> import jeton
        >>> facts = jeton.train(["low lower"], vocab_size=258, pattern="gpt2", progress=False).training
        >>> facts.num_merges, facts.distinct_pretokens, facts.log[0].token
        (2, 2, b'lo')
    """

    algorithm: str
    preset: str | None
    tie_break: TieBreak
    min_frequency: int
    vocab_size: int
    num_merges: int
    stopped: str | None
    documents: int
    corpus_bytes: int
    pretokens: int
    distinct_pretokens: int
    special_tokens_found: int
    seconds: float | None = field(default=None, compare=False)
    log: Sequence[TrainingStep] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Definition:
    """All options of a tokenizer that its vocabulary does not show.

    Attributes:
        level: the unit of an initial symbol.
        pattern: how text is split before merging.
        ranks: what gives a pair its rank: the list of merges, or the id of the token it makes (tiktoken).
        whole_first: a pretoken that is an entry is that entry, whatever the merges say.
        end_of_word: how the mark at the end of a word is spelled; None when there is none.
        end_of_word_style: whether that mark is a symbol of its own or glued to the last unit.
        unk_token: what stands in for characters that are not in the vocabulary; None raises instead.
        training: how it was trained, where that is known. Changes no id.
    """

    level: Level = "byte"
    pattern: Pattern = field(default_factory=lambda: Pattern("none", False))
    ranks: Literal["merges", "tokens"] = "merges"
    whole_first: bool = False
    end_of_word: str | None = None
    end_of_word_style: EndOfWordStyle = "symbol"
    unk_token: str | None = None
    training: TrainingFacts | None = None

    def canonical(self) -> bytes:
        """What of it can change ids or decoded bytes, as JSON with sorted keys."""
        facts: dict[str, Any] = {
            "level": self.level,
            "pattern": {"text": self.pattern.text, "is_regex": self.pattern.is_regex},
            "ranks": self.ranks,
            "whole_first": self.whole_first,
            "end_of_word_style": self.end_of_word_style if self.end_of_word else None,
            "unk_token": self.unk_token,
        }
        return json.dumps(facts, sort_keys=True, ensure_ascii=True).encode()

    def build(self, vocabulary: _core.Vocabulary, special_tokens: Mapping[str, int]) -> _core.Tokenizer:
        """The core's tokenizer for this definition."""
        return _core.Tokenizer(
            vocabulary,
            pattern=self.pattern.text,
            is_regex=self.pattern.is_regex,
            level=self.level,
            end_of_word_style=self.end_of_word_style if self.end_of_word else None,
            unk=special_tokens.get(self.unk_token) if self.unk_token else None,
            ranks=self.ranks,
            whole_first=self.whole_first,
        )

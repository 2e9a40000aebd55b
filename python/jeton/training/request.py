"""`TrainingRequest`: the arguments of `train` other than the corpus and the preset, checked in one place.

Presets fill in defaults, and raise an error for arguments that contradict the preset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..definition import EndOfWordStyle, SymbolLevel, TieBreak
from ..errors import ConfigError, keyword
from ..tokens.kinds import MAX_ID
from ..tokens.special import spell
from ..util.arguments import choice, integer, strings
from .counts import MAX_COUNT
from .rules import Rules, Superwords

__all__ = ["TrainingRequest", "with_unk"]

LEVELS = ("byte", "char")
TIE_BREAKS = ("lowest_ids", "first", "highest_pair", "shortest")
END_OF_WORD_STYLES = ("symbol", "suffix")
NO_RULES = Rules()


@dataclass(frozen=True, kw_only=True)
class TrainingRequest:
    """Arguments of `train` other than the corpus and the preset; None means not given.

    Raises:
        ConfigError: a value has the wrong type or is outside its range.

    Examples:
        >>> TrainingRequest(vocab_size=300, tie_break="highest")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: tie_break='highest' is not one of lowest_ids, first, highest_pair, shortest
    """

    vocab_size: int
    level: SymbolLevel | None = None
    pattern: str | None = None
    tie_break: TieBreak | None = None
    min_frequency: int | None = None
    special_tokens: Sequence[str] = ()
    unk_token: str | None = None
    end_of_word: str | None = None
    end_of_word_style: EndOfWordStyle | None = None
    rules: Rules = NO_RULES
    superwords: Superwords | None = None

    def __post_init__(self) -> None:
        for option, choices in (
            ("level", LEVELS),
            ("tie_break", TIE_BREAKS),
            ("end_of_word_style", END_OF_WORD_STYLES),
        ):
            if getattr(self, option) is not None:
                choice(getattr(self, option), option, choices)
        if self.min_frequency is not None:
            object.__setattr__(self, "min_frequency", integer(self.min_frequency, "min_frequency", 0, MAX_COUNT))
        special_tokens = tuple(strings(self.special_tokens, "special_tokens"))
        object.__setattr__(self, "special_tokens", special_tokens)
        for index, token in enumerate(special_tokens):
            spell(token, f"special_tokens[{index}]")
        for option in ("unk_token", "end_of_word"):
            if getattr(self, option) is not None:
                spell(getattr(self, option), option)
        object.__setattr__(self, "vocab_size", integer(self.vocab_size, "vocab_size", 1, MAX_ID + 1))

    @property
    def by_character(self) -> bool:
        """True if symbols are characters, False if they are bytes."""
        return self.level == "char"

    def to_json(self) -> dict[str, Any]:
        """Returns the arguments that a checkpoint stores: all that affect the merges, except the vocabulary size."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "vocab_size"}
        rules, superwords = given.pop("rules"), given.pop("superwords")
        if rules != NO_RULES:
            given["rules"] = rules.to_json()
        if superwords is not None:
            given["superwords"] = superwords.to_json()
        return given

    def refuse(self, preset: str, decides: Mapping[str, str]) -> None:
        """Raises an error if an option was given that the preset determines itself; `decides`: option -> explanation.

        Raises:
            ConfigError: one of the options was given.
        """
        defaults = {each.name: each.default for each in fields(self)}
        for option, instead in decides.items():
            if getattr(self, option) != defaults[option]:
                raise ConfigError(
                    f"{keyword('preset', preset)} does not support {keyword(option)}; {instead}", option=option
                )


def with_unk(special_tokens: Sequence[str], unk_token: str | None) -> tuple[str, ...]:
    """Returns the distinct special tokens. The unknown token is put first, unless it is already one of them.

    Examples:
        >>> with_unk(["<s>", "</s>", "<s>"], "<unk>"), with_unk(["<s>", "<unk>"], "<unk>")
        (('<unk>', '<s>', '</s>'), ('<s>', '<unk>'))
    """
    tokens = tuple(dict.fromkeys(special_tokens))
    return tokens if unk_token is None or unk_token in tokens else (unk_token, *tokens)

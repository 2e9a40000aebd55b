"""The options of `train`, checked, with every default filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..arguments import strings
from ..definition import EndOfWordStyle, Pattern, SymbolLevel, TieBreak
from ..errors import ConfigError
from ..special import spell
from ..vocab_view import MAX_ID
from .rules import Rules, Superwords

__all__ = ["Plan"]

NO_RULES = Rules()

TIE_BREAKS = ("first", "lowest_ids", "highest_pair", "shortest")


@dataclass(frozen=True)
class Plan:
    """Options of `train` with every default filled in."""

    vocab_size: int
    level: SymbolLevel
    pattern: Pattern
    tie_break: TieBreak
    min_frequency: int
    special_tokens: list[str]
    unk_token: str | None
    end_of_word: str | None
    end_of_word_style: EndOfWordStyle
    preset: str | None
    rules: Rules = NO_RULES
    superwords: Superwords | None = None

    @property
    def encoding_pattern(self) -> Pattern:
        """Pattern of the tokenizer: that of the last stage of training."""
        return self.pattern if self.superwords is None else Pattern.of(self.superwords.pattern)

    def with_rules(self, rules: Rules, superwords: Superwords | None) -> Plan:
        """Adds merge rules to the plan.

        Raises:
            ConfigError: rules that contradict the other options.
        """
        if self.end_of_word and (rules != Rules() or superwords):
            name = "rules" if rules != Rules() else "superwords"
            raise ConfigError(f"{name}= is not supported together with end_of_word", option=name)
        return replace(self, pattern=rules.pattern(self.pattern), rules=rules, superwords=superwords)

    @classmethod
    def make(
        cls,
        vocab_size: int,
        algorithm: str,
        level: SymbolLevel | None,
        pattern: str | None,
        tie_break: TieBreak | None,
        min_frequency: int,
        special_tokens: Sequence[str],
        unk_token: str | None,
        end_of_word: str | None,
        end_of_word_style: EndOfWordStyle,
        preset: str | None,
    ) -> Plan:
        """Checks the arguments of `train` and fills in defaults.

        Raises:
            ConfigError: an invalid option or combination of options.
        """
        if algorithm != "bpe":
            raise ConfigError(
                f"algorithm={algorithm!r} is not supported yet; this version trains 'bpe'", option="algorithm"
            )
        if tie_break is None:
            tie_break = "first" if preset == "minbpe" else "lowest_ids"
        if tie_break not in TIE_BREAKS:
            raise ConfigError(
                f"tie_break: there is no rule {tie_break!r}; rules: {', '.join(TIE_BREAKS)}", option="tie_break"
            )
        if level is None:
            level = "byte" if end_of_word is None else "char"
        if level not in ("byte", "char"):
            raise ConfigError(f"level={level!r} is neither 'byte' nor 'char'", option="level")
        if end_of_word is not None:
            spell(end_of_word, "end_of_word")
        if end_of_word_style not in ("symbol", "suffix"):
            raise ConfigError(
                f"end_of_word_style={end_of_word_style!r} is neither 'symbol' nor 'suffix'", option="end_of_word_style"
            )
        if pattern is None:
            default = "o200k" if level == "byte" else "none"
            pattern = "whitespace" if end_of_word else "none" if preset == "minbpe" else default
        if end_of_word and pattern != "whitespace":
            raise ConfigError(
                f"end_of_word marks words, which white space separates; pattern={pattern!r} splits differently",
                option="pattern",
            )
        if isinstance(min_frequency, bool) or not isinstance(min_frequency, int) or not 0 <= min_frequency < 1 << 64:
            raise ConfigError(
                f"min_frequency={min_frequency!r} is not an integer from 0 to 2^64 - 1", option="min_frequency"
            )
        specials = _special_tokens(special_tokens, unk_token)
        if isinstance(vocab_size, bool) or not isinstance(vocab_size, int):
            raise ConfigError(f"vocab_size={vocab_size!r} is not an integer", option="vocab_size")
        if vocab_size > MAX_ID + 1:
            raise ConfigError(
                f"vocab_size={vocab_size} is over {MAX_ID + 1}, the supported maximum", option="vocab_size"
            )
        alphabet = (
            0 if level == "char" else 512 if end_of_word and end_of_word_style == "suffix" else 256 + bool(end_of_word)
        )
        least = alphabet + len(specials)
        if vocab_size < max(least, 1):
            what = f"{alphabet} symbols of the alphabet and {len(specials)} special tokens"
            message = f"vocab_size={vocab_size} is too small: {what} need at least {max(least, 1)}"
            raise ConfigError(message, option="vocab_size")
        return cls(
            vocab_size, level, Pattern.of(pattern), tie_break, min_frequency, specials, unk_token, end_of_word,
            end_of_word_style, preset,
        )  # fmt: skip


def _special_tokens(special_tokens: Sequence[str], unk_token: str | None) -> list[str]:
    tokens = list(dict.fromkeys(strings(special_tokens, "special_tokens")))
    if unk_token is not None and unk_token not in tokens:
        tokens.insert(0, unk_token)
    for token in tokens:
        spell(token, "unk_token" if token is unk_token else "special_tokens")
    return tokens

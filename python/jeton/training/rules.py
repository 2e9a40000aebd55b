"""Constraints on merges: `Rules` for the tokens of a vocabulary, and `Superwords`, a second stage across words.

`Rules` checks and converts the options. The core applies them to each pair when it first appears
(``train/rules/named.rs``). Digit grouping from the right is part of the pattern instead, because the group of a digit
depends on the digits after it. The module `required` adds the merges of required tokens.

Left out: rules that depend on the position of a token in the text.

Source of `Superwords`: SuperBPE (Liu et al. 2025, arXiv 2503.13423), which learns part of the vocabulary by BPE, then
merges across white space. The limit of four words is from this paper; its rule that a colon ends a token is not
adopted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from .._core import pattern_text, rules_hold
from ..definition import Pattern
from ..errors import ConfigError, keyword
from ..tokens.special import spell
from ..util.arguments import flag, instance, items, strings

__all__ = ["NAMES", "Rules", "Superwords"]

# Boolean rules, which can be passed by name.
NAMES = ("whole_characters", "one_class", "one_script", "lone_punctuation", "digits_from_right")
_DIGITS = r"\p{N}{1,3}"
_DIGITS_FROM_RIGHT = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Constraints on merged tokens. Each depends only on the bytes of a token, so it can be checked on any vocabulary.

    Attributes:
        whole_characters: a token consists of whole characters, or it is a part of a single character. (Byte-level
            tokens of rare characters are built from such parts.) At byte level, each of the next three rules implies
            this rule.
        one_class: all characters of a token are of one class: letters with their marks, numbers, white space, or other
            characters. One space may precede them.
        one_script: the letters of a token have one script; Han, Hiragana and Katakana count as one.
        lone_punctuation: a punctuation mark or symbol is a separate token and never merges.
        digits_from_right: the pattern splits runs of digits into threes from the right, 1|234|567.
        max_token_length: maximum length, in bytes at byte level, else in characters.
        blocked: texts that never become a token.
        required: texts that become one token with any corpus; their merges are the last ones. Unlike special tokens,
            they are ordinary entries and need no permission.
        max_words: maximum number of words in a token, if merges can cross words.

    Examples:
        >>> import jeton
        >>> rules = jeton.Rules(one_class=True, required=["cost"])
        >>> tok = jeton.train(["it's low, it's low-key"], 275, pattern="none", rules=rules, progress=False)
        >>> tok.tokenize("it's low-cost").tokens
        [b'it', b"'", b's', b' low', b'-', b'cost']
    """

    whole_characters: bool = False
    one_class: bool = False
    one_script: bool = False
    lone_punctuation: bool = False
    digits_from_right: bool = False
    max_token_length: int | None = None
    blocked: Sequence[str] = ()
    required: Sequence[str] = ()
    max_words: int | None = None

    def __post_init__(self) -> None:
        """Checks the types of the fields, and that they do not contradict each other."""
        for name in ("max_token_length", "max_words"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ConfigError(f"{keyword(name, value)} is not a positive integer", option="rules")
        for name in NAMES:
            flag(getattr(self, name), name)
        for name in ("blocked", "required"):
            texts = getattr(self, name)
            for text in strings(texts, name):
                spell(text, name)
            object.__setattr__(self, name, tuple(dict.fromkeys(texts)))
        if both := set(self.blocked) & set(self.required):
            raise ConfigError(f"{min(both)!r} is both blocked and required", option="rules")

    @classmethod
    def of(cls, rules: Rules | Sequence[str] | None) -> Rules:
        """Converts from `Rules`, or from names of boolean rules.

        Raises:
            ConfigError: a name is not the name of a rule.

        Examples:
            >>> Rules.of(["one_script"]).one_script
            True
        """
        if rules is None or isinstance(rules, Rules):
            return rules or cls()
        names = (
            [rules] if isinstance(rules, str) else items(rules, "rules", "a jeton.Rules or a list of names of rules")
        )
        for name in names:
            if name not in NAMES:
                raise ConfigError(f"there is no rule named {name!r}; rules: {', '.join(NAMES)}", option="rules")
        switched_on: dict[str, Any] = dict.fromkeys(names, True)
        return cls(**switched_on)

    def to_json(self) -> dict[str, Any]:
        """Returns the rules that are set, as saved with the tokenizer."""
        facts = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()}

    def core_json(self, *, by_character: bool) -> str | None:
        """Returns the constraints on pairs as JSON for the core; None if no constraint is set."""
        constraints: Mapping[str, Any] = {
            "whole_characters": self.whole_characters,
            "one_class": self.one_class,
            "one_script": self.one_script,
            "lone_punctuation": self.lone_punctuation,
            "max_token_length": self.max_token_length,
            "max_words": self.max_words,
            "blocked": [list(text.encode()) for text in self.blocked],
        }
        return json.dumps({**constraints, "by_character": by_character}) if any(constraints.values()) else None

    def holds(self, tokens: Sequence[bytes], *, by_character: bool = False) -> list[bool]:
        """Tests each token: True if it satisfies the rules at byte level (at character level, if `by_character`).

        Examples:
            >>> Rules(one_class=True).holds([b" the", b"it's", "東京".encode()])
            [True, False, True]
        """
        given = items(tokens, "tokens", "a list of bytes")
        for index, token in enumerate(given):
            instance(token, f"tokens[{index}]", bytes, "bytes")
        rules = self.core_json(by_character=flag(by_character, "by_character"))
        return rules_hold(rules, given) if rules else [True] * len(given)

    def pattern(self, pattern: Pattern) -> Pattern:
        """Returns the pattern, changed to group digits from the right if `digits_from_right` is set.

        Raises:
            ConfigError: the pattern does not split digits into groups of up to three.

        Examples:
            >>> cut = Rules(digits_from_right=True).pattern(Pattern.of("o200k"))
            >>> [b"in 1234567"[start:end].decode() for start, end in cut.split("in 1234567")]
            ['in', ' ', '1', '234', '567']
        """
        instance(pattern, "pattern", Pattern, "a Pattern, as Pattern.of makes it")
        if not self.digits_from_right:
            return pattern
        text = pattern.text if pattern.is_regex else pattern_text(pattern.text) or ""
        if _DIGITS not in text or _DIGITS_FROM_RIGHT in text:
            raise ConfigError(
                f"digits_from_right needs a pattern with {_DIGITS}, such as o200k; {pattern.text!r} has none",
                option="rules",
            )
        return Pattern.of(text.replace(_DIGITS + "+", _DIGITS).replace(_DIGITS, _DIGITS_FROM_RIGHT))


# Splits text into line content, line ends, and groups of digits as in o200k.
ACROSS_WORDS = r"\p{N}{1,3}|[^\r\n\p{N}]+|[\r\n]+"


@dataclass(frozen=True, kw_only=True)
class Superwords:
    """Second stage of training, whose merges can cross words (SuperBPE).

    Attributes:
        from_size: size of the vocabulary at which the second stage begins; a float up to 1 is a share of the final
            size.
        pattern: pre-tokenization pattern of the second stage and of the tokenizer. Default: lines and groups of digits.
        max_words: maximum number of words in a token of the second stage; None: no limit.

    Examples:
        >>> import jeton
        >>> text = "by the way, by the sea, by the river"
        >>> tok = jeton.train([text], 274, superwords=jeton.Superwords(from_size=266), progress=False)
        >>> tok.tokenize("by the way, by the moon").tokens[:3]
        [b'by the', b' way', b', by the']
    """

    from_size: int | float = 0.8
    pattern: str = ACROSS_WORDS
    max_words: int | None = 4

    def __post_init__(self) -> None:
        """Checks types and ranges."""
        if isinstance(self.from_size, bool) or not isinstance(self.from_size, int | float) or not self.from_size >= 0:
            raise ConfigError(
                f"{keyword('from_size', self.from_size)} is neither a number of entries nor a share",
                option="superwords",
            )
        if isinstance(self.from_size, float) and self.from_size > 1:
            raise ConfigError(f"{keyword('from_size', self.from_size)} is a share greater than 1", option="superwords")
        Pattern.of(self.pattern)
        Rules(max_words=self.max_words)

    @classmethod
    def of(cls, superwords: Superwords | bool | None) -> Superwords | None:
        """Converts the argument `superwords=`: True to the defaults, False and None to None."""
        if superwords is None or isinstance(superwords, bool):
            return cls() if superwords else None
        return instance(superwords, "superwords", cls, "True, False, None or a Superwords")

    def to_json(self) -> dict[str, Any]:
        """Returns the options, as saved with the tokenizer."""
        return asdict(self)

    def first_size(self, max_entries: int) -> int:
        """Returns how many of `max_entries` entries the first stage learns."""
        return min(
            max_entries, self.from_size if isinstance(self.from_size, int) else round(max_entries * self.from_size)
        )

"""The pre-tokenizers of Hugging Face's `tokenizers`.

Source: huggingface/tokenizers 0.23.3, bindings/python/src/pre_tokenizers.rs (behavior).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ... import _core
from ...errors import JetonError
from .normalizers import Pattern
from .parts import Cell, Option, Part, SequencePart
from .values import Word, character, flag, size, text, word

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "PreTokenizer",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
]

_BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}
behavior = word(_BEHAVIORS, f"Wrong value for SplitDelimiterBehavior, expected one of: `{', '.join(_BEHAVIORS)}`")
prepend_scheme = word(
    {name: name for name in ("first", "never", "always")},
    "{} is an unknown variant, should be one of ['first', 'never', 'always']",
)


class PreTokenizer(Part):
    """Base class of pre-tokenizers."""

    kind = "pre_tokenizer"

    @staticmethod
    def custom(pretok: Any) -> PreTokenizer:
        """Creates a pre-tokenizer from a Python object with a method ``pre_tokenize``.

        The original package runs this pre-tokenizer.
        """
        return PreTokenizer._of_cell(Cell({"type": "Custom"}, pretok))

    def pre_tokenize(self, pretok: Any) -> None:
        """Splits a `PreTokenizedString` in place."""
        self.original().pre_tokenize(pretok)

    def pre_tokenize_str(self, sequence: Any) -> list[tuple[str, tuple[int, int]]]:
        """Returns the pretokens of a text, with their ranges in characters.

        Examples:
            >>> WhitespaceSplit().pre_tokenize_str("low er")
            [('low', (0, 3)), ('er', (4, 6))]
        """
        sequence = text(sequence)
        pretokens: list[tuple[str, tuple[int, int]]] | None = None
        if not self.is_custom:
            with suppress(JetonError):
                stages = self.cell.core_json()
                pretokens = (
                    _core.pretokenize_text(stages, sequence)
                    if stages != "[]"
                    else [(sequence, (0, len(sequence.encode())))]
                )
        if pretokens is None:
            return self.original().pre_tokenize_str(sequence)  # type: ignore[no-any-return]
        if sequence.isascii():
            return pretokens
        starts = [at for at, char in enumerate(sequence) for _ in range(len(char.encode()))] + [len(sequence)]
        return [(content, (starts[start], starts[end])) for content, (start, end) in pretokens]


class BertPreTokenizer(PreTokenizer):
    """Splits at white space, and isolates punctuation."""


class ByteLevel(PreTokenizer):
    """Splits by GPT-2's pattern, and replaces each byte by its character of the byte alphabet.

    Args:
        add_prefix_space: whether a space is added to a text that does not begin with one.
        trim_offsets: whether a post-processor removes white space from offsets.
        use_regex: whether the text is split by the pattern.

    Examples:
        >>> ByteLevel(add_prefix_space=False).pre_tokenize_str("low er")
        [('low', (0, 3)), ('Ġer', (3, 6))]
    """

    add_prefix_space = Option(flag, True)
    trim_offsets = Option(flag, True)
    use_regex = Option(flag, True)
    _ignores_others = True

    @staticmethod
    def alphabet() -> list[str]:
        """Returns the 256 characters of the byte alphabet."""
        return [_core.spell_bytes(bytes([byte])) for byte in range(256)]


class CharDelimiterSplit(PreTokenizer):
    """Splits at a character, and removes the character."""

    delimiter = Option(character)
    _new_arguments = (" ",)


class Digits(PreTokenizer):
    """Separates digits from other characters.

    Args:
        individual_digits: whether each digit is a pretoken.
    """

    individual_digits = Option(flag, False)


class FixedLength(PreTokenizer):
    """Splits into pretokens of `length` characters each; the last can be shorter."""

    length = Option(size, 5)


class Metaspace(PreTokenizer):
    """Replaces spaces by a mark, as SentencePiece does, and splits before each mark.

    Args:
        replacement: the mark.
        prepend_scheme: when a mark is prepended: ``"always"``, ``"first"`` (to a text's first part only), ``"never"``.
        split: whether the text is split.

    Examples:
        >>> Metaspace().pre_tokenize_str("low er")
        [('▁low', (0, 3)), ('▁er', (3, 6))]
    """

    replacement = Option(character, "▁")
    prepend_scheme = Option(prepend_scheme, "always", load=Word, get=str)
    split = Option(flag, True)

    @classmethod
    def _of_state(cls, state: Mapping[str, Any]) -> Cell:
        if "add_prefix_space" in state and "prepend_scheme" not in state:  # written by a version before 0.15
            state = {**state, "prepend_scheme": "always" if state["add_prefix_space"] else "never"}
        return super()._of_state(state)


class Punctuation(PreTokenizer):
    """Splits at punctuation.

    Args:
        behavior: as for `Split`.
    """

    behavior = Option(behavior, "isolated", load=Word, get=str.lower)


class Split(PreTokenizer):
    """Splits where a pattern matches.

    Args:
        pattern: a string, or a `tokenizers.Regex`.
        behavior: treatment of a match: ``"removed"``, ``"isolated"``, ``"merged_with_previous"``,
            ``"merged_with_next"`` or ``"contiguous"``.
        invert: whether the text between matches is treated as a match instead.

    Examples:
        >>> Split("-", "merged_with_next").pre_tokenize_str("low-er")
        [('low', (0, 3)), ('-er', (3, 6))]
    """

    pattern = Pattern("split")
    behavior = Option(behavior, load=Word, get=str.lower)
    invert = Option(flag, False)
    _new_arguments = (" ", "removed")


class UnicodeScripts(PreTokenizer):
    """Splits where the script of the characters changes, as SentencePiece does."""


class Whitespace(PreTokenizer):
    """Splits into runs of word characters and runs of other characters; removes white space."""


class WhitespaceSplit(PreTokenizer):
    """Splits at white space, and removes the white space."""


class Sequence(SequencePart, PreTokenizer):
    """Several pre-tokenizers that are applied one after the other.

    Examples:
        >>> Sequence([Whitespace(), Digits()]).pre_tokenize_str("low42")
        [('low', (0, 3)), ('42', (3, 5))]
    """

    _key, _role = "pretokenizers", "pre tokenizer"
    pre_tokenizers = Option(list, is_hidden=True)

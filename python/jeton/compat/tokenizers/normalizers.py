"""The normalizers of Hugging Face's `tokenizers`.

Source: huggingface/tokenizers 0.23.3, bindings/python/src/normalizers.rs (behavior).
"""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress
from typing import Any

from ... import _core
from ...errors import JetonError
from .added_token import pattern
from .parts import Cell, Option, Part, SequencePart
from .values import Named, flag, items, optional, text, to_json, wrong

__all__ = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "NORMALIZERS",
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "Nmt",
    "Normalizer",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
    "unicode_normalizer_from_str",
]


class Normalizer(Part):
    """Base class of normalizers."""

    kind = "normalizer"

    @staticmethod
    def custom(obj: Any) -> Normalizer:
        """Creates a normalizer from a Python object with a method ``normalize``, which HF's package calls."""
        return Normalizer._of_cell(Cell({"type": "Custom"}, obj))

    def normalize(self, normalized: Any) -> None:
        """Normalizes a `NormalizedString` in place."""
        self.original().normalize(normalized)

    def normalize_str(self, sequence: Any) -> str:
        """Returns the normalized text.

        Examples:
            >>> Lowercase().normalize_str("LOW")
            'low'
        """
        sequence = text(sequence)
        if not self.is_custom:
            with suppress(JetonError):
                return _core.normalize_texts(self.cell.core_json(), [sequence], ())[0][0]
        return str(self.original().normalize_str(sequence))


class BertNormalizer(Normalizer):
    """BERT's normalizer: cleans the text, separates Chinese characters, strips accents and lowercases.

    Args:
        clean_text: whether control characters are removed, and white space becomes spaces.
        handle_chinese_chars: whether Chinese characters get spaces around them.
        strip_accents: whether accents are removed; None means that they are removed if `lowercase` is true.
        lowercase: whether the text is lowercased.

    Examples:
        >>> BertNormalizer().normalize_str("Lów\\t低")
        'low  低 '
    """

    clean_text = Option(flag, True)
    handle_chinese_chars = Option(flag, True)
    strip_accents = Option(optional(flag), None)
    lowercase = Option(flag, True)


class NFD(Normalizer):
    """Unicode's canonical decomposition."""


class NFKD(Normalizer):
    """Unicode's compatibility decomposition."""


class NFC(Normalizer):
    """Unicode's canonical composition."""


class NFKC(Normalizer):
    """Unicode's compatibility composition."""


class Lowercase(Normalizer):
    """Lowercases the text."""


class StripAccents(Normalizer):
    """Removes combining marks, which `NFD` separates from their letters."""


class Nmt(Normalizer):
    """Removes control characters. Replaces tabs, line breaks, zero-width and a few other characters by spaces."""


class ByteLevel(Normalizer):
    """Replaces each byte of the text by its character of the byte alphabet."""


class Prepend(Normalizer):
    """Prepends a given text to each text that is not empty."""

    prepend = Option(text, "▁")


class Strip(Normalizer):
    """Removes white space at the ends of the text."""

    left = Option(flag, True, key="strip_left")
    right = Option(flag, True, key="strip_right")


def _charsmap(value: Any) -> str:
    if isinstance(value, str):
        raise TypeError("Can't extract `str` to `Vec`")
    try:
        encoded = b64encode(value if isinstance(value, bytes) else bytes(items(_byte)(value))).decode()
        _core.normalize_texts(to_json([{"type": "Precompiled", "precompiled_charsmap": encoded}]), ["a"], ())
    except JetonError:
        raise Exception(
            "Error while attempting to build Precompiled normalizer: Cannot parse precompiled_charsmap"
        ) from None
    return encoded


def _byte(value: Any) -> int:
    if not isinstance(value, int):
        raise wrong(value, "int")
    return value


class Precompiled(Normalizer):
    """The character map of a SentencePiece model.

    Args:
        precompiled_charsmap: the bytes of the map.
    """

    precompiled_charsmap = Option(_charsmap, is_hidden=True)


def no_pattern(pattern: Any) -> Any:
    """Getter of `Replace.pattern` and `Split.pattern`; always raises an error, as in the original."""
    raise Exception("Cannot get pattern")


class Pattern(Option):
    """Option that contains a pattern. Reading or setting it as an attribute raises an error."""

    def __init__(self, name: str) -> None:
        super().__init__(pattern, load=lambda value: Named(next(iter(value)), value), get=no_pattern)
        self._part = name

    def __set__(self, part: Part, value: Any) -> None:
        pattern(value)
        raise Exception(f"Cannot set pattern, please instantiate a new {self._part} pattern instead")


class Replace(Normalizer):
    """Replaces matches of a pattern.

    Args:
        pattern: a string, or a `tokenizers.Regex`.
        content: the replacement.

    Examples:
        >>> Replace(" ", "▁").normalize_str("low er")
        'low▁er'
    """

    pattern = Pattern("replace")
    content = Option(text)


class Sequence(SequencePart, Normalizer):
    """Several normalizers that are applied one after the other.

    Examples:
        >>> parts = Sequence([Strip(), Lowercase()])
        >>> parts.normalize_str(" LOW ")
        'low'
        >>> parts[0].right = False
        >>> parts.normalize_str(" LOW ")
        'low '
    """

    _key, _role = "normalizers", "normalizer"
    normalizers = Option(list, is_hidden=True)

    def __len__(self) -> int:
        return len(self.cell.items or ())


NORMALIZERS = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """Returns the normalizer of a Unicode normalization form: ``"nfc"``, ``"nfd"``, ``"nfkc"`` or ``"nfkd"``.

    Examples:
        >>> unicode_normalizer_from_str("nfc")
        NFC()
    """
    if normalizer not in NORMALIZERS:
        raise ValueError(f"{normalizer} is not a known unicode normalizer. Available are {NORMALIZERS.keys()}")
    return NORMALIZERS[normalizer]()

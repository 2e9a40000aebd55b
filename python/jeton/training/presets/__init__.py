"""Presets: sets of training rules.

The preset of a peer library yields the same merges or pieces as that library, in the same order.

A name selects a preset with the peer's defaults; a class takes options. So ``preset="sentencepiece"`` equals
``preset=SentencePiece()``. Without a preset, `train` applies Jeton's own rules, `Native`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...errors import ConfigError, keyword
from ..request import TrainingRequest
from .base import Learned, LearningContext, Recipe, TrainingPreset
from .hf import Bert, Hf
from .minbpe import MinBpe
from .native import Native
from .sentencepiece import SentencePiece
from .subword_nmt import SubwordNmt
from .unigram import SentencePieceUnigram

__all__ = [
    "PRESETS",
    "Bert",
    "Hf",
    "Learned",
    "LearningContext",
    "MinBpe",
    "Recipe",
    "SentencePiece",
    "SentencePieceUnigram",
    "SubwordNmt",
    "TrainingPreset",
    "TrainingRequest",
    "make",
    "resolve",
]

PRESETS: Mapping[str, type[TrainingPreset]] = {
    **{each.name: each for each in (MinBpe, Hf, SentencePiece, SentencePieceUnigram, SubwordNmt, Bert)},
    "unigram": SentencePieceUnigram,
}
# Options for the preset "unigram". Unlike "sentencepiece-unigram", this preset does not reproduce SentencePiece's bugs,
# accepts lines of any length, and can yield fewer pieces than requested.
_UNIGRAM = {"bug_compatible": False, "hard_vocab_limit": False, "max_sentence_length": 1_073_741_824}


def resolve(preset: str | TrainingPreset | None) -> TrainingPreset:
    """Converts the argument `preset=` to a preset; None becomes `Native`.

    Raises:
        ConfigError: the value is neither a preset nor the name of a preset.

    Examples:
        >>> resolve("hf") == Hf(), resolve(None) == Native(), resolve("unigram") == SentencePieceUnigram()
        (True, True, False)
    """
    if preset is None:
        return Native()
    if isinstance(preset, str):
        return make(preset, {})
    if not isinstance(preset, TrainingPreset):
        raise ConfigError(f"{keyword('preset', preset)} is neither a name nor a preset")
    return preset


def make(name: str, options: Mapping[str, Any]) -> TrainingPreset:
    """Makes a preset from its name and options.

    Raises:
        ConfigError: an unknown preset or option.

    Examples:
        >>> make("sentencepiece", {"split_digits": True}).split_digits
        True
    """
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; presets: {', '.join(PRESETS)}", option="preset")
    known = [each.name for each in fields(PRESETS[name])]
    for option in options:
        if option not in known:
            raise ConfigError(
                f"{keyword('preset', name)} has no option {option!r}; it has {', '.join(known) or 'none'}"
            )
    return PRESETS[name](**{**(_UNIGRAM if name == "unigram" else {}), **options})

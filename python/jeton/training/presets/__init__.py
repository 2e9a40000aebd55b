"""Presets: training with the rules of a peer library, which yields its merges or pieces, in its order.

A name selects a preset with the peer's defaults, its class takes options: ``preset="sentencepiece"`` is
``preset=SentencePiece()``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...errors import ConfigError
from .base import LearnedVocabulary, Recipe, TrainingPreset, TrainingRequest
from .hf import Bert, Hf
from .minbpe import MinBpe
from .sentencepiece import SentencePiece
from .subword_nmt import SubwordNmt
from .unigram import SentencePieceUnigram

__all__ = [
    "PRESETS",
    "Bert",
    "Hf",
    "LearnedVocabulary",
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
    each.name: each for each in (MinBpe, Hf, SentencePiece, SentencePieceUnigram, SubwordNmt, Bert)
}

_ANY_LENGTH = 1_073_741_824  # SentencePiece's maximum


def resolve(preset: str | TrainingPreset | None, algorithm: str) -> TrainingPreset | None:
    """Resolves `preset=` and `algorithm=`.

    Without a preset, ``algorithm="wordpiece"`` is `Bert` and ``"unigram"`` is `SentencePieceUnigram` with other
    defaults: it reproduces no bugs, accepts lines of any length, and accepts fewer pieces than requested.

    Raises:
        ConfigError: an unknown name, or a preset that trains another algorithm.

    Examples:
        >>> resolve("hf", "bpe") == Hf(), resolve(None, "bpe") is None
        (True, True)
    """
    if preset is None and algorithm == "unigram":
        return SentencePieceUnigram(bug_compatible=False, hard_vocab_limit=False, max_sentence_length=_ANY_LENGTH)
    if preset is None:
        return Bert() if algorithm == "wordpiece" else None
    if preset == "sentencepiece" and algorithm == "unigram":
        return SentencePieceUnigram()
    if isinstance(preset, str):
        preset = make(preset, {})
    if not isinstance(preset, TrainingPreset):
        raise ConfigError(f"preset={preset!r} is neither a name nor a preset", option="preset")
    trains = (
        "unigram" if isinstance(preset, SentencePieceUnigram) else "wordpiece" if isinstance(preset, Bert) else "bpe"
    )
    if algorithm not in (trains, "bpe"):
        raise ConfigError(f"preset={preset.name!r} does not train algorithm={algorithm!r}", option="algorithm")
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
                f"preset={name!r} has no option {option!r}; it has {', '.join(known) or 'none'}", option="preset"
            )
    return PRESETS[name](**options)

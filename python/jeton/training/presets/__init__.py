"""Presets: the rules of training. Those of a peer library yield its merges or pieces, in its order.

A name selects a preset with the peer's defaults, its class takes options: ``preset="sentencepiece"`` is
``preset=SentencePiece()``. Without a preset, `train` applies Jeton's own rules, `Native`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...errors import ConfigError
from ...util.arguments import choice
from ..request import TrainingRequest
from .base import Learned, LearningContext, Recipe, TrainingPreset
from .hf import Bert, Hf
from .minbpe import MinBpe
from .native import Native
from .sentencepiece import SentencePiece
from .subword_nmt import SubwordNmt
from .unigram import SentencePieceUnigram

__all__ = [
    "ALGORITHMS",
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
    each.name: each for each in (MinBpe, Hf, SentencePiece, SentencePieceUnigram, SubwordNmt, Bert)
}

ALGORITHMS = ("bpe", "wordpiece", "unigram")
_ANY_LENGTH = 1_073_741_824  # SentencePiece's maximum


def resolve(preset: str | TrainingPreset | None, algorithm: str) -> TrainingPreset:
    """Resolves `preset=` and `algorithm=`.

    Without a preset, ``algorithm="bpe"`` is `Native`, ``"wordpiece"`` is `Bert`, and ``"unigram"`` is
    `SentencePieceUnigram` with other defaults: it reproduces no bugs, accepts lines of any length, and accepts fewer
    pieces than requested.

    Raises:
        ConfigError: an unknown name, or a preset that trains another algorithm.

    Examples:
        >>> resolve("hf", "bpe") == Hf(), resolve(None, "bpe") == Native(), resolve(None, "wordpiece") == Bert()
        (True, True, True)
    """
    choice(algorithm, "algorithm", ALGORITHMS)
    if preset is None:
        match algorithm:
            case "unigram":
                return SentencePieceUnigram(
                    bug_compatible=False, hard_vocab_limit=False, max_sentence_length=_ANY_LENGTH
                )
            case "wordpiece":
                return Bert()
            case _:
                return Native()
    if preset == "sentencepiece" and algorithm == "unigram":
        return SentencePieceUnigram()
    if isinstance(preset, str):
        preset = make(preset, {})
    if not isinstance(preset, TrainingPreset):
        raise ConfigError(f"preset={preset!r} is neither a name nor a preset", option="preset")
    if algorithm not in (preset.algorithm, "bpe"):
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

"""Converts options of `SentencePieceTrainer` (keywords or a command line) to `TrainerSpec` and `NormalizerSpec`.

Source: google/sentencepiece 0.2.3, src/spec_parser.h, src/trainer_interface.cc (behavior).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import ConfigError, keyword
from . import specs

__all__ = ["MODEL_TYPES", "Options", "of_keywords", "of_line", "refuse_unsupported", "value_of"]

MODEL_TYPES = {"UNIGRAM": 1, "BPE": 2, "WORD": 3, "CHAR": 4}
_TRUE = frozenset({"", "true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})
_RANGES = {"int32": (-(2**31), 2**31 - 1), "uint64": (0, 2**64 - 1)}
_IN_NORMALIZER = frozenset({"add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"})
_TRAINER = {field.name: field for field in specs.TRAINER}
_NORMALIZER = {field.name: field for field in specs.NORMALIZER}


class Options(NamedTuple):
    """Values of the given options.

    Attributes:
        trainer: values of `TrainerSpec`.
        normalizer: values of `NormalizerSpec`.
        denormalizer: values of the `NormalizerSpec` for decoded text; empty if no option for decoded text is given.
    """

    trainer: dict[str, Any]
    normalizer: dict[str, Any]
    denormalizer: dict[str, Any]


def of_line(line: str) -> dict[str, str]:
    """Returns the options of a command line; of a repeated option, the first value is used.

    Examples:
        >>> of_line("--input=a.txt --vocab_size=1000 --split_digits")
        {'input': 'a.txt', 'vocab_size': '1000', 'split_digits': ''}
    """
    found: dict[str, str] = {}
    for argument in line.split(" ") if line else ():
        name, _, value = argument.removeprefix("--").partition("=")
        found.setdefault(name, value)
    return found


def of_keywords(given: Mapping[str, Any]) -> Options:
    """Converts keyword arguments to values of `TrainerSpec` and of `NormalizerSpec`.

    Raises:
        RuntimeError: an option is unknown.
        ValueError: a value has the wrong type.

    Examples:
        >>> of_keywords({"vocab_size": "1000", "split_digits": True, "normalization_rule_name": "nfkc"})
        Options(trainer={'vocab_size': 1000, 'split_digits': True}, normalizer={'name': 'nfkc'}, denormalizer={})
    """
    options = Options({}, {}, {})
    for name, value in given.items():
        if name == "normalization_rule_name":
            options.normalizer["name"] = str(value)
        elif name == "denormalization_rule_tsv":
            options.denormalizer["normalization_rule_tsv"] = str(value)
        elif name == "minloglevel":
            _number(name, str(value), "int32")
        elif name in _TRAINER:
            if not _TRAINER[name].is_deprecated:
                options.trainer[name] = value_of(_TRAINER[name], value)
        elif name == "precompiled_charsmap":
            raise ConfigError(f"precompiled_charsmap is not supported; pass {keyword('normalizer')}", option=name)
        elif name in _NORMALIZER:
            options.normalizer[name] = value_of(_NORMALIZER[name], value)
        else:
            raise RuntimeError(f"SentencePieceTrainer has no option {name!r}")
    return options


def value_of(field: specs.Field, value: Any) -> Any:
    """Converts the value of an option, which can be given as text, to the type of its field.

    Raises:
        ValueError: the value has the wrong type.
    """
    if field.repeated:
        if isinstance(value, list):
            return [str(item) for item in value]
        return [item for row in csv.reader([str(value)]) for item in row]
    text = str(value)
    match field.kind:
        case "bool":
            if text.lower() not in _TRUE | _FALSE:
                raise ValueError(f"{field.name}={text!r} is neither true nor false")
            return text.lower() in _TRUE
        case "float":
            try:
                return float(text)
            except ValueError:
                raise ValueError(f"{field.name}={text!r} is not a number") from None
        case "int32" | "uint64":
            return _number(field.name, text, field.kind)
        case ".sentencepiece.TrainerSpec.ModelType":
            if text.upper() not in MODEL_TYPES:
                raise ValueError(f"{field.name}={text!r} is not one of {', '.join(MODEL_TYPES).lower()}")
            return MODEL_TYPES[text.upper()]
    return text


def _number(name: str, text: str, kind: str) -> int:
    low, high = _RANGES[kind]
    try:
        number = int(text)
    except ValueError:
        raise ValueError(f"{name}={text!r} is not an integer") from None
    if not low <= number <= high:
        raise ValueError(f"{name}={text} is out of range")
    return number


def refuse_unsupported(trainer: Mapping[str, Any]) -> None:
    """Rejects options that are not supported; the error names them.

    Raises:
        ConfigError: an unsupported option has another value than its default.
    """
    reasons = {
        "seed_sentencepieces_file": "seeds come from the corpus",
        "auto_character_coverage": "pass character_coverage",
    }
    for name, reason in reasons.items():
        if trainer.get(name):
            raise ConfigError(f"{name} is not supported: {reason}", option=name)
    if trainer.get("input_format") == "tsv":
        raise ConfigError(f"{keyword('input_format', 'tsv')} is not supported: pass each line as often as it counts")
    if trainer.get("input_sentence_size", 0) > 0 and trainer.get("shuffle_input_sentence", True):
        raise ConfigError(
            "input_sentence_size with shuffle_input_sentence draws lines with the random number generator of "
            "the C++ library, which is not supported; pass {keyword('shuffle_input_sentence', False)} for the "
            "first ones",
            option="input_sentence_size",
        )

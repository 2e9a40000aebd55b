"""Fields of `TrainerSpec` and `NormalizerSpec`, and their serialization by the core's codec.

Source: google/sentencepiece src/sentencepiece_model.proto (names, numbers, defaults).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ... import _core

__all__ = ["NORMALIZER", "TRAINER", "Field", "parse", "serialize"]


class Field(NamedTuple):
    """A field of a message.

    Attributes:
        name: name of the field.
        number: number of the field.
        kind: a scalar type, or the name of another type, which begins with a dot.
        default: default of the field; None means the default of its type.
        repeated: whether the value is a list.
        is_deprecated: whether the field is accepted, but ignored.
    """

    name: str
    number: int
    kind: str
    default: Any = None
    repeated: bool = False
    is_deprecated: bool = False


TRAINER = (
    Field("input", 1, "string", repeated=True),
    Field("input_format", 7, "string"),
    Field("model_prefix", 2, "string"),
    Field("model_type", 3, ".sentencepiece.TrainerSpec.ModelType", "UNIGRAM"),
    Field("vocab_size", 4, "int32", 8000),
    Field("character_coverage", 10, "float", 0.9995),
    Field("input_sentence_size", 11, "uint64", 0),
    Field("shuffle_input_sentence", 19, "bool", True),
    Field("seed_sentencepiece_size", 14, "int32", 1_000_000),
    Field("shrinking_factor", 15, "float", 0.75),
    Field("max_sentence_length", 18, "int32", 4192),
    Field("num_threads", 16, "int32", 16),
    Field("num_sub_iterations", 17, "int32", 2),
    Field("max_sentencepiece_length", 20, "int32", 16),
    Field("split_by_unicode_script", 21, "bool", True),
    Field("split_by_number", 23, "bool", True),
    Field("split_by_whitespace", 22, "bool", True),
    Field("treat_whitespace_as_suffix", 24, "bool", False),
    Field("allow_whitespace_only_pieces", 26, "bool", False),
    Field("split_digits", 25, "bool", False),
    Field("pretokenization_delimiter", 53, "string", ""),
    Field("control_symbols", 30, "string", repeated=True),
    Field("user_defined_symbols", 31, "string", repeated=True),
    Field("required_chars", 36, "string"),
    Field("byte_fallback", 35, "bool", False),
    Field("vocabulary_output_piece_score", 32, "bool", True),
    Field("hard_vocab_limit", 33, "bool", True),
    Field("use_all_vocab", 34, "bool", False),
    Field("unk_id", 40, "int32", 0),
    Field("bos_id", 41, "int32", 1),
    Field("eos_id", 42, "int32", 2),
    Field("pad_id", 43, "int32", -1),
    Field("unk_piece", 45, "string", "<unk>"),
    Field("bos_piece", 46, "string", "<s>"),
    Field("eos_piece", 47, "string", "</s>"),
    Field("pad_piece", 48, "string", "<pad>"),
    Field("unk_surface", 44, "string", " \u2047 "),
    Field("seed_sentencepieces_file", 54, "string", ""),
    Field("auto_character_coverage", 55, "bool", False),
    Field("accept_language", 5, "string", repeated=True, is_deprecated=True),
    Field("self_test_sample_size", 6, "int32", 0, is_deprecated=True),
    Field("mining_sentence_size", 12, "int32", is_deprecated=True),
    Field("training_sentence_size", 13, "int32", is_deprecated=True),
    Field("train_extremely_large_corpus", 49, "bool", False, is_deprecated=True),
    Field("enable_differential_privacy", 50, "bool", False, is_deprecated=True),
    Field("differential_privacy_noise_level", 51, "float", 0.0, is_deprecated=True),
    Field("differential_privacy_clipping_threshold", 52, "uint64", 0, is_deprecated=True),
)
NORMALIZER = (
    Field("name", 1, "string"),
    Field("precompiled_charsmap", 2, "bytes"),
    Field("add_dummy_prefix", 3, "bool", True),
    Field("remove_extra_whitespaces", 4, "bool", True),
    Field("escape_whitespaces", 5, "bool", True),
    Field("normalization_rule_tsv", 6, "string"),
)


def serialize(fields: Sequence[Field], values: Mapping[str, Any]) -> bytes:
    """Serializes the values of fields as a message, in the order of field numbers; omits fields without a value.

    Examples:
        >>> serialize(NORMALIZER, {"add_dummy_prefix": False, "name": "nfkc"})
        b'\\n\\x04nfkc\\x18\\x00'
    """
    found: list[tuple[int, int | float | bytes]] = []
    for field in sorted(fields, key=lambda field: field.number):
        if field.name in values:
            value = values[field.name]
            found += ((field.number, _wire(field.kind, item)) for item in (value if field.repeated else (value,)))
    return _core.write_message(found)


def _wire(kind: str, value: Any) -> int | float | bytes:
    if kind in ("string", "bytes"):
        return value.encode() if isinstance(value, str) else bytes(value)
    return float(value) if kind == "float" else int(value) & (1 << 64) - 1


def parse(fields: Sequence[Field], data: bytes) -> dict[str, Any]:
    """Returns the values of fields in a serialized message.

    Raises:
        ValueError: the data is not a message.

    Examples:
        >>> parse(NORMALIZER, b"\\n\\x04nfkc\\x18\\x00")
        {'name': 'nfkc', 'add_dummy_prefix': False}
    """
    by_number = {field.number: field for field in fields}
    found: dict[str, Any] = {}
    for number, value in _core.read_message(data):
        field = by_number.get(number)
        if field is None:
            continue
        if isinstance(value, bytes) != (field.kind in ("string", "bytes")):
            raise ValueError(f"{field.name} has another type")
        converted = value.decode("utf-8", "replace") if isinstance(value, bytes) and field.kind == "string" else value
        converted = bool(value) if field.kind == "bool" else converted
        if field.repeated:
            found.setdefault(field.name, []).append(converted)
        else:
            found[field.name] = converted
    return found

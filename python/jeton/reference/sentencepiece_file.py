"""Reads and writes the pieces of SentencePiece's `.model` files, for lessons 18 to 20.

A `.model` is a message of Protocol Buffers: a series of numbered fields. Each field 1 is a piece: a message with its
text (field 1), its score (2) and its kind (3). Field 2 has the kind of model, field 3 the normalizer.

>>> read_model(write_model({"▁a": (-0.5, "normal")}, "bpe"))
{'<unk>': (0.0, 'unknown'), '▁a': (-0.5, 'normal')}

Left out: the tables of normalizers. Source: google/sentencepiece, src/sentencepiece_model.proto (field numbers).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["model_type", "read_model", "write_model"]

KINDS = ("normal", "unknown", "control", "user_defined", "unused", "byte")  # numbered from 1
MODEL_TYPES = ("unigram", "bpe", "word", "char")  # numbered from 1


def write_model(
    pieces: Mapping[str, tuple[float, str]], model_type: str, *, byte_fallback: bool = False, normalize: bool = False
) -> bytes:
    """Write a `.model`. `<unk>` becomes id 0, unless `pieces` has a piece of the kind unknown.

    Args:
        pieces: Score and kind of each piece, in the order of their ids.
        model_type: One of `MODEL_TYPES`.
        byte_fallback: Whether unknown characters become byte pieces.
        normalize: Whether white space is collapsed and written as `▁`, and a `▁` is added before the text. False:
            texts are unchanged.

    Examples:
        >>> write_model({"a": (0.0, "normal")}, "bpe")[:9].hex(" ")
        '0a 0e 0a 05 3c 75 6e 6b 3e'
    """
    if not any(kind == "unknown" for _, kind in pieces.values()):
        pieces = {"<unk>": (0.0, "unknown"), **pieces}
    fields: list[tuple[int, bytes | float]] = []
    for name, (score, kind) in pieces.items():
        fields.append((1, _message((1, name.encode()), (2, float(score)), (3, KINDS.index(kind) + 1))))
    fields.append((2, _message((3, MODEL_TYPES.index(model_type) + 1), (35, byte_fallback))))
    # fields: the name; add_dummy_prefix; remove_extra_whitespaces; escape_whitespaces
    fields.append((3, _message((1, b"identity"), (3, normalize), (4, normalize), (5, normalize))))
    return _message(*fields)


def read_model(data: bytes) -> dict[str, tuple[float, str]]:
    """Read score and kind of each piece, in the order of their ids.

    Examples:
        >>> read_model(write_model({"<s>": (0.0, "unknown"), "a": (-1.0, "unused")}, "unigram"))
        {'<s>': (0.0, 'unknown'), 'a': (-1.0, 'unused')}
    """
    pieces = (dict(_fields(message)) for key, message in _fields(data) if key == 1)
    # absent fields have their defaults
    return {piece[1].decode(): (piece.get(2, 0.0), KINDS[piece.get(3, 1) - 1]) for piece in pieces}


def model_type(data: bytes) -> str:
    """Read the kind of a model, one of `MODEL_TYPES`.

    Examples:
        >>> model_type(write_model({}, "bpe"))
        'bpe'
    """
    trainer = next((dict(_fields(message)) for key, message in _fields(data) if key == 2), {})
    return MODEL_TYPES[trainer.get(3, 1) - 1]


def _number(value: int) -> bytes:
    """Write an integer in groups of seven bits, the lowest first; all but the last have the highest bit set."""
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _number(value >> 7)


def _message(*fields: tuple[int, bytes | float]) -> bytes:
    """Write fields of a message: bytes preceded by their length, a float as four bytes, an integer as a varint."""
    data = b""
    for key, value in fields:
        if isinstance(value, bytes):
            data += _number(key << 3 | 2) + _number(len(value)) + value
        elif isinstance(value, float):
            data += _number(key << 3 | 5) + struct.pack("<f", value)
        else:
            data += _number(key << 3) + _number(value)
    return data


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Read the fields of a message."""
    at = 0

    def number() -> int:
        nonlocal at
        byte, at = data[at], at + 1
        return byte & 127 | number() << 7 if byte > 127 else byte

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or number()
            value, at = data[at : at + size], at + size
            yield key >> 3, struct.unpack("<f", value)[0] if size == 4 and key & 7 == 5 else value

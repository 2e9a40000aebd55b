"""Files of SentencePiece, piece by piece."""

from __future__ import annotations

import struct
from collections.abc import Iterable


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def piece(text: str, score: float = 0.0, kind: int = 1) -> bytes:
    """A piece; kinds: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte."""
    return _field(1, _field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + _varint(kind))


def model_file(pieces: Iterable[bytes], model_type: int) -> bytes:
    """A model without normalization, whose first piece is unknown; types: 1 Unigram, 2 BPE, 3 words, 4 characters."""
    trainer, normalizer = b"\x18" + _varint(model_type), _field(1, b"identity") + b"\x18\x00\x20\x00\x28\x00"
    return b"".join([piece("<unk>", 0, 2), *pieces, _field(2, trainer), _field(3, normalizer)])

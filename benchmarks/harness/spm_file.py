"""Writes the SentencePiece model that a `tokenizer.json` was converted from, for engines that read only that.

Covers what Phi-3's file holds: pieces, merges in order of the scores they had, byte fallback, a dummy prefix and no
other normalization. The wire format is protobuf's; fields as in sentencepiece_model.proto.
"""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

__all__ = ["write_model"]

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6


def write_model(source: Path, made: Path, model_kind: int) -> Path:
    """The model of `source`'s vocabulary, without what was added to it later."""
    facts = json.loads(source.read_text("utf-8"))
    vocab: dict[str, int] = facts["model"]["vocab"]
    unknown = facts["model"]["unk_token"]
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in facts["model"]["merges"]]
    rank: dict[str, int] = {}
    for left, right in merges:
        rank.setdefault(left + right, len(rank))
    data = b""
    for piece, id in sorted(vocab.items(), key=lambda item: item[1]):
        if piece == unknown:
            kind = UNKNOWN
        elif piece in ("<s>", "</s>"):
            kind = CONTROL
        else:
            kind = BYTE if re.fullmatch("<0x[0-9A-F]{2}>", piece) else NORMAL
        score = -float(rank.get(piece, len(rank))) if kind == NORMAL else 0.0
        data += message(1, text(1, piece) + field(2, 5, struct.pack("<f", score)) + number(3, kind))
    trainer = number(3, model_kind) + number(35, 1)  # model_type, byte_fallback
    normalizer = text(1, "identity") + number(3, 1) + number(4, 0) + number(5, 1)  # prefix, spaces kept, escaped
    made.write_bytes(data + message(2, trainer) + message(3, normalizer))
    return made


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def field(index: int, wire: int, payload: bytes) -> bytes:
    return varint(index << 3 | wire) + payload


def number(index: int, value: int) -> bytes:
    return field(index, 0, varint(value))


def message(index: int, payload: bytes) -> bytes:
    return field(index, 2, varint(len(payload)) + payload)


def text(index: int, value: str) -> bytes:
    return message(index, value.encode("utf-8"))

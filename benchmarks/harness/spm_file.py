"""Reconstructs the SentencePiece model of a converted `tokenizer.json`, for engines that read only models.

Supports the features of Phi-3's and T5's files. Phi-3: BPE pieces, merges in the order of their original scores, byte
fallback, and a dummy prefix as the only normalization. T5: Unigram pieces with 32-bit scores, the character map, and
collapsing of white space. The wire format is protobuf; fields as in sentencepiece_model.proto.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["write_model"]

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
UNIGRAM, BPE = 1, 2
CONTROLS = ("<s>", "</s>", "<pad>")


def write_model(source: Path, made: Path) -> Path:
    """Writes the model of the vocabulary of `source`, without added tokens."""
    facts = json.loads(source.read_text("utf-8"))
    is_bpe = "merges" in facts["model"]
    pieces = of_merges(facts["model"]) if is_bpe else of_scores(facts["model"])
    data = b"".join(
        message(1, text(1, piece) + field(2, 5, struct.pack("<f", score)) + number(3, kind))
        for piece, score, kind in pieces
    )
    trainer = number(3, BPE if is_bpe else UNIGRAM) + number(35, int(is_bpe))  # model_type, byte_fallback
    chars = b"" if is_bpe else base64.b64decode(facts["normalizer"]["precompiled_charsmap"])
    collapse = int(not is_bpe)
    normalizer = text(1, "converted") + message(2, chars) + number(3, 1) + number(4, collapse) + number(5, 1)
    made.write_bytes(data + message(2, trainer) + message(3, normalizer))
    return made


def of_merges(model: dict[str, Any]) -> Iterator[tuple[str, float, int]]:
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    rank: dict[str, int] = {}
    for left, right in merges:
        rank.setdefault(left + right, len(rank))
    for piece in sorted(model["vocab"], key=model["vocab"].__getitem__):
        if piece in (*CONTROLS, model["unk_token"]):
            yield piece, 0.0, UNKNOWN if piece == model["unk_token"] else CONTROL
        elif re.fullmatch("<0x[0-9A-F]{2}>", piece):
            yield piece, 0.0, BYTE
        else:
            yield piece, -float(rank.get(piece, len(rank))), NORMAL


def of_scores(model: dict[str, Any]) -> Iterator[tuple[str, float, int]]:
    for id, (piece, score) in enumerate(model["vocab"]):
        if not piece.startswith("<extra_id_"):  # added by T5 at the end
            special = UNKNOWN if id == model["unk_id"] else CONTROL
            yield piece, score, special if id == model["unk_id"] or piece in CONTROLS else NORMAL


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

"""SentencePiece model files, written piece by piece."""

from __future__ import annotations

from collections.abc import Iterable

from jeton._core import write_message as message


def piece(text: str, score: float = 0.0, kind: int = 1) -> bytes:
    """A piece; kinds: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte."""
    return message([(1, message([(1, text.encode()), (2, float(score)), (3, kind)]))])


def model_file(pieces: Iterable[bytes], model_type: int, *, byte_fallback: bool = False) -> bytes:
    """A model without normalization, whose first piece is unknown; types: 1 Unigram, 2 BPE, 3 words, 4 characters."""
    return b"".join([piece("<unk>", 0, 2), *pieces, specs(model_type, byte_fallback=byte_fallback)])


def specs(model_type: int, *, byte_fallback: bool = False) -> bytes:
    """The end of a model: its options; no prefix, nothing removed, nothing escaped."""
    normalizer = message([(1, b"identity"), (3, 0), (4, 0), (5, 0)])
    return message([(2, message([(3, model_type), (35, byte_fallback)])), (3, normalizer)])

"""The messages of a model file. Needs protobuf.

Examples:
    >>> TrainerSpec().vocab_size, ModelProto.SentencePiece.BYTE
    (8000, 6)
"""

from __future__ import annotations

from .messages import classes

__all__ = ["DESCRIPTOR", "ModelProto", "NormalizerSpec", "TrainerSpec"]

_CLASSES = classes("sentencepiece_model")
DESCRIPTOR = _CLASSES["DESCRIPTOR"]
TrainerSpec = _CLASSES["TrainerSpec"]
NormalizerSpec = _CLASSES["NormalizerSpec"]
ModelProto = _CLASSES["ModelProto"]

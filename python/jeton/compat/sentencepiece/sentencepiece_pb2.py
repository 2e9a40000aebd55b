"""Classes of the protobuf messages that describe an encoded or decoded text. Needs protobuf.

Examples:
    >>> SentencePieceText(text="low").text
    'low'
"""

from __future__ import annotations

from .messages import classes

__all__ = ["DESCRIPTOR", "NBestSentencePieceText", "SentencePieceText"]

_CLASSES = classes("sentencepiece")
DESCRIPTOR = _CLASSES["DESCRIPTOR"]
SentencePieceText = _CLASSES["SentencePieceText"]
NBestSentencePieceText = _CLASSES["NBestSentencePieceText"]

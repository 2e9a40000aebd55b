"""SentencePiece's protobuf messages, created at run time from tables of their fields.

They are in a separate descriptor pool, so that they do not collide with those of other packages. Needs protobuf.

Source: google/sentencepiece src/sentencepiece.proto, src/sentencepiece_model.proto (names, numbers, defaults).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from ...errors import MissingDependencyError
from .specs import NORMALIZER, TRAINER, Field

__all__ = ["classes"]

PACKAGE = "sentencepiece"

_PIECE = (
    Field("piece", 1, "string"),
    Field("score", 2, "float"),
    Field("type", 3, ".sentencepiece.ModelProto.SentencePiece.Type", "NORMAL"),
)
_MODEL = (
    Field("pieces", 1, ".sentencepiece.ModelProto.SentencePiece", repeated=True),
    Field("trainer_spec", 2, ".sentencepiece.TrainerSpec"),
    Field("normalizer_spec", 3, ".sentencepiece.NormalizerSpec"),
    Field("denormalizer_spec", 5, ".sentencepiece.NormalizerSpec"),
)
_TEXT_PIECE = (
    Field("piece", 1, "string"),
    Field("id", 2, "uint32"),
    Field("surface", 3, "string"),
    Field("begin", 4, "uint32"),
    Field("end", 5, "uint32"),
)
_TEXT = (
    Field("text", 1, "string"),
    Field("pieces", 2, ".sentencepiece.SentencePieceText.SentencePiece", repeated=True),
    Field("score", 3, "float"),
)
_NBEST = (Field("nbests", 1, ".sentencepiece.SentencePieceText", repeated=True),)

_MODEL_TYPES = {"UNIGRAM": 1, "BPE": 2, "WORD": 3, "CHAR": 4}
_PIECE_TYPES = {"NORMAL": 1, "UNKNOWN": 2, "CONTROL": 3, "USER_DEFINED": 4, "BYTE": 6, "UNUSED": 5}
_ENUMS = (".sentencepiece.TrainerSpec.ModelType", ".sentencepiece.ModelProto.SentencePiece.Type")

_EXTENSIONS = (200, 536_870_912)


def _add(message: Any, name: str, fields: Iterable[Field], *, extends: bool = True) -> Any:
    """Adds a message type to a file's descriptor."""
    kind = message.add()
    kind.name = name
    for field in fields:
        added = kind.field.add(name=field.name, number=field.number, label=3 if field.repeated else 1)
        if field.kind.startswith("."):
            added.type = 14 if field.kind in _ENUMS else 11
            added.type_name = field.kind
        else:
            added.type = _SCALARS[field.kind]
        if field.default is not None:
            added.default_value = _spelled(field.default)
        if field.is_deprecated:
            added.options.deprecated = True
    if extends:
        kind.extension_range.add(start=_EXTENSIONS[0], end=_EXTENSIONS[1])
    return kind


_SCALARS = {"float": 2, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "bytes": 12, "uint32": 13}


def _spelled(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


def _add_enum(kind: Any, name: str, values: dict[str, int]) -> None:
    enum = kind.enum_type.add(name=name)
    for value, number in values.items():
        enum.value.add(name=value, number=number)


def _text_file(file: Any) -> None:
    text = _add(file.message_type, "SentencePieceText", _TEXT)
    _add(text.nested_type, "SentencePiece", _TEXT_PIECE)
    _add(file.message_type, "NBestSentencePieceText", _NBEST, extends=False)


def _model_file(file: Any) -> None:
    trainer = _add(file.message_type, "TrainerSpec", TRAINER)
    _add_enum(trainer, "ModelType", _MODEL_TYPES)
    _add(file.message_type, "NormalizerSpec", NORMALIZER)
    model = _add(file.message_type, "ModelProto", _MODEL)
    model.reserved_range.add(start=4, end=5)
    piece = _add(model.nested_type, "SentencePiece", _PIECE)
    _add_enum(piece, "Type", _PIECE_TYPES)


_FILES = {"sentencepiece": _text_file, "sentencepiece_model": _model_file}


@cache
def classes(name: str) -> dict[str, Any]:
    """Returns the descriptor and the message classes of a file: name → object.

    Args:
        name: ``"sentencepiece"`` or ``"sentencepiece_model"``.

    Raises:
        MissingDependencyError: protobuf is not installed.

    Examples:
        >>> sorted(classes("sentencepiece"))
        ['DESCRIPTOR', 'NBestSentencePieceText', 'SentencePieceText']
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise MissingDependencyError("the messages of SentencePiece need protobuf: pip install protobuf") from None
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package=PACKAGE)
    _FILES[name](file)
    file.options.optimize_for = descriptor_pb2.FileOptions.LITE_RUNTIME
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    found = pool.FindFileByName(file.name)
    made = {
        kind: message_factory.GetMessageClass(descriptor) for kind, descriptor in found.message_types_by_name.items()
    }
    return {"DESCRIPTOR": found, **made}

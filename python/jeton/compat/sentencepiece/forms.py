"""Forms of results (`return_type`), and shapes of the input of `decode`."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = [
    "READY",
    "SPELLED",
    "TEXT",
    "Shape",
    "decoded",
    "encoded",
    "finished",
    "finished_nbest",
    "resolve",
    "shape_of",
]

# Form of a result → number of the form in the core.
_ENCODED = {int: 0, "numpy": 1, str: 2, bytes: 3, "serialized_proto": 4, "proto": 4}
_DECODED = {str: 2, bytes: 3, "serialized_proto": 4, "proto": 4}
TEXT = 2
_MAPPING, _BYTE_MAPPING = 5, 6
_FORMS = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")

# Forms of results in which each token has its text, not only its id.
SPELLED = frozenset({str, bytes, "proto", "serialized_proto", "offset_mapping"})

# Forms in which the core already returns results, so that they need no conversion.
READY = frozenset({int, str, bytes, "serialized_proto", "offset_mapping"})


def resolve(return_type: Any, out_type: Any, default: Any) -> Any:
    """Returns the form of results, which can be given by either of two options; `default` if neither is given.

    Raises:
        ValueError: both are given, or the form is unknown.

    Examples:
        >>> resolve(None, str, int)
        <class 'str'>
    """
    if out_type is not None:
        if return_type is not None:
            raise ValueError("return_type and out_type are the same option; pass return_type only")
        return_type = out_type
    if return_type is None:
        return_type = default
    if isinstance(return_type, str) and return_type == "immutable_proto":
        raise ValueError("return_type='immutable_proto' is not supported; pass 'proto'")
    if return_type not in _FORMS:
        raise ValueError(f"return_type={return_type!r} is not supported; supported: {_FORMS}")
    return return_type


def encoded(form: Any, input: Any, return_bytes: Any) -> int:
    """Returns the core's number for a form of encoded text. If `return_bytes` is None, the type of the input decides.

    Examples:
        >>> encoded(int, "text", None), encoded("offset_mapping", b"text", None)
        (0, 6)
    """
    if form != "offset_mapping":
        return _ENCODED[form]
    if return_bytes is None:
        first = input[0] if isinstance(input, list) and input else input
        return_bytes = isinstance(first, bytes)
    return _BYTE_MAPPING if return_bytes else _MAPPING


def decoded(form: Any, return_bytes: Any) -> int:
    """Returns the core's number for a form of decoded text.

    Raises:
        ValueError: decoded texts have no such form.

    Examples:
        >>> decoded(bytes, None)
        3
    """
    if form == "offset_mapping":
        return _BYTE_MAPPING if return_bytes else _MAPPING
    if form not in _DECODED:
        raise ValueError(f"return_type={form!r} is not supported for decoded text")
    return _DECODED[form]


def finished(form: Any, result: Any, is_batch: bool) -> Any:
    """Converts the core's result to the form `form`.

    For "numpy", buffers become arrays. For "proto", bytes become protobuf messages. Other results are not changed.

    Raises:
        MissingDependencyError: the form is "proto", and protobuf is not installed.
    """
    if form == "numpy":
        import numpy as np

        return [np.frombuffer(row, np.int32) for row in result] if is_batch else np.frombuffer(result, np.int32)
    if form == "proto":
        parse = _messages().SentencePieceText.FromString
        return list(map(parse, result)) if is_batch else parse(result)
    return result


def finished_nbest(form: Any, result: Any, is_batch: bool) -> Any:
    """Applies `finished` to the n best segmentations of one text or of several."""
    if form == "numpy":
        return [finished(form, rows, True) for rows in result] if is_batch else finished(form, result, True)
    if form == "proto":
        parse = _messages().NBestSentencePieceText.FromString
        return list(map(parse, result)) if is_batch else parse(result)
    return result


def _messages() -> Any:
    from . import sentencepiece_pb2

    return sentencepiece_pb2


class Shape(NamedTuple):
    """Shape of the input of `decode`.

    Attributes:
        input: a list of ids or pieces, or several such lists.
        is_batch: whether there are several lists.
        method: method of the core's model that decodes the input.
    """

    input: Any
    is_batch: bool
    method: str


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def _has_pieces(row: Any) -> bool:
    return len(row) > 0 and not hasattr(row, "dtype") and isinstance(row[0], str | bytes)


def shape_of(input: Any) -> Shape:
    """Recognizes the shape of an input of `decode`.

    The input can be a list or a batch of lists. The first list that is not empty shows whether the input consists of
    ids or of pieces.

    Examples:
        >>> shape_of([["▁a"], []]).method, shape_of(3).input
        ('decode_pieces_batch', [3])
    """
    if input is None or (isinstance(input, str | bytes) and not input):
        input = []
    elif not _is_sequence(input):
        input = [input]
    is_batch = input.ndim > 1 if hasattr(input, "ndim") else len(input) > 0 and _is_sequence(input[0])
    row = next((row for row in input if _is_sequence(row) and len(row) > 0), ()) if is_batch else input
    kind = "pieces" if _has_pieces(row) else "ids"
    return Shape(input, is_batch, f"decode_{kind}_batch" if is_batch else f"decode_{kind}")

"""Methods of sentencepiece's extension module that the tests of sentencepiece call.

These methods decode batches of a known shape.

Source: google/sentencepiece 0.2.3, python/src/sentencepiece/sentencepiece_pybind.cc (behavior).
"""

from __future__ import annotations

from typing import Any

from . import forms
from .runtime import num_workers

__all__ = ["Binding"]


class Binding:
    """Replacement for the extension module's object that each sentencepiece processor keeps as ``_processor``.

    Args:
        model: the core's model.
    """

    __slots__ = ("_model",)

    def __init__(self, model: Any) -> None:
        self._model = model

    def _pieces(self, form: Any, batch: Any, num_threads: int, thread_pool: Any) -> Any:
        threads = num_workers(num_threads, thread_pool)
        return self._model.decode_pieces_batch(batch, forms.decoded(form, None), threads)

    def _DecodePiecesBatch(self, batch: Any, num_threads: int, thread_pool: Any) -> Any:  # noqa: N802
        return self._pieces(str, batch, num_threads, thread_pool)

    def _DecodePiecesAsBytesBatch(self, batch: Any, num_threads: int, thread_pool: Any) -> Any:  # noqa: N802
        return self._pieces(bytes, batch, num_threads, thread_pool)

    def _DecodePiecesAsSerializedProtoBatch(self, batch: Any, num_threads: int, thread_pool: Any) -> Any:  # noqa: N802
        return self._pieces("serialized_proto", batch, num_threads, thread_pool)

    def _DecodeAsOffsetMappingBatch(  # noqa: N802
        self, batch: Any, num_threads: int, thread_pool: Any, return_bytes: bool
    ) -> Any:
        rows = [batch[index] for index in range(len(batch))]
        shape = forms.shape_of(rows)
        threads = num_workers(num_threads, thread_pool)
        method = getattr(self._model, shape.method)
        return method(rows, forms.decoded("offset_mapping", return_bytes), threads)

"""Decodes many sequences of ids to texts or bytes: `Tokenizer.decode_batch` and `decode_bytes_batch`.

The core decodes, on several threads. Left out: decoding one sequence (`tokenizer`) and ids that arrive one by one
(`_core`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import Tokenizer as Core
from ..util.arguments import wrong
from .batch import TokenBatch
from .text_errors import InvalidUtf8, not_utf8

__all__ = ["BatchDecoder"]


@dataclass(frozen=True, slots=True)
class BatchDecoder:
    """A tokenizer, together with the options of one call of `decode_batch` or `decode_bytes_batch`.

    Attributes:
        core: the tokenizer.
        threads: maximum number of threads.
        skip_special: whether special tokens are omitted.
    """

    core: Core
    threads: int
    skip_special: bool

    def texts(self, batch: TokenBatch | Iterable[Any], invalid_utf8: InvalidUtf8) -> list[str]:
        """Implements `Tokenizer.decode_batch`."""
        if invalid_utf8 not in ("replace", "strict", "ignore"):
            raise wrong("invalid_utf8", invalid_utf8, '"replace", "strict" or "ignore"')
        if invalid_utf8 == "replace":
            return self._decoded(batch, as_text=True)
        found = []
        for at, data in enumerate(self.bytes(batch)):
            try:
                found.append(data.decode("utf-8", invalid_utf8))
            except UnicodeDecodeError as error:
                failed = not_utf8(error)
                failed.prefix(f"text {at} of the batch: ")
                failed.index = at
                raise failed from None
        return found

    def bytes(self, batch: TokenBatch | Iterable[Any]) -> list[bytes]:
        """Implements `Tokenizer.decode_bytes_batch`."""
        return self._decoded(batch, as_text=False)

    def _decoded(self, batch: TokenBatch | Iterable[Any], *, as_text: bool) -> list[Any]:
        if isinstance(batch, TokenBatch) and batch.ids.dtype == np.uint32:
            data = np.ascontiguousarray(batch.ids, "<u4").view(np.uint8)
            offsets = batch.offsets.tolist()
            return self.core.decode_rows(data, offsets, self.threads, as_text=as_text, skip_special=self.skip_special)
        rows = [_list_of_ids(row, at) for at, row in enumerate(_rows(batch))]
        return self.core.decode_lists(rows, self.threads, as_text=as_text, skip_special=self.skip_special)


def _rows(batch: Iterable[Any]) -> Iterable[Any]:
    """Returns the batch, after checking that it is iterable."""
    if not isinstance(batch, Iterable):
        raise TypeError(f"a batch must be a sequence of sequences of ids, not {type(batch).__name__}")
    return batch


def _list_of_ids(row: Any, at: int) -> list[int]:
    if isinstance(row, list):
        return row
    if getattr(row, "dtype", None) is not None:
        row = row.tolist()
    if not isinstance(row, Iterable) or isinstance(row, str):
        raise TypeError(f"batch[{at}] must be a sequence of integers, not {type(row).__name__}")
    return list(row)

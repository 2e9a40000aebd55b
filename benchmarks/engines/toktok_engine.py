"""toktok: two vocabularies in the wheel; calls its private encoder, as its own benchmark does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import toktok
from numpy.typing import NDArray

from .base import Base, Ids, Unsupported

__all__ = ["Engine"]


class Engine(Base):
    def load(self, vocab: dict[str, Any]) -> None:
        if vocab["name"] not in ("cl100k_base", "o200k_base"):
            raise Unsupported("it has cl100k_base and o200k_base")
        self.tok = toktok._encoding(vocab["name"])

    def encode_batch(self, docs: list[str]) -> Any:
        return self.tok.encode_batch_to_numpy(docs, self.threads)

    def batch_ids(self, result: Any) -> Ids:
        ids, offsets = result
        return ids, np.diff(np.asarray(offsets, dtype=np.int64))

    def encode_one(self, text: str) -> Any:
        return self.tok.encode_to_numpy(text, disallowed_special=())

    def list_call(self) -> Callable[[str], list[int]]:
        return self.tok.encode_ordinary

    def array_call(self) -> Callable[[str], Any]:
        return self.tok.encode_to_numpy

    def count_call(self) -> Callable[[str], int]:
        return self.tok.count

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        return lambda docs: [self.tok.encode_ordinary(doc) for doc in docs]

    def few_ids_call(self) -> Callable[[list[int]], str]:
        return self.tok.decode

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        as_list = ids.tolist()
        return lambda: self.tok.decode_bytes(as_list)

"""splintr: lists, or bytes for numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import splintr
from numpy.typing import NDArray

from .base import Base, Ids, Unsupported

__all__ = ["Engine"]

PATTERNS = {
    "cl100k_base": splintr.CL100K_BASE_PATTERN,
    "o200k_base": splintr.O200K_BASE_PATTERN,
    "llama3": splintr.LLAMA3_PATTERN,
    "r50k_base": splintr.GPT2_PATTERN,
}


class Engine(Base):
    def load(self, vocab: dict[str, Any]) -> None:
        if vocab["name"] not in PATTERNS:
            raise Unsupported("its flat calls add what a template adds, so it is asked for rank files")
        self.tok = splintr.Tokenizer.from_bytes(Path(vocab["ranks"]).read_bytes(), PATTERNS[vocab["name"]])

    def encode_batch(self, docs: list[str]) -> Any:
        ids, offsets = self.tok.encode_batch_flat(docs)
        return np.frombuffer(ids, np.uint32), np.frombuffer(offsets, np.uint64)

    def batch_ids(self, result: Any) -> Ids:
        ids, offsets = result
        return ids, np.diff(offsets.astype(np.int64))

    def encode_one(self, text: str) -> Any:
        return np.frombuffer(self.tok.encode_flat(text), np.uint32)

    def list_call(self) -> Callable[[str], list[int]]:
        return self.tok.encode_raw

    def count_call(self) -> Callable[[str], int]:
        encode = self.tok.encode_flat
        return lambda text: len(encode(text)) // 4

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        return lambda docs: [self.tok.encode_raw(doc) for doc in docs]

    def few_ids_call(self) -> Callable[[list[int]], str]:
        return self.tok.decode_lossy

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        as_list = ids.tolist()
        return lambda: self.tok.decode_bytes(as_list)

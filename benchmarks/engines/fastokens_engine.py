"""fastokens: flat buffers for many texts, an encoding for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from fastokens import _native
from numpy.typing import NDArray

from .base import Base, Ids, form

__all__ = ["Engine"]


class Engine(Base):
    def load(self, vocab: dict[str, Any]) -> None:
        self.tok = _native.Tokenizer.from_file(form(vocab, "json"))

    def encode_batch(self, docs: list[str]) -> Any:
        ids, offsets = self.tok.encode_batch_flat(docs, False, True)
        return np.frombuffer(ids, np.uint32), np.frombuffer(offsets, np.uint64)

    def batch_ids(self, result: Any) -> Ids:
        ids, offsets = result
        return ids, np.diff(offsets.astype(np.int64))

    def encode_one(self, text: str) -> Any:
        return np.frombuffer(self.tok.encode_batch_flat([text], False, True)[0], np.uint32)

    def list_call(self) -> Callable[[str], list[int]]:
        encode = self.tok.encode_ordinary
        return lambda text: encode(text).ids

    def count_call(self) -> Callable[[str], int]:
        encode = self.tok.encode_ordinary
        return lambda text: len(encode(text).ids)

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        encode = self.tok.encode_batch
        return lambda docs: [encoding.ids for encoding in encode(docs, False, True)]

    def few_ids_call(self) -> Callable[[list[int]], str]:
        decode = self.tok.decode
        return lambda ids: decode(ids, False)

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        as_list = ids.tolist()
        return lambda: self.tok.decode(as_list, False)

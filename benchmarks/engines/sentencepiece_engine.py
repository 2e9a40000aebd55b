"""SentencePiece: lists only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor

from .base import Base, Ids, form, of_lists

__all__ = ["Engine"]


class Engine(Base):
    def load(self, vocab: dict[str, Any]) -> None:
        self.tok = SentencePieceProcessor(model_file=form(vocab, "model"))

    def encode_batch(self, docs: list[str]) -> Any:
        return self.tok.encode(docs, num_threads=self.threads)

    def batch_ids(self, result: Any) -> Ids:
        return of_lists(result)

    def encode_one(self, text: str) -> Any:
        return self.tok.encode(text)

    def list_call(self) -> Callable[[str], list[int]]:
        return self.tok.encode

    def count_call(self) -> Callable[[str], int]:
        encode = self.tok.encode
        return lambda text: len(encode(text))

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        return self.encode_batch

    def few_ids_call(self) -> Callable[[list[int]], str]:
        return self.tok.decode

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        as_list = ids.tolist()
        return lambda: self.tok.decode(as_list)

"""Jeton, from the interpreter that runs the benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jeton

from .base import Base, Ids

__all__ = ["Engine"]


class Engine(Base):
    def load(self, vocab: dict[str, Any]) -> None:
        self.tok = jeton.load(vocab["jeton"], **vocab.get("jeton_options", {}))

    def encode_batch(self, docs: list[str]) -> Any:
        return self.tok.encode_batch(docs, threads=self.threads)

    def batch_ids(self, result: Any) -> Ids:
        return result.ids, np.diff(result.offsets)

    def encode_one(self, text: str) -> Any:
        return self.tok.encode_array(text, threads=self.threads)

    def list_call(self) -> Callable[[str], list[int]]:
        return self.tok.encode

    def array_call(self) -> Callable[[str], Any]:
        return self.tok.encode_array

    def count_call(self) -> Callable[[str], int]:
        return self.tok.count

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        return lambda docs: self.tok.encode_batch(docs, threads=self.threads).tolist()

    def few_ids_call(self) -> Callable[[list[int]], str]:
        return self.tok.decode

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        return lambda: self.tok.decode_bytes(ids)

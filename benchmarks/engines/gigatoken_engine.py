"""gigatoken: numpy array for one text, awkward array for many. Short calls bypass its Python layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import awkward
import gigatoken
import numpy as np
from numpy.typing import NDArray

from .base import Base, Ids, form

__all__ = ["Engine"]

# of rank files; Llama 3 has unreachable entries, which only its tokenizer.json format permits
SCHEMES = {"r50k_base": "gpt2", "cl100k_base": "gpt4", "o200k_base": "o200k"}


class Engine(Base):
    def load(self, vocab: dict[str, Any]) -> None:
        if "ranks" in vocab and vocab["name"] in SCHEMES:
            self.tok = gigatoken.Tokenizer.from_tiktoken(vocab["ranks"], SCHEMES[vocab["name"]], {})
        else:
            self.tok = gigatoken.Tokenizer(form(vocab, "json", "model"))

    def encode_batch(self, docs: list[str]) -> Any:
        return self.tok.encode_batch(docs, parallel=self.threads > 1)

    def batch_ids(self, result: Any) -> Ids:
        ids = np.asarray(awkward.flatten(result), dtype=np.uint32)
        return ids, np.asarray(awkward.num(result), dtype=np.int64)

    def encode_one(self, text: str) -> Any:
        return self.tok.encode(text)

    def list_call(self) -> Callable[[str], list[int]]:
        encode = self.tok.backend.encode
        return lambda text: encode(text).tolist()

    def array_call(self) -> Callable[[str], Any]:
        return self.tok.backend.encode

    def count_call(self) -> Callable[[str], int]:
        encode = self.tok.backend.encode
        return lambda text: len(encode(text))

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        encode = self.tok.backend.encode_batch_list
        return lambda docs: encode(docs, parallel=self.threads > 1)

    def few_ids_call(self) -> Callable[[list[int]], str]:
        decode = self.tok.backend.decode
        return lambda ids: decode(ids).decode("utf-8", "replace")

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        return lambda: self.tok.decode(ids)

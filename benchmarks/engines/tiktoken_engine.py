"""tiktoken: lists, and for one text an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tiktoken
from numpy.typing import NDArray
from tiktoken.load import load_tiktoken_bpe

from .base import Base, Ids, form, of_lists

__all__ = ["Engine"]


class Engine(Base):
    def load(self, vocab: dict[str, Any]) -> None:
        ranks = load_tiktoken_bpe(form(vocab, "ranks"))
        self.tok = tiktoken.Encoding(
            vocab["name"], pat_str=vocab["pattern"], mergeable_ranks=ranks, special_tokens=vocab["special_tokens"]
        )

    def encode_batch(self, docs: list[str]) -> Any:
        if self.threads > 1:
            return self.tok.encode_ordinary_batch(docs, num_threads=self.threads)
        encode = self.tok.encode_ordinary
        return [encode(doc) for doc in docs]

    def batch_ids(self, result: Any) -> Ids:
        return of_lists(result)

    def encode_one(self, text: str) -> Any:
        return self.tok.encode_to_numpy(text, disallowed_special=())

    def list_call(self) -> Callable[[str], list[int]]:
        return self.tok.encode_ordinary

    def count_call(self) -> Callable[[str], int]:
        encode = self.tok.encode_ordinary
        return lambda text: len(encode(text))

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        return self.encode_batch

    def few_ids_call(self) -> Callable[[list[int]], str]:
        return self.tok.decode

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        as_list = ids.tolist()
        return lambda: self.tok.decode_bytes(as_list)

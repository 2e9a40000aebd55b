"""Hugging Face tokenizers before 1.0: `Encoding`s with lists."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from .base import Base, Ids, form, of_lists

__all__ = ["Engine"]


class Engine(Base):
    def load(self, vocab: dict[str, Any]) -> None:
        self.tok = Tokenizer.from_file(form(vocab, "json"))
        self.tok.encode_special_tokens = True
        self.encode = partial(self.tok.encode, add_special_tokens=False)

    def encode_batch(self, docs: list[str]) -> Any:
        return [encoding.ids for encoding in self.tok.encode_batch_fast(docs, add_special_tokens=False)]

    def batch_ids(self, result: Any) -> Ids:
        return of_lists(result)

    def encode_one(self, text: str) -> Any:
        return self.encode(text).ids

    def list_call(self) -> Callable[[str], list[int]]:
        encode = self.encode
        return lambda text: encode(text).ids

    def count_call(self) -> Callable[[str], int]:
        encode = self.encode
        return lambda text: len(encode(text))

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        return self.encode_batch

    def few_ids_call(self) -> Callable[[list[int]], str]:
        return partial(self.tok.decode, skip_special_tokens=False)

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        as_list = ids.tolist()
        return lambda: self.tok.decode(as_list, skip_special_tokens=False)

"""Hugging Face tokenizers from 1.0: `Encoding`s with arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from .base import Base, Ids, form, of_lists

__all__ = ["Engine"]

PLAIN = {"add_special_tokens": False, "encode_special_tokens": True}


class Engine(Base):
    def load(self, vocab: dict[str, Any]) -> None:
        self.tok = Tokenizer.from_file(form(vocab, "json"))
        self.encode = partial(self.tok.encode, **PLAIN)

    def encode_batch(self, docs: list[str]) -> Any:
        return [encoding.ids_array for encoding in self.tok.encode_batch(docs, **PLAIN)]

    def batch_ids(self, result: Any) -> Ids:
        return of_lists(result)

    def encode_one(self, text: str) -> Any:
        return self.encode(text).ids_array

    def list_call(self) -> Callable[[str], list[int]]:
        encode = self.encode
        return lambda text: encode(text).ids

    def array_call(self) -> Callable[[str], Any]:
        encode = self.encode
        return lambda text: encode(text).ids_array

    def count_call(self) -> Callable[[str], int]:
        encode = self.encode
        return lambda text: len(encode(text))

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        encode = partial(self.tok.encode_batch, **PLAIN)
        return lambda docs: [encoding.ids for encoding in encode(docs)]

    def few_ids_call(self) -> Callable[[list[int]], str]:
        return partial(self.tok.decode, skip_special_tokens=False)

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        return lambda: self.tok.decode(ids, skip_special_tokens=False)

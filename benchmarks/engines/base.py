"""Interface of the adapters. `encode_batch`, `encode_one` and the callables are timed, other methods are not.

Each engine is called in the fastest documented way, with special tokens as plain text. Results are timed in the form
that the engine returns, arrays or lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Base", "Ids", "Unsupported", "of_lists"]

Ids = tuple[NDArray[np.uint32], NDArray[np.int64]]  # (all ids, number of ids of each document)


class Unsupported(Exception):  # noqa: N818 - not an error
    """The engine does not support a vocabulary or an operation."""


class Base:
    """One engine with one vocabulary.

    Attributes:
        threads: number of threads of a call; also set in the environment, for engines without an option.
    """

    def __init__(self, vocab: dict[str, Any], threads: int) -> None:
        """Loads `vocab`: paths by format ("ranks", "json", "model"), "pattern", "name"; see harness/vocabularies.py."""
        self.threads = threads
        self.load(vocab)

    def load(self, vocab: dict[str, Any]) -> None:
        raise NotImplementedError

    def encode_batch(self, docs: list[str]) -> Any:
        """Encodes many documents (timed)."""
        raise NotImplementedError

    def batch_ids(self, result: Any) -> Ids:
        """Converts the result of `encode_batch` to the common form."""
        raise NotImplementedError

    def encode_one(self, text: str) -> Any:
        """Encodes one document (timed), to an array if the engine supports it."""
        raise NotImplementedError

    def list_call(self) -> Callable[[str], list[int]]:
        """Returns the fastest call from a text to a list of ids."""
        raise Unsupported("no call of that kind")

    def lists_call(self) -> Callable[[list[str]], list[list[int]]]:
        """Returns the fastest call from many texts to lists of ids."""
        raise Unsupported("no call of that kind")

    def array_call(self) -> Callable[[str], Any]:
        """Returns the fastest call from a text to an array of ids."""
        return self.encode_one

    def count_call(self) -> Callable[[str], int]:
        """Returns the fastest call from a text to the number of its ids."""
        raise Unsupported("no call of that kind")

    def few_ids_call(self) -> Callable[[list[int]], str]:
        """Returns the fastest call from a list of ids to text."""
        raise Unsupported("no call of that kind")

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        """Returns a call that decodes these ids, which are prepared in advance."""
        raise Unsupported("no call of that kind")


def of_lists(lists: Sequence[Any]) -> Ids:
    """Joins lists or arrays of ids, one for each document."""
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    parts = [np.asarray(ids, dtype=np.uint32) for ids in lists]
    return (np.concatenate(parts) if parts else np.zeros(0, np.uint32)), counts


def form(vocab: dict[str, Any], *names: str) -> str:
    """Path of the first of these formats that the vocabulary has."""
    for name in names:
        if name in vocab:
            return str(vocab[name])
    raise Unsupported(f"it reads {' or '.join(names)}")

"""What an adapter offers. The clock runs over `encode_batch`, `encode_one` and the callables, never over the rest.

An engine is called as its own documentation shows for speed, with special tokens as plain text, and its result is taken
as it comes: what it gives as an array stays one, what it gives as a list is timed as a list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Base", "Ids", "Unsupported", "of_lists"]

Ids = tuple[NDArray[np.uint32], NDArray[np.int64]]  # all ids; how many each document has


class Unsupported(Exception):  # noqa: N818 - it is no error that an engine lacks something
    """The engine cannot load this vocabulary, or has no such operation."""


class Base:
    """One engine with one vocabulary.

    Attributes:
        threads: how many a call may use; the environment has said so to those who only listen there.
    """

    def __init__(self, vocab: dict[str, Any], threads: int) -> None:
        """Loads `vocab`: paths by form ("ranks", "json", "model"), "pattern", "name", as vocabularies.py makes them."""
        self.threads = threads
        self.load(vocab)

    def load(self, vocab: dict[str, Any]) -> None:
        raise NotImplementedError

    def encode_batch(self, docs: list[str]) -> Any:
        """Timed: the ids of many documents."""
        raise NotImplementedError

    def batch_ids(self, result: Any) -> Ids:
        """What `encode_batch` returned, in one form for all."""
        raise NotImplementedError

    def encode_one(self, text: str) -> Any:
        """Timed: the ids of one document, as an array where the engine has that."""
        raise NotImplementedError

    def list_call(self) -> Callable[[str], list[int]]:
        """The shortest way from a text to a list of ids."""
        raise Unsupported("no call of that kind")

    def array_call(self) -> Callable[[str], Any]:
        """The shortest way from a text to an array of ids."""
        return self.encode_one

    def count_call(self) -> Callable[[str], int]:
        """The shortest way from a text to the number of its ids."""
        raise Unsupported("no call of that kind")

    def decode_call(self, ids: NDArray[np.uint32]) -> Callable[[], bytes | str]:
        """What decodes these ids; what has to be done to them before is done before the clock."""
        raise Unsupported("no call of that kind")


def of_lists(lists: Sequence[Any]) -> Ids:
    """The ids of lists or arrays, one a document."""
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    parts = [np.asarray(ids, dtype=np.uint32) for ids in lists]
    return (np.concatenate(parts) if parts else np.zeros(0, np.uint32)), counts


def form(vocab: dict[str, Any], *names: str) -> str:
    """The path of the first of these forms that the vocabulary has."""
    for name in names:
        if name in vocab:
            return str(vocab[name])
    raise Unsupported(f"it reads {' or '.join(names)}")

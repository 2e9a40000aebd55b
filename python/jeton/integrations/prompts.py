"""`PromptCache`: cache with the ids of prompts as keys, for interfaces that pass no state between calls."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["PromptCache"]

_T = TypeVar("_T")


class PromptCache(Generic[_T]):
    """LRU cache whose keys are lists of ids. Thread-safe.

    Args:
        capacity: maximum number of values.

    Examples:
        >>> cache = PromptCache[str](1)
        >>> cache.put([1, 2], "a")
        >>> cache.put([1, 2, 3], "b")
        >>> cache.get([1, 2]), cache.get([1, 2, 3])
        (None, 'b')
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[bytes, _T] = OrderedDict()
        self._lock = Lock()

    def put(self, ids: Sequence[int], value: _T) -> None:
        """Stores a value."""
        key = _digest(ids)
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._capacity:
                self._values.popitem(last=False)

    def get(self, ids: Sequence[int]) -> _T | None:
        """Returns the value of these ids; None if it is not stored."""
        key = _digest(ids)
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]


def _digest(ids: Sequence[int]) -> bytes:
    return blake2b(array("Q", ids).tobytes(), digest_size=16).digest()

"""Sequence whose first items are given, and whose other items are computed on first access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

from ..util.lazy import cached_property

__all__ = ["LazySequence"]

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """Sequence of n items. Items after the given `head` are computed on first access.

    Args:
        head: the first items.
        length: n.
        load: function that computes all n items; it is called once, on the first access beyond `head`.

    Examples:
        >>> items = LazySequence("ab", 4, lambda: print("loading") or "abcd")
        >>> len(items), items[1], list(items[:2])
        (4, 'b', ['a', 'b'])
        >>> items[-1]
        loading
        'd'
    """

    def __init__(self, head: Sequence[T], length: int, load: Callable[[], Sequence[T]]) -> None:
        self._head, self._length, self._load = head, length, load

    @cached_property
    def _all(self) -> Sequence[T]:
        return self._head if len(self._head) >= self._length else self._load()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        wanted = range(self._length)[index]
        if isinstance(wanted, int):
            return (self._head if wanted < len(self._head) else self._all)[wanted]
        last = max(wanted, default=-1)
        return (self._head if last < len(self._head) else self._all)[index if last >= 0 else slice(0)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(other) == len(self) and list(other) == list(self)

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles all items instead of `load`, because `load` refers to the tokenizer."""
        return LazySequence, (list(self._all), self._length, list)

    def __repr__(self) -> str:
        return repr(list(self._all))

    def __iter__(self) -> Iterator[T]:
        return iter(self._all)

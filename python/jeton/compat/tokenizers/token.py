"""`Token`, the result type of models: an id with its spelling and offsets."""

from __future__ import annotations

from .inputs import string, u32, usize

__all__ = ["Token"]


class Token:
    """A token of a model: id, value and offsets. Immutable.

    Examples:
        >>> Token(7, "low", (0, 3)).as_tuple()
        (7, 'low', (0, 3))
    """

    __slots__ = ("_id", "_offsets", "_value")

    def __init__(self, id: int, value: str, offsets: tuple[int, int]) -> None:
        self._id, self._value = u32(id), string(value, "value")
        start, end = offsets
        self._offsets = usize(start), usize(end)

    @property
    def id(self) -> int:
        """The id."""
        return self._id

    @property
    def value(self) -> str:
        """The spelling."""
        return self._value

    @property
    def offsets(self) -> tuple[int, int]:
        """Range of bytes that the token covers in the text."""
        return self._offsets

    def as_tuple(self) -> tuple[int, str, tuple[int, int]]:
        """Returns (id, value, offsets)."""
        return self._id, self._value, self._offsets

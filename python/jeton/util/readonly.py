"""Read-only subclasses of `dict` and `list`, for values that a tokenizer exposes.

As subclasses of the builtins, they work with JSON, ``==``, ``isinstance`` and ``match``. In contrast,
`types.MappingProxyType` is not a `dict`, so ``json.dumps`` refuses it, and it has no counterpart for lists.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["ReadOnlyDict", "ReadOnlyList", "read_only"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    kind = "dict" if isinstance(self, dict) else "list"
    raise TypeError(f"this {kind} belongs to a tokenizer and is read-only; {kind}(…) makes a copy to change")


class ReadOnlyDict(dict["Any", "Any"]):
    """A `dict` whose mutating methods raise `TypeError`.

    Examples:
        >>> roles = ReadOnlyDict({"eos": "</s>"})
        >>> roles["eos"], {**roles, "bos": "<s>"}
        ('</s>', {'eos': '</s>', 'bos': '<s>'})
        >>> roles["eos"] = "<s>"
        Traceback (most recent call last):
            ...
        TypeError: this dict belongs to a tokenizer and is read-only; dict(…) makes a copy to change
    """

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadOnlyDict, (dict(self),)


class ReadOnlyList(list["Any"]):
    """A `list` whose mutating methods raise `TypeError`.

    Examples:
        >>> ReadOnlyList([1, 2]) == [1, 2]
        True
    """

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadOnlyList, (list(self),)


def read_only(value: Any) -> Any:
    """Returns a deep copy of JSON data with read-only dicts and lists; tuples stay tuples.

    Examples:
        >>> part = read_only({"type": "Split", "pieces": [{"a": 1}]})
        >>> part == {"type": "Split", "pieces": [{"a": 1}]}, type(part["pieces"][0]).__name__
        (True, 'ReadOnlyDict')
    """
    if isinstance(value, ReadOnlyDict | ReadOnlyList):
        return value
    if isinstance(value, dict):
        return ReadOnlyDict({key: read_only(item) for key, item in value.items()})
    if isinstance(value, list):
        return ReadOnlyList(map(read_only, value))
    return tuple(map(read_only, value)) if type(value) is tuple else value

"""Dicts and lists that cannot be changed, for what belongs to a tokenizer and is handed out.

They are a `dict` and a `list` to whatever reads them: JSON, ``==``, ``isinstance``, ``match``. `types.MappingProxyType`
is no `dict`, so ``json.dumps`` refuses it, and there is nothing like it for lists.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["ReadOnlyDict", "ReadOnlyList", "read_only"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    kind = "dict" if isinstance(self, dict) else "list"
    raise TypeError(f"this {kind} belongs to a tokenizer, which does not change; {kind}(…) makes a copy that does")


class ReadOnlyDict(dict[Any, Any]):
    """A `dict` that raises `TypeError` where one is changed.

    Examples:
        >>> roles = ReadOnlyDict({"eos": "</s>"})
        >>> roles["eos"], {**roles, "bos": "<s>"}
        ('</s>', {'eos': '</s>', 'bos': '<s>'})
        >>> roles["eos"] = "<s>"
        Traceback (most recent call last):
            ...
        TypeError: this dict belongs to a tokenizer, which does not change; dict(…) makes a copy that does
    """

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadOnlyDict, (dict(self),)


class ReadOnlyList(list[Any]):
    """A `list` that raises `TypeError` where one is changed.

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
    """A copy of JSON whose dicts and lists cannot be changed, at any depth; tuples stay tuples.

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

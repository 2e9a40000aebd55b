"""`record`: frozen dataclasses for the classes that `jeton.load` needs.

Importing `dataclasses` and creating 14 classes with it takes 12 to 15 ms. Without it, starting a process with a small
vocabulary takes 18 ms (docs/decisions/0017-standard-library.md). A record has the fields, the constructor, the
comparison, the `repr` and the immutability of a dataclass, and type checkers treat it as a dataclass (`record.pyi`).
The attributes that functions of `dataclasses` and `inspect` read are created on first access, by `dataclasses` itself,
so these functions work on records.

Left out: inheritance of fields, slots, fields by keyword only, annotations that are not strings.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["field", "record", "replace"]


class field:  # noqa: N801  (as in `dataclasses`)
    """Options of a field: `default`, `default_factory`, `compare`, `repr`."""

    def __init__(self, **options: Any) -> None:
        self.options = options


def record(*, frozen: bool) -> Any:
    """Class decorator that makes a class a record. `frozen` is for type checkers only: every record is frozen.

    Examples:
        >>> @record(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, 0), replace(Point(1), y=2)
        (Point(x=1, y=0), True, Point(x=1, y=2))
    """
    return _made


def replace(old: Any, /, **changes: Any) -> Any:
    """Returns a copy of a record, with other values in some fields."""
    return type(old)(**{**old.__dict__, **changes})


def _made(cls: Any) -> Any:
    """Turns the annotations of a class into fields."""
    own = cls.__dict__
    names = tuple(name for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar"))
    given = {
        name: own[name] if isinstance(own[name], field) else field(default=own[name]) for name in names if name in own
    }
    cls._given = given
    cls._defaults = {name: one.options["default"] for name, one in given.items() if "default" in one.options}
    cls._factories = {
        name: one.options["default_factory"] for name, one in given.items() if "default_factory" in one.options
    }
    cls._compared = [name for name in names if name not in given or given[name].options.get("compare", True)]
    cls._shown = [name for name in names if name not in given or given[name].options.get("repr", True)]
    cls.__match_args__ = names
    cls._names = frozenset(names)
    for name, one in given.items():
        if "default" in one.options:
            setattr(cls, name, one.options["default"])
        else:
            delattr(cls, name)
    for method in (_init, _repr, _eq, _hash, _setattr, _delattr):
        setattr(cls, f"__{method.__name__[1:]}__", method)
    cls.__replace__ = replace
    for name in ("__dataclass_fields__", "__dataclass_params__", "__signature__"):
        setattr(cls, name, _OfDataclass(name))
    return cls


def _init(self: Any, *values: Any, **named: Any) -> None:
    names, fields = self.__match_args__, self.__dict__
    fields.update(self._defaults)
    fields.update(zip(names, values, strict=False), **named)
    for name, factory in self._factories.items():
        if name not in fields:
            fields[name] = factory()
    is_twice = values and named and not named.keys().isdisjoint(names[: len(values)])
    if fields.keys() != self._names or len(values) > len(names) or is_twice:
        _dataclass(type(self))(*values, **named)  # raises the TypeError of a wrong constructor call
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._shown)
    return f"{type(self).__qualname__}({fields})"


def _key(self: Any) -> tuple[Any, ...]:
    return tuple([self.__dict__[name] for name in self._compared])


def _eq(self: Any, other: object) -> Any:
    return _key(self) == _key(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_key(self))


def _setattr(self: Any, name: str, value: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


class _OfDataclass:
    """Descriptor for a class attribute that `dataclasses` or `inspect` reads; it is computed on first access."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, record: object, cls: type) -> Any:
        if self._name == "__signature__":
            from inspect import signature

            return signature(_dataclass(cls))
        return getattr(_dataclass(cls), self._name)


def _dataclass(cls: Any) -> type:
    """Returns a real dataclass with the fields of a record."""
    import dataclasses

    namespace = {name: dataclasses.field(**one.options) for name, one in cls._given.items()}
    annotations = {name: cls.__annotations__[name] for name in cls.__match_args__}
    facts = {"__annotations__": annotations, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return dataclasses.dataclass(frozen=True)(type(cls.__name__, (), {**namespace, **facts}))

"""Lazy attributes: on first use, a package imports the attribute, or an object computes the attribute.

`functools.cached_property` is not used: before Python 3.12, it has a lock for all objects of a class. A forked child,
or a signal handler, could wait for this lock forever.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from functools import cached_property
    from typing import Any

__all__ = ["attribute_getter", "cached_property"]

if not TYPE_CHECKING:

    class cached_property:  # noqa: N801  (as in `functools`)
        """A property that is computed once for each object. Threads that read it before it is stored also compute it.

        Examples:
            >>> class Text:
            ...     @cached_property
            ...     def length(self):
            ...         return len("text")
            >>> text = Text()
            >>> text.length, text.__dict__
            (4, {'length': 4})
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._function(instance)
            return value


def attribute_getter(package: str, module_of: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns a `__getattr__` for a package, which imports an attribute of the package when it is first used.

    A name in `module_of` is taken from the submodule that defines the name. Any other name is imported as a submodule.

    Args:
        package: the package's `__name__`.
        module_of: name -> submodule that defines the name.
    """

    def get(name: str) -> Any:
        from sys import modules

        if name in module_of:
            value = getattr(__import__(f"{package}.{module_of[name]}", fromlist=[name]), name)
            setattr(modules[package], name, value)
            return value
        try:
            return __import__(f"{package}.{name}", fromlist=[name])
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return get

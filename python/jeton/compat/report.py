"""Records for `jeton.compat.run`: calls that took a slow path, and uses of names that are missing in a drop-in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from typing import Any, NoReturn

__all__ = ["fell_back", "is_module", "is_private", "lines", "missing", "missing_attributes"]

_FALLBACKS: Counter[tuple[str, str]] = Counter()  # (library, call and reason)
_MISSING: Counter[str] = Counter()


def fell_back(library: str, name: str, why: str) -> None:
    """Records a call that took a slow path, or whose result may differ from the library's."""
    _FALLBACKS[library, f"{name}: {why}"] += 1


def missing(name: str) -> None:
    """Records the use of a name that the drop-in lacks. The name begins with the name of the library."""
    _MISSING[name] += 1


def missing_attributes(cls: type[Any], name: str) -> None:
    """Changes a class so that each lookup of a missing attribute is recorded.

    Off by default, because recording slows attribute access.
    """

    def absent(owner: Any, attribute: str) -> NoReturn:
        if not is_private(attribute):
            missing(f"{name}.{attribute}")
        raise AttributeError(f"{cls.__name__!r} object has no attribute {attribute!r}", name=attribute, obj=owner)

    cls.__getattr__ = absent


def is_private(name: str) -> bool:
    """Tests whether a name is private. Python, notebooks and test tools look up private names on any object."""
    return name.startswith(("__", "_repr_", "_ipython_", "_mock_", "_pytest"))


def is_module(package: str, name: str) -> bool:
    """Tests whether a name is a module of a package, even if it has not been imported yet."""
    from importlib.util import find_spec  # imported here because the import takes a millisecond

    return find_spec(f"{package}.{name}") is not None


def lines(library: str, originals: Callable[[], Container[str]]) -> list[str]:
    """Returns the record of a library: a line for each name and reason, the most frequent first.

    Args:
        library: the library.
        originals: function that returns the names in the original library. It is called only if a missing name was
            recorded. A missing name is listed only if the original library has it: programs look up other names just
            to find out which library an object comes from.

    Examples:
        >>> missing("library.name")
        >>> lines("library", lambda: {"library.name"})
        ['no call fell back', 'missing, used 1 times: library.name']
        >>> lines("library", lambda: {"library.other_name"})
        ['no call fell back', 'no name is missing']
    """
    fallbacks = [
        f"fell back, {count:,} times: {what}" for (of, what), count in _FALLBACKS.most_common() if of == library
    ]
    used = [(name, count) for name, count in _MISSING.most_common() if name.startswith(library + ".")]
    known = originals() if used else ()
    absent = [f"missing, used {count:,} times: {name}" for name, count in used if name in known]
    return (fallbacks or ["no call fell back"]) + (absent or ["no name is missing"])

"""Record of calls that took a slow path or that a drop-in does not have, for `jeton.compat.run`."""

from __future__ import annotations

from collections import Counter

__all__ = ["fell_back", "is_module", "is_private", "lines", "missing"]

_FALLBACKS: Counter[str] = Counter()
_MISSING: Counter[str] = Counter()


def fell_back(name: str, why: str) -> None:
    """Records a call that took a slow path, or whose result may differ."""
    _FALLBACKS[f"{name}: {why}"] += 1


def missing(name: str) -> None:
    """Records the use of a name that the drop-in does not have."""
    _MISSING[name] += 1


def is_private(name: str) -> bool:
    """True for names that Python, notebooks and test tools look up on any object."""
    return name.startswith(("__", "_repr_", "_ipython_", "_mock_", "_pytest"))


def is_module(package: str, name: str) -> bool:
    """True for a module of a package, which may not have been imported yet."""
    from importlib.util import find_spec  # here, because importing it takes a millisecond

    return find_spec(f"{package}.{name}") is not None


def lines() -> list[str]:
    """The record, one line for each name and reason, most frequent first.

    Examples:
        >>> missing("library.name")
        >>> any("library.name" in line for line in lines())
        True
    """
    fallbacks = [f"fell back, {count:,} times: {what}" for what, count in _FALLBACKS.most_common()]
    absent = [f"missing, used {count:,} times: {what}" for what, count in _MISSING.most_common()]
    return (fallbacks or ["no call fell back"]) + (absent or ["no name is missing"])

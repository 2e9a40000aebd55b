"""Imports of optional packages, which only some functions need."""

from __future__ import annotations

from typing import Any

from ..errors import MissingDependencyError

__all__ = ["import_optional"]


def import_optional(module: str, purpose: str, extra: str | None = None) -> Any:
    """Imports a module of a package that may be missing.

    Args:
        module: name of the module.
        purpose: the feature that needs the module, for the error message.
        extra: extra of Jeton that installs the package; None if the user installs the package by its own name.

    Raises:
        MissingDependencyError: the package is not installed.

    Examples:
        >>> import_optional("nothing.data", "reading .nothing", "data")
        Traceback (most recent call last):
        ...
        jeton.errors.MissingDependencyError: reading .nothing needs the package nothing: pip install 'jeton[data]'
    """
    try:
        return __import__(module, fromlist=[""])
    except ImportError:
        package = module.partition(".")[0]
        command = f"pip install {package}" if extra is None else f"pip install 'jeton[{extra}]'"
        raise MissingDependencyError(f"{purpose} needs the package {package}: {command}", extra=extra) from None

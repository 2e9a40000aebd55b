"""The installed `transformers`, imported on use."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...errors import MissingDependencyError, UnsupportedFeatureError

__all__ = ["base_class", "fast_class", "major"]


@cache
def major() -> int:
    """Returns the major version of the installed transformers, 4 or 5.

    Raises:
        MissingDependencyError: `transformers` or `tokenizers` is not installed.
        UnsupportedFeatureError: the version is not supported.
    """
    try:
        import tokenizers  # noqa: F401
        import transformers
    except ImportError as error:
        raise MissingDependencyError(
            "jeton.integrations.transformers needs transformers: pip install 'transformers>=4.57,<6'"
        ) from error
    version = transformers.__version__
    numbers = version.split(".")
    found = int(numbers[0]), int(numbers[1])
    if not (4, 57) <= found < (6, 0):
        raise UnsupportedFeatureError(
            f"transformers {version} is not supported; install 'transformers>=4.57,<6'",
            feature=f"transformers {version}",
        )
    return found[0]


@cache
def base_class() -> type[Any]:
    """Returns the base class of accelerated tokenizers, a subclass of the common class of fast tokenizers."""
    if major() == 5:
        from .v5 import JetonBackend

        return JetonBackend
    from .v4 import JetonBackend as JetonBackend4

    return JetonBackend4


def fast_class() -> type[Any]:
    """Imports and returns `transformers.PreTrainedTokenizerFast`."""
    major()
    from transformers import PreTrainedTokenizerFast

    found: type[Any] = PreTrainedTokenizerFast
    return found

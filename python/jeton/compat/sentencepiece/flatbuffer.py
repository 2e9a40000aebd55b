"""`convert_to_flatbuffer`, which is not supported."""

from __future__ import annotations

from typing import Any

__all__ = ["convert_to_flatbuffer"]


def convert_to_flatbuffer(*args: Any, **kwargs: Any) -> bytes | None:
    """Raises an error, because the format of the C++ library's lite processor is not supported.

    Raises:
        UnsupportedFeatureError: always.
    """
    from ...errors import UnsupportedFeatureError

    raise UnsupportedFeatureError(
        "convert_to_flatbuffer is not supported: the format is that of the C++ library's lite processor",
        format="sentencepiece",
        feature="convert_to_flatbuffer",
    )

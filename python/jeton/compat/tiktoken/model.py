"""Encodings by the name of a model. Programs can add entries to two tables: one of whole names, one of prefixes.

The tables are built on first use. They come from `jeton.formats`, and importing `jeton.formats` takes longer than
loading an encoding.

Source: openai/tiktoken, tiktoken/model.py. The content of the tables comes from `jeton.formats.naming`.
"""

from __future__ import annotations

from functools import cache

from .. import report
from .core import Encoding
from .registry import get_encoding

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_for_model", "encoding_name_for_model"]

MODEL_PREFIX_TO_ENCODING: dict[str, str]  # if several prefixes match a name, the first one is used
MODEL_TO_ENCODING: dict[str, str]


@cache
def _tables() -> dict[str, dict[str, str]]:
    from ...formats.naming import MODEL_PREFIXES, MODELS

    models = {model: name for name, models in MODELS.items() for model in models}
    return {
        "MODEL_TO_ENCODING": models | {"gpt2": "gpt2"},
        "MODEL_PREFIX_TO_ENCODING": dict(MODEL_PREFIXES),
    }


def __getattr__(name: str) -> object:
    if name in ("MODEL_TO_ENCODING", "MODEL_PREFIX_TO_ENCODING"):
        return _table(name)
    if not report.is_private(name):
        report.missing(f"tiktoken.model.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _table(name: str) -> dict[str, str]:
    """Returns this module's table `name`, or the table that the program has assigned in its place."""
    table: dict[str, str] = globals().setdefault(name, _tables()[name])
    return table


def encoding_name_for_model(model_name: str) -> str:
    """Returns the name of a model's encoding.

    Raises:
        KeyError: there is no model of this name in the tables.

    Examples:
        >>> encoding_name_for_model("gpt-4o-2024-05-13")
        'o200k_base'
    """
    if model_name in (models := _table("MODEL_TO_ENCODING")):
        return models[model_name]
    for prefix, name in _table("MODEL_PREFIX_TO_ENCODING").items():
        if model_name.startswith(prefix):
            return name
    raise KeyError(f"the encoding of the model {model_name} is not known; `get_encoding` takes the name of an encoding")


def encoding_for_model(model_name: str) -> Encoding:
    """Returns the encoding of a model.

    Raises:
        KeyError: there is no model of this name in the tables.
        OSError: as `get_encoding`.
    """
    return get_encoding(encoding_name_for_model(model_name))

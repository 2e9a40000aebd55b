"""The two spellings of SentencePiece's methods: ``encode_as_ids`` and ``EncodeAsIds``."""

from __future__ import annotations

from typing import Any

__all__ = ["add_camel_case"]


def _camel(name: str) -> str:
    return name.replace("nbest", "n_best").title().replace("_", "")


def add_camel_case(kind: type[Any], *, but: frozenset[str] = frozenset()) -> None:
    """Adds the capitalized spelling of each public method of a class.

    Args:
        kind: the class.
        but: methods with one spelling.

    Examples:
        >>> class Model:
        ...     def nbest_encode(self):
        ...         return 1
        >>> add_camel_case(Model)
        >>> Model().NBestEncode()
        1
    """
    for name, member in list(vars(kind).items()):
        if not name.startswith("_") and name[0].islower() and name not in but:
            setattr(kind, _camel(name), member)

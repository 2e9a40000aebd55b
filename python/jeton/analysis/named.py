"""Assigns names to the tokenizers that a call compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError
from ..tokenizer import Tokenizer
from ..util.arguments import instance, items, wrong

__all__ = ["named_tokenizers"]


def named_tokenizers(toks: Any, option: str, verb: str) -> dict[str, Tokenizer]:
    """Returns name -> tokenizer, for a mapping or a list. The items of a list get the names ``"1"``, ``"2"`` and so on.

    Args:
        toks: the argument that the caller got.
        option: name of the argument.
        verb: what the caller does with the tokenizers, for error messages: ``"compare"``.

    Raises:
        ConfigError: `toks` has another type or no tokenizers.

    Examples:
        >>> tok = Tokenizer.from_merges({97: b"a"}, [])
        >>> list(named_tokenizers([tok, tok], "toks", "compare"))
        ['1', '2']
    """
    if isinstance(toks, Mapping):
        named = dict(toks)
    else:
        given = items(toks, option, "a list of Tokenizers, or a mapping from name to Tokenizer")
        named = {str(number): tok for number, tok in enumerate(given, 1)}
    if not named:
        raise ConfigError(f"{option} is empty: there are no tokenizers to {verb}", option=option)
    for name, tok in named.items():
        if not isinstance(name, str):
            raise wrong(option, name, "a name (a string)")
        instance(tok, f"{option}[{name!r}]", Tokenizer, "a Tokenizer; jeton.load loads one from a path or a name")
    return named

"""Removal of tokens: checks that encodings without the removed tokens stay the same; drops references to the tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..definition import Unigram
from ..errors import ConfigError, keyword
from ..tokenizer import Tokenizer
from ..tokens.kinds import BYTE
from .references import references, without_references
from .scores import counted_scores
from .trees import MergeTrees

__all__ = ["check_removed", "without_tokens"]


def check_removed(tok: Tokenizer, trees: MergeTrees, removed: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> None:
    """Checks that the removal of tokens does not change encodings that do not contain these tokens.

    Args:
        tok: the tokenizer.
        trees: the merge trees of the tokenizer's entries.
        removed: bool[n]: True for the tokens to remove.
        chosen: bool[n]: True for the entries that stay, and for all entries of the merge trees of these entries.

    Raises:
        ConfigError: a token to remove is the unknown token of the model, an initial symbol, a byte of byte fallback, or
            part of the merge tree of a token that stays. For a Unigram model, also: all pieces with the lowest score
            would be removed.
    """
    unk = tok.definition.model.unk_token
    unknown = None if unk is None else tok._core.vocabulary().find_any(unk.encode())
    is_symbol = trees.is_unit & (trees.is_ordinary | (trees.kinds == BYTE))
    for id in np.flatnonzero(removed).tolist():
        if id == unknown:
            _refuse(tok, id, "is the unknown token of the model")
        if is_symbol[id]:
            _refuse(tok, id, "is an initial symbol, which other tokens are made of")
        if chosen[id]:
            whole = int(np.flatnonzero(chosen & ~removed & ((trees.left == id) | (trees.right == id)))[0])
            _refuse(tok, id, f"is merged into {tok.id_to_token(whole)!r}, which stays; remove that, too")
    if isinstance(tok.definition.model, Unigram):
        _check_lowest(tok, removed)


def _check_lowest(tok: Tokenizer, removed: NDArray[np.bool_]) -> None:
    """Checks that a piece with the lowest score stays: this score determines the penalty of unknown characters."""
    scores = counted_scores(tok)
    lowest = scores.min(initial=np.inf)
    if lowest < np.inf and scores[~removed].min(initial=np.inf) > lowest:
        id = int(np.flatnonzero(removed & (scores == lowest))[0])
        _refuse(tok, id, "has the lowest score, which determines the penalty of unknown characters")


def _refuse(tok: Tokenizer, id: int, why: str) -> None:
    raise ConfigError(f"remove: {tok.id_to_token(id)!r} {why}", option="remove")


def without_tokens(tok: Tokenizer, removed: NDArray[np.bool_], *, drop: bool) -> tuple[Tokenizer, list[str]]:
    """Drops references to tokens that will be removed; returns the new tokenizer and the references' names.

    Args:
        tok: the tokenizer.
        removed: bool[n]: True for each id that will be removed. The tokens themselves are not removed here.
        drop: True: drop the references. False: raise an error if there are any.

    Raises:
        ConfigError: `drop` is False, and there are references.
    """
    tokens = {id: token.content for id, token in tok.added_tokens.items() if removed[id]}
    found = references(tok.definition, tokens)
    if found and not drop:
        places = ", ".join(f"{name} ({token})" for name, token in found.items())
        raise ConfigError(
            f"remove: the tokenizer uses removed tokens for {places}; change these uses, or drop them with "
            f"{keyword('drop_references', True)}",
            option="remove",
        )
    defaults = tok._defaults
    if isinstance(defaults.special, frozenset):
        defaults = replace(defaults, special=defaults.special - {*tokens.values()})
    definition = without_references(tok.definition, tokens)
    return tok._derived(definition=definition, vocabulary=tok._core.vocabulary(), defaults=defaults), [*found]

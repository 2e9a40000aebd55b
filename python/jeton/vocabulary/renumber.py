"""Renumbering: gives the tokens of a tokenizer other ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Vocabulary
from ..definition import Bpe
from ..errors import ConfigError
from ..tokenizer import Tokenizer
from ..tokens.added import model_entries, with_added_tokens
from ..tokens.kinds import MAX_ID, TOKEN
from ..util.arguments import instance, integer, wrong
from .plan import Plan
from .surgery import REMOVED, Surgery, built

__all__ = ["renumber", "with_ids"]


def renumber(tok: Tokenizer, map: Mapping[int, int] | Sequence[int] | NDArray[Any]) -> Surgery:
    """Gives tokens other ids: each encoding is the old encoding with its ids mapped.

    In a rank file, the rank of a merge is an id. If the map changes the order of the entries, the tokenizer gets an
    equivalent list of merges instead of ranks.

    Args:
        tok: any tokenizer.
        map: old id -> new id, for each id that changes; or an array of new ids by old id. New ids must be distinct.

    Raises:
        ConfigError: the tokenizer lacks an old id, a new id is given twice, or a value is not an id.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower"], 258, pattern="gpt2", special_tokens=["<|end|>"], progress=False)
        >>> jeton.renumber(tok, {257: 0, 0: 257}).tokenizer.special_tokens["<|end|>"]
        0
    """
    instance(tok, "tok", Tokenizer, "a Tokenizer")
    ids = _checked(tok, map)
    made, by_rank = with_ids(tok, ids)
    entries = np.array(tok._core.ids(), np.int64)
    copied = np.full(made.vocab_size, -1, np.int64)
    copied[ids[entries]] = entries
    report = {
        "verb": "renumber",
        "before": len(tok),
        "after": len(made),
        "moved": int((ids[entries] != entries).sum()),
        "ranks": "as before" if by_rank else "a list of merges instead of ranks by id",
    }
    return Surgery(made, Plan.make(tok, made, copied), report)


def with_ids(tok: Tokenizer, new_ids: NDArray[np.int64]) -> tuple[Tokenizer, bool]:
    """Returns the tokenizer with other ids, and a flag.

    The flag is False if the model used the ids as ranks of merges, but the new model needs a list of merges instead.
    Otherwise, the flag is True.

    For each old id, `new_ids` has the new id, or -1 to drop the entry.
    """
    model = tok.definition.model
    vocabulary = tok._core.vocabulary()
    options: dict[str, Any] = {}
    if isinstance(model, Bpe) and model.ranks == "tokens":
        ordinary = new_ids[np.array(tok._core.ids_of(TOKEN), np.int64)]
        ordinary = ordinary[ordinary >= 0]
        if (np.diff(ordinary) < 0).any():
            ids, kinds, contents, _ = vocabulary.columns()
            listed = Vocabulary(ids, kinds, contents, tok._core.merges())
            # The columns do not contain the flags of added tokens, so these flags are copied from the tokenizer.
            vocabulary = with_added_tokens(listed, tok.added_tokens.items(), model_entries(tok._core))
            options = {"ranks": "merges", "whole_first": True}
    marked = np.where(new_ids < 0, REMOVED, new_ids).astype("<u4")
    made = built(tok, vocabulary.renumbered(marked.view(np.uint8)), new_ids, **options)
    return made, not options


def _checked(tok: Tokenizer, map: Any) -> NDArray[np.int64]:
    """Returns int64[n]: the new id of each old id."""
    ids = np.arange(tok.vocab_size, dtype=np.int64)
    if isinstance(map, Mapping):
        old = np.array([_old_id(id, tok.vocab_size) for id in map], np.int64)
        new = np.array([integer(id, f"map[{old}]", 0, MAX_ID) for old, id in map.items()], np.int64)
        ids[old] = new
    else:
        given = np.asarray(map) if hasattr(map, "dtype") or isinstance(map, list | tuple) else None
        if given is None or given.ndim != 1 or given.dtype.kind not in "iu" or given.size != tok.vocab_size:
            raise wrong("map", map, f"a mapping, or an array of {tok.vocab_size} new ids")
        ids = given.astype(np.int64)
        if ids.size and (ids.min() < 0 or ids.max() > MAX_ID):
            raise ConfigError(f"map: new ids are integers from 0 to {MAX_ID}", option="map")
    entries = np.array(tok._core.ids(), np.int64)
    is_entry = np.zeros(tok.vocab_size, bool)
    is_entry[entries] = True
    if isinstance(map, Mapping) and not is_entry[old].all():
        raise ConfigError(f"map: {old[~is_entry[old]][0]} is not an id of the tokenizer", option="map")
    ids[~is_entry] = -1
    values, times = np.unique(ids[entries], return_counts=True)
    if (times > 1).any():
        raise ConfigError(f"map: the new id {values[times > 1][0]} would have two entries", option="map")
    return ids


def _old_id(id: object, size: int) -> int:
    """Checks a key of the mapping, which must be an id of the tokenizer, and returns it."""
    try:
        return integer(id, "map", 0, size - 1)
    except ConfigError:
        message = f"map: the old id {id!r:.40} is not an integer from 0 to {size - 1}"
        raise ConfigError(message, option="map") from None

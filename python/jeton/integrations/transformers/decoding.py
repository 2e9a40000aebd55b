"""Decoding with an accelerated tokenizer, for both major versions of transformers."""

from __future__ import annotations

from typing import Any

from ...compat.hf_backend import Unproven
from .counts import fell_back, ran
from .encoding import state_of
from .state import SharedEngine

__all__ = ["decode_one", "decode_rows"]

LISTS = {list}


def decode_one(tok: Any, ids: Any, skip_special_tokens: Any) -> str:
    """Returns the text of ids, before transformers' clean-up of spaces.

    This function does not count its calls. The caller counts them, because the caller already has the counters, and a
    second look-up of the counters would cost time.

    Raises:
        Unproven: the result might differ from the result of transformers.
    """
    if isinstance(ids, int):
        ids = [ids]
    elif type(ids) is tuple:
        ids = list(ids)
    if type(ids) is not list or type(skip_special_tokens) is not bool:
        raise Unproven("ids that are not a list, or an option that is not a bool")
    return _engine(tok).decode(ids, skip_special_tokens=skip_special_tokens)


def decode_rows(tok: Any, rows: Any, skip_special_tokens: Any, unproven: str = "") -> list[str] | None:
    """Returns the text of each row of ids, before clean-up; None if transformers must decode the rows itself."""
    counts = state_of(tok).counts
    try:
        if unproven:
            raise Unproven(unproven)
        if type(rows) is not list or type(skip_special_tokens) is not bool or set(map(type, rows)) != LISTS:
            raise Unproven("rows that are not lists, or an option that is not a bool")
        texts = _engine(tok).decode_batch(rows, skip_special_tokens=skip_special_tokens)
    except Unproven as reason:
        fell_back(counts, "decode", "batch", str(reason))
        return None
    ran(counts, "decode", "batch")
    return texts


def _engine(tok: Any) -> SharedEngine:
    backend = tok._tokenizer
    if "decode" in backend.__dict__:  # CLIPTokenizer sets it
        raise Unproven("the decode method of the tokenizers.Tokenizer is replaced")
    snapshot = state_of(tok).current_decoder(backend)
    if snapshot.engine is None:
        raise Unproven(snapshot.reason)
    return snapshot.engine

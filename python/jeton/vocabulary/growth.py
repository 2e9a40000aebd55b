"""Common parts of functions that append entries to a vocabulary: check the tokenizer, and construct the result."""

from __future__ import annotations

from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Vocabulary
from ..definition import Bpe, Pieces
from ..errors import InvalidTextError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.roles import role_id
from .plan import Plan
from .surgery import built
from .trees import MergeTrees

__all__ = ["check_merges", "grown"]


def check_merges(tok: Tokenizer, verb: str, *, pieces: bool, place: str = "") -> None:
    """Checks that a tokenizer can get new merges. `place` names the tokenizer, and is appended to the error message.

    Raises:
        UnsupportedFeatureError: the model cannot get new merges. A `Bpe` model can, if it has no end-of-word mark and
            no continuing prefix. A `Pieces` model can, if `pieces` is true. The error names the unsupported feature.
    """
    model = tok.definition.model
    if isinstance(model, Bpe) and not model.end_of_word and not model.continuing_subword_prefix:
        return
    if isinstance(model, Pieces) and pieces:
        return
    what = f"a {model.type} model"
    if isinstance(model, Bpe):
        what = "end_of_word" if model.end_of_word else "continuing_subword_prefix"
    elif isinstance(model, Pieces):
        what = "SentencePiece's BPE (Pieces)"
    raise UnsupportedFeatureError(f"{verb} does not support {what}{place}", feature=what)


def grown(tok: Tokenizer, vocabulary: Vocabulary) -> tuple[Tokenizer, Plan, MergeTrees]:
    """Returns the tokenizer with an extended vocabulary, the plan, and the new merge trees.

    In the plan, the pieces of a new entry are the old tokens from which the entry is merged. Old merges take
    precedence over new merges, so the old tokenizer encodes the bytes of the entry as these pieces.
    """
    made = built(tok, vocabulary)
    trees = MergeTrees.of(made)
    is_old = np.zeros(made.vocab_size, bool)
    is_old[tok._core.ids()] = True
    ids = np.arange(made.vocab_size)
    copied = np.where(ids < tok.vocab_size, ids, -1)  # also ids without an entry: the model has rows for these ids, too
    new = np.flatnonzero(~is_old & (trees.kinds > 0))
    rows, pieces = trees.pieces(new, is_old)
    pairs = [(new[rows], pieces)]
    without = np.setdiff1d(new, new[rows])
    if without.size:
        pairs.append(_encoded(tok, made, without))
    parts = np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])
    return made, Plan.make(tok, made, copied, parts), trees


def _encoded(tok: Tokenizer, made: Tokenizer, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lets the old tokenizer encode the new entries that have no merges. Unknown tokens are left out.

    Returns:
        Two columns with a row for each token of these encodings: the id of the new entry, and the id of the token.
    """
    texts: list[Any] = made.decode_tokens_bytes(ids)
    if not tok.definition.is_byte_level:
        texts = [text.decode(errors="ignore") for text in texts]
    try:
        batch = tok.encode_batch(texts, add_special_tokens=False)
    except InvalidTextError:  # a symbol is not in the vocabulary, and there is no unknown token
        is_encodable = [_is_encodable(tok, text) for text in texts]
        ids = ids[is_encodable]
        batch = tok.encode_batch(list(compress(texts, is_encodable)), add_special_tokens=False)
    lengths = np.diff(batch.offsets).astype(np.int64)
    rows, pieces = np.repeat(ids, lengths), batch.ids.astype(np.int64)
    unk = role_id(tok, "unk")
    known = pieces != (-1 if unk is None else unk)
    return rows[known], pieces[known]


def _is_encodable(tok: Tokenizer, text: str | bytes) -> bool:
    try:
        tok.encode(text, add_special_tokens=False)
    except InvalidTextError:
        return False
    return True

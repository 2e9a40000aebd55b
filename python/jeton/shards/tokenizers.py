"""Loads the tokenizer of a folder from its file, or from memory if this process wrote the file.

Tokenizers are cached because reading a vocabulary and building its tables takes about 0.1 s. In that time, one
processor core encodes 15 MB.
"""

from __future__ import annotations

import hashlib
from weakref import WeakValueDictionary

from ..errors import ShardError
from ..tokenizer import Tokenizer
from .folder import TOKENIZER, ShardFolder
from .plan import Plan

__all__ = ["load_tokenizer", "read_tokenizer", "remember_tokenizer"]

_known: WeakValueDictionary[bytes, Tokenizer] = WeakValueDictionary()  # SHA-256 of the file -> tokenizer


def remember_tokenizer(tok: Tokenizer, data: bytes) -> None:
    """Caches a tokenizer for as long as it is in use; `data`: result of its `to_bytes`.

    Examples:
        >>> import jeton
        >>> remember_tokenizer(tok := jeton.default(), tok.to_bytes())
    """
    if tok._defaults == type(tok._defaults)():  # the file does not store defaults set by `with_options`
        _known[hashlib.sha256(data).digest()] = tok


def load_tokenizer(folder: ShardFolder, plan: Plan) -> Tokenizer | None:
    """Returns the tokenizer of a plan; None if the plan makes counts of pretokens, without a tokenizer.

    Raises:
        ShardError: the file is missing, or has another tokenizer.
    """
    if plan.tokenizer is None:
        return None
    data, path = read_tokenizer(folder), folder.storage.location(TOKENIZER)
    tok = _known.get(hashlib.sha256(data).digest())
    if tok is None:
        tok = Tokenizer.from_bytes(data)
        remember_tokenizer(tok, data)
    if tok.fingerprint != plan.tokenizer:
        message = f"{path}: the tokenizer is {tok.fingerprint}, but the plan is for {plan.tokenizer}"
        raise ShardError(f"{message}; plan into another folder", path=path)
    tok._core.make_tables()  # built once here; otherwise all threads would begin to encode without the tables
    return tok


def read_tokenizer(folder: ShardFolder) -> bytes:
    """Returns the bytes of the tokenizer's file.

    Raises:
        ShardError: the file is missing.
    """
    try:
        return folder.read_bytes(TOKENIZER)
    except FileNotFoundError:
        path = folder.storage.location(TOKENIZER)
        raise ShardError(f"{path} is missing; plan again", path=path) from None

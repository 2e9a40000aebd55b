"""Assigns ids of the core to the tokens of an encoding.

A token has the same id in the core as in the encoding. The exceptions get an *internal* id in the core, which is
translated to the id of the encoding:

    tokens that share an id         only the first token keeps the id; mergeable tokens come before special tokens
    ids from 2**20 - 1 on           such ids would disable the core's fast path; if a rank is such an id, all ids of the
                                    core are internal
    single bytes without a rank     the core needs all bytes; encoding a byte without a rank raises an error

An encoding without exceptions is *plain*. All published encodings except o200k_harmony are plain.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import NamedTuple

from ..._core import Vocabulary
from ...tokens.kinds import TOKEN
from .ranks import RankFile

__all__ = ["MAX_ID", "Numbering", "number"]

MAX_ID = (1 << 32) - 1
_MAX_PLAIN_ID = (1 << 20) - 2
_BYTES = frozenset(bytes([byte]) for byte in range(256))


class _ExternalIds(dict[int, int | None]):
    """Internal id -> id of the encoding; None for a byte without a rank. Other ids are mapped to themselves."""

    def __missing__(self, id: int) -> int:
        return id


class Numbering(NamedTuple):
    """Result of `number`: the tokens of an encoding, with their ids in the core.

    Attributes:
        vocabulary: the mergeable tokens, and all single bytes.
        special: special token -> id in the core.
        external: internal id -> id of the encoding; None if there are no internal ids.
        first_internal: lower bound of internal ids.
    """

    vocabulary: Vocabulary
    special: Mapping[str, int]
    external: Mapping[int, int | None] | None
    first_internal: int


def number(tokens: dict[bytes, int] | RankFile, special: Mapping[str, int]) -> Numbering:
    """Assigns an id in the core to each token of an encoding.

    Args:
        tokens: mergeable token -> rank.
        special: special token -> id.

    Raises:
        ValueError: two tokens have the same rank.
        OverflowError: an id is not an unsigned 32-bit integer.

    Examples:
        >>> made = number({bytes([byte]): byte for byte in range(256)}, {"<|a|>": 256, "<|b|>": 256})
        >>> made.special, made.external
        ({'<|a|>': 256, '<|b|>': 257}, {257: 256})
    """
    if min(special.values(), default=0) < 0 or max(special.values(), default=0) > MAX_ID:
        raise OverflowError("the id of a special token must be an unsigned 32-bit integer")
    external = _ExternalIds()
    if isinstance(tokens, RankFile):
        vocabulary, missing, is_dense, is_plain = tokens.vocabulary, [], False, True
    else:
        contents, ids = list(tokens), list(map(index, tokens.values()))
        _check_ranks(ids)
        missing = sorted(_BYTES - tokens.keys())
        is_plain = b"" not in tokens
        if not is_plain:  # the empty token is left out of the vocabulary, because no encoded text contains its id
            at = contents.index(b"")
            del contents[at], ids[at]
        is_dense = max(ids, default=0) > _MAX_PLAIN_ID
        if is_dense:
            external.update(enumerate(sorted(ids)))
            contents.sort(key=tokens.__getitem__)
            ids = list(range(len(contents)))
        vocabulary = Vocabulary(ids, [TOKEN] * len(ids), contents, [])
    taken: set[int] = set()
    if vocabulary.first_of(set(special.values())) is not None:
        taken.update(vocabulary.ids())
    plain_ids = [id for id in special.values() if id <= _MAX_PLAIN_ID]
    next_id = max([vocabulary.next_id() - 1, *plain_ids]) + 1
    numbered: dict[str, int] = {}
    for spelling, id in special.items():
        if is_dense or id in taken or id > _MAX_PLAIN_ID:
            numbered[spelling], next_id = next_id, next_id + 1
            external[numbered[spelling]] = id
        else:
            numbered[spelling] = id
        taken.add(id)
    is_plain &= numbered.pop("", None) is None  # an empty special token never matches
    if missing:
        virtual = list(range(next_id, next_id + len(missing)))
        ids, _, contents, _ = vocabulary.columns()
        vocabulary = Vocabulary(ids + virtual, [TOKEN] * (len(ids) + len(virtual)), contents + missing, [])
        external.update(dict.fromkeys(virtual))
    first = 0 if is_dense else min(external, default=MAX_ID)
    return Numbering(vocabulary, numbered, external if external or not is_plain else None, first)


def _check_ranks(ids: list[int]) -> None:
    if len(set(ids)) < len(ids):
        raise ValueError("two tokens have the same rank; a rank is the id of one token")
    if min(ids, default=0) < 0 or max(ids, default=0) > MAX_ID:
        raise OverflowError("a rank must be an unsigned 32-bit integer")

"""Encodes text that is cut off: bytes with an incomplete character, and text that will be continued.

Further text can change the tokens of the pattern's last match. `encode_with_unstable` removes these tokens, and lists
the candidates that can replace them. To make a candidate, the removed bytes are cut into two parts, and the second part
is replaced by a token that begins with the second part. If the first part is empty, the candidate is a single
token. All other candidates are encoded again, in batches for each position of the cut.

Left out: candidates in which more than one token replaces the second part.

Source: openai/tiktoken, src/lib.rs and src/py.rs (behavior; the order of its completions is random).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence, Set
from itertools import compress
from operator import methodcaller, not_
from typing import Any, TypeAlias

from ..._core import Tokenizer as Core
from ..._core import covering_rows
from ._tiktoken import CoreBPE, spelled

_Batch: TypeAlias = tuple[Any, Any]

__all__ = ["encode_bytes", "encode_with_unstable"]

_SPACES = b" \n\t"
# Unicode's property White_Space; `str.isspace` accepts four additional control characters
_WHITE_SPACE = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | set(
    map(chr, range(0x2000, 0x200B))
)


def encode_bytes(bpe: CoreBPE, data: bytes) -> list[int]:
    """Returns the ids of bytes, which need not be valid UTF-8.

    The text before the first invalid byte is encoded as usual, except for the pattern's last match. This match and all
    bytes that follow it are encoded as one pretoken: the pattern does not split them.

    Args:
        bpe: the encoding.
        data: any bytes.
    """
    if not isinstance(data, bytes):
        raise TypeError(f"expected bytes, not {type(data).__name__}")
    try:
        return bpe.encode_ordinary(data.decode())
    except UnicodeDecodeError as error:
        text, rest = data[: error.start].decode(), data[error.start :]
    stable, unstable = _without_last_piece(bpe, bpe.encode_ordinary(text), text)
    return stable + bpe.encode_single_piece(unstable + rest)


def encode_with_unstable(bpe: CoreBPE, text: str, allowed_special: Set[str]) -> tuple[list[int], list[list[int]]]:
    """Returns the stable tokens of a text, and sequences of tokens that can follow them.

    Args:
        bpe: the encoding.
        text: the beginning of a text.
        allowed_special: special tokens that are recognized in the text.

    Raises:
        UnicodeEncodeError: the text contains a lone surrogate.
    """
    ids = bpe.encode(text, allowed_special)
    permitted = frozenset(bpe.special_tokens & allowed_special)
    if permitted and (last := deque(spelled(permitted).finditer(text), maxlen=1)):
        text = text[last[0].end() :]
    stable, unstable = _without_last_piece(bpe, ids, text)
    if not unstable:
        return stable, []
    tokens, ranks, are_text = bpe.sorted_tokens
    batches: list[_Batch] = []
    for at in range(1, len(unstable)):
        head, there = unstable[:at], _with_prefix(tokens, unstable[at:])
        texts = list(map(head.__add__, tokens[there]))
        is_text = are_text[there] if _is_text(head) else list(map(_is_text, texts))
        others = map(methodcaller("decode", "latin-1"), compress(texts, map(not_, is_text)))
        batches += _encoded(bpe.core, list(compress(texts, is_text))) + _encoded(bpe.merging, list(others))
    singles = ranks[_with_prefix(tokens, unstable)]
    split = _split_before_white_space(bpe, unstable)
    translate = None if bpe.is_plain else bpe.external
    return stable, covering_rows(batches, bpe.lengths, len(unstable), singles, split, translate)


def _without_last_piece(bpe: CoreBPE, ids: list[int], tail: str) -> tuple[list[int], bytes]:
    """Removes the ids of the pattern's last match; returns the remaining ids, and the bytes of the removed ids.

    If the last match is white space, any white space directly before the match is removed, too, because a single match
    may cover all of this white space.

    Args:
        bpe: the encoding.
        ids: the ids of a text.
        tail: the part of the text that follows the last special token.
    """
    piece = bpe.last_piece(tail).encode()
    if not piece:
        return ids, b""
    kept = len(ids) - len(bpe.encode_single_piece(piece))
    if _is_white_space(bpe, ids[kept]):
        while kept and _is_white_space(bpe, ids[kept - 1]):
            kept -= 1
    return ids[:kept], bpe.decode_bytes(ids[kept:])


def _is_white_space(bpe: CoreBPE, id: int) -> bool:
    token = bpe.decode_single_token_bytes(id)
    return not token.strip(_SPACES) and bpe.ranks.get(token) == id


def _is_text(data: bytes) -> bool:
    """Tests whether bytes are valid UTF-8."""
    return data.isascii() or data.decode("utf-8", "replace").encode() == data  # U+FFFD replaces invalid bytes


def _with_prefix(tokens: Sequence[bytes], prefix: bytes) -> slice:
    """Returns the slice of the tokens that begin with `prefix`; `tokens` must be sorted."""
    start = bisect_left(tokens, prefix)
    stem = prefix.rstrip(b"\xff")
    after = stem[:-1] + bytes([stem[-1] + 1]) if stem else None  # sorts after all tokens with the prefix
    return slice(start, None if after is None else bisect_left(tokens, after, start))


def _encoded(core: Core, texts: Sequence[str | bytes]) -> list[_Batch]:
    """Encodes texts to a batch (ids, offsets); returns a list with this batch, or an empty list if `texts` is empty."""
    if not texts:
        return []
    ids, offsets = core.encode_batch(texts, None, 1)
    return [(ids.cast("B"), offsets.cast("B"))]


def _split_before_white_space(bpe: CoreBPE, unstable: bytes) -> list[int] | None:
    """Splits `unstable` before its last character, and returns the ids of both parts.

    The pattern ``\\s+(?!\\S)`` can split white space at this place. Returns None if the last character is not white
    space, or if `unstable` has no other character.
    """
    end = unstable.decode("utf-8", "surrogateescape")[-1:]
    head = unstable[: -len(end.encode("utf-8", "surrogateescape"))]
    if not head or end not in _WHITE_SPACE:
        return None
    encode = bpe.merging.encode_text
    tail = unstable[len(head) :]
    return bpe.external(encode(head.decode("latin-1")) + encode(tail.decode("latin-1")))

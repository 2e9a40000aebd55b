"""Encoding of text that is cut off: bytes with an incomplete character, and text that more text will follow.

More text can change the tokens of the last match of the pattern. `encode_with_unstable` removes these tokens and lists
the tokens that can take their place: for each position in the removed bytes, each token that begins there with the rest
of these bytes. Each candidate is encoded anew, all of a position in one batch.

Left out: completions of more than one token after the removed bytes.

Source: openai/tiktoken, src/lib.rs and src/py.rs (behavior; it returns completions in random order, here they are
sorted).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence, Set
from functools import lru_cache
from itertools import compress
from operator import eq, methodcaller, not_
from typing import TYPE_CHECKING, Any

from ..._core import Tokenizer as Core

if TYPE_CHECKING:
    from ._tiktoken import CoreBPE

__all__ = ["encode_bytes", "encode_with_unstable", "spelled"]

_SPACES = b" \n\t"
# Unicode's White_Space; `str.isspace` has four control characters more
_WHITE_SPACE = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | set(
    map(chr, range(0x2000, 0x200B))
)


@lru_cache(maxsize=128)
def spelled(tokens: frozenset[str]) -> re.Pattern[str]:
    """A regex for any of these strings, the longest that matches first.

    Examples:
        >>> spelled(frozenset({"<a", "<a>"})).search("x<a>").group()
        '<a>'
    """
    return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))))


def encode_bytes(bpe: CoreBPE, data: bytes) -> list[int]:
    """The ids of bytes.

    Bytes that are not UTF-8 are joined with the last match of the pattern before them, and encoded without a pattern
    from there on.

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
    """Stable tokens of a text, and sequences of tokens that can follow them.

    Args:
        bpe: the encoding.
        text: the beginning of a text.
        allowed_special: special tokens that may be matched.

    Raises:
        UnicodeEncodeError: a lone surrogate.
    """
    ids = bpe.encode(text, allowed_special)
    permitted = frozenset(bpe.special_tokens & allowed_special)
    if permitted and (last := deque(spelled(permitted).finditer(text), maxlen=1)):
        text = text[last[0].end() :]
    stable, unstable = _without_last_piece(bpe, ids, text)
    found: set[tuple[int, ...]] = set()
    if unstable:
        found.update(zip(map(bpe.ranks.__getitem__, _with_prefix(bpe.sorted_tokens, unstable)), strict=True))
        for at in range(1, len(unstable)):
            texts = list(map(unstable[:at].__add__, _with_prefix(bpe.sorted_tokens, unstable[at:])))
            # `replace` changes what is not UTF-8
            is_text = list(map(eq, [text.decode("utf-8", "replace").encode() for text in texts], texts))
            others = map(methodcaller("decode", "latin-1"), compress(texts, map(not_, is_text)))
            found.update(_covering(bpe, bpe.core, list(compress(texts, is_text)), len(unstable)))
            found.update(_covering(bpe, bpe.merging, list(others), len(unstable)))
        found.update(_split_before_white_space(bpe, unstable))
    return stable, list(map(list, sorted(found)))


def _without_last_piece(bpe: CoreBPE, ids: list[int], tail: str) -> tuple[list[int], bytes]:
    """Ids without those of the last match of the pattern, and the bytes of these.

    White space before a last match of white space belongs to it, because the pattern may match both at once.

    Args:
        bpe: the encoding.
        ids: the ids of a text.
        tail: the text after its last special token.
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


def _with_prefix(tokens: list[bytes], prefix: bytes) -> list[bytes]:
    """The tokens that begin with `prefix`, of a sorted list."""
    start = bisect_left(tokens, prefix)
    stem = prefix.rstrip(b"\xff")
    after = stem[:-1] + bytes([stem[-1] + 1]) if stem else None  # the first bytes that do not begin with it
    return tokens[start : None if after is None else bisect_left(tokens, after, start)]


def _covering(bpe: CoreBPE, core: Core, texts: Sequence[str | bytes], length: int) -> set[tuple[int, ...]]:
    """The first tokens of each text that cover its first `length` bytes."""
    import numpy as np

    if not texts:
        return set()
    encoded: Any = core.encode_batch(texts, None, 1)
    ids, offsets = np.frombuffer(encoded[0], "<u4"), np.frombuffer(encoded[1], "<i8")
    lengths = bpe.lengths[ids]
    before = np.cumsum(lengths) - lengths  # bytes before each token, of all texts
    starts = np.repeat(np.append(before, 0)[offsets[:-1]], np.diff(offsets))
    keep = before - starts < length
    bounds = np.append(0, np.cumsum(keep))[offsets].tolist()
    kept = tuple(bpe.external(ids[keep].tolist()))
    return set(map(kept.__getitem__, map(slice, bounds, bounds[1:])))


def _split_before_white_space(bpe: CoreBPE, unstable: bytes) -> list[tuple[int, ...]]:
    """The tokens if the pattern splits before a white space at the end, as ``\\s+(?!\\S)`` does."""
    end = unstable.decode("utf-8", "surrogateescape")[-1:]
    head = unstable[: -len(end.encode("utf-8", "surrogateescape"))]
    if not head or end not in _WHITE_SPACE:
        return []
    encode = bpe.merging.encode_text
    tail = unstable[len(head) :]
    return [tuple(bpe.external(encode(head.decode("latin-1")) + encode(tail.decode("latin-1"))))]

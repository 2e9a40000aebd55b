"""Encoding of text that is cut off: bytes with an incomplete character, and text that more text will follow.

More text can change the tokens of the last match of the pattern. `encode_with_unstable` removes these tokens and lists
the tokens that can take their place: for each position in the removed bytes, each token that begins there with the rest
of these bytes. Each candidate is encoded anew, all of a position in one batch.

Left out: completions of more than one token after the removed bytes.

Source: openai/tiktoken, src/lib.rs and src/py.rs (behavior; the order of its completions is random).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Sequence, Set
from functools import lru_cache
from itertools import compress
from operator import methodcaller, not_
from typing import TYPE_CHECKING, Any

from ..._core import Tokenizer as Core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._tiktoken import CoreBPE

    _Rows = dict[int, list[NDArray[np.uint32]]]  # number of tokens -> rows of that many tokens

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
    if not unstable:
        return stable, []
    import numpy as np

    found: _Rows = defaultdict(list)
    tokens, ranks, are_text = bpe.sorted_tokens
    found[1].append(ranks[_with_prefix(tokens, unstable)][:, None])
    for at in range(1, len(unstable)):
        head, there = unstable[:at], _with_prefix(tokens, unstable[at:])
        texts = list(map(head.__add__, tokens[there]))
        is_text = are_text[there] if _is_text(head) else list(map(_is_text, texts))
        others = map(methodcaller("decode", "latin-1"), compress(texts, map(not_, is_text)))
        _add_covering(found, bpe, bpe.core, list(compress(texts, is_text)), len(unstable))
        _add_covering(found, bpe, bpe.merging, list(others), len(unstable))
    if (split := _split_before_white_space(bpe, unstable)) is not None:
        found[len(split)].append(np.array([split], np.uint32))
    return stable, [row for length in sorted(found) for row in _distinct(np.concatenate(found[length]))]


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


def _is_text(data: bytes) -> bool:
    """True for UTF-8."""
    return data.isascii() or data.decode("utf-8", "replace").encode() == data  # `replace` changes what is not UTF-8


def _with_prefix(tokens: list[bytes], prefix: bytes) -> slice:
    """The range of the tokens that begin with `prefix`, in a sorted list."""
    start = bisect_left(tokens, prefix)
    stem = prefix.rstrip(b"\xff")
    after = stem[:-1] + bytes([stem[-1] + 1]) if stem else None  # the first bytes that do not begin with it
    return slice(start, None if after is None else bisect_left(tokens, after, start))


def _add_covering(rows: _Rows, bpe: CoreBPE, core: Core, texts: Sequence[str | bytes], length: int) -> None:
    """Adds the first tokens of each text that cover its first `length` bytes.

    Args:
        rows: number of tokens -> uint32[texts, tokens].
        bpe: the encoding.
        core: what encodes the texts.
        texts: the texts.
        length: number of bytes.
    """
    import numpy as np

    if not texts:
        return
    encoded: Any = core.encode_batch(texts, None, 1)
    ids, offsets = np.frombuffer(encoded[0], "<u4"), np.frombuffer(encoded[1], "<i8")
    lengths = bpe.lengths[ids]
    before = np.cumsum(lengths) - lengths  # bytes before each token, of all texts
    starts = np.repeat(np.append(before, 0)[offsets[:-1]], np.diff(offsets))
    keep = before - starts < length
    bounds = np.append(0, np.cumsum(keep))[offsets]
    kept = ids[keep]
    if not bpe.is_plain:
        kept = np.array(bpe.external(kept.tolist()), np.uint32)
    counts = np.diff(bounds)
    for count in set(counts.tolist()):
        rows[count].append(kept[bounds[:-1][counts == count, None] + np.arange(count)])


def _distinct(rows: NDArray[np.uint32]) -> list[list[int]]:
    """The distinct rows, sorted."""
    import numpy as np

    if rows.shape[1] == 0:
        return [[]]
    if rows.shape[1] == 2:  # sorting integers is ten times as fast as sorting rows
        pairs = np.unique(rows[:, 0].astype(np.uint64) << np.uint64(32) | rows[:, 1])
        rows = np.stack([pairs >> np.uint64(32), pairs & np.uint64((1 << 32) - 1)], axis=1).astype(np.uint32)
    else:
        rows = np.unique(rows, axis=0) if rows.shape[1] > 1 else np.unique(rows)[:, None]
    return rows.tolist()  # type: ignore[no-any-return]


def _split_before_white_space(bpe: CoreBPE, unstable: bytes) -> list[int] | None:
    """The tokens if the pattern splits before a white space at the end, as ``\\s+(?!\\S)`` does."""
    end = unstable.decode("utf-8", "surrogateescape")[-1:]
    head = unstable[: -len(end.encode("utf-8", "surrogateescape"))]
    if not head or end not in _WHITE_SPACE:
        return None
    encode = bpe.merging.encode_text
    tail = unstable[len(head) :]
    return bpe.external(encode(head.decode("latin-1")) + encode(tail.decode("latin-1")))

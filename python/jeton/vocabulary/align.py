"""Alignment of two tokenizers: ids with the same bytes, and the common boundaries of two encodings of one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tokenizer import Tokenizer
from ..util.arguments import instance
from ..util.threads import num_threads

__all__ = ["Alignment", "SpanAlignment", "align", "vocabulary_map"]

NO_ID = (1 << 32) - 1


def vocabulary_map(a: Tokenizer, b: Tokenizer) -> NDArray[np.int64]:
    """Returns int64[n]: for each id of `a`, the id of `b` that decodes to the same bytes, or -1."""
    ids = np.frombuffer(a._core.vocabulary_map(b._core), "<u4").astype(np.int64)
    ids[ids == NO_ID] = -1
    return ids


@dataclass(frozen=True, eq=False)
class SpanAlignment:
    """Two encodings of one text, cut at their common boundaries.

    Attributes:
        ids_a, ids_b: int64: ids of the two encodings.
        groups_a, groups_b: int64[n + 1]: group i has the tokens from `groups_a[i]` up to `groups_a[i + 1]`, and from
            `groups_b[i]` up to `groups_b[i + 1]`. These tokens of A and of B cover the same bytes.
        byte_spans: int64[n, 2]: the range of bytes of each group.
    """

    ids_a: NDArray[np.int64]
    ids_b: NDArray[np.int64]
    groups_a: NDArray[np.int64]
    groups_b: NDArray[np.int64]
    byte_spans: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.byte_spans)

    def __repr__(self) -> str:
        return f"<{len(self)} groups of {self.ids_a.size} and {self.ids_b.size} tokens>"


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two tokenizers, aligned.

    Attributes:
        a, b: the tokenizers.
        to_b, to_a: int64: for each id of `a` (of `b`), the id of the other tokenizer with the same bytes, or -1. A
            special token corresponds to special tokens only.

    Examples:
        >>> import jeton
        >>> a = jeton.train(["low lower lowest"], 259, pattern="gpt2", progress=False)
        >>> b = jeton.train(["low slow lows"], 258, pattern="gpt2", progress=False)
        >>> aligned = jeton.align(a, b)
        >>> aligned
        <258 of 259 and 258 of 258 tokens have the same bytes>
        >>> spans = aligned.spans("low slow")
        >>> spans.groups_a.tolist(), spans.groups_b.tolist(), spans.byte_spans.tolist()
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [[0, 3], [3, 4], [4, 5], [5, 8]])
    """

    a: Tokenizer
    b: Tokenizer
    to_b: NDArray[np.int64]
    to_a: NDArray[np.int64]

    def spans(self, text: str | bytes) -> SpanAlignment:
        """Returns both encodings of a text, with the groups of tokens between common boundaries."""
        (ids_a, spans_a), (ids_b, spans_b) = (_encoded(tok, text) for tok in (self.a, self.b))
        ends = np.intersect1d(spans_a[:, 1], spans_b[:, 1])
        ends = ends[ends > 0]
        # Each encoding is cut before its first token that ends after the boundary.
        cut_a = np.searchsorted(np.maximum.accumulate(spans_a[:, 1]), ends, side="right")
        cut_b = np.searchsorted(np.maximum.accumulate(spans_b[:, 1]), ends, side="right")
        size = len(text if isinstance(text, bytes) else text.encode())
        is_whole = ends.size and ends[-1] == size
        if not is_whole and (ids_a.size or ids_b.size):  # text after the last common boundary
            ends = np.append(ends, size)
            cut_a, cut_b = np.append(cut_a, ids_a.size), np.append(cut_b, ids_b.size)
        begins = np.concatenate([[0], ends[:-1]]) if ends.size else ends
        zero = np.zeros(1, np.int64)
        return SpanAlignment(
            ids_a,
            ids_b,
            np.concatenate([zero, cut_a]),
            np.concatenate([zero, cut_b]),
            np.column_stack([begins, ends]).astype(np.int64),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns both maps as lists."""
        return {"to_b": self.to_b.tolist(), "to_a": self.to_a.tolist()}

    def __repr__(self) -> str:
        one, other = int((self.to_b >= 0).sum()), int((self.to_a >= 0).sum())
        return f"<{one} of {len(self.a)} and {other} of {len(self.b)} tokens have the same bytes>"


def align(a: Tokenizer, b: Tokenizer) -> Alignment:
    """Aligns two tokenizers: maps ids to ids with the same bytes; `Alignment.spans` aligns two encodings of a text.

    Use it for speculative decoding with a draft model that has another tokenizer, and for distillation across
    tokenizers.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower"], 258, pattern="gpt2", progress=False)
        >>> jeton.align(tok, tok).to_b.tolist() == list(range(258))
        True
    """
    for name, tok in (("a", a), ("b", b)):
        instance(tok, name, Tokenizer, "a Tokenizer")
    return Alignment(a, b, vocabulary_map(a, b), vocabulary_map(b, a))


def _encoded(tok: Tokenizer, text: str | bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the ids and byte spans of a text."""
    ids = np.frombuffer(tok._core.encode_array(text, None, num_threads(None)), "<u4").astype(np.int64)
    return ids, np.frombuffer(tok._core.byte_spans(text, None), "<i8").reshape(-1, 2)

"""What encoding returns when ids alone are not enough: tokens with their places, and batches of ids.

Half-open ranges everywhere; the unit is in the name. `byte_span`s are in order and disjoint and tile the input wherever
the tokenizer drops nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Encoding", "Token", "TokenBatch"]


class Token(NamedTuple):
    """One token of a text.

    Attributes:
        id: its id.
        bytes: what the id adds to decoded text.
        byte_span: the bytes of the text it covers, half-open; empty for a token without bytes of its own.
        char_span: the smallest range of characters that covers these bytes; tokens inside one character share it.

    Examples:
        >>> Token(104, b"h", (0, 1), (0, 1)).bytes
        b'h'
    """

    id: int
    bytes: bytes
    byte_span: tuple[int, int]
    char_span: tuple[int, int]


@dataclass(frozen=True, repr=False)
class Encoding(Sequence[Token]):
    """The tokens of one text: a sequence of `Token`, and the same facts as columns.

    Attributes:
        ids: list of n ids.
        tokens: list of n byte strings.
        byte_spans, char_spans: n half-open ranges.
        pretokens: the pretokens and added tokens the text was cut into, as ranges of bytes.
        dropped: ranges of bytes that no token covers (white space, where words are what is kept).
        type_ids: n integers, which part of the input each token belongs to, by the tokenizer's template.
        special_mask: n times whether the template put the token there.
        sequence_ids: n times which text the token comes from: 0, 1 for a pair's second, None for the template's own.
        hf_offsets: n ranges of characters as Hugging Face counts them (``offset_mapping``): tokens of one character
            share it, and a template may trim white space.

    Of a pair, spans count in the token's own text; `pretokens` and `dropped` are those of the first.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> encoding = tok.tokenize("lower")
        >>> encoding.tokens, encoding[0].byte_span, len(encoding)
        ([b'low', b'e', b'r'], (0, 3), 3)
        >>> [token.id for token in encoding] == encoding.ids
        True
    """

    ids: list[int]
    tokens: list[bytes]
    byte_spans: list[tuple[int, int]]
    char_spans: list[tuple[int, int]]
    pretokens: list[tuple[int, int]]
    dropped: list[tuple[int, int]]
    type_ids: list[int]
    special_mask: list[bool]
    sequence_ids: list[int | None]
    hf_offsets: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Token: ...
    @overload
    def __getitem__(self, index: slice) -> list[Token]: ...
    def __getitem__(self, index: int | slice) -> Token | list[Token]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return Token(self.ids[index], self.tokens[index], self.byte_spans[index], self.char_spans[index])

    def __repr__(self) -> str:
        return f"Encoding({len(self)} tokens: {self.tokens[:8]}{'…' if len(self) > 8 else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class TokenBatch(Sequence["NDArray[np.uint32]"]):
    """The ids of many texts, one after the other; a sequence of one array a text.

    Attributes:
        ids: uint32[n], the ids of all texts.
        offsets: int64[texts + 1]; text i has ``ids[offsets[i]:offsets[i + 1]]``.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> batch = tok.encode_batch(["low", "lower"])
        >>> len(batch), batch[1].tolist(), batch.offsets.tolist()
        (2, [257, 101, 114], [0, 1, 4])
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray[np.uint32]]: ...
    def __getitem__(self, index: int | slice) -> NDArray[np.uint32] | list[NDArray[np.uint32]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __repr__(self) -> str:
        return f"TokenBatch({len(self)} texts, {len(self.ids)} ids)"

"""Result of `Tokenizer.tokenize`: `Encoding`, tokens with spans.

All ranges are half-open. A `byte_span` counts bytes, a `char_span` counts characters. `byte_span`s are ordered and
disjoint; if the tokenizer drops nothing, they cover the whole input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

from .calls.columns import COLUMNS, Column, array_of
from .drawing import Drawing, described, to_html
from .util.arguments import integer
from .util.lazy import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .calls.columns import TokenColumns

__all__ = ["Encoding", "Token"]


MAX_TOKENS_SHOWN = 5_000  # maximum number of tokens drawn for an encoding in a notebook

_Spans: TypeAlias = list[tuple[int, int]]
_Pretokens: TypeAlias = list[tuple[int, int, int]]  # start, end, index of its first token
# Result of the core: columns, pretokens, dropped ranges.
_Columns: TypeAlias = tuple[list[int], list[bytes], _Spans, _Spans, _Spans, list[int], list[bool], list[int | None]]
TokenizeResult: TypeAlias = tuple[_Columns, _Pretokens, _Spans]


class Token(NamedTuple):
    """One token of a text.

    Attributes:
        id: id of the token.
        bytes: the bytes that the id adds to decoded text.
        byte_span: half-open range of the text's bytes that the token covers; empty if it covers none.
        char_span: smallest range of characters that covers these bytes; tokens inside one character share it.

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
    """Tokens of one text: a sequence of `Token`, also available as columns.

    Attributes:
        ids: list of n ids.
        tokens: the bytes of each token, a list of n.
        byte_spans, char_spans: n half-open ranges.
        pretokens: byte ranges of the pretokens and added tokens of the text.
        dropped: byte ranges that no token covers, such as the white space that a tokenizer of words omits.
        type_ids: n integers, the type id that the tokenizer's template gives each token.
        special_tokens_mask: n booleans, True for a token that the template added.
        sequence_ids: n values: 0 for a token of the text, 1 for a token of a pair's second text, None for a token that
            the template added.
        hf_offsets: n ranges of characters with Hugging Face's rules (``offset_mapping``): each token inside a character
            has the range of the whole character, and a template may trim white space.
        text, pair_text: bytes of the text, and of the second text of a pair.
        special_tokens: id -> spelling, for all special tokens of the tokenizer.
        first_tokens: one list of token indices for each text: the index of each pretoken's first token, then the number
            of tokens of the text. An index counts only the tokens of the same text.

    Attributes are computed on first access, from the columns that `array` returns. Until then, the result of
    `Tokenizer.tokenize` holds only the text and its ids.

    For a pair, each span is relative to the token's own text; `pretokens` and `dropped` are those of the first text.

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
    special_tokens_mask: list[bool]
    sequence_ids: list[int | None]
    hf_offsets: list[tuple[int, int]]
    text: bytes
    pair_text: bytes
    special_tokens: Mapping[int, bytes]
    first_tokens: tuple[Sequence[int], ...] = field(repr=False, compare=False)

    @classmethod
    def of_columns(cls, columns: TokenColumns) -> Encoding:
        """Builds an encoding whose attributes are computed on access."""
        encoding = object.__new__(cls)
        encoding.__dict__["_columns"] = columns
        return encoding

    if not TYPE_CHECKING:  # otherwise type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            columns = self.__dict__.get("_columns")
            if columns is None or name not in self.__dataclass_fields__:
                from .util.hints import result_error

                raise result_error(self, name)
            value = self.__dict__[name] = columns.attribute(name)
            return value

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def array(self, column: Column) -> NDArray[Any]:
        """Returns a column as an array, without a Python object for each token. Do not write to the shared array.

        Args:
            column: ``"ids"``, ``"byte_spans"``, ``"char_spans"``, ``"hf_offsets"``, ``"type_ids"``,
                ``"special_tokens_mask"``, ``"sequence_ids"`` or ``"word_ids"``.

        Returns:
            The column: uint32[n] for ids, int64[n, 2] for spans and offsets, bool[n] for the mask; otherwise int64[n],
            with -1 for None.

        Raises:
            ConfigError: `column` is none of these names.

        Examples:
            >>> import jeton
            >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
            >>> tok.tokenize("lower").array("byte_spans").tolist()
            [[0, 3], [3, 4], [4, 5]]
        """
        columns: TokenColumns | None = self.__dict__.get("_columns")
        if columns is not None:
            return columns.array(column)
        return array_of(column, getattr(self, column) if column in COLUMNS else None)

    @classmethod
    def from_core(
        cls,
        result: TokenizeResult,
        text: bytes,
        special_tokens: Mapping[int, bytes],
        most: int,
        template: Mapping[str, Any] | None,
    ) -> Encoding:
        """Builds an encoding from the core's result, limited to about `most` tokens.

        The `text` of a limited encoding ends at most 4 bytes after the last token, so that no character is cut.

        Args:
            result: columns, pretokens and dropped ranges.
            text: bytes of the text.
            special_tokens: id -> spelling.
            most: approximate maximum number of tokens.
            template: the template of the tokenizer's definition.
        """
        columns, pretokens, dropped = result
        ids, tokens, byte_spans, char_spans, hf_offsets, type_ids, special_tokens_mask, sequence_ids = columns
        return cls(
            ids,
            tokens,
            byte_spans,
            char_spans,
            [(start, end) for start, end, _ in pretokens],
            dropped,
            type_ids,
            special_tokens_mask,
            sequence_ids,
            hf_offsets,
            text if len(ids) < most else text[: max(end for _, end in byte_spans) + 4],
            b"",
            special_tokens,
            ([first for *_, first in pretokens] + [sequence_ids.count(0) // _occurrences(template)],),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Token]:
        return starmap(Token, zip(self.ids, self.tokens, self.byte_spans, self.char_spans, strict=True))

    @overload
    def __getitem__(self, index: int) -> Token: ...
    @overload
    def __getitem__(self, index: slice) -> list[Token]: ...
    def __getitem__(self, index: int | slice) -> Token | list[Token]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return Token(self.ids[index], self.tokens[index], self.byte_spans[index], self.char_spans[index])

    @cached_property
    def word_ids(self) -> list[int | None]:
        """Returns for each token the index of its pretoken in its text; None for a token of the template.

        This is Hugging Face's `word_ids`. Each added token is a pretoken of its own; without a pre-tokenizer, a text is
        one pretoken.

        Examples:
            >>> import jeton
            >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
            >>> encoding = tok.tokenize("lower lows")
            >>> encoding.tokens, encoding.word_ids
            ([b'low', b'e', b'r', b' low', b's'], [0, 0, 0, 1, 1])
        """
        columns: TokenColumns | None = self.__dict__.get("_columns")
        if columns is not None:
            return columns.word_ids()
        import numpy as np

        words = np.full(len(self), None, object)
        for of, first_tokens in enumerate(self.first_tokens):
            places = self._places(of)
            within = np.arange(len(places)) % max(first_tokens[-1], 1)  # a template can contain a text several times
            words[places] = np.searchsorted(first_tokens[:-1], within, side="right") - 1
        return list(words)

    def char_to_token(self, char: int, sequence_index: int = 0) -> int | None:
        """Returns the index of the first token whose `hf_offsets` contain a character, like HF's `char_to_token`.

        Args:
            char: index of a character of the text.
            sequence_index: 1 for the second text of a pair.

        Returns:
            None if no token contains the character: white space that the tokenizer drops or the template trims, a
            position after the end, or any position of a second text that is missing.

        Raises:
            ConfigError: `char` is negative, or `sequence_index` is neither 0 nor 1.

        Examples:
            >>> import jeton
            >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
            >>> encoding = tok.tokenize("lower lows")
            >>> encoding.char_to_token(3), encoding.char_to_token(9), encoding.char_to_token(10)
            (1, 4, None)
        """
        char, of = integer(char, "char", 0), integer(sequence_index, "sequence_index", 0, 1)
        if of >= len(self.first_tokens):
            return None
        places, starts, ends, highest, is_sorted = self._char_index[of]
        at = int(highest.searchsorted(char, side="right"))  # index of the first token that ends after the character
        if at == len(places):
            return None
        if starts[at] > char and not is_sorted:  # a normalizer moved characters, so the offsets are not in order
            inside = (starts[at:] <= char) & (char < ends[at:])
            at += int(inside.argmax())
        return int(places[at]) if starts[at] <= char < ends[at] else None

    def token_to_chars(self, token: int) -> tuple[int, int] | None:
        """Returns the half-open character range of a token in its text, from `hf_offsets`, like HF's `token_to_chars`.

        Args:
            token: index of the token; negative indices count from the end.

        Returns:
            None for a token of the template or for an index past the end.

        Examples:
            >>> import jeton
            >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
            >>> tok.tokenize("lower lows").token_to_chars(3)
            (5, 9)
        """
        at = index(token)
        if not -len(self) <= at < len(self) or self.sequence_ids[at] is None:
            return None
        return self.hf_offsets[at]

    @cached_property
    def _char_index(self) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], bool]]:
        """One lookup table for each text, for `char_to_token`.

        It has the indices, starts and ends of the text's tokens, the running maximum of the ends, and True if the
        starts ascend.
        """
        import numpy as np

        offsets = self.array("hf_offsets")
        found = []
        for of, first_tokens in enumerate(self.first_tokens):
            repeated = self._places(of)
            places = repeated[len(repeated) - first_tokens[-1] :]  # the text's last occurrence in the template, like HF
            starts, ends = offsets[places].T
            found.append((places, starts, ends, np.maximum.accumulate(ends), bool((starts[1:] >= starts[:-1]).all())))
        return found

    def _places(self, of: int) -> NDArray[Any]:
        """Returns the indices of the tokens of one text; `of` is 0, or 1 for the second text of a pair."""
        import numpy as np

        return np.flatnonzero(self.array("sequence_ids") == of)

    def drawing(self) -> Drawing:
        """Returns a drawing of the tokens, for a terminal, a notebook or a page.

        For a pair, positions refer to the concatenation of the two texts. A template's token is placed at the edge of
        the adjacent text.

        Examples:
            >>> import jeton
            >>> tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
            >>> [look.shown for look in tok.tokenize("é!").drawing()]
            ['⟨é c3⟩', '⟨a9⟩', '!']
        """
        byte_spans, char_spans = self.byte_spans, self.char_spans
        if self.pair_text or any(self.special_tokens_mask):
            byte_spans = self._placed(byte_spans, len(self.text), len(self.pair_text))
            text, pair = (data.decode("utf-8", "replace") for data in (self.text, self.pair_text))
            char_spans = self._placed(char_spans, len(text), len(pair))
        whole = self.text + self.pair_text
        return described(whole, self.ids, self.tokens, byte_spans, char_spans, self.special_tokens)

    def _placed(self, spans: list[tuple[int, int]], length: int, pair_length: int) -> list[tuple[int, int]]:
        """Converts spans, each in its own text, to spans in the concatenation of both texts.

        A token that the template adds gets an empty span at the end of the previous token (at 0 if there is none). If
        the previous token is the last one of its text, the empty span is at the end of this text.
        """
        begins, ends = {0: 0, 1: length}, {0: length, 1: length + pair_length}
        left = {of: self.sequence_ids.count(of) for of in begins}
        placed: list[tuple[int, int]] = []
        at = 0
        for (start, end), of in zip(spans, self.sequence_ids, strict=True):
            if of is None:
                placed.append((at, at))
                continue
            placed.append((begins[of] + start, begins[of] + end))
            left[of] -= 1
            at = placed[-1][1] if left[of] else ends[of]
        return placed

    def _repr_html_(self) -> str:
        drawing = self.drawing()
        facts = [f"{len(self):,} tokens", f"{drawing.text_bytes:,} bytes", f"{drawing.text_chars:,} characters"]
        if self:
            facts.append(f"{drawing.text_bytes / len(self):.2f} bytes per token")
        if len(self) > MAX_TOKENS_SHOWN:
            facts.append(f"the first {MAX_TOKENS_SHOWN:,} are drawn")
        return f"{to_html(drawing.head(MAX_TOKENS_SHOWN))}<small>{' · '.join(facts)}</small>"

    def __repr__(self) -> str:
        return f"Encoding({len(self)} tokens: {self.tokens[:8]}{'…' if len(self) > 8 else ''})"


def _occurrences(template: Mapping[str, Any] | None) -> int:
    """Returns how often a template contains the text; at least 1."""
    items = (template or {}).get("single") or ()
    return max([item.get("sequence") for item in items].count("A"), 1)

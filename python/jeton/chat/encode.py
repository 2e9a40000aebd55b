"""Ids of a rendered chat: special tokens of the template are control, those that a message spells are text.

If only the template spells special tokens, the whole text is encoded with all of them permitted. Otherwise the text is
encoded in segments. A masked copy, in which every character that is not the template's is replaced, yields the
template's special tokens. The text between two of them is encoded without permission, after a special token, so it
has the context that it has in the whole text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from ..added_tokens import AddedToken
from ..encoding import Encoding
from ..errors import ChatTemplateError, SpecialTokenError
from ..special import Special, permission
from .template import RenderedRun

__all__ = ["ChatTokenizer", "encode"]

# Mask characters by length in UTF-8, for word characters and for others. No normalizer changes them.
_WORDS = ("qjxzkvwyQJXZKVWY0123456789abcdefghilmnoprstuABCDEFGHILMNOPRSTU_", "ƿƾƻǀ", "ꙮꜣꜥꚙ", "𐌰𐌱𐌲𐌳")
_OTHERS = ("\x01\x02\x03\x04\x05\x06!#$%&*+,-./:;<=>?@^`|~", "¦¬±÷", "※⁂☙⌘", "🜀🜁🜂🜃")
_MARK = "\ue5a1jeton\ue5a1"


class ChatTokenizer(Protocol):
    """The part of a tokenizer's interface that encoding a chat needs."""

    @property
    def special_tokens(self) -> Mapping[str, int]: ...  # noqa: D102
    def tokenize(self, text: str, *, special: Special, add_special_tokens: bool) -> Encoding: ...  # noqa: D102
    def add_tokens(self, tokens: Iterable[str]) -> ChatTokenizer: ...  # noqa: D102
    @property
    def added_tokens(self) -> Mapping[int, AddedToken]: ...  # noqa: D102


def encode(tok: ChatTokenizer, text: str, pieces: Sequence[RenderedRun], special: Special) -> Encoding:
    """Encodes a rendered chat.

    Args:
        tok: the tokenizer.
        text: the rendered text.
        pieces: origins of its characters, tiling it.
        special: special tokens that are permitted outside of the template's own text, as in `Tokenizer.encode`.

    Raises:
        SpecialTokenError: ``special="raise"``, and a message spells a special token.
        ChatTemplateError: a special token is in text that mixes the template's with a message's, so its origin is
            unknown.
    """
    permitted = permission(special, tok.special_tokens)
    whole = tok.tokenize(text, special="all", add_special_tokens=False)
    if permitted == "all":
        return whole
    controls = set(tok.special_tokens.values())
    found = [
        (id, *span)
        for id, span in zip(whole.ids, whole.char_spans, strict=True)
        if id in controls and span[0] < span[1]
    ]
    theirs = _ranges(pieces, {"message", "caller", "mixed"})
    foreign = [(id, start, end) for id, start, end in found if _overlap(theirs, start, end)]
    allowed = set(permitted) if isinstance(permitted, list) else set()
    if all(id in allowed for id, _, _ in foreign):
        return whole
    kept = [(start, end) for id, start, end in foreign if id in allowed]
    shadow = tok.tokenize(_hidden(text, theirs, kept, tok.special_tokens), special="all", add_special_tokens=False)
    wanted = [
        row
        for row, (id, span) in enumerate(zip(shadow.ids, shadow.char_spans, strict=True))
        if id in controls and span[0] < span[1] and not _covers(theirs, kept, text, span)
    ]
    spans = {shadow.char_spans[row] for row in wanted}
    refused = [one for one in foreign if one[1:] not in spans and one[0] not in allowed]
    _refuse(refused, pieces, text, tok, raises=permitted == "raise")
    return _in_parts(tok, text, whole, shadow, wanted)


def _refuse(
    refused: Sequence[tuple[int, int, int]],
    pieces: Sequence[RenderedRun],
    text: str,
    tok: ChatTokenizer,
    *,
    raises: bool,
) -> None:
    spelling = {id: token for token, id in tok.special_tokens.items()}
    mixed = _ranges(pieces, {"mixed"})
    for id, start, end in refused:
        token = spelling[id]
        if token not in text[start:end]:
            continue  # the unknown token, or a special token that only normalization produces
        if raises:
            raise SpecialTokenError(
                f"a message contains the special token {token!r}, at character {start} of the chat",
                token=token,
                position=start,
            )
        if _overlap(mixed, start, end):
            raise ChatTemplateError(
                f"the special token {token!r} at character {start} of the chat is in text that mixes the template's "
                f"with a message's, so its origin is unknown; to permit it in messages, pass special={{{token!r}}}"
            )


# ── ranges of characters ────────────────────────────────────────────────────────────────────────────────────────────


def _ranges(pieces: Sequence[RenderedRun], sources: Collection[str]) -> list[tuple[int, int]]:
    ends = accumulate(piece.length for piece in pieces)
    return [
        (end - piece.length, end) for piece, end in zip(pieces, ends, strict=True) if piece.origin.source in sources
    ]


def _overlap(ranges: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Tests a range for overlap with sorted, disjoint ranges; O(log n)."""
    at = bisect_right(ranges, start, key=itemgetter(1))
    return at < len(ranges) and ranges[at][0] < end


def _covers(
    theirs: Sequence[tuple[int, int]], kept: Sequence[tuple[int, int]], text: str, span: tuple[int, int]
) -> bool:
    """Tests whether a special token needs foreign characters; white space that its flags strip does not count."""
    start, end = span
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end -= len(text[start:end]) - len(text[start:end].rstrip())
    return _overlap(theirs, start, end) and not _overlap(kept, start, end)


def _hidden(
    text: str, theirs: Sequence[tuple[int, int]], kept: Sequence[tuple[int, int]], tokens: Iterable[str]
) -> str:
    """Masks foreign characters with characters that no special token has; lengths and white space are kept."""
    used = set("".join(tokens))
    masks = {}
    for kind, alphabets in ((True, _WORDS), (False, _OTHERS)):
        for length, alphabet in enumerate(alphabets, 1):
            free = (char for char in alphabet if char not in used)
            masks[kind, length] = next(free, None) or next(
                (c for c in _OTHERS[length - 1] if c not in used), alphabet[0]
            )

    class Table(dict[int, str]):
        def __missing__(self, code: int) -> str:
            char = chr(code)
            mask = char if char.isspace() else masks[char.isalnum() or char == "_", len(char.encode())]
            self[code] = mask
            return mask

    table = Table()
    parts, at = [], 0
    for start, end in theirs:
        parts.append(text[at:start])
        inside = [(max(low, start), min(high, end)) for low, high in kept if low < end and start < high]
        for low, high in inside:
            parts += (text[start:low].translate(table), text[low:high])
            start = high
        parts.append(text[start:end].translate(table))
        at = end
    return "".join((*parts, text[at:]))


# ── segments ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _TokenSlice(NamedTuple):
    """A slice of an encoding's tokens, and its offset in the whole text.

    Attributes:
        encoding: the encoding.
        rows: the tokens.
        byte_range: the bytes of `encoding`'s text that they cover.
        byte_shift, char_shift: added to spans of `encoding`, give spans of the whole text.
    """

    encoding: Encoding
    rows: slice
    byte_range: tuple[int, int]
    byte_shift: int
    char_shift: int


def _in_parts(tok: ChatTokenizer, text: str, whole: Encoding, shadow: Encoding, wanted: Sequence[int]) -> Encoding:
    """Joins the special tokens of the masked encoding with encodings of the text between them."""
    parts = []
    at_char = at_byte = 0
    for row in (*wanted, None):
        start, end = (len(text), len(text)) if row is None else shadow.char_spans[row]
        if between := text[at_char:start]:
            parts.append(_between(tok, between, at_byte, at_char))
        if row is not None:
            parts.append(_TokenSlice(shadow, slice(row, row + 1), shadow.byte_spans[row], 0, 0))
            at_char, at_byte = end, shadow.byte_spans[row][1]
    return _joined(parts, whole)


def _between(tok: ChatTokenizer, text: str, at_byte: int, at_char: int) -> _TokenSlice:
    """Encodes text in its context: at the beginning, or after a special token."""
    first = ""
    if at_char:
        exact = (token.content for token in tok.added_tokens.values() if token.special and token.is_exact)
        first = next((token for token in exact if token not in text), "")
        if not first:
            first, tok = _MARK, tok.add_tokens([_MARK])
    encoding = tok.tokenize(first + text, special={first} if first else "none", add_special_tokens=False)
    length = len(first.encode())
    rows = slice(1 if first else 0, None)
    return _TokenSlice(encoding, rows, (length, length + len(text.encode())), at_byte - length, at_char - len(first))


def _joined(parts: Iterable[_TokenSlice], whole: Encoding) -> Encoding:
    """Concatenates the slices; attributes that are not columns come from `whole`."""
    columns: dict[str, Any] = {
        column.name: [] for column in fields(Encoding) if isinstance(getattr(whole, column.name), list)
    }
    for part in parts:
        low, high = part.byte_range
        for name, column in columns.items():
            values = getattr(part.encoding, name)
            if name in ("pretokens", "dropped"):
                values = [span for span in values if low <= span[0] and span[1] <= high]
            else:
                values = values[part.rows]
            if name in ("byte_spans", "pretokens", "dropped") and part.byte_shift:
                values = [(start + part.byte_shift, end + part.byte_shift) for start, end in values]
            elif name in ("char_spans", "hf_offsets") and part.char_shift:
                values = [(start + part.char_shift, end + part.char_shift) for start, end in values]
            column += values
    return replace(whole, **columns)

"""Encoding of rendered chats: special tokens written by the template are matched; in a message, they are plain text.

If only the template spells special tokens, the whole text is encoded with all of them permitted. Otherwise the text is
encoded in segments. The template's special tokens are located in a masked copy, in which every character that the
template did not write is replaced. A segment is the text between two of these tokens; it is encoded without permitted
special tokens. A special token is put before the segment, which thus has the same context as in the whole text.

`encode` returns only ids. `char_spans` is a second pass. For byte-level tokenizers, it is as fast as encoding;
`tokenize`, which returns all columns, takes many times as long. An `AddedTokenMatcher` locates special tokens without
running the model.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..encoding import Encoding
from ..errors import ChatTemplateError, SpecialTokenError, keyword
from ..tokens.adding import HasAddedTokens
from ..tokens.matcher import AddedTokenMatch
from ..tokens.special import Special, permission
from .template import RenderedRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ChatTokenizer", "MaskedChat", "char_spans", "control_spans", "encode", "encode_between", "tokenize"]

# Candidates for mask characters, by number of UTF-8 bytes (1 to 4). No normalizer changes them.
_WORDS = ("qjxzkvwyQJXZKVWY0123456789abcdefghilmnoprstuABCDEFGHILMNOPRSTU_", "ƿƾƻǀ", "ꙮꜣꜥꚙ", "𐌰𐌱𐌲𐌳")
_OTHERS = ("\x01\x02\x03\x04\x05\x06!#$%&*+,-./:;<=>?@^`|~", "¦¬±÷", "※⁂☙⌘", "🜀🜁🜂🜃")
# Columns of an encoding that contain positions. The positions are shifted if a segment is moved.
_BYTE_COLUMNS = ("byte_spans", "pretokens", "dropped")
_CHAR_COLUMNS = ("char_spans", "hf_offsets")
_MARK = "\ue5a1jeton\ue5a1"


class ChatTokenizer(HasAddedTokens, Protocol):
    """The part of a tokenizer's interface that encoding a chat needs."""

    @property
    def special_tokens(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def roles(self) -> Mapping[str, str]: ...  # noqa: D102
    def encode(self, text: str, *, special: Special, add_special_tokens: bool) -> list[int]: ...  # noqa: D102
    def encode_array(  # noqa: D102
        self, text: str, *, special: Special, add_special_tokens: bool
    ) -> NDArray[np.uint32]: ...
    def tokenize(self, text: str, *, special: Special, add_special_tokens: bool) -> Encoding: ...  # noqa: D102
    def add_tokens(self, tokens: Iterable[str]) -> ChatTokenizer: ...  # noqa: D102


class MaskedChat(NamedTuple):
    """A chat in which some special tokens are plain text.

    Attributes:
        masked: the text, with a mask character in place of each character that the template did not write.
        controls: the special tokens to match, in order; the text between them is plain.
    """

    masked: str
    controls: list[AddedTokenMatch]


def encode(
    tok: ChatTokenizer, text: str, pieces: list[RenderedRun], special: Special
) -> tuple[list[int], MaskedChat | None]:
    """Encodes a rendered chat.

    Args:
        tok: the tokenizer.
        text: the rendered text.
        pieces: origins of successive ranges of characters, which cover the text without gaps.
        special: special tokens that are permitted outside of the template's own text, as in `Tokenizer.encode`.

    Returns:
        The ids, and the segments for `tokenize`. The segments are None if the whole text was encoded with all special
        tokens permitted.

    Raises:
        SpecialTokenError: ``special="raise"``, and a message spells a special token.
        ChatTemplateError: the template has combined its own text with a message's, and a special token in the result
            has no known origin.
    """
    permitted = permission(special, tok.special_tokens)
    if permitted == "all":
        return tok.encode(text, special="all", add_special_tokens=False), None
    unk = tok.special_tokens.get(tok.roles.get("unk", ""))  # the unknown token needs no permission anywhere
    fast = tok._core.encode_chat(text, pieces, unk)
    if fast is not None:
        return fast, None
    matcher = tok._special_matcher
    if matcher.is_complete:
        ids = tok.encode(text, special="all", add_special_tokens=False)
        matches = matcher(text)
        is_matched = True
    else:
        array = tok.encode_array(text, special="all", add_special_tokens=False)
        ids, matches = array.tolist(), matcher(text)
        is_matched = matcher.num_controls(array, but=unk) == sum(match.id != unk for match in matches)
    theirs = _ranges(pieces, {"message", "caller", "mixed"})
    foreign = [match for match in matches if _overlap(theirs, match.start, match.end)]
    allowed = set(permitted) if isinstance(permitted, list) else set()
    if all(match.id in allowed for match in foreign) and is_matched:
        return ids, None
    kept = [(match.start, match.end) for match in foreign if match.id in allowed]
    masked = _masked(text, theirs, kept, tok.special_tokens)
    controls = [match for match in matcher(masked) if not _covers(theirs, kept, text, match)]
    spans = {(match.start, match.end) for match in controls}
    refused = [match for match in foreign if (match.start, match.end) not in spans and match.id not in allowed]
    _refuse(refused, pieces, text, tok, raises=permitted == "raise")
    segments = MaskedChat(masked, controls)
    return _ids(tok, text, segments), segments


def tokenize(tok: ChatTokenizer, text: str, segments: MaskedChat | None) -> Encoding:
    """Returns the tokens of `encode` with their spans.

    Args:
        tok, text: as for `encode`.
        segments: the second result of `encode`.
    """
    whole = tok.tokenize(text, special="all", add_special_tokens=False)
    return whole if segments is None else _in_segments(tok, text, whole, segments)


def char_spans(tok: ChatTokenizer, text: str, ids: list[int], segments: MaskedChat | None) -> NDArray[np.int64]:
    """Returns the `char_spans` of `tokenize`, int64[n, 2]. `ids` and `segments` are the results of `encode`."""
    import numpy as np

    if segments is None:
        return np.frombuffer(tok._core.chat_spans(text, ids), "<i8").reshape(len(ids), 2)
    return np.array(tokenize(tok, text, segments).char_spans, np.int64).reshape(len(ids), 2)


def control_spans(tok: ChatTokenizer, text: str, pieces: Sequence[RenderedRun]) -> list[AddedTokenMatch]:
    """Locates the special tokens that the template writes, in order."""
    theirs = _ranges(pieces, {"message", "caller", "mixed"})
    masked = _masked(text, theirs, [], tok.special_tokens)
    return [match for match in tok._special_matcher(masked) if not _covers(theirs, [], text, match)]


def _refuse(
    refused: Sequence[AddedTokenMatch],
    pieces: Sequence[RenderedRun],
    text: str,
    tok: ChatTokenizer,
    *,
    raises: bool,
) -> None:
    spelling = {id: token for token, id in tok.special_tokens.items()}
    mixed = _ranges(pieces, {"mixed"})
    for match in refused:
        token = spelling[match.id]
        if token not in text[match.start : match.end]:
            continue  # a special token that only normalization produces
        if raises:
            raise SpecialTokenError(
                f"a message contains the special token {token!r}, at character {match.start} of the chat; "
                f"pass {keyword('special', 'all')} to permit it, {keyword('special', 'none')} to encode its spelling "
                "as plain text",
                token=token,
                position=match.start,
            )
        if _overlap(mixed, match.start, match.end):
            raise ChatTemplateError(
                f"the special token {token!r} at character {match.start} of the chat is in text that combines "
                "the template's with a message's, so its origin is unknown; to permit it in messages, pass "
                f"{keyword('special', {token})}"
            )


# ── ranges of characters ────────────────────────────────────────────────────────────────────────────────────────────


def _ranges(pieces: Sequence[RenderedRun], sources: Collection[str]) -> list[tuple[int, int]]:
    ends = accumulate(piece.length for piece in pieces)
    return [
        (end - piece.length, end) for piece, end in zip(pieces, ends, strict=True) if piece.origin.source in sources
    ]


def _overlap(ranges: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Tests whether a range overlaps any of n sorted, disjoint ranges, in O(log n)."""
    at = bisect_right(ranges, start, key=itemgetter(1))
    return at < len(ranges) and ranges[at][0] < end


def _covers(
    theirs: Sequence[tuple[int, int]], kept: Sequence[tuple[int, int]], text: str, match: AddedTokenMatch
) -> bool:
    """Tests whether a special token overlaps a range in `theirs` but no range in `kept`.

    White space at the ends of the special token is ignored. `theirs`: the text that the template did not write.
    `kept`: the permitted special tokens in this text.
    """
    start, end = match.start, match.end
    if not text[start:end].isspace():  # a token of only white space is not stripped
        start += len(text[start:end]) - len(text[start:end].lstrip())
        end -= len(text[start:end]) - len(text[start:end].rstrip())
    return _overlap(theirs, start, end) and not _overlap(kept, start, end)


def _masked(
    text: str, theirs: Sequence[tuple[int, int]], kept: Sequence[tuple[int, int]], tokens: Iterable[str]
) -> str:
    """Replaces the characters in the ranges `theirs` with characters that occur in none of the special tokens.

    White space and the ranges `kept` are not replaced. Each replacement has as many bytes as its character.
    """
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
        first, last = bisect_right(kept, start, key=itemgetter(1)), bisect_left(kept, end, key=itemgetter(0))
        for low, high in [(max(low, start), min(high, end)) for low, high in kept[first:last]]:
            parts += (text[start:low].translate(table), text[low:high])
            start = high
        parts.append(text[start:end].translate(table))
        at = end
    return "".join((*parts, text[at:]))


# ── segments ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ids(tok: ChatTokenizer, text: str, segments: MaskedChat) -> list[int]:
    """Encodes the special tokens and the text between them."""
    ids: list[int] = []
    at = 0
    for match in segments.controls:
        if between := text[at : match.start]:
            ids += encode_between(tok, between, at)
        ids.append(match.id)
        at = match.end
    if between := text[at:]:
        ids += encode_between(tok, between, at)
    return ids


def encode_between(tok: ChatTokenizer, text: str, at: int) -> list[int]:
    """Encodes a part of a chat, which begins at the position `at`, without matching special tokens.

    If `at` is 0, the text is encoded as the start of the chat. Otherwise, it is encoded as text after a special token.
    """
    tok, first, permitted = _context(tok, text, at)
    return tok.encode(first + text, special=permitted, add_special_tokens=False)[1 if first else 0 :]


def _context(tok: ChatTokenizer, text: str, at: int) -> tuple[ChatTokenizer, str, Special]:
    """Chooses the special token that is encoded before a segment as its context.

    Returns:
        (tokenizer, token, permission). The tokenizer has the chosen token. The permission is the value of `special`
        that permits this token. At the start of a chat, the token is empty.
    """
    if not at:
        return tok, "", "none"
    exact = (token.content for token in tok.added_tokens.values() if token.special and token.is_exact)
    first = next((token for token in exact if token not in text and not _is_made(tok, token, text)), "")
    if not first:
        first, tok = _MARK, tok.add_tokens([_MARK])
    return tok, first, {first}


def _is_made(tok: ChatTokenizer, token: str, text: str) -> bool:
    """Tests whether normalization or the model turns a text into a special token that the text does not spell."""
    if tok._special_matcher.is_complete:
        return False
    return tok.special_tokens[token] in tok.encode(text, special={token}, add_special_tokens=False)


class _TokenSlice(NamedTuple):
    """A slice of an encoding's tokens, and its offset in the whole text.

    Attributes:
        encoding: the encoding.
        rows: the tokens of the slice.
        byte_range: the bytes that these tokens cover, in the text of `encoding`.
        byte_shift, char_shift: offsets to add to spans of `encoding`, to get spans of the whole text.
    """

    encoding: Encoding
    rows: slice
    byte_range: tuple[int, int]
    byte_shift: int
    char_shift: int


def _in_segments(tok: ChatTokenizer, text: str, whole: Encoding, segments: MaskedChat) -> Encoding:
    """Joins the special tokens and the encodings of the texts between them.

    The special tokens are taken from the encoding of the masked text.
    """
    masked = tok.tokenize(segments.masked, special="all", add_special_tokens=False)
    byte_spans = masked.byte_spans
    row_of = {(id, *span): row for row, (id, span) in enumerate(zip(masked.ids, masked.char_spans, strict=True))}
    parts: list[_TokenSlice] = []
    at_char = at_byte = 0
    for match in segments.controls:
        if between := text[at_char : match.start]:
            parts.append(_slice_between(tok, between, at_byte, at_char))
        row = row_of[match.id, match.start, match.end]
        parts.append(_TokenSlice(masked, slice(row, row + 1), byte_spans[row], 0, 0))
        at_char, at_byte = match.end, byte_spans[row][1]
    if between := text[at_char:]:
        parts.append(_slice_between(tok, between, at_byte, at_char))
    return _joined(parts, whole)


def _slice_between(tok: ChatTokenizer, text: str, at_byte: int, at_char: int) -> _TokenSlice:
    tok, first, permitted = _context(tok, text, at_char)
    encoding = tok.tokenize(first + text, special=permitted, add_special_tokens=False)
    length = len(first.encode())
    rows = slice(1 if first else 0, None)
    return _TokenSlice(encoding, rows, (length, length + len(text.encode())), at_byte - length, at_char - len(first))


def _joined(parts: Iterable[_TokenSlice], whole: Encoding) -> Encoding:
    """Concatenates the slices; attributes that are not columns come from `whole`."""
    columns: dict[str, Any] = {
        column.name: [] for column in fields(Encoding) if isinstance(getattr(whole, column.name), list)
    }
    known: dict[tuple[int, str], list[Any]] = {}  # (id of an encoding, name of a column) -> the column
    for part in parts:
        low, high = part.byte_range
        for name, column in columns.items():
            values = known.get((id(part.encoding), name))
            if values is None:
                values = known[id(part.encoding), name] = getattr(part.encoding, name)
            if name in ("pretokens", "dropped"):
                first = bisect_left(values, low, key=itemgetter(0))
                values = values[first : max(bisect_right(values, high, key=itemgetter(1)), first)]
            else:
                values = values[part.rows]
            shift = part.byte_shift if name in _BYTE_COLUMNS else part.char_shift if name in _CHAR_COLUMNS else 0
            column += [(start + shift, end + shift) for start, end in values] if shift else values
    return replace(whole, **columns)

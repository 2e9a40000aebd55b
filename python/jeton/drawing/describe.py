"""Builds a `Drawing` from tokens and their spans.

Tokens repeat, so each distinct look is computed once and cached. If a token's bytes equal the bytes that it covers, the
cache key is its id. If the token splits a character, the key also has the neighboring bytes. If the token's bytes
differ from the bytes that it covers, the key also has the text between its neighbors.

Cost: one or two lookups per token; 0.1 s for 100,000 tokens at byte level, 0.2 s with a normalizer or dropped white
space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .colors import hue
from .drawing import Drawing, DroppedText, Look
from .look_parts import LookPart, LookPartKind, cut_character, parts_of

__all__ = ["Describer", "described", "draw"]


def draw(tokens: Iterable[tuple[int, bytes]], *, special: Mapping[int, bytes] | None = None) -> Drawing:
    """Draws tokens whose concatenated bytes are the text.

    Args:
        tokens: (id, bytes) of each token, in order; equal ids have equal bytes.
        special: id -> spelling of the special tokens.

    Examples:
        >>> [look.shown for look in draw([(1, b"a b"), (2, b"\\n")])]
        ['a·b', '↵']
    """
    pairs = list(tokens)
    text = b"".join(data for _, data in pairs)
    ends: list[int] = []
    end = 0
    for _, data in pairs:
        end += len(data)
        ends.append(end)
    starts = [0, *ends[:-1]] if ends else []
    spans = list(zip(starts, ends, strict=True))
    return described(text, [id for id, _ in pairs], [data for _, data in pairs], spans, None, special or {})


def described(
    text: bytes,
    ids: Sequence[int],
    tokens: Sequence[bytes],
    byte_spans: Sequence[tuple[int, int]],
    char_spans: Sequence[tuple[int, int]] | None,
    special: Mapping[int, bytes],
) -> Drawing:
    """Draws the tokens of a text.

    Args:
        text: bytes of the text.
        ids: n ids.
        tokens: n byte strings, the bytes of the tokens.
        byte_spans: n half-open ranges of bytes of the text, sorted and disjoint.
        char_spans: n half-open ranges of characters; if None, they are computed from `byte_spans`.
        special: id -> spelling of the special tokens.

    Examples:
        >>> drawing = described(b"a b", [1, 2], [b"a", b" b"], [(0, 1), (2, 3)], None, {})
        >>> [look.shown for look in drawing], drawing.text
        (['a', '·b'], 'a b')
    """
    describer = Describer(text, special)
    looks, groups, dropped = describer.add(ids, tokens, byte_spans)
    dropped += describer.finish()
    spans = _char_spans(text, byte_spans) if char_spans is None else char_spans
    return Drawing(
        ids,
        looks,
        groups,
        [start for start, _ in byte_spans],
        [end for _, end in byte_spans],
        [start for start, _ in spans],
        [end for _, end in spans],
        describer.table,
        dropped,
        len(text),
        len(text) if text.isascii() else len(text.decode("utf-8", "replace")),
    )


class Describer:
    """Computes the look of each token of a text. The tokens are passed in one or more calls.

    Attributes:
        table: the distinct looks.
    """

    def __init__(self, text: bytes, special: Mapping[int, bytes]) -> None:
        self._text, self._special = text, special
        self._at = 0  # end of the last token
        self._group = -1  # group of the last token
        self._count = 0
        self.forget()

    def forget(self) -> None:
        """Clears the table and the caches. Later looks are numbered from 0 again."""
        self.table: list[Look] = []
        self._known: dict[int, int] = {}  # id -> look, for tokens whose bytes equal the covered text
        self._numbers: dict[tuple[int, tuple[LookPart, ...]], int] = {}
        self._cut: dict[tuple[int, bytes, bytes], tuple[int, bool]] = {}
        self._odd: dict[tuple[int, bytes, int, int], tuple[int, tuple[LookPart, ...], int]] = {}

    def add(
        self,
        ids: Sequence[int],
        tokens: Sequence[bytes],
        byte_spans: Sequence[tuple[int, int]],
        following: int | None = None,
    ) -> tuple[list[int], list[int], list[DroppedText]]:
        """Describes the next n tokens of the text.

        Args:
            ids: n ids, which follow those of the previous call.
            tokens: n byte strings, the tokens' own bytes.
            byte_spans: n half-open ranges of the text.
            following: start of the first token of the next call; None if this is the last call.

        Returns:
            n looks (indices into `table`); n group numbers, equal for adjacent tokens that share a split character; and
            the dropped text, which is not covered by any token.
        """
        text, special, known, length = self._text, self._special, self._known, len(self._text)
        end_of_all = length if following is None else following
        looks: list[int] = []
        groups: list[int] = []
        dropped: list[DroppedText] = []
        group, at = self._group, self._at
        for index, (id, data, (start, end)) in enumerate(zip(ids, tokens, byte_spans, strict=True)):
            cut_before = start < length and text[start] & 0xC0 == 0x80
            cut_after = end < length and text[end] & 0xC0 == 0x80
            shares = False
            if start != at or text[start:end] != data or id in special or not data:
                next_start = byte_spans[index + 1][0] if index + 1 < len(byte_spans) else end_of_all
                look, gap, at = self._odd_look(id, data, at, start, end, next_start)
                if gap:
                    dropped.append(DroppedText(self._count + index, gap))
                shares = cut_before and not gap and cut_character(text, start) is not None
            elif cut_before or cut_after:
                look, shares = self._cut_look(id, data, start, end, cut_before, cut_after)
                at = end
            else:
                found = known.get(id)
                if found is None:
                    found = known[id] = self._number(id, data, parts_of(data, 0, len(data)))
                look, at = found, end
            group += not shares or group < 0
            groups.append(group)
            looks.append(look)
        self._group, self._at = group, at
        self._count += len(looks)
        return looks, groups, dropped

    def finish(self) -> list[DroppedText]:
        """Returns the text after the end of the last token, which no token covers."""
        if self._at >= len(self._text):
            return []
        return [DroppedText(self._count, _gap(self._text, self._at, len(self._text)))]

    def _continues(self, at: int) -> bool:
        """Tests whether the text has a UTF-8 continuation byte at an index."""
        return at < len(self._text) and self._text[at] & 0xC0 == 0x80

    def _number(self, id: int, data: bytes, parts: tuple[LookPart, ...]) -> int:
        number = self._numbers.setdefault((id, parts), len(self.table))
        if number == len(self.table):
            self.table.append(Look(id, hue(data), id in self._special, data, parts))
        return number

    def _cut_look(self, id: int, data: bytes, start: int, end: int, before: bool, after: bool) -> tuple[int, bool]:
        """Returns the look of a token that splits a character, and whether the token starts inside a character.

        The results depend on the token's id and on the bytes that complete the split characters: at most three bytes
        before the token, and at most three after the token.
        """
        text = self._text
        left = right = 0
        if before:
            left = min(1, start)
            while left < min(3, start) and text[start - left] & 0xC0 == 0x80:
                left += 1
        if after:
            right = 1
            while right < 3 and self._continues(end + right):
                right += 1
        key = (id, text[start - left : start], text[end : end + right])
        found = self._cut.get(key)
        if found is None:
            around = text[start - left : end + right]
            look = self._number(id, data, parts_of(around, left, left + len(data)))
            found = self._cut[key] = (look, cut_character(around, left) is not None)
        return found

    def _odd_look(
        self, id: int, data: bytes, at: int, start: int, end: int, following: int
    ) -> tuple[int, tuple[LookPart, ...], int]:
        """Describes a token that differs from the text, or that follows dropped text.

        Returns:
            How the token is drawn, the parts that show the dropped text before it, and the end of the token's text.
        """
        text = self._text
        cut = any(map(self._continues, (at, start, end, following)))
        if cut or not at <= start <= end <= following:
            return self._describe_odd(id, data, at, start, end, following)
        # If no character is split, the result depends only on the text between the neighboring tokens.
        key = (id, text[at:following], start - at, end - at)
        found = self._odd.get(key)
        if found is None:
            look, gap, stop = self._describe_odd(id, data, at, start, end, following)
            found = self._odd[key] = (look, gap, stop - at)
        return found[0], found[1], found[2] + at

    def _describe_odd(
        self, id: int, data: bytes, at: int, start: int, end: int, following: int
    ) -> tuple[int, tuple[LookPart, ...], int]:
        text = self._text
        if id in self._special:
            data = self._special[id]
            parts = _special_parts(data, _characters(text, start, end))
            return self._number(id, data, parts), _gap(text, at, start), max(end, at)
        first, behind = start, end
        if text[start:end] != data:
            # The tokenizer can drop white space beside the token, although the token's own bytes contain this white
            # space (decoding restores it). This white space is drawn as part of the token, not as dropped text.
            lead = len(data) - len(data.lstrip())
            if lead <= start - at and text[start - lead : start] == data[:lead]:
                first -= lead
            trail = 0 if lead == len(data) else len(data) - len(data.rstrip())
            if trail <= following - end and text[end : end + trail] == data[len(data) - trail :]:
                behind += trail
        parts = parts_of(text, first, behind) if text[first:behind] == data else _partly(data, text, first, behind)
        return self._number(id, data, parts), _gap(text, at, first), max(behind, at)


# Maximum number of bytes of dropped text that are displayed; for longer text, only the number of bytes is displayed.
MOST_DROPPED = 256


def _gap(text: bytes, start: int, end: int) -> tuple[LookPart, ...]:
    if end - start > MOST_DROPPED:
        copied = text[start:end].decode("utf-8", "ignore")
        return (LookPart(LookPartKind.CONTROL, f"⟨{end - start:,} bytes that no token covers⟩", copied),)
    return parts_of(text, start, end) if start < end else ()


def _partly(data: bytes, text: bytes, start: int, end: int) -> tuple[LookPart, ...]:
    """Returns the parts of a token whose bytes differ from the text that it covers.

    Copying the parts yields the covered text, not the token's bytes.
    """
    covered = text[start:end]
    if covered and (data.endswith(covered) or data.startswith(covered)) and _is_text(covered):
        cut = len(data) - len(covered)
        own = parts_of(covered, 0, len(covered))
        if data.endswith(covered):
            return (*_copying(parts_of(data[:cut], 0, cut), ""), *own)
        return (*own, *_copying(parts_of(data[-cut:], 0, cut), ""))
    return _copying(parts_of(data, 0, len(data)), _characters(text, start, end))


def _special_parts(data: bytes, covered: str) -> tuple[LookPart, ...]:
    """Returns the parts of a special token: its spelling, and the white space around it (``lstrip``, ``rstrip``)."""
    spelling, own = data.decode("utf-8", "replace"), parts_of(data, 0, len(data))
    if not spelling:  # a token without bytes of its own is drawn as the text that it covers
        return parts_of(covered.encode(), 0, len(covered.encode()))
    lead, found, trail = covered.partition(spelling)
    if not found or lead.strip() or trail.strip():  # the text spells the token differently, because of normalization
        core = covered.strip()
        lead, _, trail = covered.partition(core) if core else ("", "", "")
        own = _copying(own, core or covered)
    around = (parts_of(white.encode(), 0, len(white.encode())) if white else () for white in (lead, trail))
    before, behind = around
    return (*before, *own, *behind)


def _copying(parts: tuple[LookPart, ...], text: str) -> tuple[LookPart, ...]:
    """Replaces the copied text of the parts by `text`. The displayed form of the parts stays the same."""
    first = parts[0]._replace(text=text)
    return (first, *(part._replace(text="") for part in parts[1:]))


def _characters(text: bytes, start: int, end: int) -> str:
    """Decodes the characters that begin in bytes start…end."""
    head, tail = cut_character(text, start), cut_character(text, end)
    return text[head[1] if head else start : tail[1] if tail else end].decode("utf-8", "ignore") if start < end else ""


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _char_spans(text: bytes, byte_spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the smallest ranges of characters that cover ranges of bytes.

    Each U+FFFD that replaces invalid UTF-8 counts as one character.
    """
    if text.isascii():
        return list(byte_spans)
    # first[i]: index of the character that contains byte i. after[i]: number of characters that begin before byte i.
    first, after = [0] * (len(text) + 1), [0] * (len(text) + 1)
    at = number = 0
    while at < len(text):
        size = _character_size(text, at)
        for byte in range(at, at + size):
            first[byte], after[byte + 1] = number, number + 1
        at += size
        number += 1
    first[len(text)] = number
    return [(first[start], after[end] if end > start else first[start]) for start, end in byte_spans]


def _character_size(text: bytes, at: int) -> int:
    head = text[at : at + 4]
    try:
        return len(head.decode()[0].encode())
    except UnicodeDecodeError as error:
        return error.end if error.start == 0 else _character_size(head[: error.start], 0)

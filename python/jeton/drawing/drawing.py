"""`Drawing`: what the tokens of a text look like, computed once, for whoever draws them.

Columns say which tokens there are and where they lie; a table says what the distinct ones look like, so 100,000 tokens
stay small. Tokens of one group share a character of the text that is cut between them.

What is *shown* is the token: its own bytes. What is *copied* is the text: each token stands for the characters that
begin in the bytes it covers. For most tokens the two are the same. They differ where a normalizer rewrote the text,
where an unknown character became ``[UNK]``, for a template's tokens and for a dummy space (they cover nothing). Where
a tokenizer drops white space that decoding puts back, the token's own white space stands for the one that was dropped;
other dropped text is listed apart, between the tokens. So joining the text of all parts, in order, gives the text
back, less bytes that are no UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .colors import hue
from .parts import Part, PartKind, cut_character, parts_of

__all__ = ["Drawing", "Dropped", "Look", "draw"]


class Look(NamedTuple):
    """What a token looks like.

    Attributes:
        id: its id.
        hue: its color, in degrees; it depends on the id alone.
        special: whether it is a special token.
        data: its bytes: what it adds to decoded text, or the spelling of a special token.
        parts: what there is to see, in order.
    """

    id: int
    hue: int
    special: bool
    data: bytes
    parts: tuple[Part, ...]

    @property
    def shown(self) -> str:
        """All parts in one string."""
        return "".join(part.shown for part in self.parts)

    @property
    def text(self) -> str:
        """The text it stands for."""
        return "".join(part.text for part in self.parts)


class Dropped(NamedTuple):
    """Text that no token covers: before which token it stands (or after the last), and what it looks like."""

    before: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, repr=False)
class Drawing:
    """The tokens of a text, ready to be drawn; n tokens.

    Attributes:
        ids: n ids.
        looks: n numbers of looks in `table`.
        groups: n numbers; equal neighbors share a character that is cut between them.
        byte_starts, byte_ends: n places in the text's bytes, half-open.
        char_starts, char_ends: n places in the text's characters, half-open.
        table: the distinct looks.
        dropped: text that no token covers.
        text_bytes, text_chars: the length of the text.

    Of a pair, places count in the two texts put one after the other.

    Examples:
        >>> drawing = draw([(1, b"a b"), (2, b"\\xe5\\xa4"), (3, b"\\xa9\\n")])
        >>> [look.shown for look in drawing]
        ['a·b', '⟨天 e5 a4⟩', '⟨a9⟩↵']
        >>> drawing.groups, drawing.text
        ([0, 1, 1], 'a b天\\n')
    """

    ids: Sequence[int]
    looks: Sequence[int]
    groups: Sequence[int]
    byte_starts: Sequence[int]
    byte_ends: Sequence[int]
    char_starts: Sequence[int]
    char_ends: Sequence[int]
    table: Sequence[Look]
    dropped: Sequence[Dropped]
    text_bytes: int
    text_chars: int

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Look]:
        """The look of each token, in order."""
        return map(self.table.__getitem__, self.looks)

    def __repr__(self) -> str:
        return f"Drawing({len(self.ids):,} tokens, {len(self.table):,} looks)"

    @property
    def text(self) -> str:
        """What is copied when all is copied: the text, less bytes that are no UTF-8."""
        pieces = [look.text for look in self.table]
        if not self.dropped:
            return "".join(map(pieces.__getitem__, self.looks))
        whole = ""
        at = 0
        for before, parts in self.dropped:
            whole += "".join(pieces[look] for look in self.looks[at:before])
            whole += "".join(part.text for part in parts)
            at = before
        return whole + "".join(pieces[look] for look in self.looks[at:])

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; what the page draws.

        Examples:
            >>> draw([(7, b" a")]).to_dict()["table"]
            [{'id': 7, 'hue': 243, 'special': False, 'hex': '2061', \
'parts': [['space', '·', ' '], ['text', 'a', 'a']]}]
        """
        return {
            "ids": list(self.ids),
            "looks": list(self.looks),
            "groups": list(self.groups),
            "byte_starts": list(self.byte_starts),
            "byte_ends": list(self.byte_ends),
            "char_starts": list(self.char_starts),
            "char_ends": list(self.char_ends),
            "table": [
                {
                    "id": look.id,
                    "hue": look.hue,
                    "special": look.special,
                    "hex": look.data.hex(),
                    "parts": _part_rows(look.parts),
                }
                for look in self.table
            ],
            "dropped": [{"before": before, "parts": _part_rows(parts)} for before, parts in self.dropped],
            "text_bytes": self.text_bytes,
            "text_chars": self.text_chars,
        }

    def head(self, num_tokens: int) -> Drawing:
        """The first tokens alone; the text's length stays that of the whole.

        Examples:
            >>> len(draw([(1, b"a"), (2, b"b")]).head(1))
            1
        """
        if num_tokens >= len(self.ids):
            return self
        used = sorted(set(self.looks[:num_tokens]))
        place = {look: number for number, look in enumerate(used)}
        return Drawing(
            self.ids[:num_tokens],
            [place[look] for look in self.looks[:num_tokens]],
            self.groups[:num_tokens],
            self.byte_starts[:num_tokens],
            self.byte_ends[:num_tokens],
            self.char_starts[:num_tokens],
            self.char_ends[:num_tokens],
            [self.table[look] for look in used],
            [dropped for dropped in self.dropped if dropped.before < num_tokens],
            self.text_bytes,
            self.text_chars,
        )


def _part_rows(parts: Iterable[Part]) -> list[list[str]]:
    return [[part.kind.value, part.shown, part.text] for part in parts]


def draw(tokens: Iterable[tuple[int, bytes]], *, special: Mapping[int, bytes] | None = None) -> Drawing:
    """Draws tokens that are their text: each covers its own bytes.

    Args:
        tokens: (id, bytes) of each token, in the order of the text.
        special: id -> spelling of special tokens.

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
    """Draws tokens of a text.

    Args:
        text: the text's bytes.
        ids: n ids.
        tokens: n times the token's own bytes.
        byte_spans: n half-open ranges of the text, in order and disjoint.
        char_spans: the same in characters; None: counted here.
        special: id -> spelling of special tokens.

    Examples:
        >>> drawing = described(b"a b", [1, 2], [b"a", b" b"], [(0, 1), (2, 3)], None, {})
        >>> [look.shown for look in drawing], drawing.text
        (['a', '·b'], 'a b')
    """
    describer = _Describer(text, tokens, byte_spans, special)
    looks, groups, dropped = describer.all(ids)
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


class _Describer:
    """Fills the table of looks. Most tokens are met again and again, so the common case is one look-up."""

    def __init__(
        self,
        text: bytes,
        tokens: Sequence[bytes],
        byte_spans: Sequence[tuple[int, int]],
        special: Mapping[int, bytes],
    ) -> None:
        self._text, self._tokens, self._spans, self._special = text, tokens, byte_spans, special
        self._ended = text + b"\0"  # so that every place has a byte, the end too
        self.table: list[Look] = []
        self._numbers: dict[tuple[int, tuple[Part, ...]], int] = {}
        self._cut: dict[tuple[int, bytes, bytes], tuple[int, bool]] = {}
        self._odd: dict[tuple[int, bytes, int, int], tuple[int, tuple[Part, ...], int]] = {}

    def all(self, ids: Sequence[int]) -> tuple[list[int], list[int], list[Dropped]]:
        """For each token its look and its group, and what lies between them."""
        text, ended, special = self._text, self._ended, self._special
        known: dict[int, int] = {}  # id -> its look, where it stands for its own bytes and cuts no character
        looks: list[int] = []
        groups: list[int] = []
        dropped: list[Dropped] = []
        group, at = -1, 0
        for index, (id, data, (start, end)) in enumerate(zip(ids, self._tokens, self._spans, strict=True)):
            cut_before, cut_after = ended[start] & 0xC0 == 0x80, ended[end] & 0xC0 == 0x80
            shares = False
            if start != at or text[start:end] != data or id in special or not data:
                look, gap, at = self._odd_look(index, id, data, at)
                if gap:
                    dropped.append(Dropped(index, gap))
                shares = cut_before and cut_character(text, start) is not None
            elif cut_before or cut_after:
                look, shares = self._cut_look(id, data, start, end, cut_before, cut_after)
                at = end
            else:
                found = known.get(id)
                if found is None:
                    found = known[id] = self._number(id, data, parts_of(data, 0, len(data)))
                look, at = found, end
            group += not shares or not looks
            groups.append(group)
            looks.append(look)
        if at < len(text):
            dropped.append(Dropped(len(looks), _gap(text, at, len(text))))
        return looks, groups, dropped

    def _number(self, id: int, data: bytes, parts: tuple[Part, ...]) -> int:
        number = self._numbers.setdefault((id, parts), len(self.table))
        if number == len(self.table):
            self.table.append(Look(id, hue(id), id in self._special, data, parts))
        return number

    def _cut_look(self, id: int, data: bytes, start: int, end: int, before: bool, after: bool) -> tuple[int, bool]:
        """A token at a cut character, and whether it shares one with the token before.

        Both depend on the bytes that complete the character, at most three a side.
        """
        text = self._text
        left = right = 0
        if before:
            left = min(1, start)
            while left < min(3, start) and text[start - left] & 0xC0 == 0x80:
                left += 1
        if after:
            right = 1
            while right < 3 and self._ended[end + right] & 0xC0 == 0x80:
                right += 1
        key = (id, text[start - left : start], text[end : end + right])
        found = self._cut.get(key)
        if found is None:
            around = text[start - left : end + right]
            look = self._number(id, data, parts_of(around, left, left + len(data)))
            found = self._cut[key] = (look, cut_character(around, left) is not None)
        return found

    def _odd_look(self, index: int, id: int, data: bytes, at: int) -> tuple[int, tuple[Part, ...], int]:
        """A token that is not the bytes it covers, or with dropped text before it: (look, dropped, where it ends)."""
        text, (start, end) = self._text, self._spans[index]
        following = self._spans[index + 1][0] if index + 1 < len(self._spans) else len(text)
        ended = self._ended
        cut = 0x80 in (ended[at] & 0xC0, ended[start] & 0xC0, ended[end] & 0xC0, ended[following] & 0xC0)
        if cut or not at <= start <= end <= following:
            return self._describe_odd(id, data, at, start, end, following)
        # Where no character is cut, all depends on the text from the token before to the one behind.
        key = (id, text[at:following], start - at, end - at)
        found = self._odd.get(key)
        if found is None:
            look, gap, place = self._describe_odd(id, data, at, start, end, following)
            found = self._odd[key] = (look, gap, place - at)
        return found[0], found[1], found[2] + at

    def _describe_odd(
        self, id: int, data: bytes, at: int, start: int, end: int, following: int
    ) -> tuple[int, tuple[Part, ...], int]:
        text = self._text
        if id in self._special:
            data = self._special[id]
            parts = _copying(parts_of(data, 0, len(data)), _characters(text, start, end))
            return self._number(id, data, parts), _gap(text, at, start), max(end, at)
        first, behind = start, end
        if text[start:end] != data:
            # White space that was dropped here, and that the token brings back when it is decoded, is drawn once.
            lead = len(data) - len(data.lstrip())
            if lead <= start - at and text[start - lead : start] == data[:lead]:
                first -= lead
            trail = 0 if lead == len(data) else len(data) - len(data.rstrip())
            if trail <= following - end and text[end : end + trail] == data[len(data) - trail :]:
                behind += trail
        parts = parts_of(text, first, behind) if text[first:behind] == data else _partly(data, text, first, behind)
        return self._number(id, data, parts), _gap(text, at, first), max(behind, at)


# Bytes of dropped text that are shown one by one; a page of dropped white space says only how long it is.
MOST_DROPPED = 256


def _gap(text: bytes, start: int, end: int) -> tuple[Part, ...]:
    if end - start > MOST_DROPPED:
        copied = text[start:end].decode("utf-8", "ignore")
        return (Part(PartKind.CONTROL, f"⟨{end - start:,} bytes that no token covers⟩", copied),)
    return parts_of(text, start, end) if start < end else ()


def _partly(data: bytes, text: bytes, start: int, end: int) -> tuple[Part, ...]:
    """A token that is not what it covers: where one only adds to the other at its ends, the rest stays as it is."""
    covered = text[start:end]
    if covered and (data.endswith(covered) or data.startswith(covered)) and _is_text(covered):
        cut = len(data) - len(covered)
        own = parts_of(covered, 0, len(covered))
        if data.endswith(covered):
            return (*_copying(parts_of(data[:cut], 0, cut), ""), *own)
        return (*own, *_copying(parts_of(data[-cut:], 0, cut), ""))
    return _copying(parts_of(data, 0, len(data)), _characters(text, start, end))


def _copying(parts: tuple[Part, ...], text: str) -> tuple[Part, ...]:
    """The same to see, and this text to copy."""
    first = parts[0]._replace(text=text)
    return (first, *(part._replace(text="") for part in parts[1:]))


def _characters(text: bytes, start: int, end: int) -> str:
    """The characters that begin at bytes start…end."""
    head, tail = cut_character(text, start), cut_character(text, end)
    return text[head[1] if head else start : tail[1] if tail else end].decode("utf-8", "ignore") if start < end else ""


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _char_spans(text: bytes, byte_spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The smallest ranges of characters that cover these bytes; what is no UTF-8 counts as when it is replaced."""
    if text.isascii():
        return list(byte_spans)
    first, after = [0] * (len(text) + 1), [0] * (len(text) + 1)  # the character a byte is in; characters begun before
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

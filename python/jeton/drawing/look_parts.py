"""Visible form of bytes: text, visible white space, control characters, and bytes that are not a whole character.

Control and format characters (line ends, escapes, bidi overrides, zero-width joiners, fillers) are output as symbols or
code points, never raw. If a character is split between tokens, each token displays its bytes of the character, and the
token in which the character begins also displays the character.

A part with bytes of a split character also records the character and the range of these bytes, so that a renderer can
draw the character itself, cut into one slice for each token.

Each part also records its copied text, so that copying yields the original text. A split character is copied with the
token in which it begins. Bytes that are not UTF-8 have no copied text.

Left out: grapheme clusters. An emoji sequence is drawn as its code points.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import Literal, NamedTuple

__all__ = ["CutCharacter", "LookPart", "LookPartKind", "Side", "cut_character", "parts_of", "quoted", "visible"]

SPACE, TAB, NEWLINE, EMPTY = "·", "→", "↵", "∅"
DOTTED_CIRCLE = "◌"  # Unicode's base character for displaying a combining mark without a base


class LookPartKind(Enum):
    """Kind of the characters in a part."""

    TEXT = "text"
    SPACE = "space"
    TAB = "tab"
    NEWLINE = "newline"
    CONTROL = "control"  # a control or format character, drawn as a symbol or as ⟨U+200D⟩
    BYTES = "bytes"  # bytes that are not a whole character, in hexadecimal


Side = Literal["ltr", "rtl", ""]


class CutCharacter(NamedTuple):
    """Part of a split character that one token contains, as a range of bytes.

    Attributes:
        shown: displayed form of the whole character, if the token contains its first byte. Otherwise empty, so that
            tokens have fewer distinct displayed forms.
        start, end: half-open range of the contained bytes, counted from the start of the character.
        size: number of bytes of the character.
    """

    shown: str
    start: int
    end: int
    size: int


class LookPart(NamedTuple):
    """Run of characters of one kind inside a token.

    Attributes:
        kind: kind of the characters.
        shown: displayed form.
        text: copied text.
        side: direction in which to place the part, if `shown` can have another direction. For example, the bytes of a
            Hebrew letter are placed right-to-left, although they are shown as hexadecimal digits, which are
            left-to-right. Empty if the character is neutral.
        cut: bytes of a split character, if the part has such bytes.
    """

    kind: LookPartKind
    shown: str
    text: str
    side: Side = ""
    cut: CutCharacter | None = None


def visible(data: bytes) -> str:
    """Returns the visible form of one token's bytes.

    Examples:
        >>> visible(b" caf\\xc3\\xa9\\n"), visible(b"\\xe4\\xbb")
        ('·café↵', '⟨e4 bb⟩')
    """
    return "".join(part.shown for part in parts_of(data, 0, len(data)))


def quoted(token: bytes) -> str:
    """Returns a token as a Python literal: a `str`, or `bytes` if it is not UTF-8.

    Examples:
        >>> print(quoted(b" the"), quoted("小".encode()), quoted(b"a"))
        ' the' '小' 'a'
    """
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)


def cut_character(text: bytes, at: int) -> tuple[int, int] | None:
    """Returns the byte span of the character that is split by a boundary before byte `at`.

    If the boundary splits no character, the result is None.

    UTF-8 is self-synchronizing, so only the character's own bytes are read.

    Examples:
        >>> cut_character("a天".encode(), 2), cut_character("a天".encode(), 1)
        ((1, 4), None)
    """
    if not 0 < at < len(text) or text[at] & 0xC0 != 0x80:
        return None
    for start in range(at - 1, max(at - 4, -1), -1):
        if text[start] & 0xC0 != 0x80:
            end = start + (2 if text[start] < 0xE0 else 3 if text[start] < 0xF0 else 4)
            return (start, end) if end > at and _is_character(text[start:end]) else None
    return None


def parts_of(text: bytes, start: int, end: int) -> tuple[LookPart, ...]:
    """Returns the parts to display for bytes start…end of a text.

    Examples:
        >>> [part.shown for part in parts_of("a天".encode(), 0, 3)]
        ['a', '⟨天 e5 a4⟩']
    """
    if start == end:
        return (LookPart(LookPartKind.CONTROL, EMPTY, ""),)
    head, tail = cut_character(text, start), cut_character(text, end)
    whole_start = min(head[1], end) if head else start
    whole_end = max(tail[0], whole_start) if tail else end
    parts: list[LookPart] = []
    if head:
        parts.append(_cut_part(text[head[0] : head[1]], start - head[0], whole_start - head[0]))
    parts += _whole_parts(text[whole_start:whole_end])
    if tail and whole_end < end:
        parts.append(_cut_part(text[tail[0] : tail[1]], 0, end - whole_end))
    return tuple(parts)


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def _hex_part(data: bytes) -> LookPart:
    """Returns a part with bytes that are not UTF-8, in hexadecimal."""
    return LookPart(LookPartKind.BYTES, f"⟨{data.hex(' ')}⟩", "")


def _cut_part(data: bytes, start: int, end: int) -> LookPart:
    """Returns a part that shows bytes of a split character in hexadecimal; the first part also shows the character."""
    character, whole = data.decode(), visible(data)
    label = f"{whole} {data[start:end].hex(' ')}" if start == 0 else data[start:end].hex(" ")
    cut = CutCharacter("" if start else whole, start, end, len(data))
    return LookPart(LookPartKind.BYTES, f"⟨{label}⟩", "" if start else character, _side(character), cut)


def _side(character: str) -> Side:
    """Returns the direction of a character with a strong bidi class (UAX 9), else an empty string."""
    kind = unicodedata.bidirectional(character)
    return "rtl" if kind in ("R", "AL") else "ltr" if kind == "L" else ""


_RUNS = re.compile("[ \t\n]|[^ \t\n]+")


def _whole_parts(data: bytes) -> Iterator[LookPart]:
    """Yields the parts of `data`, which begins and ends at character boundaries. Invalid UTF-8 becomes hexadecimal."""
    for run in _RUNS.findall(data.decode("utf-8", "surrogateescape")):
        if run in _WHITESPACE:
            yield _WHITESPACE[run]
        elif run.isascii() and run.isprintable():  # fast path
            yield LookPart(LookPartKind.TEXT, run, run)
        else:
            yield from _run_parts(run)


def _run_parts(run: str) -> Iterator[LookPart]:
    """Yields the parts of a run that has no space, tab or line feed; the run is read character by character."""
    text: list[str] = []
    broken = bytearray()
    for character in run:
        is_byte = "\udc80" <= character <= "\udcff"
        part = None if is_byte else _character_part(character, first=not text)
        if text and (is_byte or part is not None):
            yield _text_part("".join(text))
            text.clear()
        if broken and not is_byte:
            yield _hex_part(bytes(broken))
            broken.clear()
        if is_byte:
            broken.append(ord(character) - 0xDC00)
        elif part is not None:
            yield part
        else:
            text.append(character)
    if text:
        yield _text_part("".join(text))
    if broken:
        yield _hex_part(bytes(broken))


def _text_part(text: str) -> LookPart:
    is_mark = unicodedata.category(text[0])[0] == "M"
    return LookPart(LookPartKind.TEXT, DOTTED_CIRCLE + text if is_mark else text, text)


_WHITESPACE = {
    " ": LookPart(LookPartKind.SPACE, SPACE, " "),
    "\t": LookPart(LookPartKind.TAB, TAB, "\t"),
    "\n": LookPart(LookPartKind.NEWLINE, NEWLINE, "\n"),
}

# Invisible letters and marks: Hangul fillers, Khmer inherent vowels, and the combining grapheme joiner. These are the
# characters of Default_Ignorable_Code_Point except format characters and variation selectors (`_is_selector`).
_FILLERS = "\u115f\u1160\u3164\uffa0\u17b4\u17b5\u034f"


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\u180b" <= character <= "\u180f" or character >= "\U000e0100"


def _is_noncharacter(character: str) -> bool:
    return ord(character) & 0xFFFE == 0xFFFE or "\ufdd0" <= character <= "\ufdef"


def _character_part(character: str, *, first: bool) -> LookPart | None:
    """Returns the part of a control, invisible or bidi-formatting character; None for others."""
    if character < " ":
        return LookPart(LookPartKind.CONTROL, chr(0x2400 + ord(character)), character)
    if character == "\x7f":
        return LookPart(LookPartKind.CONTROL, "␡", character)
    category = unicodedata.category(character)
    # Joiners, bidi controls, private use, other spaces, and noncharacters (XML cannot contain U+FFFF).
    hidden = category in ("Cc", "Cf", "Co") or category[0] == "Z" or (category == "Cn" and _is_noncharacter(character))
    # A variation selector changes the glyph of the preceding character, and is normally not displayed. At the start of
    # a part there is no preceding character, so the selector is displayed as a control.
    if hidden or character in _FILLERS or (first and category == "Mn" and _is_selector(character)):
        return LookPart(LookPartKind.CONTROL, f"⟨U+{ord(character):04X}⟩", character, _side(character))
    return None

"""What bytes look like: text, visible white space, control characters, and bytes that are no character of their own.

Nothing a token holds is shown raw where it could act: control and format characters (line ends, escapes, bidi
overrides, zero-width joiners, fillers) are shown as symbols or by number. A character that is cut between tokens is
named where it begins, and each token shows which of its bytes it holds.

Each part also says which text it stands for, so that what is copied is the text: a cut character is copied with the
token in which it begins. Bytes that are no UTF-8 stand for no text.

Left out: grapheme clusters. An emoji joined of several characters is drawn as these characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import Literal, NamedTuple

__all__ = ["LookPart", "LookPartKind", "Side", "cut_character", "parts_of", "quoted", "visible"]

SPACE, TAB, NEWLINE, EMPTY = "·", "→", "↵", "∅"
DOTTED_CIRCLE = "◌"  # what Unicode draws under a combining mark that has no letter to stand on


class LookPartKind(Enum):
    """What a part of a token is."""

    TEXT = "text"
    SPACE = "space"
    TAB = "tab"
    NEWLINE = "newline"
    CONTROL = "control"  # drawn as a symbol or as ⟨U+200D⟩
    BYTES = "bytes"  # bytes that are no character of their own, in hexadecimal


Side = Literal["ltr", "rtl", ""]


class LookPart(NamedTuple):
    """One run inside a token.

    Attributes:
        kind: what it is.
        shown: how it is drawn.
        text: the text it stands for, which is what is copied.
        side: the direction in which it is read, where `shown` does not say it: bytes of a Hebrew letter stand in a
            line where the letter would, although hexadecimal digits are read from the left. Empty: as its neighbors.
    """

    kind: LookPartKind
    shown: str
    text: str
    side: Side = ""


def visible(data: bytes) -> str:
    """One token's bytes in visible form.

    Examples:
        >>> visible(b" caf\\xc3\\xa9\\n"), visible(b"\\xe4\\xbb")
        ('·café↵', '⟨e4 bb⟩')
    """
    return "".join(part.shown for part in parts_of(data, 0, len(data)))


def quoted(token: bytes) -> str:
    """A token on one line of a table: as Python spells the string, or the bytes where they are no text.

    Examples:
        >>> print(quoted(b" the"), quoted("小".encode()), quoted(b"a"))
        ' the' '小' 'a'
    """
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)


def cut_character(text: bytes, place: int) -> tuple[int, int] | None:
    """The span of the character that a cut at this byte goes through, if it goes through one.

    UTF-8 synchronizes itself: whether these bytes are a character does not depend on what stands before them.

    Examples:
        >>> cut_character("a天".encode(), 2), cut_character("a天".encode(), 1)
        ((1, 4), None)
    """
    if not 0 < place < len(text) or text[place] & 0xC0 != 0x80:
        return None
    for start in range(place - 1, max(place - 4, -1), -1):
        if text[start] & 0xC0 != 0x80:
            end = start + (2 if text[start] < 0xE0 else 3 if text[start] < 0xF0 else 4)
            return (start, end) if end > place and _is_character(text[start:end]) else None
    return None


def parts_of(text: bytes, start: int, end: int) -> tuple[LookPart, ...]:
    """What bytes start…end of a text look like.

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
        parts.append(_hex_part(text[start:whole_start], side=_side(text[head[0] : head[1]].decode())))
    parts += _whole_parts(text[whole_start:whole_end])
    if tail and whole_end < end:
        parts.append(_hex_part(text[whole_end:end], text[tail[0] : tail[1]]))
    return tuple(parts)


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def _hex_part(data: bytes, begins: bytes = b"", side: Side = "") -> LookPart:
    """Bytes in hexadecimal, and the character that begins with them."""
    if not begins:
        return LookPart(LookPartKind.BYTES, f"⟨{data.hex(' ')}⟩", "", side)
    character = begins.decode()
    return LookPart(LookPartKind.BYTES, f"⟨{visible(begins)} {data.hex(' ')}⟩", character, _side(character))


def _side(character: str) -> Side:
    """The direction of a character, if it has one of its own (strong types of UAX 9)."""
    kind = unicodedata.bidirectional(character)
    return "rtl" if kind in ("R", "AL") else "ltr" if kind == "L" else ""


_RUNS = re.compile("[ \t\n]|[^ \t\n]+")


def _whole_parts(data: bytes) -> Iterator[LookPart]:
    """Bytes that cut no character of their neighbors; what is not UTF-8 among them is drawn as bytes."""
    for run in _RUNS.findall(data.decode("utf-8", "surrogateescape")):
        if run in _WHITESPACE:
            yield _WHITESPACE[run]
        elif run.isascii() and run.isprintable():  # the common case, in one step
            yield LookPart(LookPartKind.TEXT, run, run)
        else:
            yield from _run_parts(run)


def _run_parts(run: str) -> Iterator[LookPart]:
    """A run without plain white space, character by character."""
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

# Letters and marks that are drawn as nothing (Default_Ignorable_Code_Point beyond the format characters): fillers of
# Hangul, vowels of Khmer that are not written, the grapheme joiner, variation selectors.
_FILLERS = "\u115f\u1160\u3164\uffa0\u17b4\u17b5\u034f"


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\u180b" <= character <= "\u180f" or character >= "\U000e0100"


def _is_noncharacter(character: str) -> bool:
    return ord(character) & 0xFFFE == 0xFFFE or "\ufdd0" <= character <= "\ufdef"


def _character_part(character: str, *, first: bool) -> LookPart | None:
    """A character that needs a part of its own: controls, what is invisible, what moves other letters."""
    if character < " ":
        return LookPart(LookPartKind.CONTROL, chr(0x2400 + ord(character)), character)
    if character == "\x7f":
        return LookPart(LookPartKind.CONTROL, "␡", character)
    category = unicodedata.category(character)
    # Joiners, bidi, private use, other kinds of space, and what is no character at all (XML cannot hold U+FFFF).
    hidden = category in ("Cc", "Cf", "Co") or category[0] == "Z" or (category == "Cn" and _is_noncharacter(character))
    # A variation selector chooses the look of the character before it, and is seen by that alone.
    if hidden or character in _FILLERS or (first and category == "Mn" and _is_selector(character)):
        return LookPart(LookPartKind.CONTROL, f"⟨U+{ord(character):04X}⟩", character, _side(character))
    return None

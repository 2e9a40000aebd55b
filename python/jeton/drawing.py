"""Drawing tokens for people: one description, drawn for terminals, web pages and plain text.

`draw` says what there is to see: each token as parts (text, visible whitespace, control characters, bytes in
hexadecimal), and which tokens share a character. The renderers only give it looks. Nothing a token holds reaches the
terminal or the page raw: control and format characters are drawn as symbols, HTML is escaped.

A color belongs to an id, always and everywhere the same; since colors run out and not everybody sees them, neighbors
also differ by underline, or by a ``│`` between them where there is no color. Left out: grapheme clusters (an emoji
joined from several characters is drawn as these characters), and pages that react (the playground's).
"""

from __future__ import annotations

import html
import os
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple, TextIO

__all__ = ["Drawn", "Part", "PartKind", "cells", "draw", "quoted", "to_html", "to_terminal", "visible", "wants_color"]

SPACE, TAB, NEWLINE, EMPTY, SEPARATOR = "·", "→", "↵", "∅", "│"
DOTTED_CIRCLE = "◌"  # what Unicode draws under a combining mark that has no letter to stand on

# Light tones of the 256-color cube, no greys and nothing near white: black text on any of them has a contrast of at
# least 8:1, whatever the terminal's own theme. Neighbors in the list differ in hue. fmt: off
PALETTE = (
    216,
    153,
    186,
    219,
    158,
    180,
    147,
    222,
    116,
    182,
    193,
    211,
    152,
    229,
    177,
    120,
    217,
    111,
    187,
    213,
    159,
    215,
    189,
    150,
)
# fmt: on
# Steps of the golden angle spread any run of ids around the circle of hues without repeating.
GOLDEN_ANGLE = 137.508


class PartKind(Enum):
    """What a part of a token is."""

    TEXT = "text"
    SPACE = "space"
    TAB = "tab"
    NEWLINE = "newline"
    CONTROL = "control"  # drawn as a symbol or as ⟨U+200D⟩
    BYTES = "bytes"  # bytes that are no character of their own, in hexadecimal


class Part(NamedTuple):
    """One run inside a token: what it is, how it is drawn, and the text it stands for (empty for bytes)."""

    kind: PartKind
    shown: str
    text: str


class Drawn(NamedTuple):
    """One token, ready to be drawn.

    Attributes:
        id: its id, which alone chooses its color.
        data: its bytes.
        parts: what there is to see, in order.
        group: the number of its group; tokens of one group share a character that is cut between them.
    """

    id: int
    data: bytes
    parts: tuple[Part, ...]
    group: int

    @property
    def shown(self) -> str:
        """All parts in one string."""
        return "".join(part.shown for part in self.parts)


def draw(tokens: Iterable[tuple[int, bytes]]) -> list[Drawn]:
    """Describes tokens for drawing.

    A character that is cut between tokens is named where it begins, and each token shows which of its bytes it holds.

    Args:
        tokens: (id, bytes) of each token, in the order of the text.

    Examples:
        >>> [token.shown for token in draw([(1, b"a b"), (2, b"\\xe5\\xa4"), (3, b"\\xa9\\n")])]
        ['a·b', '⟨天 e5 a4⟩', '⟨a9⟩↵']
        >>> [token.group for token in draw([(1, b"a b"), (2, b"\\xe5\\xa4"), (3, b"\\xa9\\n")])]
        [0, 1, 1]
    """
    pairs = list(tokens)
    text = b"".join(data for _, data in pairs)
    drawn: list[Drawn] = []
    start, group = 0, -1
    for id, data in pairs:
        end = start + len(data)
        shares = drawn and _cut_character(text, start) is not None
        group += not shares
        drawn.append(Drawn(id, data, tuple(_parts(text, start, end)), group))
        start = end
    return drawn


def visible(data: bytes) -> str:
    """One token's bytes in visible form.

    Examples:
        >>> visible(b" caf\\xc3\\xa9\\n"), visible(b"\\xe4\\xbb")
        ('·café↵', '⟨e4 bb⟩')
    """
    return "".join(part.shown for part in _parts(data, 0, len(data)))


def wants_color(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to color what is written to a stream: NO_COLOR forbids, FORCE_COLOR demands, else a terminal decides.

    Examples:
        >>> import io
        >>> wants_color(io.StringIO(), {"FORCE_COLOR": "1"}), wants_color(io.StringIO(), {})
        (True, False)
    """
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and stream.isatty()


def to_terminal(
    tokens: Iterable[tuple[int, bytes]],
    *,
    color: bool,
    width: int | None = None,
    special: Collection[int] = (),
    indent: str = "",
    break_lines: bool = True,
) -> str:
    """Draws tokens as text, colored or with separators.

    Args:
        tokens: (id, bytes) of each token, in the order of the text.
        color: whether to use ANSI colors (see `wants_color`); without them a ``│`` stands between tokens.
        width: cells in a line; longer lines are broken, between tokens where that is possible. None: never.
        special: ids of special tokens, which are drawn bold and in reverse.
        indent: what every line begins with.
        break_lines: whether the end of a line of the text ends a line of the drawing too.

    Returns:
        One or more lines without a last line end.

    Examples:
        >>> print(to_terminal([(1, b"the"), (2, b" cat"), (3, b"\\n"), (4, b"sat")], color=False))
        the│·cat│↵│
        sat
    """
    canvas = _Canvas(color, None if width is None else max(width - len(indent), 4), break_lines)
    for index, token in enumerate(draw(tokens)):
        canvas.add(token, _ansi(token.id, underline=bool(index % 2), special=token.id in special))
    return "\n".join(indent + line for line in canvas.lines())


def to_html(tokens: Iterable[tuple[int, bytes]], *, special: Collection[int] = ()) -> str:
    """Draws tokens as a fragment of HTML that brings its own style, needs no script and loads nothing.

    Each token is a ``span`` whose tooltip gives id and bytes. The signs for whitespace come from the style, so what
    is copied from the page is the text itself.

    Examples:
        >>> "&lt;b&gt;" in to_html([(1, b"<b>")])
        True
    """
    spans = []
    for index, token in enumerate(draw(tokens)):
        classes = ["o" if index % 2 else "e", *(["x"] if token.id in special else [])]
        title = html.escape(f"id {token.id} · bytes {token.data.hex(' ')}")
        inside = "".join(_part_html(part) for part in token.parts)
        hue = round(token.id * GOLDEN_ANGLE % 360)
        spans.append(f'<span class="{" ".join(classes)}" style="--h:{hue}" title="{title}">{inside}</span>')
    return f'<div class="jeton-tokens"><style>{_CSS}</style>{"".join(spans)}</div>'


# Pastel on light, and the same hues under the same dark letters in dark mode: contrast is at least 10:1 in both.
_CSS = (
    ".jeton-tokens{white-space:pre-wrap;overflow-wrap:anywhere;font-family:ui-monospace,monospace;line-height:1.7}"
    ".jeton-tokens>span{background:hsl(var(--h) 75% 85%);color:#111;border-bottom:2px solid transparent;padding:1px 0}"
    ".jeton-tokens>span.o{border-bottom-color:#555}"
    ".jeton-tokens>span.x{font-weight:bold;outline:1px solid #111;border-radius:3px}"
    ".jeton-tokens i{font-style:normal;position:relative}"
    ".jeton-tokens i::before{content:attr(data-s);opacity:.45}"
    ".jeton-tokens i.space::before,.jeton-tokens i.tab::before{position:absolute}"
    ".jeton-tokens b{font-weight:normal;font-size:.8em;opacity:.75}"
)


def _cut_character(text: bytes, place: int) -> tuple[int, int] | None:
    """The span of the character that a cut at this byte goes through, if it goes through one."""
    if not 0 < place < len(text) or text[place] & 0xC0 != 0x80:
        return None
    for start in range(place - 1, max(place - 4, -1), -1):
        if text[start] & 0xC0 != 0x80:
            end = start + (2 if text[start] < 0xE0 else 3 if text[start] < 0xF0 else 4)
            return (start, end) if end > place and _is_character(text[start:end]) else None
    return None


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def _parts(text: bytes, start: int, end: int) -> Iterator[Part]:
    """What bytes start…end of a text look like."""
    if start == end:
        yield Part(PartKind.CONTROL, EMPTY, "")
        return
    head, tail = _cut_character(text, start), _cut_character(text, end)
    whole_start = min(head[1], end) if head else start
    whole_end = max(tail[0], whole_start) if tail else end
    if head:
        yield _hex_part(text[start:whole_start])
    yield from _whole_parts(text[whole_start:whole_end])
    if tail and whole_end < end:
        yield _hex_part(text[whole_end:end], visible(text[tail[0] : tail[1]]) + " ")


def _hex_part(data: bytes, name: str = "") -> Part:
    return Part(PartKind.BYTES, f"⟨{name}{data.hex(' ')}⟩", "")


def _whole_parts(data: bytes) -> Iterator[Part]:
    """Bytes that cut no character of their neighbors; what is not UTF-8 among them is drawn as bytes."""
    run = ""
    broken = b""
    for character in data.decode("utf-8", "surrogateescape"):
        is_byte = "\udc80" <= character <= "\udcff"
        part = None if is_byte else _character_part(character, first=not run)
        if run and (is_byte or part is not None):
            yield Part(PartKind.TEXT, run if not _is_mark(run[0]) else DOTTED_CIRCLE + run, run)
            run = ""
        if broken and not is_byte:
            yield _hex_part(broken)
            broken = b""
        if is_byte:
            broken += bytes([ord(character) - 0xDC00])
        elif part is not None:
            yield part
        else:
            run += character
    if run:
        yield Part(PartKind.TEXT, run if not _is_mark(run[0]) else DOTTED_CIRCLE + run, run)
    if broken:
        yield _hex_part(broken)


_WHITESPACE = {
    " ": Part(PartKind.SPACE, SPACE, " "),
    "\t": Part(PartKind.TAB, TAB, "\t"),
    "\n": Part(PartKind.NEWLINE, NEWLINE, "\n"),
}


def _character_part(character: str, *, first: bool) -> Part | None:
    """A character that needs a part of its own: whitespace, controls, what is invisible or moves other letters."""
    if character in _WHITESPACE:
        return _WHITESPACE[character]
    if character < " ":
        return Part(PartKind.CONTROL, chr(0x2400 + ord(character)), character)
    if character == "\x7f":
        return Part(PartKind.CONTROL, "␡", character)
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Co") or category[0] == "Z":  # joiners, bidi, private use, other kinds of space
        return Part(PartKind.CONTROL, f"⟨U+{ord(character):04X}⟩", character)
    return None


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _part_html(part: Part) -> str:
    """One part; the sign of whitespace is an attribute, the whitespace itself stays."""
    if part.kind in (PartKind.SPACE, PartKind.TAB, PartKind.NEWLINE):
        return f'<i class="{part.kind.value}" data-s="{part.shown}">{part.text}</i>'
    if part.kind in (PartKind.CONTROL, PartKind.BYTES):
        return f"<b>{html.escape(part.shown)}</b>"
    return html.escape(part.shown)


def _ansi(id: int, *, underline: bool, special: bool) -> str:
    """The escape sequence that begins a token: black on its color, and the second cue."""
    codes = ["1", "7", "38", "5", str(PALETTE[id % len(PALETTE)])] if special else []
    codes = codes or ["38", "5", "16", "48", "5", str(PALETTE[id % len(PALETTE)])]
    return f"\x1b[{';'.join([*codes, '4'] if underline else codes)}m"


def cells(text: str) -> int:
    """How many cells of a terminal a text takes: 2 for wide characters, none for marks on the letter before.

    Examples:
        >>> cells("a天"), cells("e\\u0301")
        (3, 1)
    """
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if character < "\u0300":
        return 1
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class _Canvas:
    """Lines that tokens are laid on, one after the other."""

    def __init__(self, color: bool, width: int | None, break_lines: bool) -> None:
        self._color, self._break_lines = color, break_lines
        self._width = width if color or width is None else width - 1  # a cell for the separator at a line's end
        self._lines: list[str] = []
        self._line = ""
        self._used = 0

    def add(self, token: Drawn, ansi: str) -> None:
        """Lays one token, on a new line if it fits there and not here."""
        needed = cells(token.shown) + (0 if self._color else 1)
        if self._width is not None and self._used and self._used + needed > self._width >= needed:
            self._break()
        if not self._color:
            self._separate()
        begin, end = (ansi, "\x1b[0m") if self._color else ("", "")
        pending = ""
        for part in token.parts:
            for character in part.shown:
                if self._width is not None and self._used + _cells(character) > self._width:
                    self._line += begin + pending + end if pending else ""
                    self._break()
                    pending = ""
                pending += character
                self._used += _cells(character)
            if part.kind is PartKind.NEWLINE and self._break_lines:
                self._line += begin + pending + end
                self._break()
                pending = ""
        if pending:
            self._line += begin + pending + end

    def _separate(self) -> None:
        """Marks the border to the token before, at the end of its line if that line is over."""
        if self._used:
            self._line, self._used = self._line + SEPARATOR, self._used + 1
        elif self._lines:
            self._lines[-1] += SEPARATOR

    def _break(self) -> None:
        self._lines.append(self._line)
        self._line, self._used = "", 0

    def lines(self) -> list[str]:
        """All lines; the last one only if it holds something."""
        return [*self._lines, self._line] if self._line or not self._lines else self._lines


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

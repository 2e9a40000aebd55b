"""A drawing in a terminal: colored, or with borders where there is no color; in as many columns as there are.

Left out: what a terminal makes of text written from right to left. The letters of a token come as they are, in the
order of the text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

from .cells import cells
from .colors import HUES
from .drawing import Drawing, Look
from .parts import Part, PartKind

__all__ = ["PALETTE", "SEPARATOR", "look_ansi", "to_terminal", "wants_color"]

SEPARATOR = "│"

# Light tones of the 256-color cube, no greys and nothing near white, by rising hue: black text on any of them has a
# contrast of at least 8:1, whatever the terminal's own theme.
# fmt: off
PALETTE = (
    217, 216, 180, 215, 222, 229, 186, 187, 193, 120, 158, 159, 152, 116, 153, 111, 189, 147, 177, 182, 219, 213, 211,
)
# fmt: on


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
    drawing: Drawing,
    *,
    color: bool,
    width: int | None = None,
    indent: str = "",
    break_lines: bool = True,
) -> str:
    """Draws tokens as text, colored or with separators.

    Args:
        drawing: what there is to draw.
        color: whether to use ANSI colors (see `wants_color`); without them a ``│`` stands between tokens.
        width: cells in a line; longer lines are broken, between tokens where that is possible. None: never.
        indent: what every line begins with.
        break_lines: whether the end of a line of the text ends a line of the drawing too.

    Returns:
        One or more lines without a last line end. Text that no token covers stands between them, faint, and between
        ‹ and › where there is no color.

    Examples:
        >>> from jeton.drawing import draw
        >>> print(to_terminal(draw([(1, b"the"), (2, b" cat"), (3, b"\\n"), (4, b"sat")]), color=False))
        the│·cat│↵│
        sat
    """
    canvas = _Canvas(color, None if width is None else max(width - len(indent), 4), break_lines)
    gaps = {dropped.before: dropped.parts for dropped in drawing.dropped}
    for index, look in enumerate(drawing):
        if index in gaps:
            canvas.add(_gap(gaps[index], color), FAINT)
        canvas.add(look.parts, look_ansi(look, underline=bool(index % 2)))
    if len(drawing) in gaps:
        canvas.add(_gap(gaps[len(drawing)], color), FAINT)
    return "\n".join(indent + line for line in canvas.lines())


FAINT = "\x1b[2m"


def _gap(parts: tuple[Part, ...], color: bool) -> tuple[Part, ...]:
    if color:
        return parts
    return (Part(PartKind.CONTROL, "‹", ""), *parts, Part(PartKind.CONTROL, "›", ""))


def look_ansi(look: Look, *, underline: bool = False) -> str:
    """The escape sequence that begins a token: black on its color, and the second cue."""
    tone = str(PALETTE[look.hue * len(PALETTE) // HUES])
    codes = ["1", "7", "38", "5", tone] if look.special else ["38", "5", "16", "48", "5", tone]
    return f"\x1b[{';'.join([*codes, '4'] if underline else codes)}m"


class _Canvas:
    """Lines that tokens are laid on, one after the other."""

    def __init__(self, color: bool, width: int | None, break_lines: bool) -> None:
        self._color, self._break_lines = color, break_lines
        self._width = width if color or width is None else width - 1  # a cell for the separator at a line's end
        self._lines: list[str] = []
        self._line = ""
        self._used = 0

    def add(self, parts: tuple[Part, ...], ansi: str) -> None:
        """Lays one token, on a new line if it fits there and not here."""
        needed = sum(cells(part.shown) for part in parts) + (0 if self._color else 1)
        if self._width is not None and self._used and self._used + needed > self._width >= needed:
            self._break()
        if not self._color:
            self._separate()
        begin, end = (ansi, "\x1b[0m") if self._color else ("", "")
        pending = ""
        for part in parts:
            for character in part.shown:
                size = cells(character)
                if self._width is not None and self._used + size > self._width:
                    self._line += begin + pending + end if pending else ""
                    self._break()
                    pending = ""
                pending += character
                self._used += size
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

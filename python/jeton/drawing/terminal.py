"""Terminal renderer of a drawing. It uses ANSI colors, or separators without color, and wraps lines to a width.

Left out: bidi reordering. Characters are output in logical order; some terminals reorder right-to-left text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from .colors import HUES
from .display_width import display_width
from .drawing import Drawing, DroppedText, Look
from .look_parts import LookPart, LookPartKind

__all__ = ["PALETTE", "SEPARATOR", "Canvas", "look_ansi", "to_terminal", "wants_color"]

SEPARATOR = "│"

# Light colors of the 256-color cube by rising hue, without grays and near-whites. On each, black text has a contrast of
# at least 8:1, independent of the terminal's theme.
# fmt: off
PALETTE = (
    217, 216, 180, 215, 222, 229, 186, 187, 193, 120, 158, 159, 152, 116, 153, 111, 189, 147, 177, 182, 219, 213, 211,
)
# fmt: on


def wants_color(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Decides whether to use color on a stream.

    With NO_COLOR, the answer is no; with FORCE_COLOR, it is yes. Otherwise, only a terminal gets color, unless TERM is
    ``dumb``.

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
    """Renders tokens as text, colored or with separators.

    Args:
        drawing: the drawing.
        color: whether to use ANSI colors (see `wants_color`); without colors, tokens are separated by ``│``.
        width: columns per line; longer lines are wrapped, if possible between tokens. None: lines are not wrapped.
        indent: prefix of every line.
        break_lines: whether a line end in the text also ends the line of output.

    Returns:
        One or more lines without a final line end. Text that no token covers is faint; without color, it is enclosed in
        ‹ and ›.

    Examples:
        >>> from jeton.drawing import draw
        >>> print(to_terminal(draw([(1, b"the"), (2, b" cat"), (3, b"\\n"), (4, b"sat")]), color=False))
        the│·cat│↵│
        sat
    """
    canvas = Canvas(color=color, width=width, indent=indent, break_lines=break_lines)
    canvas.add(drawing.looks, drawing.table, drawing.dropped)
    canvas.finish()
    return canvas.take()


FAINT, RESET = "\x1b[2m", "\x1b[0m"


def look_ansi(look: Look, *, underline: bool = False) -> str:
    """Returns the escape sequence that begins a token, with underlining if `underline` is true.

    A token is shown as black text on its color; a special token is bold, with its color in reverse video.
    """
    tone = str(PALETTE[look.hue * len(PALETTE) // HUES])
    codes = ["1", "7", "38", "5", tone] if look.special else ["38", "5", "16", "48", "5", tone]
    return f"\x1b[{';'.join([*codes, '4'] if underline else codes)}m"


class Canvas:
    """Output buffer of tokens that wraps long lines.

    The buffer is a list of strings, because a line can be as long as the text; `take` empties the buffer.
    """

    def __init__(self, *, color: bool, width: int | None = None, indent: str = "", break_lines: bool = True) -> None:
        self._color, self._indent, self._break_lines = color, indent, break_lines
        if width is not None:
            # Without color, one column is reserved for the separator at the end of a line.
            width = max(width - len(indent), 4) - (0 if color else 1)
        self._width = width
        self._pieces: list[str] = []
        self._line_end = ""  # written before the current line
        self._is_empty = True  # whether the current line is still empty
        self._used = 0  # columns of the current line
        self._count = 0  # tokens so far
        self._table: Sequence[Look] = ()
        # Results of `_measured`. The key is 2 × index of the look, plus 1 if the token is underlined.
        self._measures: dict[int, tuple[str, str, int, bool]] = {}

    def add(self, looks: Sequence[int], table: Sequence[Look], dropped: Sequence[DroppedText]) -> None:
        """Appends tokens, and the text between them that no token covers.

        Args:
            looks: index into `table` for each of the n new tokens, which follow the tokens of earlier calls.
            table: the distinct looks.
            dropped: text that no token covers; its token indices also count the tokens of earlier calls.
        """
        gaps = {gap.before: gap.parts for gap in dropped}
        if table is not self._table:
            self._table, self._measures = table, {}
        measures, width, pieces = self._measures, self._width, self._pieces
        for index, look in enumerate(looks, start=self._count):
            if gaps and index in gaps:
                self._add_gap(gaps[index])
            key = look * 2 + index % 2
            known = measures.get(key)
            if known is None:
                known = measures[key] = self._measured(table[look], bool(index % 2))
            separated, shown, needed, breaks = known
            if breaks or (width is not None and self._used + needed + 1 > width):
                self._add(table[look].parts, self._ansi(table[look], bool(index % 2)), needed)
            elif self._is_empty:
                self._separate()
                self._write(shown)
                self._used = needed
            else:
                pieces.append(separated)
                self._used += needed if self._color else needed + 1
        self._count += len(looks)
        if gaps and self._count in gaps:
            self._add_gap(gaps[self._count])

    def finish(self) -> None:
        """Ends the output; if there was no token, the output is one empty line."""
        if self._is_empty and not self._line_end:
            self._pieces.append(self._indent)

    def take(self) -> str:
        """Returns the output since the last call."""
        taken = "".join(self._pieces)
        self._pieces.clear()
        return taken

    def _ansi(self, look: Look, underline: bool) -> str:
        return look_ansi(look, underline=underline) if self._color else ""

    def _measured(self, look: Look, underline: bool) -> tuple[str, str, int, bool]:
        """Measures a token.

        Returns:
            (output if another token precedes it on the line, output at the start of a line, width in columns, whether
            the token ends the line).
        """
        shown = look.shown
        breaks = self._break_lines and any(part.kind is LookPartKind.NEWLINE for part in look.parts)
        written = f"{self._ansi(look, underline)}{shown}{RESET}" if self._color and shown else shown
        return written if self._color else SEPARATOR + written, written, display_width(shown), breaks

    def _add_gap(self, parts: tuple[LookPart, ...]) -> None:
        if self._color:
            self._add(parts, FAINT, sum(display_width(part.shown) for part in parts))
            return
        parts = (LookPart(LookPartKind.CONTROL, "‹", ""), *parts, LookPart(LookPartKind.CONTROL, "›", ""))
        self._add(parts, "", sum(display_width(part.shown) for part in parts))

    def _add(self, parts: tuple[LookPart, ...], ansi: str, needed: int) -> None:
        """Appends one token, on a new line if it does not fit on the current line but fits on an empty one."""
        needed += 0 if self._color else 1
        if self._width is not None and self._used and self._used + needed > self._width >= needed:
            self._break()
        self._separate()
        end = RESET if self._color else ""
        pending: list[str] = []

        def write() -> None:
            if pending:
                self._write(ansi + "".join(pending) + end)
                pending.clear()

        for part in parts:
            for character in part.shown:
                size = display_width(character)
                if self._width is not None and self._used + size > self._width:
                    write()
                    self._break()
                pending.append(character)
                self._used += size
            if part.kind is LookPartKind.NEWLINE and self._break_lines:
                write()
                self._break()
        write()

    def _separate(self) -> None:
        """Writes the separator after the previous token, at the end of that token's line."""
        if self._color or (self._is_empty and not self._line_end):
            return
        self._pieces.append(SEPARATOR)
        if not self._is_empty:
            self._used += 1

    def _break(self) -> None:
        self._begin_line()
        self._line_end, self._is_empty, self._used = "\n", True, 0

    def _begin_line(self) -> None:
        if self._is_empty:
            self._pieces.append(self._line_end + self._indent)
            self._is_empty = False

    def _write(self, shown: str) -> None:
        self._begin_line()
        self._pieces.append(shown)

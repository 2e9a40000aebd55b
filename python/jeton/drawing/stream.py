"""Incremental terminal output of tokens, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .describe import Describer
from .terminal import Canvas

__all__ = ["TerminalStream"]

# Capacity of the table of looks, about the size of a large vocabulary. If it is exceeded, the table is cleared.
MAX_LOOKS = 1 << 17


class TerminalStream:
    """Draws the tokens of a text batch by batch, with the same output as `to_terminal`.

    Memory: the tokens of one call and up to 131,072 looks (displayed forms of tokens), independent of the length of the
    text.

    Examples:
        >>> stream = TerminalStream(b"the cat", {}, lambda drawn: print(drawn, end=""), color=False)
        >>> stream.add([1], [b"the"], [(0, 3)])
        >>> stream.add([2], [b" cat"], [(3, 7)])
        the
        >>> stream.finish()
        │·cat
    """

    def __init__(
        self,
        text: bytes,
        special: Mapping[int, bytes],
        write: Callable[[str], object],
        *,
        color: bool,
        width: int | None = None,
        indent: str = "",
        break_lines: bool = True,
    ) -> None:
        """Begins the output of a text.

        Args:
            text: bytes of the text.
            special: id -> spelling of the special tokens.
            write: function that is called with each piece of output.
            color, width, indent, break_lines: as in `to_terminal`.
        """
        self._describer = Describer(text, special)
        self._canvas = Canvas(color=color, width=width, indent=indent, break_lines=break_lines)
        self._write = write
        # The look of a token can depend on the start of the next token, so a batch is drawn in the next call.
        self._waiting: tuple[Sequence[int], Sequence[bytes], Sequence[tuple[int, int]]] | None = None

    def add(self, ids: Sequence[int], tokens: Sequence[bytes], byte_spans: Sequence[tuple[int, int]]) -> None:
        """Adds the next n tokens: ids, their bytes, and their half-open ranges of the text's bytes."""
        if not ids:
            return
        self._draw(byte_spans[0][0])
        self._waiting = (ids, tokens, byte_spans)

    def finish(self) -> None:
        """Draws the last batch."""
        self._draw(None)
        self._canvas.add([], [], self._describer.finish())
        self._canvas.finish()
        self._write(self._canvas.take())

    def _draw(self, following: int | None) -> None:
        if self._waiting is None:
            return
        looks, _, dropped = self._describer.add(*self._waiting, following)
        self._canvas.add(looks, self._describer.table, dropped)
        self._write(self._canvas.take())
        if len(self._describer.table) > MAX_LOOKS:
            self._describer.forget()
        self._waiting = None

"""Chunks that end at boundaries of a text's structure, for `Tokenizer.split`.

The *reach* of a chunk is the longest text that begins at the start of the chunk and is within the limit of tokens. Each
boundary has a level. The chunk ends at a boundary in its reach: the last boundary of the highest level found there.
This is the rule of text-splitter (https://docs.rs/text-splitter, "Method"): it takes the highest level at which one
section fits, and then as many sections of this level as fit. If the reach contains no boundary, the chunk ends at the
last line end in the reach. If the reach contains no line end either, the chunk ends at a sentence end (in code, at a
word end), which `Tokenizer.truncate` finds.

For each chunk, a window of the text is read that is about as long as the reach. The time is linear in the length of the
text if most chunks are about as long as their reach. A chunk is much shorter than its reach if a boundary of a high
level is near the start of the reach and only lower levels follow.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Literal, TypeAlias

from .. import _core
from ..errors import ConfigError
from .structure import HEADED, LINE, boundaries

__all__ = ["structured_split"]

Permitted: TypeAlias = Literal["all", "raise"] | list[int] | None
Fields: TypeAlias = tuple[str, tuple[int, int], tuple[int, int], int]  # the fields of a `Chunk`

SMALLER = {"paragraph": "sentence", "markdown": "sentence", "code": "word"}
MARGIN = 64  # number of characters that are read after a position to decide whether a sentence or word ends there
# Maximum number of boundaries that are tried for one chunk. Only boundaries in the reach of the chunk are tried. (The
# reach is the longest text that begins at the start of the chunk and is within the token limit.) The first boundary
# nearly always fits: text up to a boundary has more tokens than the reach only if a token crosses the boundary, and few
# tokens cross line ends.
MAX_TRIES = 64


def structured_split(
    core: _core.Tokenizer, text: str, limit: int, overlap: int, at: str, special: Permitted
) -> Iterator[Fields]:
    """Yields chunks of at most `limit` ≥ 1 tokens, as the fields of `Chunk`.

    Args:
        core: the tokenizer.
        text: the text.
        limit: maximum number of tokens of a chunk.
        overlap: maximum number of tokens at the end of a chunk that the next chunk repeats.
        at: one of `STRUCTURES`.
        special: permitted special tokens.

    Raises:
        ConfigError: a single character exceeds `limit`.
        InvalidTextError, SpecialTokenError: as `Tokenizer.encode`.

    Examples:
        >>> import jeton
        >>> [part[0] for part in structured_split(jeton.default()._core, "a b\\n\\nc\\nd", 4, 0, "paragraph", None)]
        ['a b\\n\\n', 'c\\nd']
    """
    count = core.count(text, special, 1)  # raises errors with their position in the whole text
    if count <= limit:
        if text:
            yield text, (0, len(text)), (0, len(text.encode())), count
        return
    splitter = _Splitter(core, text, limit, at, special)
    start = end = byte_end = 0
    while end < len(text):
        byte_start = byte_end - len(text[start:end].encode())
        chunk_end = splitter.end(start, end)
        if chunk_end is None:  # the overlap leaves no tokens for new text, so the overlap is dropped
            start, byte_start = end, byte_end
            chunk_end = splitter.end(start, end)
        if chunk_end is None:
            at_character = f"the character at position {start} takes {core.count(text[start], special, 1)} tokens"
            raise ConfigError(f"{at_character}, more than the limit of {limit}", option="max_tokens", position=start)
        part = text[start:chunk_end]
        byte_end, end = byte_start + len(part.encode()), chunk_end
        yield part, (start, end), (byte_start, byte_end), core.count(part, special, 1)
        start = splitter.overlap_start(start, end, overlap) if overlap else end


class _Splitter:
    """Finds the ends of chunks and the starts of overlaps in one text."""

    def __init__(self, core: _core.Tokenizer, text: str, limit: int, at: str, special: Permitted) -> None:
        self._core, self._text, self._limit, self._special = core, text, limit, special
        self._places, self._levels = boundaries(text, at)
        self._smaller = SMALLER[at]
        self._window = min(4 * limit, len(text)) + MARGIN

    def end(self, start: int, least: int) -> int | None:
        """Returns the end of the chunk that begins at `start`.

        The end is after position `least`. Returns None if every chunk that ends after `least` exceeds the limit.
        """
        window, reach = self._reach(start)
        if start + reach == len(self._text):
            return start + reach
        first, last = bisect_right(self._places, max(start, least)), bisect_right(self._places, start + reach)
        by_level = sorted(range(first, last), key=lambda index: (self._levels[index], -index))
        for index in islice(by_level, MAX_TRIES):
            place = self._places[index]
            is_whole = self._levels[index] != HEADED or self._fits(place, self._block_end(index), self._limit)
            if is_whole and self._fits(start, place, self._limit):
                return place
        end = start + self._core.truncate(window, self._limit, "right", "", self._smaller, self._special)[0]
        if end <= least:
            end = start + reach
        return end if end > least else None

    def overlap_start(self, start: int, end: int, most: int) -> int:
        """Returns the start of a chunk's longest suffix that has at most `most` tokens.

        The suffix begins at the start of a block if possible, else of a line, else of a sentence or word.
        """
        part = self._text[start:end]
        earliest = start + self._core.truncate(part, most, "left", "", "character", self._special)[1]
        first, last = bisect_left(self._places, max(earliest, start + 1)), bisect_left(self._places, end)
        for indices in (
            (index for index in range(first, last) if self._levels[index] < HEADED),
            range(first, last),
        ):
            for index in islice(indices, MAX_TRIES):
                if self._fits(self._places[index], end, most):
                    return self._places[index]
        from_unit = start + self._core.truncate(part, most, "left", "", self._smaller, self._special)[1]
        return from_unit if from_unit > start else end

    def _reach(self, start: int) -> tuple[str, int]:
        """Returns a window of the text from `start`, and the length of its longest prefix within the token limit."""
        while True:
            window = self._text[start : start + self._window]
            reach = self._core.truncate(window, self._limit, "right", "", "character", self._special)[0]
            if start + len(window) == len(self._text) or reach + MARGIN <= len(window):
                self._window = 2 * reach + MARGIN
                return window, reach
            self._window *= 2

    def _block_end(self, index: int) -> int:
        """Returns the end of the block that begins at the boundary with the given index."""
        for following in range(index + 1, len(self._places)):
            if self._levels[following] < LINE:
                return self._places[following]
        return len(self._text)

    def _fits(self, start: int, end: int, limit: int) -> bool:
        return self._core.count_up_to(self._text[start:end], limit, self._special) is not None

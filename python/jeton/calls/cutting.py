"""Parts of a text with at most a given number of tokens: `Tokenizer.count_up_to`, `truncate` and `split`.

The functions check options and convert results; the core finds the parts (`tokenizer/cut/mod.rs`). The tests compare
the core with a slow version that tries every position.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from .. import _core
from ..errors import ConfigError, keyword
from ..util.arguments import choice, instance, integer, string
from .structure import STRUCTURES
from .structured_split import structured_split

__all__ = ["Chunk", "Side", "SplitUnit", "TextUnit", "count_batch", "count_up_to", "split", "truncate"]

TextUnit: TypeAlias = Literal["character", "grapheme", "word", "sentence"]
SplitUnit: TypeAlias = Literal["character", "grapheme", "word", "sentence", "paragraph", "markdown", "code"]
Side: TypeAlias = Literal["right", "left", "middle"]
Permitted: TypeAlias = Literal["all", "raise"] | list[int] | None

UNITS = ("character", "grapheme", "word", "sentence")
SPLIT_UNITS = (*UNITS, *STRUCTURES)
SIDES = ("right", "left", "middle")
MOST_TOKENS = (1 << 62) - 1
MAX_SHOWN = 2000  # maximum number of characters of a chunk that a notebook shows


class Chunk(NamedTuple):
    """A part of a text, from `Tokenizer.split`.

    Attributes:
        text: the part.
        char_span: half-open range of its characters: the part is ``text[char_span[0]:char_span[1]]``.
        byte_span: half-open range of its bytes in the UTF-8 of the text.
        num_tokens: number of tokens of the part if it is encoded separately, without a template.

    Examples:
        >>> import jeton
        >>> jeton.default().split("one two three", 2)[1]
        Chunk(text=' three', char_span=(7, 13), byte_span=(7, 13), num_tokens=1)
    """

    text: str
    char_span: tuple[int, int]
    byte_span: tuple[int, int]
    num_tokens: int

    def _repr_html_(self) -> str:
        from ..drawing import to_card

        more = "…" if len(self.text) > MAX_SHOWN else ""
        rows = [
            ("tokens", f"{self.num_tokens:,}"),
            ("characters", "{:,} to {:,}".format(*self.char_span)),
            ("bytes", "{:,} to {:,}".format(*self.byte_span)),
        ]
        return to_card("Chunk", rows, text=self.text[:MAX_SHOWN] + more)


def count_up_to(core: _core.Tokenizer, text: str, limit: int, special: Permitted, num_added: int) -> int | None:
    """Returns the number of tokens of a text, or None if it exceeds `limit`; see `Tokenizer.count_up_to`."""
    instance(text, "text", str, "a str")
    integer(limit, "limit", 0, MOST_TOKENS)
    if limit < num_added:
        return None
    count = core.count_up_to(text, limit - num_added, special)
    return None if count is None else count + num_added


def truncate(
    core: _core.Tokenizer,
    text: str,
    max_tokens: int,
    side: str,
    marker: str,
    at: str,
    special: Permitted,
    num_added: int,
) -> str:
    """Returns the longest part of a text within the limit of tokens; see `Tokenizer.truncate`."""
    instance(text, "text", str, "a str")
    limit = _without_template(max_tokens, num_added)
    choice(side, "side", SIDES)
    choice(at, "at", UNITS)
    string(marker, "marker")
    if side == "middle" and (of_marker := core.count(marker, special, 1)) > limit:
        raise ConfigError(
            f"{keyword('marker', marker)} takes {of_marker} tokens, but {keyword('max_tokens', max_tokens)} "
            f"leaves room for {limit}"
        )
    head, tail = core.truncate(text, limit, side, marker, at, special)
    if side == "middle" and head < tail:
        return text[:head] + marker + text[tail:]
    return text[tail:] if side == "left" else text[:head]


def split(
    core: _core.Tokenizer, text: str, max_tokens: int, overlap: int, at: str, special: Permitted, num_added: int
) -> list[Chunk]:
    """Splits a text into parts within the limit of tokens; see `Tokenizer.split`."""
    instance(text, "text", str, "a str")
    limit = _without_template(max_tokens, num_added)
    choice(at, "at", SPLIT_UNITS)
    integer(overlap, "overlap", 0)
    if limit == 0:
        raise ConfigError(f"{keyword('max_tokens', max_tokens)} leaves no token for the text")
    if overlap >= limit:
        raise ConfigError(f"{keyword('overlap', overlap)} must be less than the {limit} tokens of a chunk")
    if at in STRUCTURES:
        return [Chunk(*fields) for fields in structured_split(core, text, limit, overlap, at, special)]
    return core.split(text, limit, overlap, at, special, Chunk)


def count_batch(
    core: _core.Tokenizer, texts: list[str | bytes], special: Permitted, num_added: int, threads: int
) -> list[int]:
    """Returns the number of tokens of each text; see `Tokenizer.count_batch`."""
    counts = core.count_batch(texts, special, threads).cast("q").tolist()
    return [count + num_added for count in counts] if num_added else counts


def _without_template(max_tokens: int, num_added: int) -> int:
    limit = integer(max_tokens, "max_tokens", 0, MOST_TOKENS) - num_added
    if limit < 0:
        raise ConfigError(
            f"{keyword('max_tokens', max_tokens)} is less than the {num_added} tokens that the template adds"
        )
    return limit

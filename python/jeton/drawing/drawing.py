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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .look_parts import LookPart, LookPartKind

__all__ = ["Drawing", "DroppedText", "Look"]


_WHITE = (LookPartKind.SPACE, LookPartKind.TAB, LookPartKind.NEWLINE)


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
    parts: tuple[LookPart, ...]

    @property
    def shown(self) -> str:
        """All parts in one string."""
        return "".join(part.shown for part in self.parts)

    @property
    def text(self) -> str:
        """The text it stands for."""
        return "".join(part.text for part in self.parts)

    @property
    def spelled(self) -> tuple[int, int]:
        """The half-open range of its parts without white space at both ends.

        A special token may strip white space around it, which then belongs to the token and not to its spelling.
        """
        inner = [index for index, part in enumerate(self.parts) if part.kind not in _WHITE]
        return (inner[0], inner[-1] + 1) if inner else (0, len(self.parts))


class DroppedText(NamedTuple):
    """Text that no token covers: before which token it stands (or after the last), and what it looks like."""

    before: int
    parts: tuple[LookPart, ...]


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
        >>> from jeton.drawing import draw
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
    dropped: Sequence[DroppedText]
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
        whole: list[str] = []
        at = 0
        for before, parts in self.dropped:
            whole += [pieces[look] for look in self.looks[at:before]]
            whole += [part.text for part in parts]
            at = before
        return "".join([*whole, *(pieces[look] for look in self.looks[at:])])

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; what the page draws.

        Examples:
            >>> from jeton.drawing import draw
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
            >>> from jeton.drawing import draw
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


def _part_rows(parts: Iterable[LookPart]) -> list[list[str]]:
    return [[part.kind.value, part.shown, part.text, *([part.side] if part.side else ())] for part in parts]

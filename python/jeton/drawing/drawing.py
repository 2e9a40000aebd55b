"""`Drawing`: renderer-independent description of a text's tokens.

Columns have the ids and spans of the tokens. A table has their distinct looks, so that 100,000 tokens need little
memory. Tokens of a *group* share a character of the text that is split between them.

The *displayed form* of a token shows the token's bytes, as in decoded text. The *copied text* of a token comes from the
input: the characters that begin in the token's span. Most tokens have a copied text equal to the displayed form. The
two differ in three cases: a normalizer rewrote the text, an unknown character became ``[UNK]``, or the token covers no
text (a token of a template, a dummy prefix). Some tokenizers drop white space that decoding restores; this white space
is displayed as part of the token from which decoding restores it. Other dropped text is listed between the tokens.
Therefore the copied text of all parts, concatenated, is the complete input, except for bytes that are not UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .look_parts import LookPart, LookPartKind

__all__ = ["Drawing", "DroppedText", "Look"]


_WHITE = (LookPartKind.SPACE, LookPartKind.TAB, LookPartKind.NEWLINE)


class Look(NamedTuple):
    """Form in which a token is displayed.

    Attributes:
        id: the token's id.
        hue: color in degrees, a function of the bytes.
        special: whether it is a special token.
        data: the bytes that the token adds to decoded text, or the spelling of a special token.
        parts: the parts to display, in order.
    """

    id: int
    hue: int
    special: bool
    data: bytes
    parts: tuple[LookPart, ...]

    @property
    def shown(self) -> str:
        """Displayed form of all parts, concatenated."""
        return "".join(part.shown for part in self.parts)

    @property
    def text(self) -> str:
        """Copied text of all parts, concatenated."""
        return "".join(part.text for part in self.parts)

    @property
    def spelled(self) -> tuple[int, int]:
        """Half-open range of the parts that are not leading or trailing white space.

        A special token with ``lstrip`` or ``rstrip`` covers white space that is not part of its spelling.
        """
        inner = [index for index, part in enumerate(self.parts) if part.kind not in _WHITE]
        return (inner[0], inner[-1] + 1) if inner else (0, len(self.parts))


class DroppedText(NamedTuple):
    """Text that is not covered by any token.

    Attributes:
        before: index of the token that follows the text; the number of tokens if no token follows.
        parts: the parts to display, in order.
    """

    before: int
    parts: tuple[LookPart, ...]


@dataclass(frozen=True, repr=False)
class Drawing:
    """Description of the n tokens of a text.

    Attributes:
        ids: n ids.
        looks: n indices into `table`.
        groups: n numbers; adjacent tokens with equal numbers share a character that is split between them.
        byte_starts, byte_ends: n half-open ranges of the text's bytes.
        char_starts, char_ends: n half-open ranges of the text's characters.
        table: the distinct looks.
        dropped: text that no token covers.
        text_bytes, text_chars: length of the text.

    For a pair of texts, ranges refer to their concatenation.

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
        """Iterates over the looks of the tokens, in order."""
        return map(self.table.__getitem__, self.looks)

    def __repr__(self) -> str:
        return f"Drawing({len(self.ids):,} tokens, {len(self.table):,} looks)"

    @property
    def text(self) -> str:
        """The text that was drawn, except for bytes that are not UTF-8: the copied text of all parts, concatenated."""
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

    def to_json(self) -> dict[str, Any]:
        """Returns the drawing as JSON-compatible objects, which the playground's page renders.

        Examples:
            >>> from jeton.drawing import draw
            >>> draw([(7, b" a")]).to_json()["table"]
            [{'id': 7, 'hue': 315, 'special': False, 'hex': '2061', \
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
        """Returns a drawing of the first tokens, with the same `text_bytes` and `text_chars`.

        Examples:
            >>> from jeton.drawing import draw
            >>> len(draw([(1, b"a"), (2, b"b")]).head(1))
            1
        """
        if num_tokens >= len(self.ids):
            return self
        used = sorted(set(self.looks[:num_tokens]))
        renumbered = {look: number for number, look in enumerate(used)}
        return Drawing(
            self.ids[:num_tokens],
            [renumbered[look] for look in self.looks[:num_tokens]],
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


def _part_rows(parts: Iterable[LookPart]) -> list[list[Any]]:
    return [_part_row(part) for part in parts]


def _part_row(part: LookPart) -> list[Any]:
    row: list[Any] = [part.kind.value, part.shown, part.text]
    if part.cut:
        return [*row, part.side, list(part.cut)]
    return [*row, part.side] if part.side else row

"""`Drift`: the first id at which given ids differ from the encoding of their text, and the cause.

The cause is found only from the ids around the difference (`Group`): some of the given ids, and the ids that encoding
returns for the same text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from ..errors import InvalidTextError
from ..tokens.added import AddedToken
from ..util.messages import translate
from .encode import ChatTokenizer

if TYPE_CHECKING:
    from ..definition import Definition

__all__ = ["CanonicalTokenizer", "Cause", "Drift", "Group", "explained", "num_replaced"]

Cause: TypeAlias = Literal[
    "merge",
    "split",
    "unreachable",
    "prefix_space",
    "normalization",
    "dropped",
    "spelled_token",
    "stripped_space",
    "unmatched_token",
    "unknown",
    "invalid_bytes",
]

_REASONS: Mapping[Cause, str] = {
    "merge": "the encoder joins text across the boundary of these ids",
    "split": "the encoder splits the text of this id here",
    "unreachable": "the encoder does not give this id for its text",
    "prefix_space": "the encoder puts a space before the text",
    "normalization": "the encoder normalizes the text",
    "dropped": "the encoder drops characters of the text",
    "spelled_token": "the text spells an added token",
    "stripped_space": "an added token takes the white space beside it",
    "unmatched_token": "the added token is not matched at this place",
    "unknown": "the text that an unknown token stands for is lost",
    "invalid_bytes": "the bytes of these ids are not valid UTF-8",
}
_REPLACEMENT = "\ufffd"
_MOST_SHOWN = 8  # ids in `str(drift)`
# Each context is put before the text of an id. The text of the id then begins the input, continues a word, or follows
# a space.
_CONTEXTS = ("", "a", " ")


class CanonicalTokenizer(ChatTokenizer, Protocol):
    """The part of a tokenizer's interface that `drift`, `is_canonical` and `canonicalize` use."""

    @property
    def definition(self) -> Definition: ...  # noqa: D102
    def decode(self, ids: list[int]) -> str: ...  # noqa: D102
    def decode_with_offsets(self, ids: list[int]) -> tuple[str, list[int]]: ...  # noqa: D102
    def decode_tokens_bytes(self, ids: list[int]) -> list[bytes]: ...  # noqa: D102


class Group(NamedTuple):
    """Given ids and new ids that differ but have the same text. A group has as few ids as possible.

    Attributes:
        old: the given ids.
        new: the ids that encoding returns for the same text.
        text: the text of the group.
        around: the given ids of the group, with one given id before and one after the group.
        is_first: whether the group begins the whole text, or the text after a special token.
    """

    old: list[int]
    new: list[int]
    text: str
    around: list[int]
    is_first: bool


@dataclass(frozen=True)
class Drift:
    """The first difference between ids and the encoding of their text. `str(drift)` describes it in a sentence.

    Attributes:
        position: index of the first id that differs.
        cause: ``"merge"``: the encoder joins text across a boundary of the ids.
            ``"split"``: the encoder divides the text of one id.
            ``"unreachable"``: as ``"split"``; in addition, the text of the id was encoded alone, after a letter, and
            after a space, and no result contains the id. (`jeton.audit` proves whether any text encodes to an id.)
            ``"prefix_space"``: the encoder adds a space before the text; the given ids lack it.
            ``"normalization"``: the encoder changes the text. ``"dropped"``: the encoder drops a part of the text.
            ``"spelled_token"``: the text spells an added token, and the encoder returns the id of this token. The token
            is not special, or ``special=`` permits it.
            ``"stripped_space"``: an added token includes the white space beside it.
            ``"unmatched_token"``: the ids have an added token that the encoder does not match there.
            ``"unknown"``: one of `ids` or of `expected` is the unknown token, whose text is lost.
            ``"invalid_bytes"``: the ids have bytes that are not UTF-8, such as half a character.
        ids: the given ids from `position` to the next boundary that they share with `expected`. They can begin before
            `position` if an unknown token precedes it, because equal unknown tokens can stand for different texts.
        expected: the ids that encoding the text returns instead.
        text: the text of `ids`.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
        >>> drift = tok.drift([98, 97, 98])
        >>> drift.position, drift.cause
        (1, 'merge')
        >>> print(drift)
        position 1: ids [97, 98], encoding 'ab' gives [256]: the encoder joins text across the boundary of these ids
    """

    position: int
    cause: Cause
    ids: list[int]
    expected: list[int]
    text: str

    def __str__(self) -> str:
        text = repr(self.text if len(self.text) <= 40 else self.text[:40] + "…")
        return translate(
            "position {position}: ids {ids}, encoding {text} gives {expected}: {reason}",
            position=self.position,
            ids=_shown(self.ids),
            text=text,
            expected=_shown(self.expected),
            reason=translate(_REASONS[self.cause]),
        )


def explained(tok: CanonicalTokenizer, group: Group, position: int, unk: int) -> Drift:
    """Builds the `Drift` of the group around the index `position`. `unk`: id of the unknown token, or -1."""
    return Drift(position, _cause(tok, group, unk), group.old, group.new, group.text)


def num_replaced(tok: CanonicalTokenizer, group: Group) -> int:
    """Counts the U+FFFD that replace invalid UTF-8 in a group's text. A U+FFFD of a token's own text is not counted."""
    if _REPLACEMENT not in group.text:
        return 0
    return group.text.count(_REPLACEMENT) - b"".join(tok.decode_tokens_bytes(group.old)).count(_REPLACEMENT.encode())


def _cause(tok: CanonicalTokenizer, group: Group, unk: int) -> Cause:
    if num_replaced(tok, group) > 0:
        return "invalid_bytes"
    if unk in (*group.old, *group.new):
        return "unknown"
    added = tok.added_tokens
    if any(id in added and id not in group.old for id in group.new):
        return "spelled_token"
    old, new = (b"".join(tok.decode_tokens_bytes(ids)) for ids in (group.old, group.new))
    if old != new:
        strips = any(token.lstrip or token.rstrip for token in _added_in(added, group.around))
        if strips and b"".join(old.split()) == b"".join(new.split()):
            return "stripped_space"
    if any(id in added and id not in group.new for id in group.old):
        return "unmatched_token"
    if old != new:
        if group.is_first and old.lstrip(b" ") == new.lstrip(b" ") and len(old) < len(new):
            return "prefix_space"
        if new.strip() != group.text.strip().encode():
            return "dropped" if _is_subsequence(new, old) else "normalization"
    if not group.old:  # encoding returns additional ids after the last given id
        return "normalization"
    if len(group.old) > 1:
        return "merge"
    return "split" if _is_reachable(tok, group.old) else "unreachable"


def _added_in(added: Mapping[int, AddedToken], ids: Collection[int]) -> list[AddedToken]:
    return [added[id] for id in ids if id in added]


def _is_subsequence(part: bytes, whole: bytes) -> bool:
    rest = iter(whole)
    return all(byte in rest for byte in part)


def _is_reachable(tok: CanonicalTokenizer, ids: list[int]) -> bool:
    """Returns True if the text of an id, encoded after one of `_CONTEXTS`, gives the id. `ids`: a list of this id."""
    text = tok.decode(ids)
    for before in _CONTEXTS:
        try:
            if ids[0] in tok.encode(before + text, special="none", add_special_tokens=False):
                return True
        except InvalidTextError:
            continue
    return False


def _shown(ids: list[int]) -> str:
    return str(ids) if len(ids) <= _MOST_SHOWN else f"[{', '.join(map(str, ids[:_MOST_SHOWN]))}, …]"

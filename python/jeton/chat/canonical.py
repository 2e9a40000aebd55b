"""Canonical ids: `Tokenizer.drift`, `is_canonical` and `canonicalize`.

```text
ids ─ decode; special ids become control text ─►  text with origins  ─ encode ─►  ids ─ compare with the given ids
```

Ids are canonical if encoding their decoded text returns them. In this text, the special tokens that come from special
ids are control tokens. All other text is plain, even if it spells a special token. A chat template and its messages
are distinguished in the same way, so `encode` of this package encodes the text.

Cost: one decoding, one encoding, and a comparison of arrays. Only ids that differ are aligned, by the offsets in the
text at which they begin, also in linear time.

Left out: the cause of a difference; `drift` finds it from the ids around the difference.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..errors import InvalidTextError
from ..tokens.special import Special
from ..util.lazy import cached_property
from .drift import CanonicalTokenizer, Drift, Group, explained, num_replaced
from .encode import MaskedChat, char_spans, encode, encode_between
from .provenance import CALLER, TEMPLATE, Origin
from .template import RenderedRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CanonicalIds", "canonicalize", "drift", "is_canonical"]


@dataclass(frozen=True, eq=False)
class CanonicalIds:
    """Result of `Tokenizer.canonicalize`: canonical ids, and the positions at which they align with the old ids.

    Attributes:
        ids: the canonical ids.
        boundaries: int64[m, 2], ascending: pairs of an old and a new position that have the same text before them. The
            first pair is (0, 0), the last (number of old ids, number of new ids). Between two adjacent pairs, the old
            and the new ids are different tokens of the same text, or a single id that is equal in both.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
        >>> canonical = tok.canonicalize([98, 97, 98, 97])
        >>> canonical.ids, canonical.boundaries.tolist()
        ([98, 256, 97], [[0, 0], [1, 1], [3, 2], [4, 3]])
        >>> canonical.to_new(3), canonical.to_new(2), canonical.to_old(1)
        (2, None, 1)
    """

    ids: list[int]
    boundaries: NDArray[np.int64]

    def to_new(self, position: int) -> int | None:
        """Returns the position of the new id that begins where the old id at `position` begins; None if none does."""
        return self._other(position, 0)

    def to_old(self, position: int) -> int | None:
        """Returns the position of the old id that begins where the new id at `position` begins; None if none does."""
        return self._other(position, 1)

    def _other(self, position: int, column: int) -> int | None:
        row = int(self.boundaries[:, column].searchsorted(position))
        found = row < len(self.boundaries) and self.boundaries[row, column] == position
        return int(self.boundaries[row, 1 - column]) if found else None


def is_canonical(tok: CanonicalTokenizer, ids: Iterable[int], special: Special) -> bool:
    """Implements `Tokenizer.is_canonical`."""
    return _Comparison(tok, ids, special).first is None


def drift(tok: CanonicalTokenizer, ids: Iterable[int], special: Special) -> Drift | None:
    """Implements `Tokenizer.drift`."""
    import numpy as np

    compared = _Comparison(tok, ids, special)
    if compared.first is None:
        return None
    starts, sizes = compared.boundaries[:-1], np.diff(compared.boundaries, axis=0)
    is_one = (sizes == 1).all(axis=1)
    is_equal = is_one.copy()
    is_equal[is_one] = compared.old[starts[is_one, 0]] == compared.new[starts[is_one, 1]]
    # The first row that is not a single equal id. It can begin before `first`, because equal ids can have different
    # texts if they are unknown tokens.
    row = int(is_equal.argmin())
    start, end = compared.boundaries[row : row + 2].tolist()
    return explained(tok, compared.group(*start, *end), compared.first, compared.unk)


def canonicalize(tok: CanonicalTokenizer, ids: Iterable[int], special: Special) -> CanonicalIds:
    """Implements `Tokenizer.canonicalize`."""
    import numpy as np

    compared = _Comparison(tok, ids, special)
    if compared.first is None:
        every = np.arange(len(compared.old) + 1)
        return CanonicalIds(compared.old.tolist(), np.stack([every, every], axis=1))
    made: list[int] = []
    pairs: list[tuple[int, int]] = []
    may_lose = compared.may_lose()
    for check, ((old, new), (old_end, new_end)) in zip(may_lose, pairwise(compared.boundaries.tolist()), strict=True):
        pairs.append((old, len(made)))
        if check and compared.loses(old, new, old_end, new_end):
            pairs += zip(range(old + 1, old_end), range(len(made) + 1, len(made) + old_end - old), strict=True)
            made += compared.old[old:old_end].tolist()
        else:
            made += compared.new[new:new_end].tolist()
    pairs.append((len(compared.old), len(made)))
    return CanonicalIds(made, np.array(pairs, np.int64))


class _Comparison:
    """The given ids ("old"), and the ids to which their text is encoded ("new").

    Attributes:
        tok: the tokenizer.
        old: the ids, uint32[n].
        new: the ids of their text, uint32[m].
        first: the first position at which they differ; None if they are equal.
        unk: the id of the unknown token; -1 without one.
        text: the text that is encoded.
        decoded: the text that the old ids decode to. It can lack special tokens.
    """

    def __init__(self, tok: CanonicalTokenizer, ids: Iterable[int], special: Special) -> None:
        import numpy as np

        self.tok, self._special = tok, special
        given: Any = ids if isinstance(ids, list) or getattr(ids, "dtype", None) is not None else [*ids]
        self.old = _array(tok, given)
        unk = tok.special_tokens.get(tok.roles.get("unk", ""))
        self._is_control = np.zeros(tok.vocab_size, bool)
        self._is_control[[id for id in tok._special_matcher.controls if id != unk]] = True
        self._controls_at = np.flatnonzero(self._is_control[self.old])
        self._segments: MaskedChat | None = None
        if len(self._controls_at):
            self.decoded, self._starts = tok.decode_with_offsets(self.old.tolist())
        else:
            self.decoded = tok.decode(given)
        read = _Reading(tok, self.decoded, self.old, self._controls_at.tolist())
        if len(self._controls_at):
            read.add_all(self._starts)
            self.text = "".join(read.parts)
            again, self._segments = encode(tok, self.text, read.runs, special)
            self.new = np.frombuffer(array("I", again), np.uint32)
        else:
            read.add(0, 0, len(self.old), len(self.decoded))
            self.text = "".join(read.parts)
            self.new = tok.encode_array(self.text, special=special, add_special_tokens=False)
        self._moves = read.moves
        self.first = _first_difference(self.old, self.new)
        name = tok.definition.model.unk_token
        found = None if name is None else tok._core.find(name.encode(), False)
        self.unk = next((id for id in (found, unk) if id is not None), -1)

    @cached_property
    def _starts(self) -> list[int]:
        """For each old id, the index in `decoded` of the character at which the id begins."""
        return self.tok.decode_with_offsets(self.old.tolist())[1]

    @cached_property
    def _bounds(self) -> NDArray[np.int64]:
        """int64[n + 1]: `_starts`, and as last element the number of characters of `decoded`."""
        import numpy as np

        return np.array([*self._starts, len(self.decoded)], np.int64)

    def _bounds_in_text(self) -> NDArray[np.int64]:
        """Returns int64[n + 1]: `_bounds`, converted to indices of characters in `text`."""
        import numpy as np

        moves = np.array(self._moves, np.int64).reshape(-1, 3)
        counts = np.diff(moves[:, 0], append=len(self.old))
        places = np.maximum(self._bounds[:-1] + moves[:, 1].repeat(counts), moves[:, 2].repeat(counts))
        return np.append(places, len(self.text))

    @cached_property
    def boundaries(self) -> NDArray[np.int64]:
        """int64[m, 2]: the `CanonicalIds.boundaries` of `old` and `new`."""
        import numpy as np

        (old_places, old_at), (new_places, new_at) = map(_distinct, self._keys())
        _, left, right = np.intersect1d(old_places, new_places, assume_unique=True, return_indices=True)
        same = np.stack([old_at[left], new_at[right]], axis=1)
        # Positions before which all ids are equal, at most up to the first unknown token, because equal unknown tokens
        # can stand for different texts.
        first = 0 if self.first is None else self.first
        equal = np.arange(min([first, *np.flatnonzero(self.old[:first] == self.unk)[:1].tolist()]) + 1)
        ends = np.array([[len(self.old), len(self.new)]])
        found = [same[(same > equal[-1]).all(axis=1)], ends]
        new_controls_at = np.flatnonzero(self._is_control[self.new])
        if np.array_equal(self.old[self._controls_at], self.new[new_controls_at]):
            anchors = np.stack([self._controls_at, new_controls_at], axis=1)
            anchors = anchors[(anchors >= equal[-1]).all(axis=1)]
            found += [anchors, anchors + 1]
        rows = np.unique(np.concatenate(found), axis=0)
        rows = rows[(rows > equal[-1]).all(axis=1) | (rows == ends).all(axis=1)]
        return np.concatenate([np.stack([equal, equal], axis=1), _ascending(rows)])

    def _keys(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the offsets at which the old ids and the new ids begin, each followed by the end of the text.

        Both use the same unit. An offset is negative if it is unknown or inside of a character.
        """
        import numpy as np

        tokens = [self.tok.decode_tokens_bytes(ids.tolist()) for ids in (self.old, self.new)]
        if self.tok.definition.is_byte_level and b"".join(tokens[0]) == b"".join(tokens[1]):
            ends = [np.cumsum([0, *map(len, each)]) for each in tokens]
            return ends[0], ends[1]
        decoded, starts = self.tok.decode_with_offsets(self.new.tolist())
        if decoded == self.decoded:
            keys = [self._bounds.copy(), np.array([*starts, len(decoded)], np.int64)]
            for column, each in zip(keys, tokens, strict=True):
                column[[at for at, token in enumerate(each) if token and 0x80 <= token[0] < 0xC0]] = -1
        else:  # normalization changed the text: compare the characters that each id comes from
            places = self._bounds_in_text()
            spans = np.stack([places[:-1], places[1:]], axis=1)
            keys = [_words(self.text, spans, tokens[0]), _words(self.text, self._new_spans(), tokens[1])]
        return keys[0], keys[1]

    def _new_spans(self) -> NDArray[np.int64]:
        """Returns int64[m, 2]: for each new id, its range of characters in `text`."""
        if len(self._controls_at) and self._special != "all":
            return char_spans(self.tok, self.text, self.new.tolist(), self._segments)
        encoding = self.tok.tokenize(self.text, special=self._special, add_special_tokens=False)
        return encoding.array("char_spans")

    def may_lose(self) -> list[bool]:
        """Returns, for each pair of successive boundaries, False if `loses` is certainly false for the ids between."""
        import numpy as np

        kept = self._is_control[self.old]
        if "\ufffd" in self.decoded:
            chars = np.frombuffer(self.decoded.encode("utf-32-le", "surrogatepass"), "<u4")
            before = np.append(0, np.cumsum(chars == ord("\ufffd")))
            last = np.maximum(self._bounds[1:], np.minimum(self._bounds[:-1] + 1, len(self.decoded)))
            kept |= before[last] > before[self._bounds[:-1]]
        sums = [np.append(0, np.cumsum(kept | (self.old == self.unk))), np.append(0, np.cumsum(self.new == self.unk))]
        at = [column[self.boundaries[:, row]] for row, column in enumerate(sums)]
        return [*map(bool, (np.diff(at[0]) > 0) | (np.diff(at[1]) > 0))]

    def loses(self, old: int, new: int, old_end: int, new_end: int) -> bool:
        """Tests whether the new ids of a group lack text or special tokens that the old ones have."""
        import numpy as np

        group = self.old[old:old_end], self.new[new:new_end]
        controls = [ids[self._is_control[ids]] for ids in group]
        if not np.array_equal(controls[0], controls[1]) and len(controls[0]):
            return True
        if (np.concatenate(group) == self.unk).any():
            return True
        return num_replaced(self.tok, self.group(old, new, old_end, new_end)) > 0

    def group(self, old: int, new: int, old_end: int, new_end: int) -> Group:
        """Returns the old and the new ids between two boundaries, with their text."""
        text = self.decoded[self._bounds[old] : self._bounds[old_end]]
        around = self.old[max(old - 1, 0) : old_end + 1].tolist()
        is_first = old == 0 or bool(self._is_control[self.old[old - 1]])
        return Group(self.old[old:old_end].tolist(), self.new[new:new_end].tolist(), text, around, is_first)


def _first_difference(old: NDArray[np.uint32], new: NDArray[np.uint32]) -> int | None:
    length = min(len(old), len(new))
    differs = old[:length] != new[:length]
    if differs.any():
        return int(differs.argmax())
    return None if len(old) == len(new) else length


def _words(text: str, spans: NDArray[np.int64], tokens: list[bytes]) -> NDArray[np.int64]:
    """Returns int64[n + 1]: the index of each token's first character that is not a space; last, the text's length.

    The index of a token is negative if the text of its span differs from the text of the token. This happens where
    normalization adds spaces, because the spans are approximate there.
    """
    import numpy as np

    places = []
    for (start, end), token in zip(spans.tolist(), tokens, strict=True):
        word = text[start:end].lstrip(" ")
        places.append(end - len(word) if word.encode() == token.lstrip(b" ") else -1)
    return np.array([*places, len(text)], np.int64)


def _distinct(places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the offsets at which exactly one id begins, and the positions of these ids."""
    import numpy as np

    found, at, counts = np.unique(places, return_index=True, return_counts=True)
    is_one = (counts == 1) & (found >= 0)
    return found[is_one], at[is_one]


def _ascending(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keeps the last row, and each row that in both columns exceeds all earlier rows and is below the last row."""
    import numpy as np

    if not len(rows):
        return rows
    above = np.ones(len(rows), bool)
    above[1:] = (rows[1:] > np.maximum.accumulate(rows, axis=0)[:-1]).all(axis=1)
    above[:-1] &= (rows[:-1] < rows[-1]).all(axis=1)
    above[-1] = True
    return rows[above]


# ── the text of ids ─────────────────────────────────────────────────────────────────────────────────────────────────


def _array(tok: CanonicalTokenizer, ids: Any) -> NDArray[np.uint32]:
    """Returns the ids as uint32[n], after a check that they are below `vocab_size`."""
    import numpy as np

    try:
        if isinstance(ids, np.ndarray) and ids.dtype == np.uint32 and ids.ndim == 1:
            found: NDArray[np.uint32] = ids
        else:
            found = np.frombuffer(array("I", ids if isinstance(ids, list) else ids.tolist()), np.uint32)
        if len(found) and found.max() >= tok.vocab_size:
            raise OverflowError
    except (OverflowError, TypeError):
        tok.decode(ids)  # raises an error that names the invalid id
        raise
    return found


class _Reading:
    """Builder of the text to encode, from the decoded text of all ids.

    Attributes:
        parts: parts of the text.
        runs: origins of the parts: the template for special tokens, the caller for other text.
        moves: rules that convert offsets in the decoded text to offsets in the built text. A rule has three numbers:
            the position of the first id that it applies to, the number of characters to add to the offset, and the
            minimum of the result.
    """

    def __init__(self, tok: CanonicalTokenizer, decoded: str, ids: NDArray[np.uint32], controls_at: list[int]) -> None:
        self._tok, self._decoded, self._ids, self._controls_at = tok, decoded, ids, controls_at
        self._spaces = _PrefixSpaces(tok, decoded, ids[controls_at[:1]].tolist())
        self.parts: list[str] = []
        self.runs: list[RenderedRun] = []
        self.moves: list[tuple[int, int, int]] = []
        self._length = 0
        self._has_text = False

    def add_all(self, starts: list[int]) -> None:
        """Adds the special tokens, and the text between them."""
        decoded, added = self._decoded, self._tok.added_tokens
        first = at_char = 0
        for at, id in zip(self._controls_at, self._ids[self._controls_at].tolist(), strict=True):
            start = starts[at]
            self.add(first, at_char, at, start)
            first = at + 1
            at_char = starts[first] if first < len(starts) else len(decoded)
            content, shown = added[id].content, decoded[start:at_char]
            self.moves.append((at, self._length - start, self._length))
            self._append(shown if content in shown else content, TEMPLATE)
        self.add(first, at_char, len(starts), len(decoded))

    def add(self, first: int, start: int, end: int, end_char: int) -> None:
        """Adds the text between special tokens: the ids `first` to `end`, the characters `start` to `end_char`."""
        if start < end_char and self._decoded[start] == " ":
            start += self._spaces("start" if first == 0 else "later" if self._has_text else "first")
        if first < end:
            self.moves.append((first, self._length - start, self._length))
        if start < end_char:
            self._append(self._decoded[start:end_char], CALLER)
            self._has_text = True

    def _append(self, part: str, origin: Origin) -> None:
        self.parts.append(part)
        self.runs.append(RenderedRun(len(part), origin, None))
        self._length += len(part)


class _PrefixSpaces:
    """Finds out at which positions the encoder adds a space before a text that decoding does not remove.

    Such a space is not part of the text. For example, SentencePiece encodes ``</s>a`` as ``</s> ▁a``. Decoding these
    ids gives `` a`` with a space, but the text ``</s> a`` is encoded to other ids than ``</s>a``. The test encodes and
    decodes one character of the text.
    """

    def __init__(self, tok: CanonicalTokenizer, text: str, control: list[int]) -> None:
        self._tok, self._text, self._control = tok, text, control
        self._known: dict[str, bool] = {}

    def __call__(self, place: str) -> bool:
        """Tests whether the encoder adds such a space before a text.

        Args:
            place: position of the text: ``"start"``, nothing precedes it; ``"first"``, only special ids precede it;
                ``"later"``, other text and special ids precede it.
        """
        if place not in self._known:
            self._known[place] = any(self._is_added(char, place) for char in self._chars())
        return self._known[place]

    def _chars(self) -> list[str]:
        """Returns a list with one character that encoding and decoding do not change; empty if there is none."""
        for char in ("a", *self._text[:1000].replace("\ufffd", "").split()):
            try:
                ids = self._tok.encode(char[0], special="none", add_special_tokens=False)
            except InvalidTextError:
                continue
            if self._tok.decode(ids).strip(" ") == char[0]:
                return [char[0]]
        return []

    def _is_added(self, char: str, place: str) -> bool:
        at = 0 if place == "start" else 1
        ids = encode_between(self._tok, char, at)
        before = {"start": [], "first": self._control, "later": [*ids, *self._control]}[place]
        text, starts = self._tok.decode_with_offsets([*before, *ids])
        return text[starts[len(before)] :] == " " + char and encode_between(self._tok, " " + char, at) != ids

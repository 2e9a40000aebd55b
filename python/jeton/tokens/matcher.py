"""Finds the added tokens of a text, without running the model."""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack
from typing import TYPE_CHECKING, NamedTuple

from .._core import Tokenizer as Core
from .._core import Vocabulary
from ..definition import Definition, WordLevel
from .added import added_tokens, with_added_tokens
from .kinds import TOKEN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["AddedTokenMatch", "AddedTokenMatcher"]


class AddedTokenMatch(NamedTuple):
    """An added token in a text: its id and its range of characters."""

    id: int
    start: int
    end: int


class AddedTokenMatcher:
    """Finds all special tokens that a text spells, as if all were permitted, without running the model.

    It uses a core tokenizer with the same added tokens, whose only other entry is the unknown token: the text
    between two added tokens becomes one unknown token. So a search takes a fraction of the time of encoding.

    Attributes:
        controls: ids of the special tokens.
        is_complete: True if the matcher finds every special token of an encoding; False if the model can also produce a
            special token from ordinary text.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({}, [], special_tokens={"<|end|>": 1})
        >>> AddedTokenMatcher(tok._core, tok.definition)("é<|end|>")
        [AddedTokenMatch(id=1, start=1, end=8)]
    """

    def __init__(self, core: Core, definition: Definition) -> None:
        tokens = added_tokens(core)
        self._contents = {id: token.content for id, token in tokens.items()}
        self._is_exact = all(token.is_exact for token in tokens.values())
        self.controls = frozenset(id for id, token in tokens.items() if token.special)
        # At byte level and without a normalizer, the tokens of an encoding join to exactly the text. So the text spells
        # even a special token that the model produces, and the matcher finds it there.
        self.is_complete = self._is_exact and definition.is_byte_level and not definition.normalizer
        unk = "\ue000"
        while any(unk in content for content in self._contents.values()):
            unk += "\ue000"
        vocabulary = with_added_tokens(Vocabulary([core.vocab_size], [TOKEN], [unk.encode()], []), tokens.items())
        normalizer = definition.normalizer if any(token.normalized for token in tokens.values()) else ()
        self._vocab_size = core.vocab_size
        self._is_control: NDArray[np.bool_] | None = None
        self._core = Definition(model=WordLevel(unk), normalizer=normalizer).build(vocabulary)

    def __call__(self, text: str) -> list[AddedTokenMatch]:
        """Returns the special tokens that a text spells, in order."""
        if not self.controls:
            return []
        ids = self._core.encode(text, "all")
        spans = self._starts(text, ids) if self._is_exact else self._spans(text)
        return [
            AddedTokenMatch(id, start, end)
            for id, (start, end) in zip(ids, spans, strict=True)
            if id in self.controls and start < end
        ]

    def _starts(self, text: str, ids: list[int]) -> Iterator[tuple[int, int]]:
        """Yields the character range of each id: the next place in the text that spells its content.

        An unknown token gets an empty range. No added token may have a flag.
        """
        end = 0
        for id in ids:
            content = self._contents.get(id, "")
            start = text.index(content, end)
            end = start + len(content)
            yield start, end

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Returns the range of characters of each token of the matcher's core tokenizer."""
        view = self._core.byte_spans(text, "all")
        numbers = unpack(f"<{len(view) // 8}q", view)
        spans = zip(numbers[::2], numbers[1::2], strict=True)
        if text.isascii():
            return [*spans]
        data = text.encode()
        at_byte = at_char = 0
        ranges = []
        for start, end in spans:
            first = at_char + len(data[at_byte:start].decode())
            at_byte, at_char = end, first + len(data[start:end].decode())
            ranges.append((first, at_char))
        return ranges

    def num_controls(self, ids: NDArray[np.uint32], *, but: int | None) -> int:
        """Returns the number of special tokens among ids, not counting the id `but`."""
        import numpy as np

        if self._is_control is None:
            self._is_control = np.zeros(self._vocab_size, bool)
            self._is_control[[*self.controls]] = True
        return int(self._is_control[ids].sum()) - (0 if but is None else int((ids == but).sum()))

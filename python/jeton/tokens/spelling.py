"""Spelling of tokens for display and in files: id ↔ spelling.

The spelling of an entry is its content as the model matches it, followed by the end-of-word mark if it ends a word. As
a `str`, the spelling of a byte-level entry is in GPT-2's byte alphabet.

Left out: decoded bytes of an id (`Tokenizer.id_to_bytes`), and the spelling rules of each format (`formats`).
"""

from __future__ import annotations

import json

from .._core import read_bytes, spell_bytes
from ..definition import Bpe
from ..errors import UnknownTokenError
from .kinds import ENDS_WORD, TOKEN, UNREACHABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .protocols import HasSpelling

__all__ = ["Spelling"]


class Spelling:
    """Spellings of one tokenizer's tokens. A call of the object with an id returns the token's spelling as bytes.

    A `Spelling` is comparable and picklable, because an `Explanation` holds one. Two `Spelling` objects are equal if
    they hold the same tokenizer object.

    Examples:
        >>> import jeton
        >>> spelling = Spelling(jeton.Tokenizer.from_merges({7: b" the"}, []))
        >>> spelling(7), spelling.token(7), spelling.id("Ġthe")
        (b' the', 'Ġthe', 7)
    """

    def __init__(self, tok: HasSpelling) -> None:
        self._tok = tok

    def __call__(self, id: int) -> bytes:
        """Returns an entry's spelling as bytes: its content, then the end-of-word mark if the entry ends a word."""
        content = self._tok._core.content(id) or b""
        mark = self._end_of_word
        return content + mark.encode() if mark and self._tok._core.kind(id) == ENDS_WORD else content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelling) and self._tok is other._tok

    def __hash__(self) -> int:
        return hash(self._tok)

    def token(self, id: int) -> str:
        """Returns the spelling of an id in `tokenizer.json`; the id must be in the vocabulary."""
        spelled = self(id)
        core = self._tok._core
        if self._tok.definition.is_byte_level and core.kind(id) in (TOKEN, ENDS_WORD):
            content = core.content(id) or b""
            return spell_bytes(content) + spelled[len(content) :].decode()
        return spelled.decode()

    def id(self, token: bytes | str) -> int:
        """Returns the id of a token, given its bytes or its spelling (as the method `token` returns it).

        Raises:
            UnknownTokenError: the token is not in the vocabulary.
        """
        if not isinstance(token, bytes | str):
            raise TypeError(f"a token must be bytes or str, not {type(token).__name__}")
        if isinstance(token, bytes):
            found = self._tok._core.find(token, False)
            if found is None and token.endswith(b" "):
                found = self._tok._core.find(token[:-1], True)
            found = self._tok._added.get(token) if found is None else found
        else:
            try:
                found = self._tok._added.get(token.encode())
            except UnicodeEncodeError:
                raise UnknownTokenError(f"the token {token!r} contains a lone surrogate") from None
            found = self.entry(token) if found is None else found
        if found is None:
            raise UnknownTokenError(f"the token {token!r} is not in the vocabulary")
        return found

    def entry(self, token: str) -> int | None:
        """Returns the id of the model's entry with this spelling, or None."""
        mark = self._end_of_word
        ends_word = mark is not None and token.endswith(mark)
        text = token[: -len(mark)] if mark and ends_word else token
        if not self._tok.definition.is_byte_level:
            return self._tok._core.find(text.encode(), ends_word)
        content = read_bytes(text)
        if content is not None:
            return self._tok._core.find(content, ends_word)
        core, spelled = self._tok._core, token.encode()
        return next((id for id in core.ids_of(UNREACHABLE) if core.content(id) == spelled), None)

    def all(self) -> dict[str, int]:
        """Returns spelling -> id of all tokens, in order of id.

        Raises:
            ConfigError: two entries have the same spelling.
        """
        spelled, clashes, _ = self._tok._core.vocab_json(
            byte_alphabet=self._tok.definition.is_byte_level, end_of_word=self._end_of_word or "", whole=True
        )
        vocab: dict[str, int] = json.loads(spelled)
        # `clashes` are added tokens that are spelled like an entry. The spelling gets the added token's id, because
        # added tokens are matched in a text before the model runs.
        if clashes:
            vocab.update((self.token(id), id) for id in clashes)
            vocab = dict(sorted(vocab.items(), key=lambda item: item[1]))
        return vocab

    @property
    def _end_of_word(self) -> str | None:
        model = self._tok.definition.model
        return model.end_of_word if isinstance(model, Bpe) else None

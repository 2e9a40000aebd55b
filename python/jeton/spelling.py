"""How tokens are spelled for people and in files: from an id to its spelling, and back.

An entry is spelled as the model matches it; one that ends a word has the end-of-word mark after it. Where a string is
wanted, byte-level entries are in GPT-2's byte alphabet.

Left out: what an id adds to decoded text (`Tokenizer.id_to_bytes`), and how each format spells (`formats`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ._core import Tokenizer as Core
from ._core import read_bytes, spell_bytes
from .definition import Bpe, Definition
from .errors import UnknownTokenError
from .vocab_view import ENDS_WORD, TOKEN, UNREACHABLE

__all__ = ["Spelling"]


class HasSpelling(Protocol):
    """What a spelling needs of a tokenizer. Not the core alone, which cannot be pickled."""

    _core: Core

    @property
    def definition(self) -> Definition: ...
    @property
    def _added(self) -> Mapping[bytes, int]: ...


class Spelling:
    """The spelling of one tokenizer's tokens; called with an id, its bytes.

    An `Explanation` keeps it, so it can be compared and pickled: two are equal if they are of the same object.

    Examples:
        >>> import jeton
        >>> spelling = Spelling(jeton.Tokenizer.from_merges({7: b" the"}, []))
        >>> spelling(7), spelling.token(7), spelling.id("Ġthe")
        (b' the', 'Ġthe', 7)
    """

    def __init__(self, tok: HasSpelling) -> None:
        self._tok = tok

    def __call__(self, id: int) -> bytes:
        """The bytes of an entry as the model matches it, with the mark where it ends a word."""
        content = self._tok._core.content(id) or b""
        mark = self._end_of_word
        return content + mark.encode() if mark and self._tok._core.kind(id) == ENDS_WORD else content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelling) and self._tok is other._tok

    def __hash__(self) -> int:
        return hash(self._tok)

    def token(self, id: int) -> str:
        """An id's spelling in `tokenizer.json`; the id is in the vocabulary."""
        spelled = self(id)
        core = self._tok._core
        if self._tok.definition.is_byte_level and core.kind(id) in (TOKEN, ENDS_WORD):
            content = core.content(id) or b""
            return spell_bytes(content) + spelled[len(content) :].decode()
        return spelled.decode()

    def id(self, token: bytes | str) -> int:
        """The id of a token, by its bytes or by its spelling (`token`).

        Raises:
            UnknownTokenError: there is no such token.
        """
        if not isinstance(token, bytes | str):
            raise TypeError(f"a token is bytes or str, not {type(token).__name__}")
        if isinstance(token, bytes):
            found = self._tok._core.find(token, False)
            if found is None and token.endswith(b" "):
                found = self._tok._core.find(token[:-1], True)
            found = self._tok._added.get(token) if found is None else found
        else:
            try:
                found = self._tok._added.get(token.encode())
            except UnicodeEncodeError:
                raise UnknownTokenError(f"the token {token!r} is no Unicode text") from None
            found = self.entry(token) if found is None else found
        if found is None:
            raise UnknownTokenError(f"the token {token!r} is not in the vocabulary")
        return found

    def entry(self, token: str) -> int | None:
        """The id of the model's entry with this spelling; None where there is none."""
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

    @property
    def _end_of_word(self) -> str | None:
        model = self._tok.definition.model
        return model.end_of_word if isinstance(model, Bpe) else None

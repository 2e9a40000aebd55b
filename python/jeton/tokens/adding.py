"""Implementation of `Tokenizer.add_tokens`: assigns ids to new added tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from .._core import Vocabulary
from ..errors import ConfigError
from ..util.arguments import items
from ..util.record import replace
from .added import AddedToken, with_added_tokens
from .matcher import AddedTokenMatcher
from .protocols import HasSpelling
from .special import spell
from .spelling import Spelling

__all__ = ["HasAddedTokens", "add_tokens"]


class HasAddedTokens(HasSpelling, Protocol):
    """Members of a tokenizer that `add_tokens` uses."""

    @property
    def vocab_size(self) -> int: ...  # noqa: D102
    @property
    def added_tokens(self) -> Mapping[int, AddedToken]: ...  # noqa: D102
    @property
    def _special_matcher(self) -> AddedTokenMatcher: ...


def add_tokens(tok: HasAddedTokens, tokens: Iterable[str | AddedToken], *, special: bool) -> Vocabulary | None:
    """Implements `Tokenizer.add_tokens`; returns None if there is no token to add."""
    if isinstance(tokens, str):
        raise ConfigError(f"add_tokens takes a list of tokens; pass [{tokens!r}]", option="tokens")
    added: dict[int, AddedToken] = {}
    contents: set[str] = set()
    next_id = tok.vocab_size
    for index, given in enumerate(items(tokens, "tokens", "a list of tokens")):
        content = given.content if isinstance(given, AddedToken) else spell(given, f"tokens[{index}]").decode()
        id = _entry(tok, content)
        known = None if id is None else tok.added_tokens.get(id)
        if isinstance(given, AddedToken):
            token = given
        else:
            token = AddedToken(content, special) if known is None else replace(known, content=content, special=special)
        if id is None and not token.special:
            id = tok._core.find(content.encode(), False)
        is_special = known is not None and known.special
        if content in contents or (id is not None and (not token.special or is_special)):
            continue
        contents.add(content)
        added[next_id if id is None else id] = token
        next_id += id is None
    return with_added_tokens(tok._core.vocabulary(), added.items()) if added else None


def _entry(tok: HasAddedTokens, content: str) -> int | None:
    """Returns the id of an existing entry that decodes to `content` and is also spelled `content` in files."""
    encoded = content.encode()
    id = tok._added.get(encoded)
    if id is None:
        id = Spelling(tok).entry(content)
        id = id if id is not None and tok._core.content(id) == encoded else None
    return id

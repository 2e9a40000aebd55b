"""Assembly of an `Explanation` from the core's results.

For a long text, only the pretokens and tokens that the reports display are computed; the remaining ones are computed on
first access.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from .._core import Tokenizer as Core
from ..definition import Bpe, Definition, Pieces
from ..encoding import Encoding
from ..tokens.special import Special
from ..tokens.spelling import Spelling
from . import limits
from .agenda import PieceLookup
from .explanation import Explanation
from .facts import ExplainedPretoken, ExplanationTotals, explained
from .lazy import LazySequence

__all__ = ["ExplainableTokenizer", "covers_other_bytes", "explain"]


class ExplainableTokenizer(Protocol):
    """Members of a tokenizer that explanations use."""

    _core: Core

    @property
    def definition(self) -> Definition: ...  # noqa: D102
    @property
    def merges(self) -> Sequence[tuple[int, int, int]]: ...  # noqa: D102
    def tokenize(self, text: str | bytes, *, special: Special | None = None) -> Encoding: ...  # noqa: D102
    @property
    def _added(self) -> Mapping[bytes, int]: ...
    def _permission(self, special: Special | None) -> Literal["all", "raise"] | list[int] | None: ...
    def _uses_template(self, add_special_tokens: bool | None) -> bool: ...
    def _tokenize_head(self, text: str | bytes, special: Special | None, most: int) -> Encoding: ...


def explain(tok: ExplainableTokenizer, text: str | bytes, special: Special | None) -> Explanation:
    """Implements `Tokenizer.explain`."""
    by_chars = covers_other_bytes(tok.definition)
    lookup = _piece_lookup(tok._core) if isinstance(tok.definition.model, Pieces) else None

    def pretokens(most: int) -> tuple[list[ExplainedPretoken], tuple[int, int, int, set[int]]]:
        found, num_pretokens, num_merges, num_tokens, added = tok._core.explain(
            text, tok._permission(special), most=most
        )
        explained_pretokens = [explained(*pretoken, by_chars=by_chars, lookup=lookup) for pretoken in found]
        return explained_pretokens, (num_pretokens, num_merges, num_tokens, added)

    head, (num_pretokens, num_merges, num_tokens, added) = pretokens(limits.MAX_PRETOKENS_SHOWN)
    num_shown = limits.MAX_TOKENS_SHOWN + 4  # 4 more, because the last character can have 4 tokens
    shown = tok._tokenize_head(text, special, num_shown)[:num_shown]
    num_tokens += tok._core.num_template_ids() if tok._uses_template(None) else 0
    return Explanation(
        str.encode(text, "utf-8", "surrogatepass") if isinstance(text, str) else text,
        LazySequence(head, num_pretokens, lambda: pretokens(sys.maxsize)[0]),
        LazySequence(shown, num_tokens, lambda: tok.tokenize(text, special=special)),
        Spelling(tok),
        tok._core.alternatives(),
        ExplanationTotals(num_merges, frozenset(added)),
    )


def _piece_lookup(core: Core) -> PieceLookup:
    return PieceLookup(core.scores(), lambda content: core.find(content, False), core.kind)


def covers_other_bytes(definition: Definition) -> bool:
    """Tests whether an initial symbol, such as the unknown token, can cover text other than the symbol's own bytes."""
    return not isinstance(definition.model, Bpe) or definition.model.level == "char"

"""Card of a tokenizer, for notebooks: model, size, special tokens, pattern, fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..definition import Definition
from ..drawing import to_card

__all__ = ["tokenizer_card"]

MAX_SPECIAL_TOKENS = 12


class DescribedTokenizer(Protocol):
    """Properties of a tokenizer that the card shows."""

    @property
    def definition(self) -> Definition: ...
    @property
    def vocab_size(self) -> int: ...
    def __len__(self) -> int: ...
    @property
    def special_tokens(self) -> Mapping[str, int]: ...
    @property
    def fingerprint(self) -> str: ...


def tokenizer_card(tok: DescribedTokenizer) -> str:
    """Returns the card as a self-contained HTML fragment without scripts."""
    pattern, special = tok.definition.pattern, list(tok.special_tokens)
    holes = f" up to id {tok.vocab_size - 1:,}" if len(tok) != tok.vocab_size else ""
    num_more = len(special) - MAX_SPECIAL_TOKENS
    more = f" … {num_more:,} more" if num_more > 0 else ""
    rows = [
        ("model", f"{'byte-level ' if tok.definition.is_byte_level else ''}{tok.definition.model.type}"),
        ("entries", f"{len(tok):,}{holes}"),
        ("special tokens", " ".join(special[:MAX_SPECIAL_TOKENS]) + more),
    ]
    rows += [("pattern", pattern.text)] if pattern else []
    return to_card("Tokenizer", [*rows, ("fingerprint", tok.fingerprint)])

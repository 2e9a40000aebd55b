"""`ComparisonTexts`: texts on which two tokenizers are compared, such as a tokenizer and its converted copy.

The texts are `edge_cases`, special tokens, and `generated_texts`. They are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import InvalidTextError
from ..tokenizer import Tokenizer
from .edge_cases import EDGE_CASES, INVALID_UTF8
from .generated_texts import generate_bytes, generate_texts

__all__ = ["ComparisonTexts", "takes_bytes"]


@dataclass(frozen=True)
class ComparisonTexts:
    """Built-in texts for comparing two tokenizers: `EDGE_CASES`, special tokens of both, and generated texts.

    For byte-level tokenizers, the texts include invalid UTF-8.

    Attributes:
        a, b: tokenizers whose tokens the texts contain.
        num: number of texts generated from the tokens of `a`. In addition, ``num // 4`` texts are generated from the
            tokens of `b`, and for byte-level tokenizers ``num // 4`` byte strings.
        seed: seed of the generator.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower"], 258, progress=False)
        >>> len(ComparisonTexts(tok, tok, 100)) == len(list(ComparisonTexts(tok, tok, 100))) > 250
        True
    """

    a: Tokenizer
    b: Tokenizer
    num: int = 20_000
    seed: int = 0

    def __iter__(self) -> Iterator[str | bytes]:
        yield from EDGE_CASES
        for token in self._special:
            yield from (token, f"a{token} {token}{token}b")
        yield from generate_texts(self.a, self.num, self.seed, special=True)
        yield from generate_texts(self.b, self.num // 4, self.seed + 1, special=True)
        if takes_bytes(self.a):
            yield from INVALID_UTF8
            yield from generate_bytes(self.a, self.num // 4, self.seed, special=True)

    def __len__(self) -> int:
        num_bytes = len(INVALID_UTF8) + self.num // 4 if takes_bytes(self.a) else 0
        return len(EDGE_CASES) + 2 * len(self._special) + self.num + self.num // 4 + num_bytes

    @property
    def _special(self) -> list[str]:
        return list({**self.a.special_tokens, **self.b.special_tokens})


def takes_bytes(tok: Tokenizer) -> bool:
    """Tests whether a tokenizer encodes invalid UTF-8."""
    try:
        tok.encode(b"\xff")
    except InvalidTextError:
        return False
    return True

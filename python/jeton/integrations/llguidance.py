"""`ll_tokenizer`: converts a tokenizer for llguidance, which computes masks of the ids that a grammar permits.

    grammar = llguidance.LLMatcher.grammar_from_json_schema(schema)
    matcher = llguidance.LLMatcher(ll_tokenizer(tok, size=model.config.vocab_size), grammar)

Source: `LLTokenizer` and `TokenizerWrapper` of llguidance 1.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import ConfigError, keyword
from ..tokenizer import Tokenizer
from ..tokens.vocab_bytes import VocabBytes
from ..util.arguments import integer
from ..util.optional import import_optional

__all__ = ["ll_tokenizer"]

# If a text continues another text, it is encoded with this byte before it, so that no space is added. In known
# vocabularies, no entry combines this byte with other bytes.
HEAD = b"\x02"


def ll_tokenizer(
    tok: Tokenizer, *, size: int | None = None, eos: int | Sequence[int] | None = None, slices: list[str] | None = None
) -> Any:
    """Returns an `llguidance.LLTokenizer`.

    Args:
        tok: the tokenizer.
        size: number of rows of the model's output; None means `Tokenizer.vocab_size`.
        eos: id or ids that end a text; None means the id of the role ``eos``.
        slices: as for `LLTokenizer`.

    Raises:
        ConfigError: `eos` is None and the tokenizer has no role ``eos``, or an id is beyond the rows.
        MissingDependencyError: llguidance is not installed.

    Examples:
        >>> import jeton
        >>> tok = jeton.default().with_roles(eos="<|endoftext|>")
        >>> ll_tokenizer(tok).tokenize_str("the weather") == tok.encode("the weather")
        True
    """
    llguidance = import_optional("llguidance", "ll_tokenizer")
    found = tok.vocab_bytes(size)
    ends = end_ids(tok, eos, len(found.tokens))
    wrapper = llguidance.TokenizerWrapper(_Wrapped(tok, ends[0], found))
    return llguidance.LLTokenizer(wrapper, eos_token=ends, slices=slices)


def end_ids(tok: Tokenizer, eos: int | Sequence[int] | None, size: int | None = None) -> list[int]:
    """Returns the ids that end a text.

    Raises:
        ConfigError: `eos` is empty; or `eos` is None and the tokenizer has no role ``eos``; or an id is beyond the rows
            of the model's output.
    """
    if eos is None:
        eos = [] if tok.eos_id is None else tok.eos_id
    some = eos if isinstance(eos, Iterable) and not isinstance(eos, str | bytes) else [eos]
    ids = [integer(id, "eos", 0, (tok.vocab_size if size is None else size) - 1) for id in some]
    if not ids:
        raise ConfigError(
            f"the tokenizer has no role eos; pass {keyword('eos')}, the id that ends a text", option="eos"
        )
    return ids


class _Wrapped:
    """Tokenizer with the interface that `TokenizerWrapper` reads.

    All added tokens in angle brackets are treated as special, even if the file says that they are not. llguidance does
    the same for Hugging Face's files. So the text of a grammar never matches tokens such as `</s>` and `<tool_call>`.
    """

    def __init__(self, tok: Tokenizer, eos: int, found: VocabBytes) -> None:
        self.eos_token_id = eos
        self.bos_token_id = tok.bos_id
        self.tokens = found.tokens
        marked = [
            id for id, token in tok.added_tokens.items() if token.content[:1] == "<" and token.content[-1:] == ">"
        ]
        self.special_token_ids = sorted({*found.special_ids, *marked})
        self._tok = tok
        self._head = [] if tok.decode_tokens_bytes(self._encode(b"a")) == [b"a"] else self._encode(HEAD)

    def _encode(self, text: bytes) -> list[int]:
        return self._tok.encode(text, special="none", add_special_tokens=False)

    def __call__(self, text: bytes) -> list[int]:
        """Encodes text that follows other text, without the space that SentencePiece adds at the start of a text."""
        if self._head:
            ids = self._encode(HEAD + text)
            if ids[: len(self._head)] == self._head:
                return ids[len(self._head) :]
        return self._encode(text)

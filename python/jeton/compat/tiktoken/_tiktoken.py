"""`CoreBPE`: encodes and decodes for one `Encoding`, with a tokenizer of Jeton's core.

Two parts are in other modules: `core` checks which special tokens a text may contain, and `unstable` finds possible
continuations of text whose last ids can still change.

Source: openai/tiktoken, src/lib.rs and src/py.rs (behavior).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from functools import cache, lru_cache
from itertools import accumulate, repeat
from operator import eq, index, itemgetter, methodcaller, sub
from typing import TYPE_CHECKING, Any

from ... import _core
from ...errors import ConfigError, InvalidTextError, JetonError, UnknownTokenError
from ...util.lazy import cached_property
from .. import report
from .numbering import MAX_ID, number
from .ranks import RankFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...definition import Component, SymbolLevel

__all__ = ["R50K", "CoreBPE", "components", "spelled"]

# Two other spellings of the core's pattern `gpt2`: the spelling in tiktoken, and the spelling in GPT-2's release. The
# core has a scanner for the pattern `gpt2`. The matches of this pattern leave no part of a text out.
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LONGEST_TABLE = 1 << 20  # maximum number of ids in a table; with more, tokens are looked up in a dict
_CONTINUATION = bytes(range(0x80, 0xC0))  # continuation bytes of UTF-8


@cache
def _named() -> frozenset[str | None]:
    return frozenset({R50K, _GPT2, *map(_core.pattern_text, _core.pattern_names())} - {None})


def _build(
    vocabulary: _core.Vocabulary,
    pretokenizer: tuple[Component, ...] = (),
    *,
    level: SymbolLevel = "byte",
    whole_first: bool = True,
) -> _core.Tokenizer:
    """Builds the core's tokenizer of a vocabulary in which the rank of a token is its id."""
    from ...definition import Bpe, Definition  # imported on use, because it takes longer than importing this package

    model = Bpe(level=level, ranks="tokens", whole_first=whole_first)
    return Definition(model, pretokenizer=pretokenizer).build(vocabulary)


class CoreBPE:
    """Encodes and decodes with one vocabulary; has the methods of tiktoken's class of this name.

    Args:
        encoder: token -> rank.
        special_tokens_encoder: special token -> id.
        pattern: regex in tiktoken's dialect.

    Raises:
        ValueError: the pattern does not compile, or two tokens have the same rank.

    Examples:
        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
        >>> bpe = CoreBPE(ranks, {"<|end|>": 300}, r"\\w+|\\W+")
        >>> bpe.encode("ab<|end|>", {"<|end|>"}), bpe.decode_bytes([256, 300])
        ([256, 300], b'ab<|end|>')
    """

    def __init__(self, encoder: dict[bytes, int] | RankFile, special_tokens_encoder: dict[str, int], pattern: str):
        if not isinstance(pattern, str):
            raise TypeError(f"a pattern must be a str, not {type(pattern).__name__}")
        for mapping in (encoder, special_tokens_encoder):
            if not isinstance(mapping, dict | RankFile):
                raise TypeError(f"tokens and their ids must be a dict, not {type(mapping).__name__}")
        "".join(special_tokens_encoder).encode()  # raises an error if a spelling is not valid Unicode text
        self._special = {spelling: index(id) for spelling, id in special_tokens_encoder.items()}
        self._tokens = encoder
        self._pattern = pattern
        numbering = number(encoder, self._special)
        self._vocabulary, self._external = numbering.vocabulary, numbering.external
        self.is_plain = numbering.external is None  # whether the core's ids are those of the encoding
        self._internal_ids, self._first_internal = numbering.special, numbering.first_internal
        vocabulary, ids = self._vocabulary, list(self._internal_ids.values())
        if ids:
            vocabulary = vocabulary.with_added(ids, [s.encode() for s in self._internal_ids], [True] * len(ids))
        self.core = _build(vocabulary, components(pattern))

    @property
    def special_tokens(self) -> Set[str]:
        """The special tokens."""
        return self._special.keys()

    # ── text → ids ───────────────────────────────────────────────────────────────────────────────────────────────

    def external(self, ids: list[int]) -> list[int]:
        """Converts ids of the core to ids of the encoding.

        Raises:
            KeyError: the text contains a byte that is not a token.
        """
        if self._external is None or not ids or max(ids) < self._first_internal:
            return ids
        found = list(map(self._external.__getitem__, ids))
        if None in found:
            byte = self.core.content(ids[found.index(None)])
            raise KeyError(byte)
        return found  # type: ignore[return-value]

    def permission(self, allowed_special: Set[str]) -> str | list[int] | None:
        """Returns the permitted special tokens in the core's form; strings that are not special tokens are ignored.

        Raises:
            TypeError: the argument is not a set of strings.
        """
        if not isinstance(allowed_special, set | frozenset):
            raise TypeError(f"allowed_special must be a set of strings, not {type(allowed_special).__name__}")
        "".join(allowed_special).encode()  # raises an error if a string has a lone surrogate
        if not allowed_special:
            return None
        permitted = self._internal_ids.keys() & allowed_special
        if len(permitted) == len(self._internal_ids):
            return "all"
        return [self._internal_ids[token] for token in permitted] or None

    def permission_for(self, text: str, allowed_special: Set[str]) -> str | list[int] | None:
        """Calls `permission`; if that fails and the text is also invalid, raises the error for the text instead."""
        try:
            return self.permission(allowed_special)
        except (TypeError, UnicodeEncodeError):
            self._text(text).encode()
            raise

    def _text(self, text: str) -> str:
        if not isinstance(text, str):
            raise TypeError(f"a text must be a str, not {type(text).__name__}")
        return text

    def encode_ordinary(self, text: str) -> list[int]:
        """Returns the ids of a text; the spelling of a special token is plain text.

        Raises:
            UnicodeEncodeError: the text contains a lone surrogate.
        """
        return self._encode(text, None)

    def encode(self, text: str, allowed_special: Set[str]) -> list[int]:
        """Returns the ids of a text. The spelling of a special token that is not allowed is plain text.

        Raises:
            UnicodeEncodeError: the text contains a lone surrogate.
        """
        return self._encode(text, self.permission_for(text, allowed_special))

    def _encode(self, text: str, permission: Any) -> list[int]:
        try:
            ids = self.core.encode(self._text(text), permission)
        except InvalidTextError:
            text.encode()  # raises an error if the text has a lone surrogate
            raise
        return ids if self._external is None else self.external(ids)

    def encode_array(self, text: str, permission: Any, threads: int = 1) -> NDArray[np.uint32]:
        """Calls `encode`; returns uint32[n]."""
        import numpy as np

        if self._external is not None:
            return np.array(self._encode(text, permission), np.uint32)
        try:
            ids = self.core.encode_array(self._text(text), permission, threads)
        except InvalidTextError:
            text.encode()  # raises an error if the text has a lone surrogate
            raise
        return np.frombuffer(ids, "<u4")

    def encode_to_tiktoken_buffer(self, text: str, allowed_special: Set[str]) -> memoryview:
        """Calls `encode`; returns a buffer of unsigned 32-bit integers."""
        ids: Any = self.encode_array(text, self.permission_for(text, allowed_special))
        return memoryview(ids)

    def encode_batch(self, texts: list[str], permission: Any, threads: int) -> list[list[int]]:
        """Returns the ids of many texts.

        Raises:
            InvalidTextError, SpecialTokenError: a text is invalid, or contains a special token that is not permitted.
        """
        ids, offsets = self.core.encode_batch(texts, permission, threads)
        flat = self.external(ids.cast("B").cast("I").tolist())
        bounds = offsets.cast("B").cast("q").tolist()
        return list(map(flat.__getitem__, map(slice, bounds, bounds[1:])))

    def encode_single_token(self, piece: bytes) -> int:
        """Returns the id of a token or of a special token.

        Raises:
            KeyError: there is no such token.
        """
        found = self.token_id(piece)
        if found is None:
            found = self._special.get(piece.decode("utf-8", "surrogateescape"))
        if found is None:
            raise KeyError(piece)
        return found

    def token_id(self, piece: bytes) -> int | None:
        """Returns the rank of a token; None if `piece` is not a token."""
        found = self.core.find(piece, False)
        if found is None and not piece:
            return self.ranks.get(piece)
        return found if found is None or self._external is None else self._external[found]

    def encode_single_piece(self, piece: bytes) -> list[int]:
        """Returns the ids of bytes, without splitting them by the pattern."""
        if not isinstance(piece, bytes):
            raise TypeError(f"a piece must be bytes, not {type(piece).__name__}")
        return self.external(self.unsplit.encode_text(piece.decode("latin-1")))

    @cached_property
    def unsplit(self) -> _core.Tokenizer:
        """Tokenizer without a pattern. Bytes are passed to it as Latin-1 text, one character for each byte.

        The bytes cannot be passed unchanged, because the core splits at bytes that are not UTF-8.
        """
        return self._of_latin1(whole_first=True)

    @cached_property
    def merging(self) -> _core.Tokenizer:
        """Like `unsplit`, but applies merges even if the whole text is a token."""
        return self._of_latin1(whole_first=False)

    def _of_latin1(self, *, whole_first: bool) -> _core.Tokenizer:
        ids, kinds, tokens, _ = self._vocabulary.columns()
        spelled = map(methodcaller("encode"), map(methodcaller("decode", "latin-1"), tokens))
        vocabulary = _core.Vocabulary(ids, kinds, list(spelled), [])
        return _build(vocabulary, level="char", whole_first=whole_first)

    def last_piece(self, text: str) -> str:
        """Returns the last match of the pattern in a text; an empty text if there is none."""
        if self._pattern in _named():
            spans = _core.split_text(text, self._pattern, is_regex=True)
            return text.encode()[slice(*spans[-1])].decode() if spans else ""
        from json import dumps

        pieces = _core.pretokenize_text(dumps(components(self._pattern)), text)
        return pieces[-1][0] if pieces else ""

    def _encode_bytes(self, data: bytes) -> list[int]:
        """Returns the ids of bytes, which need not be UTF-8."""
        from .unstable import encode_bytes

        return encode_bytes(self, data)

    def encode_with_unstable(self, text: str, allowed_special: Set[str]) -> tuple[list[int], list[list[int]]]:
        """Returns stable ids (fixed even if text follows) and continuations: see `Encoding.encode_with_unstable`."""
        from .unstable import encode_with_unstable

        return encode_with_unstable(self, text, allowed_special)

    # ── ids → text ───────────────────────────────────────────────────────────────────────────────────────────────

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Returns the bytes of ids.

        Raises:
            KeyError: an id is not in the vocabulary.
        """
        ids = tokens if type(tokens) is list else _list_of_ids(tokens)
        if self._external is not None and ids and max(map(index, ids)) >= self._first_internal:
            return self._decode_by_table(ids)
        try:
            return self.core.decode(ids, skip_special=False)
        except UnknownTokenError as error:
            if self._external is not None:
                return self._decode_by_table(ids)
            raise KeyError(f"Invalid token for decoding: {error.id}") from None

    def _decode_by_table(self, ids: list[int]) -> bytes:
        ids = list(map(index, ids))
        if min(ids) < 0 or max(ids) > MAX_ID:
            raise OverflowError("an id must be an unsigned 32-bit integer")
        try:
            return b"".join(map(self.bytes_of.__getitem__, ids))
        except KeyError as error:
            raise KeyError(f"Invalid token for decoding: {error.args[0]}") from None

    @cached_property
    def bytes_of(self) -> dict[int, bytes]:
        """Id of the encoding -> bytes of the token.

        If several tokens share an id, the table has the mergeable token. If all of them are special tokens, the table
        has the first of these.
        """
        table = {id: spelling.encode() for spelling, id in reversed(self._special.items())}
        table.update(zip(self.ranks.values(), self.ranks, strict=True))
        return table

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Returns the bytes of an id.

        Raises:
            KeyError: the id is not in the vocabulary.
        """
        found = self.token_bytes(token)
        if found is None:
            raise KeyError(str(index(token)))
        return found

    def token_bytes(self, token: int) -> bytes | None:
        """Returns the bytes of an id; None if it is not in the vocabulary."""
        if self._external is None:
            return self.core.decoded(token)
        self.core.kind(token)  # raises an error if `token` is not an id
        return self.bytes_of.get(index(token))

    def decode_tokens_bytes(self, tokens: Iterable[int]) -> list[bytes]:
        """Returns the bytes of each id.

        Raises:
            KeyError: an id is not in the vocabulary.
        """
        ids = list(tokens)
        if self._external is None:
            try:
                return self.core.decode_tokens(ids)
            except (JetonError, OverflowError, TypeError):
                pass
        return list(map(self.decode_single_token_bytes, ids))  # raises the error for the first unknown id

    def decode_with_offsets(self, tokens: Iterable[int]) -> tuple[str, list[int]]:
        """Returns the text of ids, and for each id the index of the first character that its bytes belong to.

        Raises:
            KeyError: an id is not in the vocabulary.
            UnicodeDecodeError: the bytes are not UTF-8.
        """
        ids = list(tokens)
        if self._external is None:
            try:
                return self.core.decode_with_starts(ids, "strict", False)
            except (JetonError, OverflowError, TypeError):
                pass
        found = self.decode_tokens_bytes(ids)
        # A character starts at each byte that is not a continuation byte. `map` runs all loops over tokens in C.
        continues = map(_CONTINUATION.__contains__, map(itemgetter(0), found))
        lengths = map(len, map(methodcaller("translate", None, _CONTINUATION), found))
        offsets = list(map(max, repeat(0), map(sub, accumulate(lengths, initial=0), continues)))
        return b"".join(found).decode("utf-8", errors="strict"), offsets

    def decode_lists(self, rows: list[Any], threads: int, *, as_text: bool) -> list[Any] | None:
        """Returns the bytes or texts of many lists of ids; None if the caller must decode them one by one."""
        if self._external is None and set(map(type, rows)) <= {list}:
            try:
                return self.core.decode_lists(rows, threads, as_text=as_text, skip_special=False)
            except (JetonError, OverflowError, TypeError):
                pass
        return None

    # ── the vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def ranks(self) -> dict[bytes, int]:
        """Token -> rank."""
        return self._tokens.ranks if isinstance(self._tokens, RankFile) else self._tokens

    @cached_property
    def id_of(self) -> dict[bytes, int]:
        """Mergeable or special token -> id."""
        return {token.encode(): id for token, id in self._special.items()} | self.ranks

    @cached_property
    def bytes_by_id(self) -> list[bytes | None]:
        """The bytes of each of n ids, followed by n times None, so that a negative index finds None, not a token."""
        end = min(max(self.bytes_of, default=-1) + 1, _LONGEST_TABLE)
        return list(map(self.bytes_of.get, range(end))) + [None] * end

    @cached_property
    def _sorted(self) -> tuple[bytes, ...]:
        """The mergeable tokens, sorted by their bytes."""
        if isinstance(self._tokens, RankFile):
            return tuple(self._tokens.vocabulary.sorted_contents())
        return tuple(_core.sorted_bytes(list(self._tokens)))

    @cached_property
    def sorted_tokens(self) -> tuple[tuple[bytes, ...], tuple[int, ...], tuple[bool, ...]]:
        """Three tuples: the mergeable tokens in the order of their bytes; the rank of each; whether each is UTF-8.

        The results are tuples for speed: the garbage collector visits each item of a list, but it skips tuples of
        bytes, integers or booleans.
        """
        tokens = self._sorted
        decoded = map(methodcaller("decode", "utf-8", "replace"), tokens)  # `replace` changes bytes that are not UTF-8
        ranks = tuple(map(self.ranks.__getitem__, tokens))
        return tokens, ranks, tuple(map(eq, map(str.encode, decoded), tokens))

    @cached_property
    def lengths(self) -> NDArray[np.uint8]:
        """The length of each token in bytes, indexed by the core's id: int64 values, viewed as an array of bytes."""
        import numpy as np

        ids, _, tokens, _ = self._vocabulary.columns()
        table = np.zeros(self.core.vocab_size, "<i8")
        table[ids] = list(map(len, tokens))
        return table.view(np.uint8)

    def token_byte_values(self) -> list[bytes]:
        """Returns a new list of the mergeable tokens, sorted by their bytes."""
        return list(self._sorted)


@lru_cache(maxsize=128)
def spelled(tokens: frozenset[str]) -> re.Pattern[str]:
    """Returns a regex that matches any of the strings; if several match, it matches the longest.

    Examples:
        >>> spelled(frozenset({"<a", "<a>"})).search("x<a>").group()
        '<a>'
    """
    return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))))


def _list_of_ids(tokens: Any) -> list[int]:
    """Converts a sequence to a list. As in Python's C API, it must be indexable, and neither a string nor a dict."""
    kind = type(tokens)
    if isinstance(tokens, str | dict) or not hasattr(kind, "__getitem__"):
        raise TypeError(f"ids must be a sequence of integers, not {kind.__name__}")
    dtype = getattr(tokens, "dtype", None)
    if dtype is not None and dtype.kind in "iu" and tokens.ndim == 1:
        return tokens.tolist()  # type: ignore[no-any-return]
    return list(tokens)


def components(pattern: str) -> tuple[Component, ...]:
    """Returns pre-tokenizer components that yield only the matches of a pattern, because tiktoken drops other text."""
    if pattern in _named():
        return ({"type": "Pattern", "regex": pattern},)
    try:
        _core.split_text("", pattern, is_regex=True)  # raises an error if the pattern does not compile
    except ConfigError as error:
        raise ValueError(str(error)) from None
    regex, unsupported = _core.oniguruma_pattern(pattern, is_regex=True)
    if regex is None:
        report.fell_back(
            "tiktoken", "tiktoken.Encoding", f"pat_str with {unsupported}: text between its matches is encoded, too"
        )
        return ({"type": "Pattern", "regex": pattern},)
    return ({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Removed", "invert": True},)

"""`Encoding`: tiktoken's class, over Jeton's core.

The loops over bytes and tokens are in the core; a batch of texts is a single call of the core. A text with a lone
surrogate is repaired in the same way as in tiktoken.

Source: openai/tiktoken, tiktoken/core.py (behavior, names, and the message for special tokens).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ...calls.text_errors import replace_surrogates
from ...errors import InvalidTextError, SpecialTokenError, UnknownTokenError
from ...util.lazy import cached_property
from ...util.threads import num_threads as available_threads
from .. import report
from ._tiktoken import CoreBPE, spelled
from .ranks import RankFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Encoding", "raise_disallowed_special_token"]

_NONE: Set[str] = frozenset()
_LONG_TEXT = 1 << 18  # characters; longer texts are encoded as an array, as in `Tokenizer.encode_array`


class Encoding:
    """A tiktoken encoding.

    Args:
        name: name of the encoding. Encodings with different special tokens should have different names.
        pat_str: regex whose matches are encoded separately.
        mergeable_ranks: token -> rank, which is its merge priority and its id.
        special_tokens: special token -> id.
        explicit_n_vocab: the expected number of tokens, which is checked.

    Raises:
        AssertionError: the number of tokens, or the highest id, does not fit `explicit_n_vocab`.
        ValueError: the pattern does not compile, there are no ranks, or two tokens have the same rank.

    Examples:
        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"hi": 256}
        >>> enc = Encoding("tiny", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 257})
        >>> enc.encode("hi hi"), enc.decode([256, 33]), enc.n_vocab
        ([256, 32, 256], 'hi!', 258)
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ):
        self.name = name
        self._pat_str = pat_str
        self._special_tokens = special_tokens
        ranks: Any = mergeable_ranks
        if isinstance(ranks, RankFile):
            highest = ranks.highest
        else:
            self._mergeable_ranks = ranks
            highest = max(ranks.values())
        self.max_token_value: int = max(highest, max(special_tokens.values(), default=0))
        if explicit_n_vocab:
            num_tokens = len(ranks) + len(special_tokens)
            if num_tokens != explicit_n_vocab:
                raise AssertionError(f"explicit_n_vocab is {explicit_n_vocab}, but there are {num_tokens} tokens")
            if self.max_token_value != explicit_n_vocab - 1:
                raise AssertionError(
                    f"explicit_n_vocab is {explicit_n_vocab}; the highest id is {self.max_token_value}"
                )
        self._special_token_values = set(special_tokens.values())
        self._core_bpe = bpe = CoreBPE(ranks, special_tokens, pat_str)
        # The core, if its ids need no translation. It is called directly, because through `CoreBPE`, short calls take
        # 50% longer.
        self._plain_core = bpe.core if bpe.is_plain else None
        # Tables of `encode_single_token` and `decode_single_token_bytes`, each filled by the first call of its method.
        self._id_of: dict[bytes, int] = {}
        self._bytes_by_id: list[bytes | None] = []

    if not TYPE_CHECKING:

        @cached_property
        def _mergeable_ranks(self) -> dict[bytes, int]:
            return self._core_bpe.ranks

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # ── text → ids ───────────────────────────────────────────────────────────────────────────────────────────────

    def encode_ordinary(self, text: str) -> list[int]:
        """Returns the ids of a text; the spelling of special tokens is plain text."""
        try:
            if (core := self._plain_core) is not None and isinstance(text, str):
                return core.encode_text(text)
            return self._core_bpe.encode_ordinary(text)
        except (InvalidTextError, UnicodeEncodeError):
            return self._core_bpe.encode_ordinary(replace_surrogates(text))

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | Set[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[int]:
        """Returns the ids of a text.

        Args:
            text: any `str`. Surrogate pairs are joined; a lone surrogate is replaced by U+FFFD.
            allowed_special: special tokens that are matched, or ``"all"``.
            disallowed_special: strings that the text must not contain. ``"all"`` is all special tokens that are not
                allowed; with ``()``, all special tokens that are not allowed are plain text.

        Raises:
            ValueError: the text contains a disallowed string.

        Examples:
            >>> ranks = {bytes([byte]): byte for byte in range(256)}
            >>> enc = Encoding("e", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={"<s>": 256})
            >>> enc.encode("a<s>", allowed_special={"<s>"}), enc.encode("a<s>", disallowed_special=())
            ([97, 256], [97, 60, 115, 62])
        """
        bpe = self._core_bpe
        if allowed_special is _NONE and not disallowed_special:
            return self.encode_ordinary(text)
        if (
            disallowed_special == "all"
            and isinstance(text, str)
            and (allowed_special is _NONE or allowed_special == "all" or _is_empty(allowed_special))
        ):
            try:
                ids = bpe.core.encode(text, "raise" if allowed_special != "all" else "all")
            except (SpecialTokenError, InvalidTextError):
                pass
            else:
                return ids if bpe.is_plain else bpe.external(ids)
        allowed = self._checked(text, allowed_special, disallowed_special)
        try:
            return bpe.encode(text, allowed)
        except UnicodeEncodeError:
            return bpe.encode(replace_surrogates(text), allowed)

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | Set[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> NDArray[np.uint32]:
        """Returns the ids of a text as uint32[n]; arguments as for `encode`.

        Raises:
            ValueError: the text contains a disallowed string.
            UnicodeEncodeError: the text contains a lone surrogate.
        """
        bpe = self._core_bpe
        threads = 1 if type(text) is str and len(text) < _LONG_TEXT else available_threads(None)
        if (
            disallowed_special == "all"
            and isinstance(text, str)
            and (allowed_special is _NONE or allowed_special == "all" or _is_empty(allowed_special))
        ):
            try:
                return bpe.encode_array(text, "raise" if allowed_special != "all" else "all", threads)
            except (SpecialTokenError, UnicodeEncodeError):
                pass
        allowed = self._checked(text, allowed_special, disallowed_special)
        return bpe.encode_array(text, bpe.permission_for(text, allowed), threads)

    def encode_ordinary_batch(self, text: Iterable[str], *, num_threads: int = 8) -> list[list[int]]:
        """Returns the ids of many texts; the spelling of special tokens is plain text."""
        threads, texts = _threads(num_threads), list(text)
        if set(map(type, texts)) <= {str}:
            try:
                return self._core_bpe.encode_batch(texts, None, threads)
            except InvalidTextError:
                report.fell_back("tiktoken", "Encoding.encode_ordinary_batch", "lone surrogates: encoded one by one")
        return list(map(self.encode_ordinary, texts))

    def encode_batch(
        self,
        text: Iterable[str],
        *,
        num_threads: int = 8,
        allowed_special: Literal["all"] | Set[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[list[int]]:
        """Returns the ids of many texts; arguments as for `encode`.

        Args:
            text: the texts.
            num_threads: maximum number of threads; at most one for each core of this process is started.
            allowed_special: as for `encode`.
            disallowed_special: as for `encode`.

        Raises:
            ValueError: a text contains a disallowed string.

        Examples:
            >>> ranks = {bytes([byte]): byte for byte in range(256)}
            >>> enc = Encoding("e", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={})
            >>> enc.encode_batch(["hi", "h"])
            [[104, 105], [104]]
        """
        allowed, refused = self._resolved(allowed_special, disallowed_special)
        refused = frozenset(refused)
        threads, texts = _threads(num_threads), list(text)
        if texts and set(map(type, texts)) <= {str}:
            try:
                permission: Any = self._core_bpe.permission(allowed)
                if permission is None and refused == self._core_bpe.special_tokens:
                    permission = "raise"
                elif refused and any(map(spelled(refused).search, texts)):
                    raise SpecialTokenError
                return self._core_bpe.encode_batch(texts, permission, threads)
            except (SpecialTokenError, TypeError, UnicodeEncodeError):
                pass  # encoding the texts one by one, below, raises the error of the first invalid text
            except InvalidTextError:
                report.fell_back("tiktoken", "Encoding.encode_batch", "lone surrogates: encoded one by one")
        return list(map(partial(self.encode, allowed_special=allowed, disallowed_special=refused), texts))

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | Set[str] = _NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """Returns ids that no further text can change, and sequences of ids that can follow; arguments as for `encode`.

        Returns:
            The stable ids, and their possible continuations. If the ids of a continuation are appended to the stable
            ids, the result decodes to bytes that begin with the text.

        Examples:
            >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"hi": 256}
            >>> enc = Encoding("e", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={})
            >>> stable, continuations = enc.encode_with_unstable("a h")
            >>> stable, sorted(continuations)
            ([97, 32], [[104], [256]])
        """
        allowed = self._checked(text, allowed_special, disallowed_special)
        return self._core_bpe.encode_with_unstable(text, allowed)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Returns the id of a token or a special token, by its text or its bytes.

        Raises:
            KeyError: the token is not in the vocabulary.
        """
        if isinstance(text_or_bytes, str):
            text_or_bytes = text_or_bytes.encode()
        try:
            return self._id_of[text_or_bytes]
        except KeyError:
            found = self._core_bpe.encode_single_token(text_or_bytes)
        self._id_of = self._core_bpe.id_of
        return found

    # ── ids → text ───────────────────────────────────────────────────────────────────────────────────────────────

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Returns the bytes of ids.

        Raises:
            KeyError: an id is not in the vocabulary.
        """
        return self._core_bpe.decode_bytes(tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Returns the text of ids.

        Args:
            tokens: ids.
            errors: policy for bytes that are not UTF-8, as in `bytes.decode`.

        Raises:
            KeyError: an id is not in the vocabulary.
        """
        if (core := self._plain_core) is not None and type(tokens) is list:
            try:
                data = core.decode(tokens, skip_special=False)
            except UnknownTokenError:
                pass
            else:
                return data.decode("utf-8", errors)
        return self._core_bpe.decode_bytes(tokens).decode("utf-8", errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Returns the bytes of an id.

        Raises:
            KeyError: the id is not in the vocabulary.
        """
        try:
            if (found := self._bytes_by_id[token]) is not None:
                return found
        except (IndexError, TypeError):
            pass
        found = self._core_bpe.decode_single_token_bytes(token)
        self._bytes_by_id = self._core_bpe.bytes_by_id
        return found

    def decode_tokens_bytes(self, tokens: Iterable[int]) -> list[bytes]:
        """Returns the bytes of each id.

        Raises:
            KeyError: an id is not in the vocabulary.
        """
        return self._core_bpe.decode_tokens_bytes(tokens)

    def decode_with_offsets(self, tokens: Iterable[int]) -> tuple[str, list[int]]:
        """Returns the text of ids, and for each id the index of the first character that its bytes belong to.

        Raises:
            KeyError: an id is not in the vocabulary.
            UnicodeDecodeError: the bytes are not UTF-8.

        Examples:
            >>> ranks = {bytes([byte]): byte for byte in range(256)}
            >>> enc = Encoding("e", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={})
            >>> enc.decode_with_offsets(list("né!".encode()))
            ('né!', [0, 1, 1, 2])
        """
        return self._core_bpe.decode_with_offsets(tokens)

    def decode_batch(
        self, batch: Iterable[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Returns the texts of many sequences of ids; `num_threads` as in `encode_batch`."""
        threads, rows = _threads(num_threads), list(batch)
        if errors == "replace" and (found := self._core_bpe.decode_lists(rows, threads, as_text=True)) is not None:
            return found
        return list(map(partial(self.decode, errors=errors), rows))

    def decode_bytes_batch(self, batch: Iterable[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """Returns the bytes of many sequences of ids; `num_threads` as in `encode_batch`."""
        threads, rows = _threads(num_threads), list(batch)
        found = self._core_bpe.decode_lists(rows, threads, as_text=False)
        return list(map(self._core_bpe.decode_bytes, rows)) if found is None else found

    # ── the vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

    def token_byte_values(self) -> list[bytes]:
        """Returns the bytes of all tokens that are not special, sorted."""
        return self._core_bpe.token_byte_values()

    @property
    def eot_token(self) -> int:
        """The id of ``<|endoftext|>``."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return set(self._special_tokens.keys())

    def is_special_token(self, token: int) -> bool:
        """Tests whether an id is that of a special token."""
        if not isinstance(token, int):
            raise AssertionError(f"an id is an int, not {type(token).__name__}")
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The highest id plus one."""
        return self.max_token_value + 1

    # ── private, in tiktoken too ─────────────────────────────────────────────────────────────────────────────────

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """Returns the ids of a text or bytes, without special tokens, and without splitting by the pattern."""
        piece = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        return self._core_bpe.encode_single_piece(piece)

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        """Calls `encode_ordinary`; the text must have no lone surrogates. In tiktoken, this method splits in Python."""
        return self._core_bpe.encode_ordinary(text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Returns the ids of bytes, which need not be UTF-8, without special tokens."""
        return self._core_bpe._encode_bytes(text)

    def __getstate__(self) -> object:
        from .registry import ENCODINGS

        if self is ENCODINGS.get(self.name):
            return self.name
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def __setstate__(self, value: Any) -> None:
        if isinstance(value, str):
            from .registry import get_encoding

            self.__dict__ = get_encoding(value).__dict__
        else:
            self.__init__(**value)  # type: ignore[misc]

    # ── permission for special tokens ────────────────────────────────────────────────────────────────────────────

    def _resolved(self, allowed_special: Any, disallowed_special: Any) -> tuple[Set[str], Collection[str]]:
        """Returns the allowed special tokens and the disallowed strings, before any check."""
        if allowed_special == "all":
            allowed_special = self.special_tokens_set
        if disallowed_special == "all":
            disallowed_special = self.special_tokens_set - allowed_special
        return allowed_special, disallowed_special

    def _checked(self, text: str, allowed_special: Any, disallowed_special: Any) -> Set[str]:
        """Returns the special tokens to permit: all of them if `disallowed_special` is "all", else the allowed ones.

        It is faster to permit all special tokens than some. The ids stay the same, because the text contains no
        disallowed ones.

        Raises:
            ValueError: the text contains a disallowed string.
        """
        allowed, refused = self._resolved(allowed_special, disallowed_special)
        if refused and (match := spelled(frozenset(refused)).search(text)):
            raise_disallowed_special_token(match.group())
        if disallowed_special == "all" and isinstance(allowed, set | frozenset) and set(map(type, allowed)) <= {str}:
            return allowed.union(refused)  # "all" avoids building a matcher for some tokens
        return allowed


def report_missing_attributes() -> None:
    """Makes `Encoding` record the use of attributes that it lacks, for `jeton.compat.run`."""
    report.missing_attributes(Encoding, "tiktoken.Encoding")


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raises tiktoken's error for a disallowed string.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
        "If you want this text to be encoded as normal text, disable the check for this token "
        f"by passing `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    )


def _is_empty(tokens: Any) -> bool:
    return isinstance(tokens, set | frozenset) and not tokens


def _threads(given: int | None) -> int:
    """Returns the number of threads of a batch."""
    if given is None:
        return available_threads(None)
    if given <= 0:
        raise ValueError(f"num_threads={given} is not a positive number")
    return max(1, min(int(given), available_threads(None)))

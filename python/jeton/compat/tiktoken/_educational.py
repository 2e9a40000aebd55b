"""Byte-pair encoding in plain Python that prints a picture of each step, like tiktoken's module of this name.

It is slow; `jeton.train` and `Encoding` are fast. `jeton.reference` explains the algorithm in more detail.

Source: openai/tiktoken, tiktoken/_educational.py (behavior).
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from ..._core import split_text
from .core import Encoding
from .registry import get_encoding

__all__ = ["SimpleBytePairEncoding", "bpe_encode", "bpe_train", "train_simple_encoding", "visualise_tokens"]

_COLORS = (167, 179, 185, 77, 80, 68, 134)  # numbers in the terminal's 256-color palette
_PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_TEXT = "hello world, hello words; the world says hello to the words of the world. "

Picture = str | None  # "colour", "color", "simple", None


class SimpleBytePairEncoding:
    """An encoding without special tokens.

    Args:
        pat_str: regex whose matches are encoded separately.
        mergeable_ranks: token -> rank.

    Examples:
        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"hi": 256}
        >>> enc = SimpleBytePairEncoding(pat_str=r"\\w+|\\W+", mergeable_ranks=ranks)
        >>> enc.encode("hi hi", visualise=None)
        [256, 32, 256]
    """

    def __init__(self, *, pat_str: str, mergeable_ranks: dict[bytes, int]) -> None:
        split_text("", pat_str, is_regex=True)  # raises an error if the regex does not compile
        self.pat_str = pat_str
        self.mergeable_ranks = mergeable_ranks
        self._decoder = {id: token for token, id in mergeable_ranks.items()}

    def encode(self, text: str, visualise: Picture = "colour") -> list[int]:
        """Returns the ids of a text, and prints a picture of each merge.

        `visualise`: form of the pictures, ``"colour"`` or ``"simple"``; with None, none are printed.
        """
        words = _words(text, self.pat_str)
        return [id for word in words for id in bpe_encode(self.mergeable_ranks, word, visualise=visualise)]

    def decode_bytes(self, tokens: list[int]) -> bytes:
        """Returns the bytes of ids."""
        return b"".join(self.decode_tokens_bytes(tokens))

    def decode(self, tokens: list[int]) -> str:
        """Returns the text of ids; U+FFFD replaces bytes that are not UTF-8."""
        return self.decode_bytes(tokens).decode("utf-8", errors="replace")

    def decode_tokens_bytes(self, tokens: list[int]) -> list[bytes]:
        """Returns the bytes of each id."""
        return [self._decoder[token] for token in tokens]

    @staticmethod
    def train(training_data: str, vocab_size: int, pat_str: str) -> SimpleBytePairEncoding:
        """Trains an encoding, and prints a picture of each merge."""
        ranks = bpe_train(data=training_data, vocab_size=vocab_size, pat_str=pat_str)
        return SimpleBytePairEncoding(pat_str=pat_str, mergeable_ranks=ranks)

    @staticmethod
    def from_tiktoken(encoding: str | Encoding) -> SimpleBytePairEncoding:
        """Creates an object with the pattern and ranks of an encoding, which can be given by name."""
        full: Any = get_encoding(encoding) if isinstance(encoding, str) else encoding
        return SimpleBytePairEncoding(pat_str=full._pat_str, mergeable_ranks=full._mergeable_ranks)


def bpe_encode(mergeable_ranks: dict[bytes, int], input: bytes, visualise: Picture = "colour") -> list[int]:
    """Returns the ids of bytes: merges the two neighbors with the lowest rank until no two neighbors form a token.

    Args:
        mergeable_ranks: token -> rank.
        input: the bytes.
        visualise: form of the picture of each step; None prints none.

    Examples:
        >>> bpe_encode({b"a": 0, b"b": 1, b"ab": 2}, b"abb", visualise="simple")
        [b'a', b'b', b'b']
        [b'ab', b'b']
        <BLANKLINE>
        [2, 1]
    """
    symbols = [bytes([byte]) for byte in input]
    while True:
        _show(symbols, visualise)
        pairs = [
            (mergeable_ranks[left + right], at)
            for at, (left, right) in enumerate(pairwise(symbols))
            if left + right in mergeable_ranks
        ]
        if not pairs:
            break
        _, at = min(pairs)
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
    if visualise:
        print()  # noqa: T201
    return [mergeable_ranks[symbol] for symbol in symbols]


def bpe_train(data: str, vocab_size: int, pat_str: str, visualise: Picture = "colour") -> dict[bytes, int]:
    """Learns merges: each step joins the most frequent pair; of equally frequent pairs, the first one found.

    Args:
        data: the text.
        vocab_size: number of tokens, at least 256.
        pat_str: regex that splits the text.
        visualise: form of the picture of each step; None prints none.

    Returns:
        Token -> rank.

    Raises:
        ValueError: `vocab_size` is below 256, or there is no pair left.

    Examples:
        >>> bpe_train("low low lower", 258, r"\\w+", visualise=None)[b"low"]
        257
    """
    if vocab_size < 256:
        raise ValueError(f"vocab_size={vocab_size}: at least 256, for all bytes")
    ranks = {bytes([byte]): byte for byte in range(256)}
    words = [[bytes([byte]) for byte in word] for word in _words(data, pat_str)]
    while len(ranks) < vocab_size:
        counts = Counter(pair for word in words for pair in pairwise(word))
        pair = max(counts, key=lambda pair: counts[pair])
        token = b"".join(pair)
        ranks[token] = len(ranks)
        words = [_merged(word, pair, token) for word in words]
        if visualise:
            _show_training(pair, token, len(ranks), words, visualise)
    return ranks


def _merged(word: list[bytes], pair: tuple[bytes, bytes], token: bytes) -> list[bytes]:
    made: list[bytes] = []
    at = 0
    while at < len(word):
        is_pair = tuple(word[at : at + 2]) == pair
        made.append(token if is_pair else word[at])
        at += 1 + is_pair
    return made


def _words(text: str, pat_str: str) -> list[bytes]:
    """Returns the matches of the pattern as bytes."""
    from json import dumps

    from ..._core import pretokenize_text
    from ._tiktoken import components

    return [word.encode() for word, _ in pretokenize_text(dumps(components(pat_str)), text)]


def _show(symbols: list[bytes], visualise: Picture) -> None:
    if visualise in ("colour", "color"):
        visualise_tokens(symbols)
    elif visualise == "simple":
        print(symbols)  # noqa: T201


def _show_training(
    pair: tuple[bytes, bytes], token: bytes, num_tokens: int, words: list[list[bytes]], visualise: Picture
) -> None:
    print(f"Most frequent pair: {pair[0]!r} and {pair[1]!r}; {token!r} becomes token number {num_tokens}")  # noqa: T201
    if visualise in ("colour", "color"):
        visualise_tokens([symbol for word in words[:50] for symbol in word])
    elif visualise == "simple":
        print(*words[:20], sep="\n")  # noqa: T201
    print()  # noqa: T201


def visualise_tokens(token_values: list[bytes]) -> None:
    """Prints tokens on colored backgrounds; neighbors have different colors."""
    length, last, shown = 0, -1, []
    for token in token_values:
        text = token.decode("utf-8", errors="replace")
        color = length % len(_COLORS)
        if color == last:
            color = (length + 1) % len(_COLORS)
        last = color
        length += len(text)
        shown.append(f"\x1b[48;5;{_COLORS[color]}m{text}")
    print("".join(shown) + "\x1b[0m")  # noqa: T201


def train_simple_encoding() -> SimpleBytePairEncoding:
    """Trains an encoding on a small text, and prints how it encodes "hello world"."""
    enc = SimpleBytePairEncoding.train(_TEXT, vocab_size=270, pat_str=_PATTERN)
    print("The merges of 'hello world':")  # noqa: T201
    enc.encode("hello world")
    return enc

"""The vocabulary of a model in four forms: JSON, objects (parsed on first use), constructor arguments, and files.

Source: huggingface/tokenizers 0.23.3, tokenizers/src/models (formats of files, and messages).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import chain, repeat
from operator import add, itemgetter
from pathlib import Path
from typing import Any, TypeAlias

from ...util.lazy import cached_property
from .values import number, shown, size_32, text, to_json, wrong

__all__ = [
    "Entries",
    "Members",
    "check_merges",
    "merge_of",
    "merges_of",
    "pieces_of",
    "read_merges",
    "read_vocab_json",
    "read_vocab_txt",
    "reported",
    "vocab_of",
]

Members: TypeAlias = tuple[bytes, bytes | None]  # JSON of the vocabulary; JSON of the merges, or None


class Entries:
    """The vocabulary of a model, as JSON and as objects; each form is built from the other on use.

    Args:
        members: function that returns the JSON of the vocabulary, and the JSON of the merges or None.
    """

    def __init__(self, members: Callable[[], Members]) -> None:
        self._members = members

    @classmethod
    def of(cls, vocab: Any, merges: list[tuple[str, str]] | None) -> Entries:
        """Creates entries from objects in memory, which are not copied.

        Args:
            vocab: token → id, or a list of (piece, score).
            merges: the merges by rank; None for a model without merges.
        """
        made = cls(lambda: (_written(vocab), None if merges is None else to_json(merges).encode()))
        vars(made).update(vocab=vocab, merges=merges)
        return made

    @cached_property
    def members(self) -> Members:
        """Returns the JSON of the vocabulary and of the merges."""
        return self._members()

    @cached_property
    def vocab(self) -> Any:
        """Token → id, or a list of (piece, score)."""
        vocab = json.loads(self.members[0])
        return vocab if isinstance(vocab, dict) else list(map(tuple, vocab))

    @cached_property
    def merges(self) -> list[tuple[str, str]] | None:
        """The merges by rank; None for a model without merges."""
        merges = self.members[1]
        return None if merges is None else [merge_of(each) for each in json.loads(merges)]

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Token → id."""
        vocab = self.vocab
        return (
            vocab if isinstance(vocab, dict) else dict(zip(map(itemgetter(0), vocab), range(len(vocab)), strict=True))
        )

    @cached_property
    def tokens(self) -> Mapping[int, str]:
        """Id → token."""
        return dict(zip(self.ids.values(), self.ids, strict=True))


def _written(vocab: Any) -> bytes:
    if isinstance(vocab, dict):
        return to_json(dict(sorted(vocab.items(), key=itemgetter(1)))).encode()
    written = to_json(vocab)
    if "e-" in written or "e+" in written:  # perhaps an exponent, which Hugging Face's package writes differently
        written = f"[{','.join(f'[{to_json(piece)},{_number(score)}]' for piece, score in vocab)}]"
    return written.encode()


def _number(score: float) -> str:
    """Returns a score in the notation of Hugging Face's package.

    Examples:
        >>> _number(1e-07), _number(1e16), _number(0.00001)
        ('1e-7', '1e16', '0.00001')
    """
    digits, _, exponent = repr(score).partition("e")
    if exponent == "-05":
        return shown(score)
    return f"{digits}e{int(exponent)}" if exponent else digits


def merge_of(merge: Any) -> tuple[str, str]:
    """Returns a merge from parsed JSON; in older files, a merge is one string."""
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right


def reported(run: Callable[[], Any], prefix: str) -> Any:
    """Calls a function, and converts its errors to the errors that Hugging Face's package raises."""
    try:
        return run()
    except OSError as error:
        raise Exception(f"{prefix}{error.strerror} (os error {error.errno})") from None
    except ValueError as error:
        raise Exception(f"{prefix}{error}") from None


def vocab_of(value: Any) -> dict[str, int] | str:
    """Checks an argument that is a vocabulary in memory, or the path of a file."""
    if isinstance(value, str):
        return value
    try:
        if not isinstance(value, dict):
            raise wrong(value, "dict")
        if not set(map(type, value)) <= {str} or not set(map(type, value.values())) <= {int}:
            value = {text(token): size_32(id) for token, id in value.items()}
        if value:
            "".join(value).encode()
            size_32(min(value.values())), size_32(max(value.values()))
        return dict(value)
    except (TypeError, OverflowError, UnicodeEncodeError) as error:
        raise TypeError(f"failed to extract enum PyVocab ('Vocab | Filename')\n{error}") from None


def merges_of(value: Any) -> list[tuple[str, str]] | str:
    """Checks an argument that is a list of merges in memory, or the path of a file."""
    if isinstance(value, str):
        return value
    try:
        if not isinstance(value, list | tuple):
            raise wrong(value, "Sequence")
        found = list(value)
        _check_types(found, tuple)
        if not set(map(len, found)) <= {2}:
            raise ValueError("expected tuple of length 2")
        for side in (0, 1):
            tokens = list(map(itemgetter(side), found))
            _check_types(tokens, str)
            "".join(tokens).encode()
        return found
    except (TypeError, ValueError) as error:
        raise TypeError(f"failed to extract enum PyMerges ('Merges | Filename')\n{error}") from None


def _check_types(values: list[Any], kind: type) -> None:
    if not set(map(type, values)) <= {kind}:
        for value in values:
            if not isinstance(value, kind):
                raise wrong(value, kind.__name__)


def read_vocab_json(path: str) -> dict[str, int]:
    """Reads a `vocab.json`: token → id."""
    vocab = json.loads(Path(path).read_bytes())
    if not isinstance(vocab, dict):
        raise ValueError("Vocabulary file is not a valid JSON object")
    return {token: id for token, id in vocab.items() if isinstance(id, int)}


def _lines(path: str) -> list[str]:
    lines = Path(path).read_bytes().decode().split("\n")
    return [line.removesuffix("\r") for line in lines[: None if lines[-1] else -1]]


def read_merges(path: str) -> list[tuple[str, str]]:
    """Reads a `merges.txt`."""
    merges = [tuple(line.split(" ")) for line in _lines(path) if not line.startswith("#version")]
    for rank, merge in enumerate(merges):
        if len(merge) != 2:
            raise ValueError(f"Merges text file invalid at line {rank + 1}")
    return merges  # type: ignore[return-value]


def read_vocab_txt(path: str) -> dict[str, int]:
    """Reads a `vocab.txt` with a token in each line; returns token → line number, from 0."""
    lines = _lines(path)
    return dict(zip(map(str.rstrip, lines), range(len(lines)), strict=True))


def check_merges(vocab: dict[str, int], merges: list[tuple[str, str]], prefix: int) -> None:
    """Checks that both tokens of each merge, and the merged token, are entries."""
    lefts, rights = list(map(itemgetter(0), merges)), list(map(itemgetter(1), merges))
    ends = map(str.__getitem__, rights, repeat(slice(prefix, None))) if prefix else rights
    if not all(map(vocab.__contains__, chain(lefts, rights, map(add, lefts, ends)))):
        for left, right in merges:
            for token in (left, right, left + right[prefix:]):
                if token not in vocab:
                    raise Exception(f"Error while initializing BPE: Token `{token}` out of vocabulary")


def pieces_of(value: Any) -> list[tuple[str, float]]:
    """Checks an argument that is a list of pairs of piece and score."""
    if isinstance(value, str):
        raise TypeError("Can't extract `str` to `Vec`")
    if not isinstance(value, list | tuple):
        raise wrong(value, "Sequence")
    for each in value:
        if not isinstance(each, tuple):
            raise wrong(each, "tuple")
        if len(each) != 2:
            raise ValueError(f"expected tuple of length 2, but got tuple of length {len(each)}")
    if set(map(type, map(itemgetter(0), value))) <= {str} and set(map(type, map(itemgetter(1), value))) <= {float}:
        return list(value)
    return [(text(piece), number(score)) for piece, score in value]

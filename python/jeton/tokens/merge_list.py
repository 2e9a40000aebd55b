"""Builds the vocabulary of a byte-level tokenizer from its entries and its list of merges, after checking them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from .._core import Vocabulary
from ..errors import ConfigError
from ..util.arguments import instance, items, wrong
from .kinds import MAX_ID, TOKEN

__all__ = ["vocabulary_of_merges"]


def vocabulary_of_merges(
    vocab: Mapping[int, bytes], merges: Iterable[tuple[int, int, int]], special_tokens: Mapping[str, int]
) -> Vocabulary:
    """Builds the vocabulary without special tokens; for the arguments see `Tokenizer.from_merges`.

    Raises:
        ConfigError: entries or merges contradict each other.
    """
    for id, content in instance(vocab, "vocab", Mapping, "a mapping from id to bytes").items():
        if not isinstance(content, bytes):
            raise wrong(f"vocab[{id!r}]", content, "bytes")
    merges = items(merges, "merges", "a list of tuples (left id, right id, new id)")
    for rank, merge in enumerate(merges):
        if not isinstance(merge, tuple) or len(merge) != 3:
            raise wrong(f"merges[{rank}]", merge, "a tuple (left id, right id, new id)")
    _check_ids("vocab", list(vocab))
    _check_ids("special_tokens", list(special_tokens.values()))
    _check_ids("merges", list(chain(*merges)))
    vocabulary = Vocabulary(list(vocab), [TOKEN] * len(vocab), list(vocab.values()), merges)
    clash = sorted(set(vocab) & set(special_tokens.values()))
    if clash:
        raise ConfigError(f"id {clash[0]} is given both to an entry of vocab and to a special token")
    return vocabulary


def _check_ids(option: str, ids: list[int]) -> None:
    """Rejects ids that are not integers or are out of range."""
    if {*map(type, ids)} == {int}:
        ids = [min(ids), max(ids)]  # fast path: if all are integers, the least and the greatest suffice
    for id in ids:
        if isinstance(id, bool) or not isinstance(id, int) or not 0 <= id <= MAX_ID:
            raise ConfigError(f"{option}: {id!r} is not an id: expected an integer from 0 to {MAX_ID}", option=option)

"""Required tokens: appends merges to the learned merges, so that each text in `Rules.required` becomes one token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from .._core import Vocabulary
from ..definition import Pattern
from ..errors import ConfigError, named
from .rules import Rules

__all__ = ["add_required", "check_required"]


def check_required(rules: Rules, pattern: Pattern, *, by_character: bool) -> None:
    """Raises an error if encoding cannot yield a required token from any text.

    Raises:
        ConfigError: the pattern splits a required token, or another rule forbids it.
    """
    for text in rules.required:
        if len(pattern.split(text)) != 1:
            raise ConfigError(f"the required token {text!r} is split by the pattern", option="rules")
        if not rules.holds([text.encode()], by_character=by_character)[0]:
            raise ConfigError(f"the required token {text!r} breaks another rule", option="rules")


def add_required(
    vocabulary: Vocabulary, required: Sequence[str], max_entries: int, *, by_character: bool
) -> tuple[Vocabulary, int]:
    """Makes each text one token: encodes it with the learned merges, and appends merges that join the resulting tokens.

    Args:
        vocabulary: the alphabet and the learned merges.
        required: texts that must be one token.
        max_entries: maximum number of entries; learned merges are removed from the end to make space.
        by_character: True at character level, False at byte level.

    Returns:
        The new vocabulary, and the number of learned merges that are left in it.

    Raises:
        ConfigError: the texts need more than `max_entries`, or a character is not in the alphabet.
    """
    ids, kinds, contents, merges = vocabulary.columns()
    num_symbols = len(ids) - len(merges)
    symbols = {content: id for id, content in zip(ids[:num_symbols], contents[:num_symbols], strict=True)}
    units = [[c.encode() for c in text] if by_character else [bytes([b]) for b in text.encode()] for text in required]
    for text, its_units in zip(required, units, strict=True):
        if missing := [unit for unit in its_units if unit not in symbols]:
            raise ConfigError(
                f"the required token {text!r} contains {missing[0].decode()!r}, which does not occur in the corpus",
                option="rules",
            )
    texts = [[symbols[unit] for unit in its_units] for its_units in units]
    first = max(ids[:num_symbols]) + 1
    kept = len(merges)
    while True:
        added = _merges_of(texts, {(left, right): new for left, right, new in merges[:kept]}, first + kept)
        over = num_symbols + kept + len(added) - max_entries
        if over <= 0:
            break
        if kept == 0:
            raise ConfigError(f"{named('vocab_size')} is too small for the {len(required)} required tokens")
        kept = max(0, kept - over)
    all_merges = [*merges[:kept], *added]
    ids, kinds, contents = ids[: num_symbols + kept], kinds[: num_symbols + kept], contents[: num_symbols + kept]
    by_id = dict(zip(ids, contents, strict=True))
    for left, right, new in added:
        by_id[new] = by_id[left] + by_id[right]
        ids, kinds, contents = [*ids, new], [*kinds, kinds[0]], [*contents, by_id[new]]
    return Vocabulary(ids, kinds, contents, all_merges), kept


def _merges_of(texts: list[list[int]], merges: dict[tuple[int, int], int], next_id: int) -> list[tuple[int, int, int]]:
    """Returns the merges to add so that each text becomes one token: text by text, from left to right within a text."""
    merges = dict(merges)
    added: list[tuple[int, int, int]] = []
    for text in texts:
        ids = _merged(text, merges)
        while len(ids) > 1:
            merges[ids[0], ids[1]] = next_id + len(added)
            added.append((ids[0], ids[1], next_id + len(added)))
            ids = _merged(text, merges)
    return added


def _merged(ids: Sequence[int], merges: Mapping[tuple[int, int], int]) -> list[int]:
    """Applies merges to symbols, lowest new id first, from left to right."""
    ids = list(ids)
    while possible := [merges[pair] for pair in pairwise(ids) if pair in merges]:
        new = min(possible)
        out: list[int] = []
        at = 0
        while at < len(ids):
            if at + 1 < len(ids) and merges.get((ids[at], ids[at + 1])) == new:
                out.append(new)
                at += 2
            else:
                out.append(ids[at])
                at += 1
        ids = out
    return ids

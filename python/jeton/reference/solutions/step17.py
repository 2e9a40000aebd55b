"""Answers to the exercises of step 17: a merge updates only the counts of the pairs around its occurrences."""

from collections import Counter, defaultdict
from itertools import pairwise

Pair = tuple[int, int]


def changes(ids: list[int], pair: tuple[int, int], new: int) -> dict[tuple[int, int], int]:
    """Compute how a merge changes the counts of pairs."""
    difference: Counter[tuple[int, int]] = Counter()
    done: list[int] = []  # the merged list, up to the current position
    at = 0
    while at < len(ids):
        found = tuple(ids[at : at + 2]) == pair
        if found:
            difference[pair] -= 1
            if at + 2 < len(ids):
                difference[ids[at + 1], ids[at + 2]] -= 1
        symbol = new if found else ids[at]
        if done and (found or done[-1] == new):
            difference[done[-1], symbol] += 1
            if done[-1] != new:  # after `new`, the previous occurrence has already subtracted this pair
                difference[done[-1], ids[at]] -= 1
        done.append(symbol)
        at += 2 if found else 1
    return {key: value for key, value in difference.items() if value}


def train_fast(
    sequences: list[list[int]], weights: list[int] | None, strings: dict[int, bytes], num_merges: int
) -> list[tuple[int, int, int, int]]:
    """Learn merges; for each merge, read only the sequences that contain the pair."""
    current = [list(sequence) for sequence in sequences]
    weight = weights or [1] * len(current)
    counts: Counter[Pair] = Counter()
    holders: defaultdict[Pair, set[int]] = defaultdict(set)  # pair -> indices of sequences that possibly contain it
    for at, sequence in enumerate(current):
        for pair in pairwise(sequence):
            counts[pair] += weight[at]
            holders[pair].add(at)

    def first(pair: Pair) -> tuple[int, int]:
        """Find the first occurrence of a pair: its sequence, and its position there."""
        for at in sorted(holders[pair]):
            for position, found in enumerate(pairwise(current[at])):
                if found == pair:
                    return at, position
        raise LookupError(pair)

    merges: list[tuple[int, int, int, int]] = []
    new = max(strings, default=-1) + 1
    while len(merges) < num_merges and (highest := max(counts.values(), default=0)):
        tied = [pair for pair, count in counts.items() if count == highest]
        best = tied[0] if len(tied) == 1 else min(tied, key=first)
        merges.append((*best, new, highest))
        for at in holders.pop(best):
            sequence = current[at]
            for pair, difference in changes(sequence, best, new).items():
                counts[pair] += difference * weight[at]
                holders[pair].add(at)
            current[at] = merged(sequence, best, new)
        del counts[best]
        counts = +counts  # drops pairs whose count is 0
        new += 1
    return merges


def merged(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Replace each occurrence of a pair by the id `new`, from left to right."""
    result: list[int] = []
    at = 0
    while at < len(ids):
        found = tuple(ids[at : at + 2]) == pair
        result.append(new if found else ids[at])
        at += 2 if found else 1
    return result

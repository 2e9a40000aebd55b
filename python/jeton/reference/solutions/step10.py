"""An answer to the second exercise of step 10."""

from collections import Counter
from itertools import pairwise


def weighted_pairs(words: dict[str, int]) -> dict[tuple[str, str], int]:
    """Count the pairs of letters of a corpus that is given as words with their counts."""
    counts: Counter[tuple[str, str]] = Counter()
    for word, count in words.items():
        for pair in pairwise([*word, "</w>"]):
            counts[pair] += count
    return dict(counts)

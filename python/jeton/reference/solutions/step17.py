"""An answer to the exercise of step 17: only the neighborhood of each occurrence is counted."""

from collections import Counter


def changes(ids: list[int], pair: tuple[int, int], new: int) -> dict[tuple[int, int], int]:
    """Find the differences of the counts of pairs that a merge makes."""
    difference: Counter[tuple[int, int]] = Counter()
    done: list[int] = []  # the list after the merge, up to here
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
            if done[-1] != new:  # else the pair was removed when its left neighbor was merged
                difference[done[-1], ids[at]] -= 1
        done.append(symbol)
        at += 2 if found else 1
    return {key: value for key, value in difference.items() if value}

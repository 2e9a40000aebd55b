"""An answer to the second exercise of step 2."""


def replaceable(ids: list[int], pair: tuple[int, int]) -> int:
    """Count the occurrences of a pair from left to right, without overlap."""
    found = at = 0
    while at + 1 < len(ids):
        if (ids[at], ids[at + 1]) == pair:
            found += 1
            at += 2
        else:
            at += 1
    return found

"""An answer to the exercise of step 16: a heap of pairs over a linked list of symbols."""

import heapq


def encode_fast(ids: list[int], ranks: dict[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Merge the lowest rank first, without reading the whole list for each merge."""
    symbols = list(ids)
    following = [*range(1, len(ids)), -1] if ids else []  # -1: none
    previous = list(range(-1, len(ids) - 1))
    alive = [True] * len(ids)
    heap: list[tuple[int, int, int, int]] = []  # (rank, position of the left symbol, left id, right id)

    def push(at: int) -> None:
        if at >= 0 and following[at] >= 0:
            pair = symbols[at], symbols[following[at]]
            if pair in ranks:
                heapq.heappush(heap, (ranks[pair][0], at, *pair))

    for at in range(len(ids)):
        push(at)
    while heap:
        _, at, left, right = heapq.heappop(heap)
        second = following[at]
        if not alive[at] or second < 0 or (symbols[at], symbols[second]) != (left, right):
            continue  # stale: one of the two symbols was merged in the meantime
        symbols[at] = ranks[left, right][1]
        alive[second] = False
        following[at] = following[second]
        if following[at] >= 0:
            previous[following[at]] = at
        push(previous[at])
        push(at)
    return [symbol for symbol, living in zip(symbols, alive, strict=True) if living]

"""Step 16. Fast encoding: a linked list and a heap.

    python step16_fast_encoding.py                 also without Jeton
    python -m jeton.reference.step16_fast_encoding

`encode` of step 5 reads the whole list of symbols to find the lowest rank, and once more to merge it. It does so for
every merge that the text uses: n symbols and m different merges cost n·m. This is tolerable for words, because
pretokens are short, but not for a text that is not split, or for a pretoken of 10,000 equal characters.

A merge changes only its own pair, and the pairs to its left and right. Everything else that the loop reads again is
unchanged. Two data structures store the unchanged rest between merges:

- A **linked list**: for each symbol the position of the previous and of the next symbol. A merge writes the new symbol
  over the left symbol and unlinks the right symbol. No symbol moves, so positions stay valid.
- A **heap** (priority queue) of the pairs that can merge, ordered by rank, then by position. `heappop` returns the pair
  with the lowest rank; if ranks are equal, the leftmost pair, because step 5 merges from left to right.

A merge makes at most two new pairs, one on each side, which are pushed onto the heap. The pairs that it destroys stay
in the heap as **stale entries**, because removing them would require a search. It is cheaper to compare each popped
entry with the list: if its two symbols are no longer there, skip the entry.

>>> merges = train_bytes("old older fast faster fastest best better yes desk mess", 270)
>>> print(explain_heap(list(b"oldest"), ranks(merges), vocabulary(BYTES, merges)))
push s+t rank 0 at 4, e+s rank 5 at 3, o+l rank 6 at 0
pop  s+t rank 0 at 4    o l d e st   push e+st rank 9 at 3
pop  e+s rank 5 at 3    stale
pop  o+l rank 6 at 0    ol d e st    push ol+d rank 7 at 0
pop  ol+d rank 7 at 0   old e st
pop  e+st rank 9 at 3   old est
5 pushed, 1 stale, 4 merges

The entry `e+s` is stale, because its `s` became part of `st`. The four merges are those of step 5, in the same order.
A run of equal letters shows why entries are also ordered by position, and shows more stale entries:

>>> print(explain_heap(list(b"aaaaa"), {(97, 97): (0, 256)}, BYTES | {256: b"aa"}))
push a+a rank 0 at 0, a+a rank 0 at 1, a+a rank 0 at 2, a+a rank 0 at 3
pop  a+a rank 0 at 0   aa a a a
pop  a+a rank 0 at 1   stale
pop  a+a rank 0 at 2   aa aa a
pop  a+a rank 0 at 3   stale
4 pushed, 2 stale, 2 merges

**The cost.** n symbols have n - 1 pairs at the start, and each of at most n - 1 merges pushes at most two entries. So
fewer than 3n entries are pushed, and each takes about log n steps, whatever the vocabulary. On 4,000 bytes that are not
split:

>>> text, table = sample(4000), ranks(train_bytes(sample(2000), 556))
>>> taken = list(steps(list(text.encode()), table))
>>> len(text) + sum(len(step.ids) for step in taken)  # symbols that step 5 reads to find its merges
654137
>>> work(list(text.encode()), table)  # entries of the heap
Work(pushed=3214, stale=1035, merges=2179)
>>> encode_fast(list(text.encode()), table) == taken[-1].ids
True

`main` measures both: about 94 ms by step 5 and 3 ms by this file for 4,000 bytes, on one machine of 2026.

**When both are equal.** Step 5 applies a merge *everywhere*, then looks again. The heap applies a merge at *one
position* at a time. The results differ only if a merge makes a pair of *lower* rank than its own, because the heap
merges that pair before it applies the first merge at other positions. Training never makes such a list, because a pair
is counted only after both of its symbols exist. A list written by hand can have such a pair:

>>> odd = {(256, 97): (0, 257), (97, 98): (1, 256)}  # `aba` has a lower rank than its part `ab`
>>> encode(list(b"abab"), odd), encode_fast(list(b"abab"), odd)
([256, 256], [257, 98])

`in_order` tells whether a list of merges is safe in this sense.

>>> in_order(ranks(merges)), in_order(odd)
(True, False)

**With Jeton.** The engine also uses a heap, but only for long pretokens; for a pretoken of a few bytes it scans an
array, which is faster because the array fits into the processor's cache:

    tok = jeton.train([text], 270, level="byte", pattern="none", tie_break="first", min_frequency=1, progress=False)

    $ jeton train text.txt -o tok.json -s 270 --level byte --pattern none --tie-break first --min-frequency 1 -q
    $ jeton encode -t tok.json oldest
    263 265

Left out: a cache with the ids of pretokens that were already encoded (step 8). Next: step17_fast_training.py.

Source: SentencePiece (src/bpe_model.cc) and Hugging Face's tokenizers (models/bpe/word.rs) encode like this.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from functools import partial
from heapq import heapify, heappop, heappush
from pathlib import Path
from tempfile import TemporaryDirectory
from timeit import repeat
from typing import NamedTuple

if not __package__:  # run as a file: `python step16_fast_encoding.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES, show
from .step03_merge import vocabulary
from .step04_train import train_bytes
from .step05_encode import Ranks, encode, ranks, steps  # noqa: F401 `steps` is for the example above

Entry = tuple[int, int, int, int]  # rank, position of the left symbol, left symbol, right symbol
# Arguments of a trace: popped entry, True if it was merged, symbols, pushed entries.
Trace = Callable[[Entry | None, bool, list[int], list[Entry]], None]
GONE = -1  # overwrites a symbol that was merged into the previous one


class Work(NamedTuple):
    """Three counts of heap entries: how many were pushed, how many were stale when popped, how many became merges.

    Examples:
        >>> work(list(b"abab"), {(97, 98): (0, 256)})
        Work(pushed=2, stale=0, merges=2)
    """

    pushed: int
    stale: int
    merges: int


def encode_fast(ids: Sequence[int], ranks: Ranks, trace: Trace | None = None) -> list[int]:
    """Merge in time n·log n, with the result of `encode` of step 5: the lowest rank first, from left to right.

    Args:
        ids: The text in the alphabet's ids: its bytes at byte level.
        ranks: What `ranks()` of step 5 makes of a list of merges, for which `in_order` must be true.
        trace: Called once with the initial entries of the heap, and after each entry that is popped.

    Examples:
        >>> encode_fast(list(b"ababa"), {(97, 98): (0, 256)})
        [256, 256, 97]
        >>> encode_fast([], {})
        []
    """
    symbols = list(ids)
    end = len(symbols)
    before = list(range(-1, end - 1))  # position -> position of the symbol before it, or -1 if there is none
    after = list(range(1, end + 1))  # position -> position of the symbol after it, or `end` if there is none

    def entry(at: int) -> list[Entry]:
        """Return a list with the entry of the pair that begins at `at`. If the pair cannot merge, the list is empty."""
        if at < 0 or after[at] == end or (pair := (symbols[at], symbols[after[at]])) not in ranks:
            return []
        return [(ranks[pair][0], at, *pair)]

    heap = [found for at in range(end) for found in entry(at)]
    if trace:
        trace(None, False, symbols, sorted(heap))
    heapify(heap)
    while heap:
        _, at, left, right = popped = heappop(heap)
        if symbols[at] != left or after[at] == end or symbols[after[at]] != right:  # stale
            if trace:
                trace(popped, False, symbols, [])
            continue
        gone = after[at]
        symbols[at], symbols[gone] = ranks[left, right][1], GONE
        after[at] = after[gone]
        if after[at] < end:
            before[after[at]] = at
        pushed = entry(before[at]) + entry(at)
        for new in pushed:
            heappush(heap, new)
        if trace:
            trace(popped, True, symbols, pushed)
    return [id for id in symbols if id != GONE]


def in_order(ranks: Ranks) -> bool:
    """Tell whether every merge has a higher rank than the merges that made its two symbols.

    Examples:
        >>> in_order({(97, 98): (0, 256), (256, 97): (1, 257)})
        True
    """
    made = {new: rank for rank, new in ranks.values()}
    return all(made.get(symbol, -1) < rank for pair, (rank, _) in ranks.items() for symbol in pair)


def work(ids: Sequence[int], ranks: Ranks) -> Work:
    """Encode `ids`, and count the entries of the heap.

    Examples:
        >>> work(list(b"aaaaa"), {(97, 97): (0, 256)})
        Work(pushed=4, stale=2, merges=2)
    """
    pushed = stale = merges = 0

    def count(popped: Entry | None, merged: bool, symbols: list[int], new: list[Entry]) -> None:
        nonlocal pushed, stale, merges
        pushed += len(new)
        stale += popped is not None and not merged
        merges += merged

    encode_fast(ids, ranks, count)
    return Work(pushed, stale, merges)


def explain_heap(ids: Sequence[int], ranks: Ranks, spelling: Mapping[int, bytes]) -> str:
    """Describe, for a short text, each entry that is popped from the heap and each new entry that is pushed.

    Examples:
        >>> print(explain_heap(list(b"ab"), {(97, 98): (0, 256)}, BYTES | {256: b"ab"}))
        push a+b rank 0 at 0
        pop  a+b rank 0 at 0   ab
        1 pushed, 0 stale, 1 merges
    """
    rows: list[tuple[str, str, str]] = []

    def plain(id: int) -> str:
        return show(spelling[id]).strip("'")

    def describe(entry: Entry) -> str:
        rank, at, left, right = entry
        return f"{plain(left)}+{plain(right)} rank {rank} at {at}"

    def trace(popped: Entry | None, merged: bool, symbols: list[int], new: list[Entry]) -> None:
        push = "push " + ", ".join(map(describe, new)) if new else ""
        line = " ".join(plain(id) for id in symbols if id != GONE) if merged else "stale"
        rows.append((f"pop  {describe(popped)}", line, push) if popped else (push or "nothing to push", "", ""))

    encode_fast(ids, ranks, trace)
    popped, lines = (max((len(row[column]) for row in rows[1:]), default=0) for column in (0, 1))
    done = [f"{row[0]:<{popped}}   {row[1]:<{lines}}   {row[2]}".rstrip() for row in rows[1:]]
    pushed, stale, merges = work(ids, ranks)
    return "\n".join([rows[0][0], *done, f"{pushed} pushed, {stale} stale, {merges} merges"])


def sample(size: int) -> str:
    """Make a text of random words, in which some letters are frequent; the text is the same each time.

    Examples:
        >>> sample(40)
        'ettttoeo ee ienlerni toeeeenetole hnnae '
    """
    rng = random.Random(16)  # noqa: S311 the same text each time
    return "".join(rng.choices(" etaoinsrlh", [8, 6, 4, 3, 3, 3, 3, 2, 2, 1, 1], k=size))


def main() -> None:
    """Explain how a word is encoded, then measure both encoders on texts that are not split."""
    merges = train_bytes("old older fast faster fastest best better yes desk mess", 270)
    print(explain_heap(list(b"oldest"), ranks(merges), vocabulary(BYTES, merges)))
    table = ranks(train_bytes(sample(2000), 556))
    for size in (1000, 4000):
        ids = list(sample(size).encode())
        assert encode(ids, table) == encode_fast(ids, table)
        seconds = [min(repeat(partial(each, ids, table), number=1, repeat=3)) for each in (encode, encode_fast)]
        print(f"{size:5} bytes: step 5 {seconds[0] * 1000:6.1f} ms, heap {seconds[1] * 1000:5.1f} ms, equal ids")


def beside_jeton() -> None:
    """Encode the examples of this lesson with Jeton, in Python and on the command line."""
    import jeton

    text = "old older fast faster fastest best better yes desk mess"
    table = ranks(train_bytes(text, 270))
    tok = jeton.train([text], 270, level="byte", pattern="none", tie_break="first", min_frequency=1, progress=False)
    for word in ("oldest", text, sample(4000), "s" * 1000):
        assert tok.encode(word) == encode_fast(list(word.encode()), table)
        print(f"jeton: {len(tok.encode(word))} equal ids of {word[:20]!r}")
    with TemporaryDirectory() as folder, chdir(folder):
        Path("text.txt").write_text(text, encoding="utf-8")
        jeton_command(
            "jeton train text.txt -o tok.json -s 270 --level byte --pattern none --tie-break first --min-frequency 1 -q"
        )
        printed = jeton_command("jeton encode -t tok.json oldest")
    assert list(map(int, printed.split())) == encode_fast(list(b"oldest"), table)


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

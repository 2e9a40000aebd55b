"""Step 17. Fast training: counts that are kept up to date.

    python step17_fast_training.py                 also without Jeton
    python -m jeton.reference.step17_fast_training

`train` of step 4 reads the whole corpus for each merge, once to count the pairs and once to merge. This lesson solves
exercise 4 of step 13: make it faster without changing a single merge.

Which pairs can change their count when `a b` becomes `ab`? Only pairs that overlap an occurrence of `a b`. In `x a b y`
the pairs `x a`, `a b` and `b y` occur once less, the pairs `x ab` and `ab y` once more. All other pairs keep their
count. So `train_fast` keeps four data structures between the merges:

- **Counts**: the count of each pair. A merge updates the counts of the pairs around its occurrences.
- **Positions**: for each pair the positions where it occurs, from left to right. They say where to merge. A position
  can be stale, because another merge took one of the two symbols; then it is skipped.
- **A linked list** of the symbols, as in step 16. Positions stay valid, and each symbol knows its neighbors.
- **A lazy heap** of the pairs: the best pair on top, by count, then by the tie rule. If the count of a pair falls, its
  entry is not changed. When the entry comes to the top, its count is compared with the current count; if they differ,
  the pair is pushed again with the current count.

The lazy heap works because counts of existing pairs only fall: a merge makes new pairs, but each of them contains the
new symbol and was never in the heap before. A new pair is pushed when the merge is complete, because its count rises
until then. Therefore the count of an entry is either correct or too high. If the count of the top entry is correct, no
other pair is better.

The first two merges of `abcababcaabc`, `ab` and `abc`, with all counts that they change:

>>> chain = Chain([list(b"abcababcaabc")], [1])
>>> spelling = BYTES | {256: b"ab", 257: b"abc"}
>>> for pair, new in (((97, 98), 256), ((256, 99), 257)):
...     for (left, right), change in chain.merge(pair, new).items():
...         print(f"{spelling[left].decode()}+{spelling[right].decode()} {change:+}", end="; ")
...     print("all others keep theirs")
a+b -4; b+c -3; ab+c +3; c+a -1; b+a -1; c+ab +1; ab+ab +1; a+a -1; a+ab +1; all others keep theirs
ab+c -3; c+ab -1; abc+ab +1; ab+ab -1; c+a -1; ab+abc +1; abc+a +1; a+ab -1; a+abc +1; all others keep theirs

**Ties.** `lowest_ids`, `highest_pair` and `shortest` compare ids and spellings, which never change. `first` asks for
the first occurrence, and that does change: merges destroy occurrences, so the first one that is left moves to the
right. This change, too, only makes an entry worse, so the same heap works for all four rules.

>>> for rule in TIE_BREAKS:
...     fast = train_fast([list(b"abcababcaabc")], None, BYTES, 10, tie_break=rule)
...     print(rule.ljust(12), fast == train([list(b"abcababcaabc")], None, BYTES, 10, tie_break=rule))
first        True
lowest_ids   True
highest_pair True
shortest     True

**Overlaps.** `aaa` contains `a a` twice (step 2), but only one can be merged. This merge destroys the other occurrence,
and the count falls by two. So it would be wrong to subtract the number of merged positions; instead, counts are changed
pair by pair, from left to right.

>>> [merge.count for merge in train_fast([list(b"aaaa")], None, BYTES, 10)]
[3, 1]

**The cost.** The cost of a merge is proportional to its number of positions, and each position shortens the corpus by
one symbol. For 300 merges on a corpus of words whose frequencies follow Zipf's law:

>>> sequences, weights = corpus(words=1000)
>>> read, work = [], Counter()  # step 4 reads all symbols twice for each merge: to count and to merge
>>> slow = train(sequences, weights, BYTES, 300, trace=lambda _, before, __: read.append(2 * sum(map(len, before))))
>>> train_fast(sequences, weights, BYTES, 300, work=work) == slow
True
>>> sum(read), work["read"]
(1829936, 20485)
>>> work["pushed"], work["stale"]  # entries of the heap
(2387, 489)

`python step17_fast_training.py 3000 221` runs 221 merges on 3,000 words: 4.43 million symbols against 59 thousand.

**With Jeton.** The engine also keeps counts and positions, but has a bucket for each count instead of the heap:

    tok = jeton.train(counts, 306, level="byte", pattern="none", tie_break=rule, min_frequency=1, progress=False)

    $ jeton train words.txt -o tok.json -s 306 --documents line --level byte --pattern none \\
        --tie-break first --min-frequency 1 -q

Left out: memory. The positions of all pairs take as much memory as the corpus. Engines store the words that contain a
pair instead, or count the pairs of rare words again. Next: step10_words.py.

Source: subword-nmt (learn_bpe.py) keeps counts and positions; Hugging Face's tokenizers (models/bpe/trainer.rs) has
the lazy heap as well.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import chdir
from heapq import heapify, heappop, heappush
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if not __package__:  # run as a file: `python step17_fast_training.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES
from .step02_pairs import Pair
from .step03_merge import Merge
from .step04_train import TIE_BREAKS, train

GAP = -1  # follows each sequence, so that no pair joins two sequences


class Chain:
    """Linked list of the symbols of all sequences, with the counts and positions of their pairs.

    Examples:
        >>> chain = Chain([list(b"abcab"), list(b"b")], [1, 1])
        >>> chain.counts[97, 98], chain.positions[97, 98]
        (2, deque([1, 4]))
        >>> chain.merge((97, 98), 256)
        {(97, 98): -2, (98, 99): -1, (256, 99): 1, (99, 97): -1, (99, 256): 1}
        >>> chain.counts
        {(256, 99): 1, (99, 256): 1}
    """

    def __init__(self, sequences: Sequence[Sequence[int]], weights: Sequence[int]) -> None:
        self.symbols, self.weights = [GAP], [0]
        for sequence, weight in zip(sequences, weights, strict=True):
            self.symbols += [*sequence, GAP]
            self.weights += [weight] * (len(sequence) + 1)
        size = len(self.symbols)
        self.before, self.after = list(range(-1, size - 1)), list(range(1, size + 1))
        self.counts: dict[Pair, int] = {}
        self.positions: dict[Pair, deque[int]] = {}
        for at in range(size - 1):
            self.change(at, +1, self.counts)

    def change(self, at: int, sign: int, *tables: dict[Pair, int]) -> None:
        """Add `sign` (1 or -1) times the weight of the pair at position `at` to its count in each of `tables`."""
        pair = (self.symbols[at], self.symbols[self.after[at]])
        for table in tables if GAP not in pair else ():
            table[pair] = table.get(pair, 0) + sign * self.weights[at]
        if GAP not in pair and sign > 0:
            self.positions.setdefault(pair, deque()).append(at)

    def first(self, pair: Pair) -> int:
        """Return the first position where a pair still occurs; drop the stale positions before it."""
        positions = self.positions[pair]
        while (self.symbols[positions[0]], self.symbols[self.after[positions[0]]]) != pair:
            positions.popleft()
        return positions[0]

    def merge(self, pair: Pair, new: int) -> dict[Pair, int]:
        """Merge a pair everywhere, from left to right, and return the changes of counts."""
        changes: dict[Pair, int] = {}
        for at in self.positions.pop(pair):
            gone = self.after[at]
            if (self.symbols[at], self.symbols[gone]) != pair:
                continue  # stale position
            for place in (self.before[at], at, gone):
                self.change(place, -1, self.counts, changes)
            self.symbols[at], self.symbols[gone] = new, GAP
            self.after[at] = self.after[gone]
            self.before[self.after[at]] = at
            for place in (self.before[at], at):
                self.change(place, +1, self.counts, changes)
        for changed in [pair for pair in changes if not self.counts[pair]]:
            del self.counts[changed]
        return {pair: by for pair, by in changes.items() if by}


def train_fast(
    sequences: Sequence[Sequence[int]],
    weights: Sequence[int] | None,
    strings: Mapping[int, bytes],
    num_merges: int,
    *,
    tie_break: str = "first",
    min_frequency: int = 1,
    next_id: int | None = None,
    work: Counter[str] | None = None,
) -> list[Merge]:
    """Learn the same merges as `train` of step 4, from the same arguments.

    Adds to the counters of `work`: symbols "read" (each symbol once at the start, then four at each position of a
    merge: the pair and its two neighbors), entries "pushed" to the heap, and entries that were "stale" when they came
    to the top.

    Raises:
        ValueError: If the tie rule is unknown.

    Examples:
        >>> train_fast([[1, 2, 3, 1, 2]], None, {1: b"a", 2: b"b", 3: b"c"}, 1)
        [Merge(left=1, right=2, new=4, count=2)]
    """
    if tie_break not in TIE_BREAKS:
        raise ValueError(f"tie_break is {tie_break!r}, expected one of {', '.join(TIE_BREAKS)}")
    chain = Chain(sequences, [1] * len(sequences) if weights is None else weights)
    spelling, size = dict(strings), dict.fromkeys(strings, 1)
    work = Counter() if work is None else work

    def entry(pair: Pair) -> tuple[int, Any, Pair]:
        """Return the heap entry of a pair. The lowest entry is the pair that `choose` of step 4 would choose."""
        left, right = pair
        key: Any = pair
        match tie_break:
            case "first":
                key = chain.first(pair)
            case "highest_pair":  # 255 - byte reverses the order of bytes; 256 at the end puts prefixes last
                key = (*([255 - byte for byte in spelling[id]] + [256] for id in pair), pair)
            case "shortest":
                key = (size[left] + size[right], spelling[left] + spelling[right], pair)
        return -chain.counts[pair], key, pair

    heap = [entry(pair) for pair in chain.counts]
    heapify(heap)
    work.update(read=len(chain.symbols), pushed=len(heap))
    merges: list[Merge] = []
    new = max(strings, default=-1) + 1 if next_id is None else next_id
    while heap and len(merges) < num_merges:
        popped = heappop(heap)
        left, right = pair = popped[2]
        now = entry(pair) if pair in chain.counts else None
        if popped != now:
            work["stale"] += 1
            if now:
                heappush(heap, now)
                work["pushed"] += 1
            continue
        if -popped[0] < min_frequency:
            break
        work["read"] += 4 * len(chain.positions[pair])
        merges.append(Merge(*pair, new, chain.counts[pair]))
        spelling[new], size[new] = spelling[left] + spelling[right], size[left] + size[right]
        for made in chain.merge(pair, new):
            if new in made and made in chain.counts:
                heappush(heap, entry(made))
                work["pushed"] += 1
        new += 1
    return merges


def corpus(words: int) -> tuple[list[list[int]], list[int]]:
    """Make a corpus of different words, always the same corpus. Word n occurs 10 * words / n times (Zipf's law).

    Examples:
        >>> sequences, weights = corpus(4)
        >>> [bytes(sequence) for sequence in sequences], weights
        ([b'mobosuma', b'toteno', b'sorineka', b'turutumi'], [40, 20, 13, 10])
    """
    rng = random.Random(17)  # noqa: S311 the same words each time
    syllables = [first + second for first in "tsnrdlmkpbgf" for second in "eaiou"]
    made: dict[str, int] = {}
    while len(made) < words:
        word = "".join(rng.choices(syllables, range(60, 0, -1), k=rng.randrange(1, 5)))
        made.setdefault(word, 10 * words // (len(made) + 1))
    return [list(word.encode()) for word in made], list(made.values())


def main(words: int = 1000, num_merges: int = 300) -> None:
    """Compare the work and the time of `train` and `train_fast`."""
    sequences, weights = corpus(words)
    read, work = list[int](), Counter[str]()
    times = [time.perf_counter()]
    slow = train(sequences, weights, BYTES, num_merges, trace=lambda _, old, __: read.append(2 * sum(map(len, old))))
    times.append(time.perf_counter())
    assert train_fast(sequences, weights, BYTES, num_merges, work=work) == slow
    times.append(time.perf_counter())
    print(f"{words} words of {sum(map(len, sequences))} bytes, {num_merges} merges, equal in both:")
    print(f"  step 4 reads {sum(read):,} symbols, {times[1] - times[0]:.2f} s")
    print(f"  step 17 reads {work['read']:,} symbols, {times[2] - times[1]:.2f} s")
    print(f"  the heap has {work['pushed']:,} entries, {work['stale']:,} of them stale")


def beside_jeton() -> None:
    """Train on the corpus of this lesson with Jeton: in Python with each tie rule, and once on the command line."""
    import jeton

    sequences, weights = corpus(100)
    counts = {bytes(sequence).decode(): weight for sequence, weight in zip(sequences, weights, strict=True)}
    for rule in TIE_BREAKS:
        tok = jeton.train(counts, 306, level="byte", pattern="none", tie_break=rule, min_frequency=1, progress=False)  # type: ignore[arg-type]
        assert tok.merges == tuple(merge[:3] for merge in train_fast(sequences, weights, BYTES, 50, tie_break=rule))
        print(f"jeton, {rule}: {len(tok.merges)} equal merges")
    with TemporaryDirectory() as folder, chdir(folder):
        Path("words.txt").write_text("".join(f"{word}\n" * count for word, count in counts.items()), encoding="utf-8")
        jeton_command(
            "jeton train words.txt -o tok.json -s 306 --documents line --level byte --pattern none "
            "--tie-break first --min-frequency 1 -q"
        )
        saved = jeton.load("tok.json").merges
    assert saved == tuple(merge[:3] for merge in train_fast(sequences, weights, BYTES, 50, tie_break="first"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
    with_jeton(beside_jeton)

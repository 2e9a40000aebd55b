"""Step 17. Fast training: counts that are kept up to date.

    python step17_fast_training.py                 also without Jeton
    python -m jeton.reference.step17_fast_training

`train` of step 4 reads the whole corpus for each merge, once to count the pairs and once to merge. This lesson solves
exercise 4 of step 13: make it faster without changing a single merge.

Which pairs can change their count when `a b` becomes `ab`? Only those that touch a place where it happens. In
`x a b y` the pairs `x a`, `a b` and `b y` occur once less, the pairs `x ab` and `ab y` once more. All others keep
their count. So `train_fast` keeps four things between the merges:

- **Counts**: for each pair its count. A merge changes it at the places where it happens.
- **Positions**: for each pair the places where it occurs, from left to right. They say where to merge. A place can be
  out of date, because another merge took one of the two symbols; then it is skipped.
- **A linked list** of the symbols, as in step 16. Positions stay valid, and each symbol knows its neighbors.
- **A lazy heap** of the pairs: the best one on top, by count, then by the tie rule. If a count falls, its entry is left
  as it is. When it comes to the top it is compared with the count of now; if they differ, it is pushed again with that.

The last works because counts of existing pairs only fall: a merge makes new pairs, but each of them contains the new
symbol and was never in the heap before. An entry of the heap is therefore too good or right, never too bad. If the top
one is right, no other pair is better.

The first two merges of `abcababcaabc`, with all counts that they change:

>>> _ = train_fast([list(b"abcababcaabc")], None, BYTES, 2, trace=print_changes(BYTES))
(97, 98) -> 256 'ab'
  fewer: 'a'+'b' -4, 'b'+'c' -3, 'c'+'a' -1, 'b'+'a' -1, 'a'+'a' -1
  more:  'ab'+'c' +3, 'c'+'ab' +1, 'ab'+'ab' +1, 'a'+'ab' +1
(256, 99) -> 257 'abc'
  fewer: 'ab'+'c' -3, 'c'+'ab' -1, 'ab'+'ab' -1, 'c'+'a' -1, 'a'+'ab' -1
  more:  'abc'+'ab' +1, 'ab'+'abc' +1, 'abc'+'a' +1, 'a'+'abc' +1

**Ties.** `lowest_ids`, `highest_pair` and `shortest` compare ids and spellings, which never change. `first` asks for
the first occurrence, and that does change: merges destroy occurrences, so the first one that is left moves to the
right. That too only makes an entry worse, so the same heap holds all four rules.

>>> for rule in TIE_BREAKS:
...     fast = train_fast([list(b"abcababcaabc")], None, BYTES, 10, tie_break=rule)
...     print(rule.ljust(12), fast == train([list(b"abcababcaabc")], None, BYTES, 10, tie_break=rule))
first        True
lowest_ids   True
highest_pair True
shortest     True

**Overlaps.** `aaa` holds `a a` twice (step 2), but merges once. The first merge destroys the second occurrence, and the
count falls by two. Counting how many places are merged would be wrong; the counts of the neighbors must be changed one
by one, in the order from left to right.

>>> [merge.count for merge in train_fast([list(b"aaaa")], None, BYTES, 10)]
[3, 1]

**The cost.** A merge costs as much as it has places, and each place shortens the corpus by one symbol. On a corpus of
words whose frequencies follow Zipf's law, 300 merges:

>>> sequences, weights = corpus(words=1000)
>>> report = Report()
>>> fast = train_fast(sequences, weights, BYTES, 300, report=report)
>>> slow, read = symbols_read(sequences, weights, 300)
>>> slow == fast, read, report.read  # equal merges; symbols read by step 4, and here
(True, 1829936, 20485)
>>> report.pushed, report.stale  # entries of the heap
(2387, 489)

`python step17_fast_training.py 3000 221` takes 3,000 words and 221 merges: 4.43 million symbols against 59 thousand.

**With Jeton.** The engine does the same, in several threads, for all four rules:

    tok = jeton.train(counts, 306, pattern="none", tie_break="first", min_frequency=1)     # counts: word -> count
    tok.merges                                                                      # left, right and new id of each

    $ jeton train words.txt -o tok.json -s 306 --documents line --pattern none --tie-break first --min-frequency 1

Left out: memory. The positions of all pairs are as long as the corpus; engines keep the words that contain a pair
instead, or count the pairs of rare words again. Next: step18_sentencepiece.py.

Source: subword-nmt (learn_bpe.py) keeps counts and positions; Hugging Face's tokenizers (models/bpe/trainer.rs) has
the lazy heap as well.
"""

from __future__ import annotations

import random
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if not __package__:  # run as a file: `python step17_fast_training.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES, show
from .step02_pairs import Pair
from .step03_merge import Merge
from .step04_train import TIE_BREAKS, train

GAP = -1  # stands after each sequence, so that no pair reaches from one to the next
Trace = Callable[[Merge, dict[Pair, int]], None]  # the merge, and the changes of counts by it
Key = tuple[object, ...]  # what the tie rule compares; the lowest wins


@dataclass
class Report:
    """Work of a training: symbols read, entries pushed to the heap, and entries whose count had fallen.

    Each symbol is read once at the start. Then each place of a merge costs four: the pair and its two neighbors.
    """

    read: int = 0
    pushed: int = 0
    stale: int = 0


class Chain:
    """All sequences as one linked list of symbols, with the counts and positions of their pairs.

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
        self.symbols = [GAP]
        self.weights = [0]
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
        """Count the pair at a position once more or once less."""
        pair = (self.symbols[at], self.symbols[self.after[at]])
        if GAP in pair:
            return
        for table in tables:
            table[pair] = table.get(pair, 0) + sign * self.weights[at]
        if sign > 0:
            self.positions.setdefault(pair, deque()).append(at)

    def first(self, pair: Pair) -> int:
        """Position of the first occurrence that is left."""
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
                continue  # out of date
            for place in (self.before[at], at, gone):
                self.change(place, -1, self.counts, changes)
            self.symbols[at], self.symbols[gone] = new, GAP
            self.after[at] = self.after[gone]
            self.before[self.after[at]] = at
            for place in (self.before[at], at):
                self.change(place, +1, self.counts, changes)
        for changed in changes:
            if not self.counts[changed]:
                del self.counts[changed]
        return changes


def train_fast(
    sequences: Sequence[Sequence[int]],
    weights: Sequence[int] | None,
    strings: Mapping[int, bytes],
    num_merges: int,
    *,
    tie_break: str = "first",
    min_frequency: int = 1,
    next_id: int | None = None,
    report: Report | None = None,
    trace: Trace | None = None,
) -> list[Merge]:
    """Learn the merges of `train` of step 4, from the same arguments.

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
    report = report or Report()
    report.read += len(chain.symbols)

    def entry(pair: Pair) -> tuple[int, Key, Pair]:
        """Order pairs like `choose` of step 4: the highest count, then the tie rule."""
        left, right = pair
        key: Key
        match tie_break:
            case "first":
                key = (chain.first(pair),)
            case "lowest_ids":
                key = pair
            case "highest_pair":  # 255 - byte turns the order around; 256 is the end, and longer is higher
                key = (*([255 - byte for byte in spelling[id]] + [256] for id in pair), pair)
            case _:
                key = (size[left] + size[right], spelling[left] + spelling[right], pair)
        return -chain.counts[pair], key, pair

    heap = [entry(pair) for pair in chain.counts]
    heapify(heap)
    report.pushed += len(heap)
    merges: list[Merge] = []
    new = max(strings, default=-1) + 1 if next_id is None else next_id
    while heap and len(merges) < num_merges:
        popped = heappop(heap)
        pair = popped[2]
        if pair not in chain.counts:
            report.stale += 1
            continue
        if popped != (now := entry(pair)):
            heappush(heap, now)
            report.stale += 1
            report.pushed += 1
            continue
        if -popped[0] < min_frequency:
            break
        report.read += 4 * len(chain.positions[pair])
        merges.append(Merge(*pair, new, chain.counts[pair]))
        spelling[new] = spelling[pair[0]] + spelling[pair[1]]
        size[new] = size[pair[0]] + size[pair[1]]
        changes = chain.merge(pair, new)
        for made in changes:
            if new in made and made in chain.counts:
                heappush(heap, entry(made))
                report.pushed += 1
        if trace:
            trace(merges[-1], changes)
        new += 1
    return merges


def print_changes(strings: Mapping[int, bytes]) -> Trace:
    """Make a trace that prints every merge and the counts that it changes; for small texts.

    Examples:
        >>> _ = train_fast([[1, 2, 1, 2]], None, {1: b"a", 2: b"b"}, 1, trace=print_changes({1: b"a", 2: b"b"}))
        (1, 2) -> 3 'ab'
          fewer: 'a'+'b' -2, 'b'+'a' -1
          more:  'ab'+'ab' +1
    """
    spelling = dict(strings)

    def pair(left: int, right: int) -> str:
        return f"{show(spelling[left])}+{show(spelling[right])}"

    def trace(merge: Merge, changes: dict[Pair, int]) -> None:
        left, right, new, _ = merge
        spelling[new] = spelling[left] + spelling[right]
        print(f"{(left, right)} -> {new} {show(spelling[new])}")
        for name, sign in (("fewer:", -1), ("more: ", +1)):
            print(" ", name, ", ".join(f"{pair(*ids)} {by:+}" for ids, by in changes.items() if by * sign > 0))

    return trace


def symbols_read(
    sequences: Sequence[Sequence[int]], weights: Sequence[int] | None, num_merges: int
) -> tuple[list[Merge], int]:
    """Train by step 4, and count the symbols that it reads: all of them twice for a merge, to count and to merge.

    Examples:
        >>> symbols_read([list(b"abab")], None, 2)[1]
        12
    """
    read = 0

    def count(merge: Merge, before: list[list[int]], after: list[list[int]]) -> None:
        nonlocal read
        read += 2 * sum(map(len, before))

    return train(sequences, weights, BYTES, num_merges, trace=count), read


def corpus(words: int) -> tuple[list[list[int]], list[int]]:
    """Make a corpus of different words, always the same; word number n occurs 10 * words / n times (Zipf's law).

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
    """Show the counts that change, then compare the work and the time of both trainers."""
    train_fast([list(b"abcababcaabc")], None, BYTES, 4, trace=print_changes(BYTES))
    sequences, weights = corpus(words)
    start = time.perf_counter()
    slow, read = symbols_read(sequences, weights, num_merges)
    middle = time.perf_counter()
    report = Report()
    fast = train_fast(sequences, weights, BYTES, num_merges, report=report)
    end = time.perf_counter()
    assert fast == slow
    print(f"{words} words of {sum(map(len, sequences))} bytes, {num_merges} merges, equal in both:")
    print(f"  step 4 reads {read} symbols in {middle - start:.2f} s")
    print(f"  step 17 reads {report.read} symbols in {end - middle:.2f} s,", end=" ")
    print(f"{report.pushed} entries pushed to the heap, {report.stale} of them stale")


def beside_jeton() -> None:
    """Train on the corpus of this lesson by Jeton, by each tie rule, in Python and on the command line."""
    import jeton

    sequences, weights = corpus(100)
    counts = {bytes(sequence).decode(): weight for sequence, weight in zip(sequences, weights, strict=True)}
    with TemporaryDirectory() as folder:
        words, saved = Path(folder, "words.txt").as_posix(), Path(folder, "tok.json").as_posix()
        Path(words).write_text("".join(f"{word}\n" * count for word, count in counts.items()), "utf-8")
        for rule in TIE_BREAKS:
            expected = [merge[:3] for merge in train_fast(sequences, weights, BYTES, 50, tie_break=rule)]
            options: dict[str, Any] = {"pattern": "none", "tie_break": rule, "min_frequency": 1}
            print("jeton.train(counts, 306,", ", ".join(f"{name}={value!r}" for name, value in options.items()) + ")")
            tok = jeton.train(counts, 306, **options, progress=False)
            assert list(tok.merges) == expected
            flags = f"-s 306 --documents line --pattern none --tie-break {rule} --min-frequency 1 --quiet"
            jeton_command(f"jeton train {words} -o {saved} {flags}")
            assert list(jeton.load(saved).merges) == expected
    print("The engine learns the same 50 merges by each tie rule.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
    with_jeton(beside_jeton)

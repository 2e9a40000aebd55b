r"""Step 4. Training: count, merge, repeat.

    python step04_train.py                 also without Jeton
    python -m jeton.reference.step04_train

Training a BPE tokenizer is steps 2 and 3 in a loop. Begin with bytes, ids 0 to 255. Count the pairs, give the most
frequent pair the next free id, merge it everywhere, and count again. Each round adds one token, and the list of merges,
in order, *is* the tokenizer. Nothing else is learned.

>>> _ = train_bytes("abcababcaabc", 256 + 4, trace=print_merges(BYTES))
['a','b','c','a','b','a','b','c','a','a','b','c']
(97, 98)   -> 256 'ab'        ['ab','c','ab','ab','c','a','ab','c']
(256, 99)  -> 257 'abc'       ['abc','ab','abc','a','abc']
(257, 256) -> 258 'abcab'     ['abcab','abc','a','abc']
(258, 257) -> 259 'abcababc'  ['abcababc','a','abc']

**Ties.** In the third round four pairs have the count 1. Which pair is merged? Every tokenizer library has its own
rule, mostly undocumented, and another rule gives other merges and another tokenizer:

    first         the pair whose first occurrence comes first       minbpe, tiktoken's teaching code
    lowest_ids    the lowest left id, then the lowest right id      rustbpe; Hugging Face, with other ids (see below)
    highest_pair  the larger left spelling, then the larger right   subword-nmt
    shortest      the shortest result, then the smaller spelling    SentencePiece

>>> for rule in TIE_BREAKS:
...     merges = train_bytes("abcababcaabc", 260, tie_break=rule)
...     print(rule.ljust(12), [show(vocabulary(BYTES, merges)[merge.new]) for merge in merges])
first        ["'ab'", "'abc'", "'abcab'", "'abcababc'"]
lowest_ids   ["'ab'", "'abc'", "'aabc'", "'ababc'"]
highest_pair ["'ab'", "'abc'", "'abcab'", "'abcababc'"]
shortest     ["'ab'", "'abc'", "'aabc'", "'ababc'"]

**Whose ids?** `lowest_ids` compares ids, so the order of the alphabet matters too. Here, and in rustbpe, a byte's id
is its value, and the space, 32, comes before every letter. Hugging Face sorts its alphabet by code point, and at byte
level it writes each byte as a printable character: the bytes that are printable themselves come first, from `!` with
id 0, then the others, among them the space, written `Ġ` (U+0120), with id 220. So in a tie between `a ` and ` a` the
same rule picks another pair:

>>> order = [*range(33, 127), *range(161, 173), *range(174, 256), *range(33), *range(127, 161), 173]
>>> hugging_face = {id: bytes([byte]) for id, byte in enumerate(order)}
>>> hugging_face[0], hugging_face[220]
(b'!', b' ')
>>> merges = train([[order.index(byte) for byte in b"x a b"]], None, hugging_face, 1, tie_break="lowest_ids")
>>> show(vocabulary(hugging_face, merges)[256])
"'a '"
>>> show(vocabulary(BYTES, train_bytes("x a b", 257, tie_break="lowest_ids"))[256])
"' a'"

**When to stop.** After the requested number of merges; or when each sequence is one token and no pair is left; or when
the most frequent pair is rarer than `min_frequency`. A pair that occurs once saves nothing, so 2 is a sensible minimum.
By hand, `aaabdaaabac` goes to `ZabdZabac` (Z=aa), to `ZYdZYac` (Y=ab), to `XdXac` (X=ZY): from 11 symbols to 5.

>>> for left, right, new, count in train_bytes("aaabdaaabac", 300, tie_break="lowest_ids", min_frequency=2):
...     print((left, right), "->", new, "count", count)
(97, 97) -> 256 count 4
(97, 98) -> 257 count 2
(256, 257) -> 258 count 2

Watch it (needs `pip install "jeton[play]"`): while `jeton play --port 7777` runs, this address plays the first example,
forwards and back, and has the four tie rules to choose.

    http://127.0.0.1:7777/#view=train&text=abcababcaabc&pattern=none&ties=first&size:=260&step:=1

The loop is slow, because it reads the whole text again for every merge. A fast engine avoids this, but must learn the
same merges; this file is the reference for testing the engine. Left out: special tokens (step 7), splitting the text
before training (step 8), alphabets other than bytes (steps 9 and 10). Next: step05_encode.py.

**With Jeton.** `jeton.train` learns the same merges under each tie rule. It has other defaults: the pattern `o200k`,
which splits the text first (step 8), and `lowest_ids`. So the pattern and the tie rule are written out here:

    tok = jeton.train([text], 260, level="byte", pattern="none", tie_break=rule, min_frequency=1, progress=False)

    $ jeton train corpus.txt -o tok.json -s 260 --level byte --pattern none \
        --tie-break first --min-frequency 1 --trace -q
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step04_train.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES, show
from .step02_pairs import Pair, count_pairs
from .step03_merge import Merge, merge, vocabulary

__all__ = ["TIE_BREAKS", "Merge", "Trace", "choose", "print_merges", "train", "train_bytes"]

TIE_BREAKS = ("first", "lowest_ids", "highest_pair", "shortest")
Trace = Callable[[Merge, list[list[int]], list[list[int]]], None]  # the merge, sequences before it, sequences after it


def train(
    sequences: Sequence[Sequence[int]],
    weights: Sequence[int] | None,
    strings: Mapping[int, bytes],
    num_merges: int,
    *,
    tie_break: str = "first",
    min_frequency: int = 1,
    next_id: int | None = None,
    trace: Trace | None = None,
) -> list[Merge]:
    """Learn up to `num_merges` merges.

    Args:
        sequences: Documents or pretokens as lists of ids, in order of first appearance.
        weights: Number of occurrences of each sequence, at least 1; None: 1 each.
        strings: The alphabet: the spelling of every id that occurs in `sequences`.
        num_merges: Maximum number of merges.
        tie_break: Rule for pairs of equal count, one of `TIE_BREAKS`.
        min_frequency: Stop when the best pair has a lower count.
        next_id: The id of the first new token; None: one above the highest of the alphabet.
        trace: Called after every merge.

    Raises:
        ValueError: If the tie rule is unknown, a weight is below 1, or an id has no spelling.

    Examples:
        >>> train([[1, 2, 3, 1, 2]], None, {1: b"a", 2: b"b", 3: b"c"}, 1)
        [Merge(left=1, right=2, new=4, count=2)]
        >>> train([[1]], [9], {1: b"a"}, 100)
        []
    """
    if tie_break not in TIE_BREAKS:
        raise ValueError(f"tie_break is {tie_break!r}, expected one of {', '.join(TIE_BREAKS)}")
    if weights is not None and any(weight < 1 for weight in weights):
        raise ValueError("weights must be at least 1: a sequence that never occurs does not belong in the corpus")
    current = [list(sequence) for sequence in sequences]
    if strangers := {id for sequence in current for id in sequence if id not in strings}:
        raise ValueError(f"id {min(strangers)} occurs in the sequences but has no spelling in strings")
    spelling = dict(strings)
    size = dict.fromkeys(strings, 1)  # id -> number of alphabet entries that the token consists of
    new = max(strings, default=-1) + 1 if next_id is None else next_id
    merges: list[Merge] = []
    while len(merges) < num_merges:
        counts = count_pairs(current, weights)
        best = choose(counts, tie_break, spelling, size)
        if best is None or counts[best] < min_frequency:
            break
        before, current = current, [merge(sequence, best, new) for sequence in current]
        merges.append(Merge(*best, new, counts[best]))
        spelling[new] = spelling[best[0]] + spelling[best[1]]
        size[new] = size[best[0]] + size[best[1]]
        if trace:
            trace(merges[-1], before, current)
        new += 1
    return merges


def choose(
    counts: dict[Pair, int], tie_break: str, spelling: Mapping[int, bytes], size: Mapping[int, int]
) -> Pair | None:
    """Pick the pair with the highest count. If several pairs have the highest count, the rule `tie_break` decides.

    Examples:
        >>> letters = {0: b"b", 1: b"a", 2: b"c"}
        >>> counts = count_pairs([[0, 2, 1, 0]])  # bc, ca, ab: once each
        >>> for rule in TIE_BREAKS:
        ...     left, right = choose(counts, rule, letters, {0: 1, 1: 1, 2: 1})
        ...     print(rule.ljust(12), (left, right), show(letters[left] + letters[right]))
        first        (0, 2) 'bc'
        lowest_ids   (0, 2) 'bc'
        highest_pair (2, 1) 'ca'
        shortest     (1, 0) 'ab'
    """
    if not counts:
        return None
    highest = max(counts.values())
    tied = [pair for pair, count in counts.items() if count == highest]  # still in order of first appearance
    match tie_break:
        case "lowest_ids":
            return min(tied)
        case "highest_pair":  # if spellings are equal (never in plain training), ids decide
            return max(tied, key=lambda pair: (spelling[pair[0]], spelling[pair[1]], -pair[0], -pair[1]))
        case "shortest":
            return min(tied, key=lambda p: (size[p[0]] + size[p[1]], spelling[p[0]] + spelling[p[1]], p))
        case _:
            return tied[0]


def train_bytes(
    text: str | Iterable[str],
    vocab_size: int,
    *,
    tie_break: str = "first",
    min_frequency: int = 1,
    split: Callable[[str], Iterable[str]] | None = None,
    next_id: int = 256,
    trace: Trace | None = None,
) -> list[Merge]:
    """Train on the bytes of a text, or of several documents, until there are `vocab_size` tokens.

    Pairs do not cross from one document to the next. With `split` (step 8), each document is first split into
    pretokens, and equal pretokens are stored once, with their count as the weight.

    Raises:
        ValueError: If `vocab_size` is below `next_id`. The default of `next_id` is 256, the size of the byte alphabet.

    Examples:
        >>> train_bytes(["ab", "ab"], 257)
        [Merge(left=97, right=98, new=256, count=2)]
        >>> train_bytes("ab ab abc", 257, split=str.split)
        [Merge(left=97, right=98, new=256, count=3)]
        >>> train_bytes("ab", 1000)  # one merge, and no pair is left
        [Merge(left=97, right=98, new=256, count=1)]
    """
    if vocab_size < next_id:
        raise ValueError(f"vocab_size is {vocab_size}, but {next_id} ids are taken before the first merge")
    documents = [text] if isinstance(text, str) else text
    pretokens = Counter(pretoken for doc in documents for pretoken in (split(doc) if split else [doc]))
    sequences = [list(pretoken.encode("utf-8")) for pretoken in pretokens]
    return train(
        sequences,
        list(pretokens.values()),
        BYTES,
        vocab_size - next_id,
        tie_break=tie_break,
        min_frequency=min_frequency,
        next_id=next_id,
        trace=trace,
    )


def print_merges(strings: Mapping[int, bytes]) -> Trace:
    """Return a function for `trace=` that prints every merge and the whole text after it; for small texts.

    Examples:
        >>> _ = train([[1, 2, 1, 2]], None, {1: b"a", 2: b"b"}, 2, trace=print_merges({1: b"a", 2: b"b"}))
        ['a','b','a','b']
        (1, 2)     -> 3 'ab'        ['ab','ab']
        (3, 3)     -> 4 'abab'      ['abab']
    """
    spelling = dict(strings)

    def line(sequences: list[list[int]]) -> str:
        return " ".join("[" + ",".join(show(spelling[id]) for id in sequence) + "]" for sequence in sequences)

    def trace(merge: Merge, before: list[list[int]], after: list[list[int]]) -> None:
        left, right, new, _ = merge
        if len(spelling) == len(strings):
            print(line(before))
        spelling[new] = spelling[left] + spelling[right]
        print(f"{(left, right)!s:<10} -> {new} {show(spelling[new]):<11} {line(after)}")

    return trace


def main() -> None:
    """Train on the ten words that show every kind of merge, and print the new tokens."""
    text = "old older fast faster fastest best better yes desk mess"
    merges = train_bytes(text, 270)
    spelling = vocabulary(BYTES, merges)
    for left, right, new, count in merges:
        print(f"{new}  {show(spelling[new]):<10} = {show(spelling[left])} + {show(spelling[right])}, count {count}")


def beside_jeton() -> None:
    """Train on the first example with Jeton: in Python with each tie rule, and on the command line."""
    import jeton

    text = "abcababcaabc"
    for rule in TIE_BREAKS:
        merges = train_bytes(text, 260, tie_break=rule)
        tok = jeton.train([text], 260, level="byte", pattern="none", tie_break=rule, min_frequency=1, progress=False)  # type: ignore[arg-type]
        assert tok.merges == tuple((left, right, new) for left, right, new, _ in merges)
        print(f"jeton, {rule}:", [show(tok.vocab[new]) for _, _, new in tok.merges])
    with TemporaryDirectory() as folder, chdir(folder):
        Path("corpus.txt").write_text(text, encoding="utf-8")
        printed = jeton_command(
            "jeton train corpus.txt -o tok.json -s 260 --level byte --pattern none "
            "--tie-break first --min-frequency 1 --trace -q"
        )
    learned = [line.split("'")[1] for line in printed.splitlines()[1:]]  # (97, 98) -> 256 'ab' …
    spelling = vocabulary(BYTES, merges := train_bytes(text, 260, tie_break="first"))
    assert learned == [spelling[merge.new].decode() for merge in merges]


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

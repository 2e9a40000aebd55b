"""Step 2. Counting pairs of neighbors.

    python step02_pairs.py                 also without Jeton
    python -m jeton.reference.step02_pairs

BPE asks one question again and again: *which two neighbors occur most often?* This step answers it. A pair is two ids
next to each other, and a list of five ids holds four pairs:

    1  2  3  1  2
    (1, 2)              seen once
       (2, 3)           seen once
          (3, 1)        seen once
             (1, 2)     seen a second time

>>> count_pairs([[1, 2, 3, 1, 2]])
{(1, 2): 2, (2, 3): 1, (3, 1): 1}

Three details look small here and decide the result later.

**Pairs overlap.** In `aaa` the pair `aa` is counted twice: letters 1 and 2, then letters 2 and 3. Step 3 can merge it
only once. Counting overlaps is a convention: minbpe, rustbpe, Hugging Face, SentencePiece and subword-nmt all count
this way. Another way of counting would train another tokenizer.

>>> count_pairs([list(b"aaa")])
{(97, 97): 2}

**Sequences are separate.** The input is a list of sequences (documents, or the pretokens of step 8), and no pair
reaches from the end of one to the start of the next.

>>> count_pairs([[1, 2], [3, 4]])
{(1, 2): 1, (3, 4): 1}

**Sequences have weights.** A word that occurs six times need not be stored six times: store it once with weight 6,
and each of its pairs counts six. A million words of English contain only some tens of thousands of different words, so
training reads about a thirtieth of the sequences: minutes instead of hours.

>>> count_pairs([list(b"low"), list(b"lower")], weights=[5, 2])
{(108, 111): 7, (111, 119): 7, (119, 101): 2, (101, 114): 2}

One more detail: a Python `dict` keeps its keys in the order of insertion, so the pairs in this table are in the order
of their *first appearance* in the text. Step 4 uses this order.

Look at the counts (needs `pip install "jeton[play]"`): while `jeton play --port 7777` runs, this address shows the
pairs of a text as bars.

    http://127.0.0.1:7777/#view=train&text=abcababcaabc&pattern=none&ties=first&size:=260

This step leaves out what to do with the most frequent pair. Next: step03_merge.py.

**With Jeton.** Training for one merge finds the most frequent pair, and its log has the count. A corpus may also be a
mapping from text to weight. The command line writes the same log to a file:

    tok = jeton.train([text], 257, level="byte", pattern="none", tie_break="first", progress=False)
    weighted = jeton.train({"low": 5, "lower": 2}, 257, level="byte", tie_break="first", progress=False)

    $ jeton train corpus.txt -o tok.json -s 257 --level byte --pattern none --tie-break first --log log.tsv -q
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step02_pairs.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import show

Pair = tuple[int, int]  # (left id, right id)


def count_pairs(sequences: Sequence[Sequence[int]], weights: Sequence[int] | None = None) -> dict[Pair, int]:
    """Count every pair of neighbors; each occurrence adds the weight of its sequence to the count.

    Args:
        sequences: Documents or pretokens, each a list of ids.
        weights: Number of occurrences of each sequence; 1 each if omitted.

    Returns:
        Dictionary from pair to count, in order of first appearance.

    Raises:
        ValueError: If there is not exactly one weight for each sequence.

    Examples:
        >>> count_pairs([[1, 1, 1, 1]])
        {(1, 1): 3}
        >>> count_pairs([[7], []])
        {}
    """
    if weights is None:
        weights = [1] * len(sequences)
    counts: dict[Pair, int] = {}
    for sequence, weight in zip(sequences, weights, strict=True):
        for pair in pairwise(sequence):
            counts[pair] = counts.get(pair, 0) + weight
    return counts


def most_frequent(counts: dict[Pair, int]) -> Pair:
    """Return the pair with the highest count; if several pairs have it, the one that appeared first.

    Examples:
        >>> most_frequent(count_pairs([[1, 2, 3, 1, 2]]))
        (1, 2)
        >>> most_frequent({(5, 6): 3, (1, 2): 3})
        (5, 6)
    """
    return max(counts, key=lambda pair: counts[pair])  # if counts are equal, max returns the first pair


def main() -> None:
    """Print the pairs of a short text, the most frequent first."""
    text = "old older oldest"
    counts = count_pairs([list(text.encode())])
    print(f"{text!r} holds {sum(counts.values())} pairs, {len(counts)} different:")
    for (left, right), count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"  ({left}, {right})".ljust(14), show(bytes([left, right])).ljust(6), count)


def beside_jeton() -> None:
    """Check that Jeton first merges the most frequent pair, and that its training log has the count of this pair."""
    import jeton

    text, words = "abcababcaabc", {"low": 5, "lower": 2}
    counts = count_pairs([list(text.encode())])
    best = most_frequent(counts)
    tok = jeton.train([text], 257, level="byte", pattern="none", tie_break="first", progress=False)
    assert tok.merges == ((*best, 256),)

    word_counts = count_pairs([list(word.encode()) for word in words], list(words.values()))
    weighted = jeton.train({"low": 5, "lower": 2}, 257, level="byte", tie_break="first", progress=False)
    assert weighted.merges == ((*most_frequent(word_counts), 256),)

    for name, trained, expected in (("text", tok, counts), ("words", weighted, word_counts)):
        assert trained.training
        assert trained.training.log
        (step,) = trained.training.log
        assert step.pair_count == expected[step.left, step.right]
        print(f"jeton, {name}: ({step.left}, {step.right}) {show(step.token)}, count {step.pair_count}")
    with TemporaryDirectory() as folder, chdir(folder):
        Path("corpus.txt").write_text(text, encoding="utf-8")
        jeton_command(
            "jeton train corpus.txt -o tok.json -s 257 --level byte --pattern none --tie-break first --log log.tsv -q"
        )
        heads, values = (line.split("\t") for line in Path("log.tsv").read_text(encoding="utf-8").splitlines())
    row = dict(zip(heads, values, strict=True))
    print("log.tsv:", {name: row[name] for name in ("left", "right", "pair_count")})
    assert [row["left"], row["right"], row["pair_count"]] == [str(number) for number in (*best, counts[best])]


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

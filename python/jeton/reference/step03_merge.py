"""Step 3. Merging: a pair becomes one new id.

    python step03_merge.py                 also without Jeton
    python -m jeton.reference.step03_merge

Step 2 found the most frequent pair. Now it gets a number of its own, and each occurrence of the two neighbors is
replaced by the new number. In the list of step 2, let 4 be the new number of `(1, 2)`:

>>> merge([1, 2, 3, 1, 2], (1, 2), 4)
[4, 3, 4]

Five ids became three and nothing was lost: a program that knows that 4 means "1, then 2" can undo it. That is the
whole idea of byte pair encoding, which Philip Gage published for files in 1994, and which Rico Sennrich and his
colleagues applied to machine translation in 2016.

**From left to right, without overlap.** In `aaa` the pair `aa` was counted twice, but it can be merged only once:
when the first two letters have been used up, the third has no partner left.

>>> merge([97, 97, 97], (97, 97), 256)
[256, 97]
>>> merge([97, 97, 97, 97], (97, 97), 256)
[256, 256]

Starting from the right would give `[97, 256]`, which is just as short, but it would be another tokenizer. All libraries
start from the left, and so do these lessons.

**One pass is enough.** The new id did not exist before, so it cannot be part of the pair that is being merged. A later
merge can use it, and so tokens grow: `a` and `b` make `ab`, then `ab` and `c` make `abc`.

>>> ids = list(b"abcabc")
>>> ids = merge(ids, (97, 98), 256)
>>> ids
[256, 99, 256, 99]
>>> merge(ids, (256, 99), 257)
[257, 257]

So a merge is three ids: left, right and new. The bytes of the alphabet and the list of merges give the bytes of every
token:

>>> vocabulary({97: b"a", 98: b"b", 99: b"c"}, [Merge(97, 98, 256), Merge(256, 99, 257)])
{97: b'a', 98: b'b', 99: b'c', 256: b'ab', 257: b'abc'}

This step leaves out how many merges to do and in which order. Next: step04_train.py.

Source: Gage, "A New Algorithm for Data Compression", C Users Journal, 1994; Sennrich, Haddow and Birch, "Neural
Machine Translation of Rare Words with Subword Units", ACL 2016.

**With Jeton.** A tokenizer can be made from an alphabet and merges without training. It applies them as `merge` does:

    tok = jeton.Tokenizer.from_merges(vocab, [(97, 98, 256), (256, 99, 257)], pattern="none")

    $ jeton encode -t tok.json abcabc
    257 257
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir
from tempfile import TemporaryDirectory
from typing import NamedTuple

if not __package__:  # run as a file: `python step03_merge.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step02_pairs import Pair, count_pairs, most_frequent


class Merge(NamedTuple):
    """A merge: the pair `left`, `right` becomes `new`; `count` is the count of the pair when it was chosen."""

    left: int
    right: int
    new: int
    count: int = 0  # type: ignore[assignment]  # weighted, with overlaps; 0 if unknown, as in a file


def merge(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """Replace `pair` by `new` wherever it occurs in `ids`, from left to right, without overlap.

    Returns:
        A new list; `ids` is not changed.

    Examples:
        >>> merge([5, 6, 6, 7, 9, 1], (6, 7), 99)
        [5, 6, 99, 9, 1]
        >>> merge([1, 2], (2, 1), 3)
        [1, 2]
        >>> merge([], (1, 2), 3)
        []
    """
    merged: list[int] = []
    at = 0
    while at < len(ids):
        if at + 1 < len(ids) and (ids[at], ids[at + 1]) == pair:
            merged.append(new)
            at += 2
        else:
            merged.append(ids[at])
            at += 1
    return merged


def vocabulary(strings: Mapping[int, bytes], merges: Iterable[Merge]) -> dict[int, bytes]:
    """Map every id to its bytes. Initial ids are in `strings`; a merged id gets the joined bytes of its two parts.

    Examples:
        >>> vocabulary({1: b"a", 2: b"b"}, [Merge(1, 2, 3), Merge(3, 1, 4)])
        {1: b'a', 2: b'b', 3: b'ab', 4: b'aba'}
    """
    spelling = dict(strings)
    for left, right, new, _ in merges:
        spelling[new] = spelling[left] + spelling[right]
    return spelling


def main() -> None:
    """Shorten a text by hand in three steps: each step merges the pair that is then the most frequent."""
    ids = list(b"abcababcaabc")
    print(ids)
    for new in (256, 257, 258):
        pair = most_frequent(count_pairs([ids]))
        ids = merge(ids, pair, new)
        print(f"{pair} becomes {new}: {ids}")


def beside_jeton() -> None:
    """Make a Jeton tokenizer with two merges, and check that it encodes texts to the same ids as `merge`."""
    import jeton

    alphabet = {byte: bytes([byte]) for byte in range(256)}
    merges = [Merge(97, 98, 256), Merge(256, 99, 257)]
    vocab = vocabulary(alphabet, merges)
    tok = jeton.Tokenizer.from_merges(vocab, [(97, 98, 256), (256, 99, 257)], pattern="none")
    assert dict(tok.vocab) == vocab
    for text in ("abcabc", "aab", "cab"):
        ids = list(text.encode())
        for left, right, new, _ in merges:
            ids = merge(ids, (left, right), new)
        assert tok.encode(text) == ids
        print("jeton:", text, ids)
    with TemporaryDirectory() as folder, chdir(folder):
        tok.save("tok.json")
        assert jeton_command("jeton encode -t tok.json abcabc").split() == ["257", "257"]


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

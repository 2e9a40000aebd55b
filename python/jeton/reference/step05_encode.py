"""Step 5. Encoding: the merges again, in the order in which they were learned.

    python step05_encode.py                 also without Jeton
    python -m jeton.reference.step05_encode

Training left a list of merges. To encode a new text, start from its bytes and do what training did to the corpus: of
all merges that are possible now, apply the one that was learned first; then look again. The position of a merge in the
list is its *rank*, and the merge with the lowest rank goes first. With the tokenizer of step 4:

>>> merges = train_bytes("old older fast faster fastest best better yes desk mess", 270)
>>> print(explain(list(b"oldest"), ranks(merges), vocabulary(BYTES, merges)))
o l d e s t   -- (115,116) s+t  -> o l d e st
              -- (111,108) o+l  -> ol d e st
              -- (262,100) ol+d -> old e st
              -- (101,256) e+st -> old est
              -- (263,265) has no merge: stop
ids [263, 265]

The corpus does not contain the word `oldest`, and still the word becomes `old` and `est`. The program has no rules
about English endings; it only counted.

**Why not simply the longest token that fits?** It looks simpler: go from left to right and take the longest token
each time. It gives other ids. The tokenizer of `abcababcaabc` knows `abc` and `abcab`:

>>> merges = train_bytes("abcababcaabc", 260)
>>> spelling = vocabulary(BYTES, merges)
>>> [show(spelling[id]) for id in encode(list(b"abcabc"), ranks(merges))]
["'abc'", "'abc'"]
>>> [show(spelling[id]) for id in longest_match(b"abcabc", spelling)]
["'abcab'", "'c'"]

In the corpus, `abc` was merged everywhere before `abcab` existed, so the `ab` inside the second `abc` was already
merged. Lowest rank first repeats the order of training; longest match does not. A model that was trained on ids of the
first encoder has hardly ever seen the ids of the second. Evidence that the order is repeated: encoding the corpus
itself gives exactly the sequence with which training ended.

>>> [show(spelling[id]) for id in encode(list(b"abcababcaabc"), ranks(merges))]
["'abcababc'", "'a'", "'abc'"]

minbpe's own test checks the same. Its three merges are `aa`, `aaa` and `aaab`:

>>> encode(list(b"aaabdaaabac"), ranks(train_bytes("aaabdaaabac", 259)))
[258, 100, 258, 97, 99]

**Ranks of strings.** OpenAI's tiktoken keeps no pairs. Its files list the tokens, as bytes, each with a rank, and two
neighbors can merge if their *bytes joined* are a token. `encode_by_rank` is this algorithm. For merges from plain BPE
training both algorithms give the same ids, because the bytes of each token result from one merge only.

>>> encode_by_rank(b"abcabc", {token: rank for rank, token in spelling.items()})
[257, 257]

Watch it (needs `pip install "jeton[play]"`): while `jeton play --port 7777` runs, this address shows the steps of a
word, with the pairs that competed. Its tokenizer was trained on these lessons.

    http://127.0.0.1:7777/#view=why&tokenizer=lessons&text=oldest

Both encoders here scan the whole list for every merge, which is slow for a text of a million bytes without splitting
(step 8). Left out: special tokens (step 7). Next: step06_decode.py.

**With Jeton.** `tok.encode` gives the ids and `tok.explain` the same merges in the same order:

    tok = jeton.train([text], 270, level="byte", pattern="none", tie_break="first", min_frequency=1, progress=False)

    $ jeton encode -t tok.json oldest
    263 265
    $ jeton explain -t tok.json oldest
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import NamedTuple

if not __package__:  # run as a file: `python step05_encode.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES, show
from .step02_pairs import Pair
from .step03_merge import Merge, merge, vocabulary
from .step04_train import train_bytes

Ranks = Mapping[Pair, tuple[int, int]]  # (left, right) -> (rank, new id)


class Step(NamedTuple):
    """One merge of an encoding, and the ids after it."""

    pair: Pair
    rank: int
    new: int
    ids: list[int]


def ranks(merges: Iterable[Merge]) -> dict[Pair, tuple[int, int]]:
    """Give each merge its rank: its position in the list, from 0.

    Examples:
        >>> ranks([Merge(97, 98, 256), Merge(256, 99, 257)])
        {(97, 98): (0, 256), (256, 99): (1, 257)}
    """
    return {(left, right): (rank, new) for rank, (left, right, new, _) in enumerate(merges)}


def steps(ids: Sequence[int], ranks: Ranks) -> Iterator[Step]:
    """Yield the merges that encode `ids`, in order.

    Examples:
        >>> for step in steps(list(b"abab"), {(97, 98): (0, 256), (256, 256): (1, 257)}):
        ...     print(step)
        Step(pair=(97, 98), rank=0, new=256, ids=[256, 256])
        Step(pair=(256, 256), rank=1, new=257, ids=[257])
    """
    current = list(ids)
    while possible := [pair for pair in pairwise(current) if pair in ranks]:
        pair = min(possible, key=lambda pair: ranks[pair][0])
        rank, new = ranks[pair]
        current = merge(current, pair, new)
        yield Step(pair, rank, new, current)


def encode(ids: Sequence[int], ranks: Ranks) -> list[int]:
    """Repeat until no merge is possible: apply the merge with the lowest rank to all its pairs, from left to right.

    Args:
        ids: The text in the alphabet's ids: its bytes at byte level.
        ranks: What `ranks()` makes of a list of merges.

    Examples:
        >>> encode(list(b"ababa"), {(97, 98): (0, 256)})
        [256, 256, 97]
        >>> encode([], {})
        []
    """
    result = list(ids)
    for step in steps(ids, ranks):
        result = step.ids
    return result


def explain(ids: Sequence[int], ranks: Ranks, spelling: Mapping[int, bytes]) -> str:
    """Describe the encoding of `ids`, one line for each merge. The lines of a long text would be too wide.

    Examples:
        >>> print(explain(list(b"abc"), {(97, 98): (0, 256)}, BYTES | {256: b"ab"}))
        a b c   -- (97,98) a+b -> ab c
                -- (256,99) has no merge: stop
        ids [256, 99]
    """

    def plain(id: int) -> str:
        name = show(spelling[id])
        return name[1:-1] if name[0] in "'\"" and " " not in name else name

    def join(ids: Sequence[int]) -> str:
        return " ".join(plain(id) for id in ids)

    def comma(pair: Pair) -> str:
        return f"({pair[0]},{pair[1]})"

    taken = list(steps(ids, ranks))
    done = taken[-1].ids if taken else list(ids)
    sums = [f"{comma(step.pair)} {plain(step.pair[0])}+{plain(step.pair[1])}" for step in taken]
    width = max(map(len, sums), default=0)
    lines = [f"{total:<{width}} -> {join(step.ids)}" for total, step in zip(sums, taken, strict=True)]
    left = [comma(pair) for pair in pairwise(done)]
    verb = "has" if len(left) == 1 else "have"
    lines.append(f"{', '.join(left)} {verb} no merge: stop" if left else "nothing is left to merge: stop")
    heads = [join(ids)] + [" " * len(join(ids))] * len(taken)
    return "\n".join(f"{head}   -- {line}" for head, line in zip(heads, lines, strict=True)) + f"\nids {done}"


def longest_match(data: bytes, spelling: Mapping[int, bytes]) -> list[int]:
    """Take the longest matching token from the left, repeatedly: an encoder that is *not* BPE.

    Examples:
        >>> longest_match(b"abc", BYTES | {256: b"ab", 257: b"bc"})
        [256, 99]
    """
    id_of = {token: id for id, token in spelling.items()}
    ids: list[int] = []
    while data:
        length = next(length for length in range(len(data), 0, -1) if data[:length] in id_of)
        ids.append(id_of[data[:length]])
        data = data[length:]
    return ids


def encode_by_rank(data: bytes, rank_of: Mapping[bytes, int]) -> list[int]:
    """Encode with a table from token to rank, as tiktoken does; the rank is also the id.

    A pretoken that is a token becomes that token. Otherwise, the two neighbors whose joined bytes have the lowest rank
    are merged (if a rank occurs twice, the leftmost first), until no two neighbors form a token.

    Raises:
        ValueError: If a single byte of `data` has no rank, so that no token can spell it.

    Examples:
        >>> encode_by_rank(b"abb", {b"a": 0, b"b": 1, b"bb": 2, b"ab": 3})
        [0, 2]
        >>> encode_by_rank(b"abb", {b"a": 0, b"b": 1, b"ab": 2, b"bb": 3, b"abb": 4})
        [4]
    """
    if data in rank_of:
        return [rank_of[data]]
    parts = [bytes([byte]) for byte in data]
    for at, part in enumerate(parts):
        if part not in rank_of:
            raise ValueError(f"byte {part!r} at position {at} is not in the table of ranks")
    while candidates := [(rank_of[a + b], at) for at, (a, b) in enumerate(pairwise(parts)) if a + b in rank_of]:
        _, at = min(candidates)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [rank_of[part] for part in parts]


def main() -> None:
    """Explain how a few words are encoded by the tokenizer of step 4."""
    merges = train_bytes("old older fast faster fastest best better yes desk mess", 270)
    for word in ("oldest", "fast mess", "小"):
        print(explain(list(word.encode()), ranks(merges), vocabulary(BYTES, merges)), end="\n\n")


def beside_jeton() -> None:
    """Encode a word with Jeton, and check that its ids and merges are those of this lesson."""
    import jeton

    text = "old older fast faster fastest best better yes desk mess"
    merges = train_bytes(text, 270)
    tok = jeton.train([text], 270, level="byte", pattern="none", tie_break="first", min_frequency=1, progress=False)
    for word in ("oldest", "fast mess", "小"):
        ids = list(word.encode())
        assert tok.encode(word) == encode(ids, ranks(merges))
        (pretoken,) = tok.explain(word).to_json()["pretokens"]
        explained = [(merge["left"], merge["right"], merge["rank"]) for merge in pretoken["merges"]]
        assert explained == [(*step.pair, step.rank) for step in steps(ids, ranks(merges))]
        print("jeton:", word, tok.encode(word))
    with TemporaryDirectory() as folder, chdir(folder):
        tok.save("tok.json")
        printed = jeton_command("jeton encode -t tok.json oldest")
        assert list(map(int, printed.split())) == encode(list(b"oldest"), ranks(merges))
        jeton_command("jeton explain -t tok.json oldest")


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

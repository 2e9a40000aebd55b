"""Step 11. Compression, and the cost of a vocabulary.

    python step11_compression.py                 also without Jeton
    python -m jeton.reference.step11_compression

The first use of a tokenizer is to make the list of numbers shorter than the bytes. A model computes for every id, and
can read only a limited number of ids at once. So the usual measure is *bytes per token*: the size of the text in UTF-8
divided by the number of ids. It is 1 if each byte is a token, and 4 to 5 for good tokenizers and English text.

>>> text = "old older fast faster fastest best better yes desk mess"
>>> merges = train_bytes(text, 270)
>>> measure(text, encode(list(text.encode()), ranks(merges)))
Compression(bytes=55, characters=55, tokens=21)
>>> round(55 / 21, 2)
2.62

The tokenizer was trained on this text. What matters is the figure for other texts, which is usually lower:

>>> round(measure("the fastest desk", encode(list(b"the fastest desk"), ranks(merges))).bytes_per_token, 2)
1.78

**Bytes of ids.** Are the ids also fewer *bytes*? An id is stored in a fixed width, 2 bytes if all ids are below
65,536, otherwise 4. `Byte Pair Encoding` has 18 bytes; GPT-4's tokenizer makes three ids of it, 7300, 27086, 30430:

>>> bytes_of_ids([7300, 27086, 30430], width=4)
12

So 18 bytes of text become 12 bytes of ids. If the tokens of a corpus have fewer bytes on average than an id takes, the
corpus is *larger* on disk as ids. (A compressor such as gzip makes smaller files; that is not the aim here.)

**Why not code points?** Unicode has numbered all characters. Why not use those numbers as ids, without any training?
Because the highest code point is 1,114,111, and a model has one row of numbers for *every possible* id (step 12). With
rows of 4,096 numbers:

>>> f"{parameters(1_114_112, 4096):,}"
'4,563,402,752'

That is 4.6 billion numbers before the model has computed anything. Most of them belong to characters that the corpus
does not contain, so they are never trained, and English still has one byte per token:

>>> measure("the fastest desk", [ord(character) for character in "the fastest desk"]).bytes_per_token
1.0

**The cost of a larger vocabulary.** More merges mean shorter lists of ids and more rows. The number of rows grows
linearly with the vocabulary, while the gain of each merge shrinks: the first merges join frequent pairs, the last
merges join rare pairs. And a rare token is rarely trained. This balance is why vocabularies have 32,000 or 200,000
tokens and not 500 or five million.

>>> [f"{parameters(size, 4096):,}" for size in (32_000, 100_277, 200_019)]
['131,072,000', '410,734,592', '819,277,824']

See it (needs `pip install "jeton[play]"`): while `jeton play --port 7777` runs, this address compares one paragraph in
twenty languages.

    http://127.0.0.1:7777/#view=compare

The merges are an ordered list, so its first part is a tokenizer too: one training gives the curve for all smaller sizes
(`curve`). Left out: the meaning of a row. Next: step12_vectors.py.

**With Jeton.** `jeton.measure` gives bytes and characters per token, and `jeton.sizes` the curve. The command line
prints the first as a table:

    measured = jeton.measure(tok, [text], words=False, progress=False)
    sizes = jeton.sizes(
        [text], [256, 260, 270], hidden=4096, tied=True, test=[text], pattern="none", tie_break="first", progress=False
    )

    $ jeton measure -t tok.json --no-words seen.txt unseen.txt
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

if not __package__:  # run as a file: `python step11_compression.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step03_merge import Merge
from .step04_train import train_bytes
from .step05_encode import encode, ranks


class Compression(NamedTuple):
    """Lengths of a text in bytes, characters and tokens."""

    bytes: int
    characters: int
    tokens: int

    @property
    def bytes_per_token(self) -> float:
        """Number of UTF-8 bytes per id; 0 for an empty text.

        Examples:
            >>> Compression(bytes=18, characters=18, tokens=3).bytes_per_token
            6.0
        """
        return self.bytes / self.tokens if self.tokens else 0.0

    @property
    def characters_per_token(self) -> float:
        """Number of characters per id; 0 for an empty text. Fairer than bytes for comparing two languages.

        Examples:
            >>> measure("今天", [1, 2]).characters_per_token, measure("今天", [1, 2]).bytes_per_token
            (1.0, 3.0)
        """
        return self.characters / self.tokens if self.tokens else 0.0


def measure(text: str, ids: Sequence[int]) -> Compression:
    """Count the bytes and characters of a text, and its ids.

    Examples:
        >>> measure("小", [0xE5, 0xB0, 0x8F])
        Compression(bytes=3, characters=1, tokens=3)
    """
    return Compression(len(text.encode("utf-8")), len(text), len(ids))


def bytes_of_ids(ids: Sequence[int], width: int | None = None) -> int:
    """Return the number of bytes that stored ids take.

    Args:
        ids: The ids.
        width: Bytes for one id; None: 2 if all ids are below 65,536, else 4.

    Raises:
        ValueError: If an id does not fit into the width.

    Examples:
        >>> bytes_of_ids([97, 256]), bytes_of_ids([97, 65_536])
        (4, 8)
        >>> bytes_of_ids([70_000], width=2)
        Traceback (most recent call last):
            ...
        ValueError: id 70000 does not fit into 2 bytes
    """
    highest = max(ids, default=0)
    if width is None:
        width = 2 if highest < 1 << 16 else 4
    if highest >= 1 << 8 * width:
        raise ValueError(f"id {highest} does not fit into {width} bytes")
    return len(ids) * width


def parameters(vocab_size: int, columns: int, *, tied: bool = True) -> int:
    """Count the numbers that a vocabulary adds to a model.

    Args:
        vocab_size: The highest id plus one, which is the number of rows of the embedding table.
        columns: Number of values in a row, which is the model's width.
        tied: Whether the output layer, which needs the same number of rows, shares the table.

    Examples:
        >>> parameters(32_000, 4096), parameters(32_000, 4096, tied=False)
        (131072000, 262144000)
    """
    return vocab_size * columns * (1 if tied else 2)


def curve(merges: Sequence[Merge], text: str, sizes: Sequence[int]) -> list[tuple[int, float]]:
    """Measure bytes per token of `text` at several vocabulary sizes. A size uses the first `size` - 256 of `merges`.

    Examples:
        >>> curve(train_bytes("abababab", 258), "abab", [256, 257, 258])
        [(256, 1.0), (257, 2.0), (258, 4.0)]
    """
    data = list(text.encode("utf-8"))
    return [(size, measure(text, encode(data, ranks(merges[: size - 256]))).bytes_per_token) for size in sizes]


def main() -> None:
    """Train on the first half of this lesson, and measure both halves with larger and larger vocabularies."""
    lesson = __doc__ or ""
    seen, unseen = lesson[: len(lesson) // 2], lesson[len(lesson) // 2 :]
    sizes = [256, 276, 296, 336, 416]
    merges = train_bytes(seen, sizes[-1], min_frequency=2)
    print("vocabulary   rows x 4096   bytes per token: of the half it saw   of the other half")
    for (size, here), (_, there) in zip(curve(merges, seen, sizes), curve(merges, unseen, sizes), strict=True):
        print(f"{size:>10} {parameters(size, 4096):>13,} {here:>36.2f} {there:>19.2f}")


def beside_jeton() -> None:
    """Measure the texts of this lesson with Jeton, and the curve over three vocabulary sizes."""
    import jeton

    text, unseen = "old older fast faster fastest best better yes desk mess", "the fastest desk"
    merges = train_bytes(text, 270)
    tok = jeton.train([text], 270, level="byte", pattern="none", tie_break="first", min_frequency=1, progress=False)
    measured = jeton.measure(tok, [text], words=False, progress=False)
    expected = measure(text, encode(list(text.encode()), ranks(merges)))
    assert (measured.bytes, measured.chars, measured.tokens) == expected
    assert measured.bytes_per_token == expected.bytes_per_token

    sizes = jeton.sizes(
        [text], [256, 260, 270], hidden=4096, tied=True, test=[text], pattern="none", tie_break="first", progress=False
    )
    assert [(size.vocab_size, size.bytes_per_token) for size in sizes] == curve(merges, text, [256, 260, 270])
    assert [size.parameters for size in sizes] == [parameters(size.vocab_size, 4096) for size in sizes]
    print("jeton:", [(size.vocab_size, round(size.bytes_per_token, 2), size.parameters) for size in sizes])
    with TemporaryDirectory() as folder, chdir(folder):
        tok.save("tok.json")
        Path("seen.txt").write_text(text, encoding="utf-8")
        Path("unseen.txt").write_text(unseen, encoding="utf-8")
        printed = jeton_command("jeton measure -t tok.json --no-words seen.txt unseen.txt")
    assert [line.split()[1] for line in printed.splitlines()[1:3]] == [str(tok.count(text)), str(tok.count(unseen))]


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

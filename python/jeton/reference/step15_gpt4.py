"""Step 15. GPT-4's tokenizer, in plain Python, from its rank file.

    python step15_gpt4.py cl100k_base.tiktoken      with the file that OpenAI published (1.7 MB)
    python step15_gpt4.py                           without it: on a small vocabulary that the lesson trains
    python -m jeton.reference.step15_gpt4           also takes the path of the file

This is the third exercise of Karpathy's minbpe. OpenAI published only three parts of GPT-4's tokenizer: a pattern (step
14), a list of special tokens (step 7), and a *rank file*. This file has one line for each token, with the token's bytes
in base64 and its rank, but no merges. `small` writes such a file, with 30 merges:

>>> file = small(30)
>>> for line in file.splitlines()[:2] + file.splitlines()[256:258]:
...     print(line.decode().ljust(10), base64.b64decode(line.split()[0]))
IQ== 0     b'!'
Ig== 1     b'"'
aGU= 256   b'he'
dGhl 257   b'the'

**The order of the bytes.** The first 256 lines are the bytes, but not in the order of their values. OpenAI's first
vocabulary was JSON, in which each byte is written as a printable character. Bytes that are printable themselves come
first, so `!` (33) has the id 0; the other 68, among them the space (32), come last. A program that ignores this order
gives wrong ids for all texts with spaces.

>>> ranks = read_ranks(file)
>>> ranks[b"!"], ranks[b" "], ranks[b"the"]
(0, 220, 257)

**From ranks to merges.** Which two symbols make ` weather`? Merge its bytes by all ranks *lower* than its own. Two
parts are left, and these two parts are the merge.

>>> halves(b" weather", ranks)
[b' wea', b'ther']

Why this works: when training made the token, each of its occurrences was two neighboring symbols. Earlier merges had
happened inside the bytes of the token, but none across its borders, otherwise the bytes could not have become one
token. So the merges inside depend only on these bytes, not on their neighbors, and encoding the bytes of the token by
themselves gives the same two symbols. Hence each token has exactly one pair, and the ranks give the order of the
merges. A rank file is enough. The recovered merges are those of the training:

>>> recover(ranks) == trained(30)
True

**Encoding** then works as in the earlier steps: special tokens, pattern, bytes to ids, merges. tiktoken itself does not
recover merges but looks up joined bytes; `encode_by_rank` of step 5 is this algorithm, and the ids are equal.

>>> tok = Gpt4(ranks)
>>> tok.encode("the weather")
[257, 264]
>>> [encode_by_rank(pretoken.encode(), ranks) for pretoken in ("the", " weather")]
[[257], [264]]
>>> tok.decode(tok.encode("今天 the weather!"))
'今天 the weather!'

**The special tokens** are not in the file. GPT-4 has five:

    <|endoftext|>    100257   a document ends; what follows has nothing to do with it
    <|fim_prefix|>   100258   fill in the middle: the text before the hole follows
    <|fim_middle|>   100259   the text of the hole follows: the model continues here
    <|fim_suffix|>   100260   the text after the hole follows
    <|endofprompt|>  100276   a prompt ends; the answer follows. OpenAI published the name, but not its use

A model writes from left to right, so it cannot fill a hole whose right side it has not read. Therefore a document is
cut in three parts, and the middle is moved to the end. A model that was trained on such texts completes code at the
cursor:

>>> turned = fill_in_the_middle("def add(a, b):\\n    return a + b\\n", 26, 31)
>>> turned
'<|fim_prefix|>def add(a, b):\\n    return <|fim_suffix|>\\n<|fim_middle|>a + b'
>>> [tok.special[name] for name in SPECIAL]
[287, 288, 289, 290, 306]
>>> ids = tok.encode(turned, special="all")
>>> [id for id in ids if id > 286]
[288, 290, 289]

**How many tokens?** The file has 100,256 ranks, 0 to 100255. The special tokens begin at 100257, and 100261 to 100275
are free. So there are 100,261 tokens, 16 gaps, and a `vocab_size` of 100,277, which is the number of rows of the
embedding table. The statement "GPT-4 has 100255 tokens" confuses the highest rank with the number of ranks. The small
file has the same layout: 286 ranks, ids 0 to 285, and a gap before the special tokens.

>>> len(ranks), len(ranks) + len(tok.special), tok.vocab_size
(286, 291, 307)

**With the file** of GPT-4 this lesson prints, among others:

    100256 ranks: '!' has 0, ' ' has 220; 100261 tokens, vocab_size 100277
    99815 of 99815 tokens of 2 to 40 bytes are made of two parts
    100000 of 100000 tokens of 2 to 128 bytes are made of two parts
    'Byte Pair Encoding': [7300, 27086, 30430]
    'strawberry': [496, 675, 15717]
    '今天的天气': [37271, 36827, 9554, 36827, 30320, 242]
    '<|endoftext|>': [27, 91, 8862, 728, 428, 91, 29]
    '<|endoftext|>' as a permitted special token: [100257]

**With Jeton.** A rank file has no pattern and no special tokens, so both are arguments:

    tok = jeton.load("ranks.tiktoken", pattern="cl100k", special_tokens=mine.special)

    $ jeton encode -t ranks.tiktoken --pattern cl100k --special none "the weather"
    257 264

Left out: other models' files (Llama 3's is a rank file too). Next: step16_fast_encoding.py.

Source: openai/tiktoken (tiktoken_ext/openai_public.py, tiktoken/load.py), karpathy/minbpe (exercise.md); Bavarian and
others 2022 on filling in the middle.
"""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Collection, Mapping
from contextlib import chdir
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step15_gpt4.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step02_pairs import Pair
from .step04_train import train
from .step05_encode import Ranks, encode, encode_by_rank
from .step06_decode import decode
from .step07_special import cut, with_special
from .step08_split import split

# the bytes in the order of their ids: printable bytes, then the others
ORDER = [*range(33, 127), *range(161, 173), *range(174, 256), *range(33), *range(127, 161), 173]
SPECIAL = {  # name -> what to add to the number of ranks to get the id
    "<|endoftext|>": 1,
    "<|fim_prefix|>": 2,
    "<|fim_middle|>": 3,
    "<|fim_suffix|>": 4,
    "<|endofprompt|>": 20,
}
HELLO = "hello123!!!? (안녕하세요!) 😉"  # the example of minbpe
TEXT = "The weather is good, the other weather is better. 今天的天气很好，今天的风也很好。 "


def trained(num_merges: int) -> Ranks:
    """Train on two sentences, with the bytes in GPT-4's order; return the merges with their ranks.

    Examples:
        >>> trained(1)
        {(71, 68): (256, 256)}
    """
    alphabet = {id: bytes([byte]) for id, byte in enumerate(ORDER)}
    sequences = [[ORDER.index(byte) for byte in pretoken.encode()] for pretoken in split(TEXT, "cl100k")]
    merges = train(sequences, None, alphabet, num_merges)
    return {(left, right): (new, new) for left, right, new, _ in merges}


def small(num_merges: int) -> bytes:
    """Write a small rank file: the tokens of `trained` in base64, each with its rank.

    Examples:
        >>> small(1).splitlines()[-1], base64.b64decode("aGU=")
        (b'aGU= 256', b'he')
    """
    spelling = {id: bytes([byte]) for id, byte in enumerate(ORDER)}
    for (left, right), (_, new) in trained(num_merges).items():
        spelling[new] = spelling[left] + spelling[right]
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in spelling.items())


def read_ranks(file: bytes) -> dict[bytes, int]:
    """Read a rank file: token -> rank, which is also its id.

    Examples:
        >>> read_ranks(b"IQ== 0\\nIg== 1\\n")
        {b'!': 0, b'"': 1}
    """
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, file.splitlines())}


def halves(token: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Merge the bytes of a token until only two parts are left. Use only merges whose rank is below the token's.

    If no further merge applies, more than two parts are left. Then the token is not the result of a merge. A trained
    vocabulary has no such token.

    Examples:
        >>> halves(b"abc", {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5})
        [b'a', b'bc']
    """
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        joined = [(ranks.get(a + b, ranks[token]), at) for at, (a, b) in enumerate(pairwise(parts))]
        rank, at = min(joined)
        if rank == ranks[token]:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def recover(ranks: Mapping[bytes, int]) -> Ranks:
    """Recover the merges of a vocabulary from its ranks, for `encode` of step 5.

    Examples:
        >>> recover({b"a": 0, b"b": 1, b"ab": 2, b"abb": 3})
        {(0, 1): (2, 2), (2, 1): (3, 3)}
    """
    merges: dict[Pair, tuple[int, int]] = {}
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) > 1 and len(parts := halves(token, ranks)) == 2:
            merges[ranks[parts[0]], ranks[parts[1]]] = (rank, rank)
    return merges


def fill_in_the_middle(document: str, start: int, end: int) -> str:
    """Move the middle, `document[start:end]`, to the end, and mark the three parts with special tokens.

    Examples:
        >>> fill_in_the_middle("abc", 1, 2)
        '<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>b'
    """
    prefix, middle, suffix = document[:start], document[start:end], document[end:]
    return f"<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>{middle}"


class Gpt4:
    """Tokenizer from a rank file, with the pattern `cl100k` and the special tokens of GPT-4.

    Examples:
        >>> tok = Gpt4(read_ranks(small(30)))
        >>> tok.encode("the<|endoftext|>", special="all")
        [257, 287]
    """

    def __init__(self, ranks: Mapping[bytes, int]) -> None:
        self.merges = recover(ranks)
        self.bytes = {token[0]: rank for token, rank in ranks.items() if len(token) == 1}  # value of a byte -> id
        self.special = {name: len(ranks) + place for name, place in SPECIAL.items()}
        self.vocab = with_special({rank: token for token, rank in ranks.items()}, self.special)
        self.vocab_size = max(self.vocab) + 1

    def encode(self, text: str, special: str | Collection[str] = "none") -> list[int]:
        """Turn text into ids; `special` says which special tokens are permitted, as `permit` in step 7."""
        ids: list[int] = []
        for piece in cut(text, self.special, special):
            if isinstance(piece, int):
                ids.append(piece)
                continue
            for pretoken in split(piece, "cl100k"):
                ids += encode([self.bytes[byte] for byte in pretoken.encode("utf-8")], self.merges)
        return ids

    def decode(self, ids: list[int]) -> str:
        """Turn ids into text."""
        return decode(ids, self.vocab)


def main(path: str | None = None) -> None:
    """Recover the merges of a rank file, and encode some texts."""
    if path is None:
        print("No rank file given, so this is a small vocabulary of 30 merges. The path of cl100k_base.tiktoken,")
        print("which OpenAI publishes, as argument gives GPT-4's: python step15_gpt4.py cl100k_base.tiktoken")
    ranks = read_ranks(Path(path).read_bytes() if path else small(30))
    start = time.perf_counter()
    tok = Gpt4(ranks)
    seconds = time.perf_counter() - start
    print(f"{len(ranks)} ranks: '!' has {ranks[b'!']}, ' ' has {ranks[b' ']};", end=" ")
    print(f"{len(tok.vocab)} tokens, vocab_size {tok.vocab_size}")
    made = {tok.vocab[new] for _, new in tok.merges.values()}
    for longest in (40, max(map(len, ranks))):
        tokens = [token for token in ranks if 1 < len(token) <= longest]
        two = sum(token in made for token in tokens)
        print(f"{two} of {len(tokens)} tokens of 2 to {longest} bytes are made of two parts")
    print(f"all merges recovered in {seconds:.1f} s")
    for text in ("Byte Pair Encoding", "Hello", "strawberry", "9.11", "9.8", "今天的天气", HELLO, "<|endoftext|>"):
        ids = tok.encode(text)
        print(f"{text!r}: {ids}")
        assert ids == [id for pretoken in split(text, "cl100k") for id in encode_by_rank(pretoken.encode(), ranks)]
        assert tok.decode(ids) == text
    print("'<|endoftext|>' as a permitted special token:", tok.encode("<|endoftext|>", special="all"))


def beside_jeton(path: str | None = None) -> None:
    """Encode with Jeton from the same rank file, in Python and on the command line."""
    import jeton

    file = Path(path).read_bytes() if path else small(30)
    mine = Gpt4(read_ranks(file))
    with TemporaryDirectory() as folder, chdir(folder):
        Path("ranks.tiktoken").write_bytes(file)
        tok = jeton.load("ranks.tiktoken", pattern="cl100k", special_tokens=mine.special)
        assert tok.vocab_size == mine.vocab_size
        for text in (TEXT, HELLO, "9.11 !!\r\n  <|endoftext|>", fill_in_the_middle(TEXT, 20, 30)):
            for special in ("none", "all"):
                assert tok.encode(text, special=special) == mine.encode(text, special)
            print(f"jeton: {len(tok.encode(text))} equal ids of {text[:20]!r}")
        printed = jeton_command('jeton encode -t ranks.tiktoken --pattern cl100k --special none "the weather"')
    assert list(map(int, printed.split())) == mine.encode("the weather")


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else None
    main(given)
    with_jeton(partial(beside_jeton, given))

r"""Step 24. Errata: seven statements of tutorials, and the output that is right.

    python step24_errata.py [FOLDER]       also without Jeton
    python -m jeton.reference.step24_errata [FOLDER]

These lessons began as a reading of four Chinese articles on BPE: one on byte-level BPE with embeddings, a Jupyter
notebook, one on the inside of SentencePiece, one on minbpe. They explain well, but seven of their statements are wrong,
and many other texts repeat these. Each statement is given here with the correct output, and with the file of a library
that shows it (tiktoken 0.14, transformers 5.24, SentencePiece 0.2.3). Two outputs need published files: pass a folder
with `cl100k_base.tiktoken` and SentencePiece's `….model` files. Without a folder, the lesson says so and uses its own
data.

**1. “The bytes 0–255 are the ASCII characters.”** ASCII has 128 characters, 0 to 127. The other 128 bytes are not
characters in UTF-8: 64 continue a character, 51 begin a character, and 13 never occur. So the ids 0 to 255 of a
byte-level tokenizer are bytes, and only the first 128 of them are also characters:

>>> [kind(byte) for byte in b"A\xb0\xe5\xff"]
['ASCII', 'continues', 'begins 3 bytes', 'never']
>>> Counter(kind(byte) for byte in range(256))
Counter({'ASCII': 128, 'continues': 64, 'begins 2 bytes': 30, 'begins 3 bytes': 16, 'never': 13, 'begins 4 bytes': 5})

Shown by RFC 3629, section 4, and by Python's codecs: `bytes([128]).decode("ascii")` raises an error.

**2. “Unicode characters begin with \x.”** `\x` is notation in source code and in the output of `repr`, for a number of
two hexadecimal digits. In a bytes literal the number is a byte, in a string literal a code point up to 255. The
notation itself is not in the data. Python prints printable ASCII bytes as characters and almost all other bytes with
`\x`, even if they belong to a character:

>>> spellings("é")
('U+00E9', "'\\xe9'", "b'\\xc3\\xa9'")
>>> spellings("小")
('U+5C0F', "'\\u5c0f'", "b'\\xe5\\xb0\\x8f'")
>>> len("\x41"), "\x41"
(1, 'A')

Shown by the reference of Python, "String and Bytes literals".

**3. “A byte is a character.”** For ASCII only. UTF-8 writes a code point in one to four bytes, and what a reader sees
as one character can be several code points. So a token can be a part of a character (step 6):

>>> [(text, len(text), len(text.encode("utf-8"))) for text in ("A", "é", "小", "𠮷", "⭐", "👨‍👩‍👧")]
[('A', 1, 1), ('é', 1, 2), ('小', 1, 3), ('𠮷', 1, 4), ('⭐', 1, 3), ('👨‍👩‍👧', 5, 18)]

Shown by minbpe (base.py, `render_token`), which decodes tokens with `errors="replace"` for this reason.

**4. “XLM-R uses BPE.”** Its file is called `sentencepiece.bpe.model`, but a SentencePiece model stores its algorithm in
the file: `trainer_spec.model_type`, 1 for Unigram (step 20) and 2 for BPE (step 18). The file is a message of protocol
buffers, in which `trainer_spec` is field 2, and `model_type` is field 3 of `trainer_spec`:

>>> model_type(b"\x12\x02\x18\x01"), model_type(b"\x12\x02\x18\x02")
('Unigram', 'BPE')
>>> model_type(b"")  # a field that is missing has its default
'Unigram'

Shown by transformers (models/xlm_roberta/tokenization_xlm_roberta.py): line 25 has the name of the file, line 52 has
`model = Unigram`. The numbers of the fields are in SentencePiece's sentencepiece_model.proto.

**5. “XLM-R has 250,005 ids.”** It has 250,002. The model of SentencePiece has 250,000 pieces, `<unk>`, `<s>` and
`</s>` among them. fairseq has four special tokens at the front, `<s>`, `<pad>`, `</s>` and `<unk>`, so the ids of all
later pieces are higher by one; `<mask>` is last. Adding five special tokens to 250,000 would count three of them twice:

>>> ids = fairseq_ids(["<unk>", "<s>", "</s>", ",", ".", "▁", "s", "▁de", "-", "▁a"])
>>> ids
{'<s>': 0, '<pad>': 1, '</s>': 2, '<unk>': 3, ',': 4, '.': 5, '▁': 6, 's': 7, '▁de': 8, '-': 9, '▁a': 10, '<mask>': 11}
>>> len(ids) - 10, 250_000 + 1 + 1
(2, 250002)

Shown by transformers (convert_slow_tokenizer.py, lines 1168–1177): four special tokens, the pieces from the fourth on,
and `<mask>`.

**6. “BPE drops about 10% of the merges.”** Only if the caller asks for it. BPE-dropout is a regularization of training:
with probability p a possible merge is skipped, so that the model sees several segmentations of one word. The value 0.1
is what the paper uses for most languages, and the default of SentencePiece's `alpha`, which is used only with
`enable_sampling=True`. Encoding 1,000 times:

>>> merges = train_bytes("old older fast faster fastest best better yes desk mess", 270)
>>> for dropout in (0.0, 0.1):
...     rng = random.Random(0)
...     found = Counter(tuple(encode_with_dropout(list(b"oldest"), ranks(merges), dropout, rng)) for _ in range(1000))
...     print(dropout, len(found), found.most_common(1))
0.0 1 [((263, 265), 1000)]
0.1 9 [((263, 265), 814)]

Shown by SentencePiece: `__init__.py`, lines 212 and 214, `enable_sampling=False` and `alpha=0.1`; src/bpe_model.h, in
which `Encode` calls `SampleEncode` with 0.0.

**7. “cl100k has 100,255 tokens.”** 100,255 is the highest rank, and ranks begin at 0, so there are 100,256 ranks. Five
special tokens follow, with gaps, so there are 100,261 tokens. The highest id is 100,276, and a model needs a row for
each id up to it (step 12): 100,277.

>>> sizes({b"a": 0, b"b": 1, b"ab": 2}, {"<|endoftext|>": 4})
Sizes(highest_rank=2, ranks=3, tokens=4, rows=5)
>>> sizes({b"%d" % rank: rank for rank in range(100_256)}, CL100K_SPECIAL)
Sizes(highest_rank=100255, ranks=100256, tokens=100261, rows=100277)

Shown by tiktoken: tiktoken_ext/openai_public.py, lines 80–86, the special tokens; core.py, line 375, where `n_vocab` is
the highest id plus one.

**With Jeton.** The calls show, in this order: bytes are ids; dropout is 0 unless you pass another value; `vocab_size`
is the number of rows, and `len` the number of tokens. In the commands, the content of a file determines its model, not
its name:

    bytes_only = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])
    bytes_only.encode("é小")
    tok = jeton.train([WORDS], vocab_size=270, level="byte", pattern="none", tie_break="first", progress=False)
    tok.encode("oldest", dropout=0.0)
    holes = jeton.Tokenizer.from_merges(LETTERS, [(97, 98, 99)], special_tokens={"<|endoftext|>": 101})
    holes.vocab_size
    len(holes)

    $ jeton train words.txt -o sentencepiece.bpe.model -s 20 --preset sentencepiece-unigram -q
    $ jeton train words.txt -o bpe.model -s 20 --preset sentencepiece -q
    $ jeton train words.txt -o words.json -s 270 --level byte --pattern none --tie-break first -q
    $ jeton encode -t words.json oldest

This is the last lesson.
"""

from __future__ import annotations

import contextlib
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run as a file: `python step24_errata.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step04_train import train_bytes
from .step05_encode import Ranks, encode, ranks
from .step15_gpt4 import read_ranks

WORDS = "old older fast faster fastest best better yes desk mess"
CL100K_SPECIAL = {
    "<|endoftext|>": 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}
LETTERS = {97: b"a", 98: b"b", 99: b"ab"}
MODEL_TYPES = {1: "Unigram", 2: "BPE", 3: "words", 4: "characters"}


def kind(byte: int) -> str:
    """Return the role of a byte in UTF-8.

    Examples:
        >>> kind(0x41), kind(0x80)
        ('ASCII', 'continues')
    """
    for first, last, name in (
        (0x00, 0x7F, "ASCII"),
        (0x80, 0xBF, "continues"),
        (0xC2, 0xDF, "begins 2 bytes"),
        (0xE0, 0xEF, "begins 3 bytes"),
        (0xF0, 0xF4, "begins 4 bytes"),
    ):
        if first <= byte <= last:
            return name
    return "never"


def spellings(character: str) -> tuple[str, str, str]:
    """Return a character as a code point, as Python's string literal in ASCII, and as its UTF-8 bytes.

    Examples:
        >>> spellings("A")
        ('U+0041', "'A'", "b'A'")
    """
    return f"U+{ord(character):04X}", ascii(character), repr(character.encode("utf-8"))


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Read a message of protocol buffers: the number and the value of each field.

    Examples:
        >>> list(fields(b"\\x08\\x96\\x01\\x12\\x02hi"))
        [(1, 150), (2, b'hi')]
    """
    at = 0

    def number() -> int:
        """Read an integer: seven bits per byte, the lowest first; the eighth bit says that another byte follows."""
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        field, wire = divmod(number(), 8)
        if wire == 0:  # an integer
            yield field, number()
        else:  # 8 or 4 bytes, or a length followed by that many bytes
            length = {1: 8, 5: 4}.get(wire) or number()
            at += length
            yield field, message[at - length : at]


def model_type(model: bytes) -> str:
    """Return the algorithm of a SentencePiece model file.

    Examples:
        >>> model_type(b"\\x12\\x02\\x18\\x04")
        'characters'
    """
    trainer = next((value for field, value in fields(model) if field == 2 and isinstance(value, bytes)), b"")
    return MODEL_TYPES[next((value for field, value in fields(trainer) if field == 3 and isinstance(value, int)), 1)]


def fairseq_ids(pieces: Sequence[str]) -> dict[str, int]:
    """Return the ids that fairseq gives to SentencePiece's pieces, the first of which are `<unk>`, `<s>` and `</s>`.

    Examples:
        >>> fairseq_ids(["<unk>", "<s>", "</s>", "a"])
        {'<s>': 0, '<pad>': 1, '</s>': 2, '<unk>': 3, 'a': 4, '<mask>': 5}
    """
    names = ["<s>", "<pad>", "</s>", "<unk>", *pieces[3:], "<mask>"]
    return {name: id for id, name in enumerate(names)}


def encode_with_dropout(ids: Sequence[int], ranks: Ranks, dropout: float, rng: random.Random) -> list[int]:
    """Merge one pair at a time, but skip each possible merge with probability `dropout`; stop if all are skipped.

    Examples:
        >>> encode_with_dropout(list(b"abab"), {(97, 98): (0, 256)}, 1.0, random.Random(0))
        [97, 98, 97, 98]
    """
    result = list(ids)
    while possible := [
        (ranks[pair][0], at) for at, pair in enumerate(pairwise(result)) if pair in ranks and rng.random() >= dropout
    ]:
        _, at = min(possible)
        result[at : at + 2] = [ranks[result[at], result[at + 1]][1]]
    return result


class Sizes(NamedTuple):
    """Four numbers that are used as the size of a vocabulary."""

    highest_rank: int
    ranks: int
    tokens: int  # including special tokens
    rows: int  # rows of an embedding table: the highest id plus one


def sizes(rank_of: Mapping[bytes, int], special: Mapping[str, int]) -> Sizes:
    """Return the size of a vocabulary, counted in four ways.

    Examples:
        >>> sizes({b"a": 0}, {})
        Sizes(highest_rank=0, ranks=1, tokens=1, rows=1)
    """
    highest = max(rank_of.values())
    return Sizes(highest, len(rank_of), len(rank_of) + len(special), max(highest, *special.values(), 0) + 1)


def main(folder: str = "") -> None:
    """Print the correct output for each statement."""
    print("1. “0–255 are ASCII”:", dict(Counter(kind(byte) for byte in range(256))))
    print("2. “Unicode begins with \\x”:", *spellings("é"), *spellings("小"))
    print("3. “a byte is a character”:", {text: len(text.encode()) for text in ("A", "é", "小", "𠮷", "⭐", "👨‍👩‍👧")})
    if not folder:
        print("   (4 and 7: no folder is named, so these are made-up files)")
    models = {path.name: path.read_bytes() for path in sorted(Path(folder).glob("*.model"))} if folder else {}
    for name, model in (models or {"a small file": b"\x12\x02\x18\x01"}).items():
        print(f"4. “a file .bpe.model has BPE”: {name} has {model_type(model)}")
    pieces = ["<unk>", "<s>", "</s>", *(f"piece {number}" for number in range(3, 250_000))]
    print(f"5. “250,005 ids”: {len(pieces):,} pieces become {len(fairseq_ids(pieces)):,} ids")
    table = ranks(train_bytes(WORDS, 270))
    for dropout in (0.0, 0.1):
        rng = random.Random(0)  # noqa: S311  # repeatable numbers, no secret
        found = Counter(tuple(encode_with_dropout(list(b"oldest"), table, dropout, rng)) for _ in range(1000))
        print(
            f"6. “dropout is 10%”: with {dropout} {len(found)} encodings of `oldest` in 1,000: {found.most_common(2)}"
        )
    files = sorted(Path(folder).glob("cl100k_base*.tiktoken")) if folder else []
    rank_of = read_ranks(files[0].read_bytes()) if files else {b"%d" % rank: rank for rank in range(100_256)}
    print("7. “100,255 tokens”:", sizes(rank_of, CL100K_SPECIAL))


def beside_jeton() -> None:
    """Get the same outputs from Jeton."""
    import jeton

    bytes_only = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])
    assert bytes_only.encode("é小") == list("é小".encode())
    tok = jeton.train([WORDS], vocab_size=270, level="byte", pattern="none", tie_break="first", progress=False)
    ours = encode(list(b"oldest"), ranks(train_bytes(WORDS, 270, tie_break="first")))
    assert all(tok.encode("oldest", dropout=0.0) == ours for _ in range(1000))
    holes = jeton.Tokenizer.from_merges(LETTERS, [(97, 98, 99)], special_tokens={"<|endoftext|>": 101})
    expected = sizes({token: id for id, token in LETTERS.items()}, {"<|endoftext|>": 101})
    assert holes.vocab_size == expected.rows
    assert len(holes) == expected.tokens
    print(f"jeton: `oldest` is {ours} each time; {len(holes)} tokens need {holes.vocab_size} rows")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("words.txt").write_text(WORDS, encoding="utf-8")
        jeton_command("jeton train words.txt -o sentencepiece.bpe.model -s 20 --preset sentencepiece-unigram -q")
        jeton_command("jeton train words.txt -o bpe.model -s 20 --preset sentencepiece -q")
        found = [model_type(Path(name).read_bytes()) for name in ("sentencepiece.bpe.model", "bpe.model")]
        assert found == ["Unigram", "BPE"]
        print("sentencepiece.bpe.model has", found[0])
        jeton_command("jeton train words.txt -o words.json -s 270 --level byte --pattern none --tie-break first -q")
        assert jeton_command("jeton encode -t words.json oldest").split() == [str(id) for id in ours]


if __name__ == "__main__":
    main(*sys.argv[1:2])
    with_jeton(beside_jeton)

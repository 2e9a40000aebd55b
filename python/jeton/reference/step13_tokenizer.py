r"""Step 13. All of it in one class.

    python step13_tokenizer.py                 also without Jeton
    python -m jeton.reference.step13_tokenizer

The class unites the results of the lessons on bytes: a list of merges, a pattern and a few special tokens, with methods
to train, encode and decode. Only saving a tokenizer is new. This is what each method takes and returns:

>>> print(in_and_out("hug pug hug", 258, "hugs"))
method      input                    output
train       'hug pug hug', 258       merges [(117, 103, 256), (104, 256, 257)]
vocab_size                           258
encode      'hugs'                   [257, 115]
tokens      'hugs'                   [b'hug', b's']
decode      [257, 115]               'hugs'
save        a path                   a file of 113 bytes
load        the path                 an equal tokenizer

Chinese and English need the same code and share one vocabulary:

>>> tok = Tokenizer.train("今天的天气很好，今天的风也很好。The weather is good, the wind is good.", 280)
>>> tok.decode(tok.encode("今天 is good"))
'今天 is good'
>>> [show(token) for token in tok.tokens("今天 is good")]
["'今天'", "' is'", "' good'"]

Four special tokens are added. No older id moves, and the text reaches them only with the caller's permission:

>>> chat = tok.add_special(["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|padding|>"])
>>> chat.vocab_size, chat.special_tokens["<|im_start|>"]
(284, 280)
>>> chat.encode("<|im_start|>user\n", special="all")
[280, 117, 115, 101, 114, 10]
>>> len(chat.encode("<|im_start|>user\n"))
17
>>> chat.decode(chat.encode("<|im_start|>user\n", special="all"))
'<|im_start|>user\n'

A tokenizer is immutable: `add_special` makes a new one. Ids keep their meaning, and threads can share a tokenizer.

**`vocab_size`** is the highest id plus one. `train(text, 280)` counts the 256 bytes: 24 merges are learned. It is the
number of rows that an embedding table needs (step 12). If the ids have gaps, it is higher than the number of tokens:

>>> holes = Tokenizer(special_tokens={"<s>": 300})
>>> holes.vocab_size, len(holes.vocab)
(301, 257)

**What is in the file?** Only what encoding and decoding need: the merges in their order, the pattern, and the special
tokens. The spelling of a token is not stored, because the merges give it (step 3). The corpus is not stored, nor is the
tie rule, because it is not used after the merges are learned.

>>> print(Tokenizer.train("hug pug hug", 258).add_special(["<s>"]).to_json())
{
  "pattern": "gpt4",
  "special_tokens": {"<s>": 258},
  "merges": [
    [117, 103, 256, 3],
    [104, 256, 257, 2]
  ]
}
>>> Tokenizer.from_json(chat.to_json()) == chat
True

A merge is saved as left, right, new id, and its count in the corpus, which is only informative. The pattern belongs in
the file, because the same merges with another pattern give other ids. Rank files lack the pattern, so it must be known
from elsewhere (step 15).

>>> numbers = Tokenizer.train("202 202", 258)
>>> numbers.encode("1202"), replace(numbers, pattern=None).encode("1202")
([49, 256, 50], [49, 257])

**With Jeton.** The names of this class are those of `jeton.Tokenizer`. This class reads the whole corpus again for each
merge, and each pretoken again for each step of encoding; steps 16 and 17 do better, and Jeton's engine is written in
Rust. It gives the same merges and ids, *if it has the same options*. The defaults of this class are minbpe's,
`pattern="gpt4"` and `tie_break="first"`. Jeton's are `"o200k"` and `"lowest_ids"`, and give other merges:

    tok = jeton.train(CORPUS, 282, level="byte", pattern="gpt4", tie_break="first", min_frequency=2, progress=False)
    tok.save("saved.json")
    ids = jeton.load("saved.json").encode("今天 is good")

    $ jeton train corpus.txt -o tok.json -s 282 --documents line --level byte --pattern gpt4 \
        --tie-break first --min-frequency 2 -q
    $ jeton encode -t tok.json "今天 is good"
    263 274 277

Exercises, if you like: (1) train once with and once without a pattern, and compare the longest tokens. (2) Train on a
text in your own language and look for the first token that is a whole word. (3) Find a text for which `longest_match`
of step 5 gives *fewer* ids than `encode`. (4) Make `train` faster without changing a single merge: which pairs can
have changed their count after a merge? Step 17 is one answer.

Left out: files of other libraries, the span of each token in the text. Next: step15_gpt4.py.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step13_tokenizer.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES, show
from .step03_merge import Merge, vocabulary
from .step04_train import train_bytes
from .step05_encode import encode, ranks
from .step06_decode import decode
from .step07_special import add_special, cut, with_special
from .step08_split import split


@dataclass(frozen=True)
class Tokenizer:
    """Byte-level BPE tokenizer, whose attributes and methods are named as in `jeton.Tokenizer`."""

    merges: tuple[Merge, ...] = ()
    pattern: str | None = None  # a name of step 8 or a regular expression; None: the text is not cut
    special_tokens: Mapping[str, int] = field(default_factory=dict)  # spelling -> id

    @classmethod
    def train(
        cls,
        text: str | Iterable[str],
        vocab_size: int,
        pattern: str | None = "gpt4",
        tie_break: str = "first",
        min_frequency: int = 1,
    ) -> Tokenizer:
        """Train on a text or on documents.

        Examples:
            >>> Tokenizer.train("abab", 257).merges
            (Merge(left=97, right=98, new=256, count=2),)
        """
        cutter = None if pattern is None else partial(split, pattern=pattern)
        merges = train_bytes(text, vocab_size, tie_break=tie_break, min_frequency=min_frequency, split=cutter)
        return cls(tuple(merges), pattern)

    @property
    def vocab(self) -> dict[int, bytes]:
        """Bytes of every token, including special tokens: id -> bytes.

        Examples:
            >>> Tokenizer.train("abab", 257).vocab[256]
            b'ab'
        """
        return with_special(vocabulary(BYTES, self.merges), self.special_tokens)

    @property
    def vocab_size(self) -> int:
        """Highest id plus one: the number of rows of an embedding table.

        Examples:
            >>> Tokenizer().vocab_size, Tokenizer(special_tokens={"<s>": 300}).vocab_size
            (256, 301)
        """
        return max(self.vocab) + 1

    def add_special(self, names: Iterable[str]) -> Tokenizer:
        """Make a tokenizer that also has these special tokens, with the next free ids.

        Examples:
            >>> Tokenizer().add_special(["<a>", "<b>", "<a>"]).special_tokens
            {'<a>': 256, '<b>': 257}
        """
        return replace(self, special_tokens=add_special(self.special_tokens, names, self.vocab_size))

    def encode(self, text: str, special: str | Collection[str] = "none") -> list[int]:
        """Turn text into ids; `special` says which special tokens are permitted, as `permit` in step 7.

        Examples:
            >>> Tokenizer.train("abab", 257).encode("abba")
            [256, 98, 97]
        """
        table = ranks(self.merges)
        ids: list[int] = []
        for piece in cut(text, self.special_tokens, special):
            if isinstance(piece, int):
                ids.append(piece)
                continue
            for pretoken in [piece] if self.pattern is None else split(piece, self.pattern):
                ids += encode(list(pretoken.encode("utf-8")), table)
        return ids

    def tokens(self, text: str, special: str | Collection[str] = "none") -> list[bytes]:
        """Encode text; return the bytes of each token.

        Examples:
            >>> Tokenizer.train("abab", 257).tokens("abba")
            [b'ab', b'b', b'a']
        """
        vocab = self.vocab
        return [vocab[id] for id in self.encode(text, special)]

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """Turn ids into text.

        Examples:
            >>> Tokenizer().decode([0xE5, 0xB0, 0x8F])
            '小'
        """
        return decode(ids, self.vocab, errors)

    def to_json(self) -> str:
        """Write the tokenizer as text, one merge in each line.

        Examples:
            >>> print(Tokenizer().to_json())
            {
              "pattern": null,
              "special_tokens": {},
              "merges": []
            }
        """
        pattern, special = json.dumps(self.pattern), json.dumps(dict(self.special_tokens), ensure_ascii=False)
        merges = ",".join(f"\n    {json.dumps(merge)}" for merge in self.merges)
        merges = f"[{merges}\n  ]" if merges else "[]"
        return f'{{\n  "pattern": {pattern},\n  "special_tokens": {special},\n  "merges": {merges}\n}}'

    @classmethod
    def from_json(cls, text: str) -> Tokenizer:
        """Read what `to_json` wrote.

        Examples:
            >>> Tokenizer.from_json(Tokenizer(pattern="gpt2").to_json())
            Tokenizer(merges=(), pattern='gpt2', special_tokens={})
        """
        saved = json.loads(text)
        return cls(tuple(Merge(*merge) for merge in saved["merges"]), saved["pattern"], saved["special_tokens"])

    def save(self, path: str | Path) -> None:
        """Write the tokenizer to a file, in UTF-8; see `in_and_out`."""
        Path(path).write_text(self.to_json(), "utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read a tokenizer from a file that `save` wrote."""
        return cls.from_json(Path(path).read_text("utf-8"))


def in_and_out(corpus: str, vocab_size: int, text: str) -> str:
    """Train, encode, decode, save and load; return a table of the inputs and outputs.

    Examples:
        >>> print(in_and_out("abab", 257, "ab").splitlines()[3])
        encode      'ab'                     [256]
    """
    tok = Tokenizer.train(corpus, vocab_size)
    ids = tok.encode(text)
    with TemporaryDirectory() as folder:
        path = Path(folder, "tok.json")
        tok.save(path)
        size, same = path.stat().st_size, Tokenizer.load(path) == tok
    rows = [
        ("method", "input", "output"),
        ("train", f"{corpus!r}, {vocab_size}", f"merges {[merge[:3] for merge in tok.merges]}"),
        ("vocab_size", "", str(tok.vocab_size)),
        ("encode", repr(text), str(ids)),
        ("tokens", repr(text), str(tok.tokens(text))),
        ("decode", str(ids), repr(tok.decode(ids))),
        ("save", "a path", f"a file of {size} bytes"),
        ("load", "the path", "an equal tokenizer" if same else "another tokenizer"),
    ]
    return "\n".join(f"{method:<12}{given:<25}{result}" for method, given, result in rows)


CORPUS = ["今天的天气很好，今天的风也很好。", "The weather is good today, and the wind is good today."]


def main() -> None:
    """Train on two languages, add special tokens, and encode a turn of a conversation."""
    print(in_and_out("hug pug hug", 258, "hugs"))
    tok = Tokenizer.train(CORPUS, 290, min_frequency=2).add_special(["<|im_start|>", "<|im_end|>"])
    print(tok.vocab_size, "ids, the learned ones:", [show(tok.vocab[new]) for _, _, new, _ in tok.merges])
    turn = "<|im_start|>user\n今天的风?<|im_end|>"
    for special in ("all", "none"):
        ids = tok.encode(turn, special)
        print(f"special={special!r}: {len(ids)} ids {ids}")
        print(" ", [show(token) for token in tok.tokens(turn, special)])
        print(" ", repr(tok.decode(ids)))


def beside_jeton() -> None:
    """Train the same tokenizer with Jeton, save it, and encode with it, in Python and on the command line."""
    import jeton

    mine = Tokenizer.train(CORPUS, 282, pattern="gpt4", tie_break="first", min_frequency=2)
    tok = jeton.train(CORPUS, 282, level="byte", pattern="gpt4", tie_break="first", min_frequency=2, progress=False)
    assert tok.merges == tuple(merge[:3] for merge in mine.merges)
    print(f"jeton: {len(tok.merges)} equal merges")
    own = jeton.train(CORPUS, 282, min_frequency=2, progress=False)
    print("jeton, with its own pattern and tie rule:", "equal" if own.merges == tok.merges else "other merges")
    with TemporaryDirectory() as folder, chdir(folder):
        tok.save("saved.json")
        ids = jeton.load("saved.json").encode("今天 is good")
        assert ids == mine.encode("今天 is good")
        Path("corpus.txt").write_text("\n".join(CORPUS), encoding="utf-8")
        jeton_command(
            "jeton train corpus.txt -o tok.json -s 282 --documents line --level byte --pattern gpt4 "
            "--tie-break first --min-frequency 2 -q"
        )
        printed = jeton_command('jeton encode -t tok.json "今天 is good"')
    assert list(map(int, printed.split())) == ids


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

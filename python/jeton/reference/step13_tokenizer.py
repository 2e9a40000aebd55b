r"""Step 13. All of it in one class.

The result of twelve steps: a list of merges, a pattern, a few special tokens; train, encode, decode. Nothing in this
file is new.

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

This class has all ideas, but it is slow. It reads the whole corpus again for each merge, and each pretoken again for
each step of encoding. Jeton's engine in Rust gives the same merges and ids, and is much faster. It also reads and
writes the files of other libraries, returns the span of each token in the text, explains its steps, and refuses bad
input. You know now how it works; the rest is `import jeton`.

Exercises, if you like: (1) train once with and once without a pattern, and compare the longest tokens. (2) Train on a
text in your own language and look for the first token that is a whole word. (3) Find a text for which `longest_match`
of step 5 gives *fewer* ids than `encode`. (4) Make `train` faster without changing a single merge: which pairs can
have changed their count after a merge?
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

if not __package__:  # run as a file: `python step13_tokenizer.py`
    __import__("running")

from .step01_levels import BYTES, show
from .step03_merge import Merge, vocabulary
from .step04_train import train_bytes
from .step05_encode import encode, ranks
from .step06_decode import decode
from .step07_special import add_special, cut, with_special
from .step08_split import split


@dataclass(frozen=True)
class Tokenizer:
    """A byte-level BPE tokenizer; its names are those of `jeton.Tokenizer`."""

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
        """The spelling of every token, special tokens included: id -> bytes.

        Examples:
            >>> Tokenizer.train("abab", 257).vocab[256]
            b'ab'
        """
        return with_special(vocabulary(BYTES, self.merges), self.special_tokens)

    @property
    def vocab_size(self) -> int:
        """The highest id plus one: the rows of an embedding table.

        Examples:
            >>> Tokenizer().vocab_size, Tokenizer(special_tokens={"<s>": 300}).vocab_size
            (256, 301)
        """
        return max(self.vocab) + 1

    def add_special(self, names: Iterable[str]) -> Tokenizer:
        """Make a tokenizer that has these special tokens too, at the next free ids.

        Examples:
            >>> Tokenizer().add_special(["<a>", "<b>", "<a>"]).special_tokens
            {'<a>': 256, '<b>': 257}
        """
        return replace(self, special_tokens=add_special(self.special_tokens, names, self.vocab_size))

    def encode(self, text: str, special: str | Collection[str] = "none") -> list[int]:
        """Turn text into ids; `special` says which special tokens may come from the text, as `permit` in step 7.

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
        """Turn text into the bytes of its tokens.

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


def main() -> None:
    """Train on two languages, add special tokens, and encode a turn of a conversation."""
    corpus = ["今天的天气很好，今天的风也很好。", "The weather is good today, and the wind is good today."]
    tok = Tokenizer.train(corpus, 290, min_frequency=2).add_special(["<|im_start|>", "<|im_end|>"])
    print(tok.vocab_size, "ids, the learned ones:", [show(tok.vocab[new]) for _, _, new, _ in tok.merges])
    turn = "<|im_start|>user\n今天的风?<|im_end|>"
    for special in ("all", "none"):
        ids = tok.encode(turn, special)
        print(f"special={special!r}: {len(ids)} ids {ids}")
        print(" ", [show(token) for token in tok.tokens(turn, special)])
        print(" ", repr(tok.decode(ids)))


if __name__ == "__main__":
    main()

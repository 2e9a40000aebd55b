r"""Step 8. Cutting the text before BPE: the pretokens.

Left alone, BPE learns `dog.` and `dog!` and `dog?` as three tokens, and `of the` as one, for these neighbors are
frequent. It is better to forbid some merges from the start: cut the text into *pretokens*, words with their leading
space, numbers, runs of punctuation, and let no merge reach across a cut. There is a second reason, speed: a pretoken
is short, the same pretokens come again and again, and their ids can be kept.

The cutting is done by one regular expression, the *pattern*. GPT-2 published the first one:

>>> split("How's the weather in 2026? It's 9.11 degrees!!", "gpt2")
['How', "'s", ' the', ' weather', ' in', ' 2026', '?', ' It', "'s", ' 9', '.', '11', ' degrees', '!!']

A space belongs to the word after it, so that ` the` inside a sentence is one token; of several spaces the last goes
with the word and the rest stay together, which is how a row of indentation in a program becomes one token later.

>>> split("if x:\n        return", "gpt2")
['if', ' x', ':', '\n       ', ' return']

Chinese has no spaces, and its characters are letters to Unicode, so a whole clause is one pretoken up to the next
punctuation mark:

>>> split("今天的天气很好，我们出去走走吧。", "gpt2")
['今天的天气很好', '，', '我们出去走走吧', '。']

The later patterns correct the first in small things: numbers in groups of at most three digits, `'S` like `'s`, a
line break at the end of punctuation. `gpt4` is the spelling that minbpe uses, `cl100k` is tiktoken's own of the same;
they differ where a text ends in white space. `o200k` also cuts between small and capital letters.

>>> split("in 20261120", "gpt4"), split("aB cD", "gpt4"), split("aB cD", "o200k")
(['in', ' ', '202', '611', '20'], ['aB', ' cD'], ['a', 'B', ' c', 'D'])
>>> split("a \n  ", "gpt4"), split("a \n  ", "cl100k")
(['a', ' \n', '  '], ['a', ' \n  '])

**Nothing is lost.** A pattern of one's own need not match everything. Many tokenizers silently drop what it leaves
out; here text that no alternative matches is its own pretoken, and the pieces joined always give the text back.

>>> split("tel. 555-1234", r"\d+")
['tel. ', '555', '-', '1234']

Training with a pattern is training of step 4 with `split=`:

>>> spaced = train_bytes("the theme then", 300, split=partial(split, pattern="gpt2"), min_frequency=2)
>>> [show(token) for token in vocabulary(BYTES, spaced).values()][256:]
["'th'", "'the'", "' the'"]

Watch it: while `jeton play --port 7777` runs, this address trains with the pattern; a gap stands between pretokens,
and no merge crosses it.

    http://127.0.0.1:7777/#view=train&text=the+theme+then&pattern=gpt2&ties=first&size:=259

This needs the `regex` package, for Python's own `re` does not know `\p{L}`, any letter of any script, and a pattern
for all the texts of the world cannot do without it. Left out: remembering the ids of frequent pretokens. Next:
step09_characters.py.

Source: `gpt2` from openai/gpt-2 (src/encoder.py), `gpt4` from karpathy/minbpe (minbpe/regex.py), `cl100k` and `o200k`
from openai/tiktoken (tiktoken_ext/openai_public.py).
"""

from __future__ import annotations

from functools import lru_cache, partial

import regex

from .step01_levels import BYTES, show
from .step03_merge import vocabulary
from .step04_train import train_bytes

_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERNS: dict[str, str] = {
    "gpt2": r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    "gpt4": (
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"""
        r"""|\s*[\r\n]|\s+(?!\S)|\s+"""
    ),
    "cl100k": (
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
        r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
    ),
    "o200k": "|".join(
        [
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _ENDINGS,  # word, Word
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _ENDINGS,  # WORD, Word
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
}


@lru_cache
def _compile(pattern: str) -> regex.Pattern[str]:
    """Compile a named pattern, or a pattern given as text, once."""
    try:
        return regex.compile(PATTERNS.get(pattern, pattern))
    except regex.error as error:
        raise ValueError(f"the pattern {pattern!r} does not compile: {error}") from None


def split(text: str, pattern: str) -> list[str]:
    """Cut `text` into pretokens.

    Args:
        text: The text to cut.
        pattern: A name in `PATTERNS`, or a regular expression.

    Returns:
        The matches and, each on its own, the stretches of text between them. A match of nothing does not cut.

    Raises:
        ValueError: If the pattern does not compile.

    Examples:
        >>> split("don't  stop", "gpt2")
        ['don', "'t", ' ', ' stop']
        >>> split("abc", "b"), split("abc", "x*"), split("", "gpt2")
        (['a', 'b', 'c'], ['abc'], [])
    """
    pretokens: list[str] = []
    end = 0
    for match in _compile(pattern).finditer(text):
        pretokens += [text[end : match.start()], match[0]] if match[0] else []
        end = match.end() if match[0] else end
    pretokens.append(text[end:])
    return [pretoken for pretoken in pretokens if pretoken]


def main() -> None:
    """Cut one text by every named pattern, then train with a cut and without."""
    text = "We've 12345 reasons: HTTPServer, aB, 今天的天气!!\n\n  go \n "
    for name in PATTERNS:
        print(f"{name:<7}", split(text, name))
    for cutter in (None, partial(split, pattern="gpt2")):
        merges = train_bytes("the dog. the dog! the dog? of the dog", 300, split=cutter, min_frequency=2)
        learned = list(vocabulary(BYTES, merges).values())[256:]
        print("with a cut:" if cutter else "without:", [show(token) for token in learned])


if __name__ == "__main__":
    main()

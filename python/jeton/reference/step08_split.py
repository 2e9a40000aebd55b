r"""Step 8. Cutting the text before BPE: the pretokens.

    python step08_split.py                 also without Jeton
    python -m jeton.reference.step08_split

Without restrictions, BPE learns `dog.` and `dog!` and `dog?` as three tokens, and `of the` as one token, because these
neighbors are frequent. It is better to forbid some merges from the start: cut the text into *pretokens* (words with
their leading space, numbers, runs of punctuation) and let no merge cross the boundary of a pretoken. A second reason is
speed: pretokens are short, and the same pretokens occur again and again, so their ids can be cached.

The cutting is done by one regular expression, the *pattern*. GPT-2 published the first one:

>>> split("How's the weather in 2026? It's 9.11 degrees!!", "gpt2")
['How', "'s", ' the', ' weather', ' in', ' 2026', '?', ' It', "'s", ' 9', '.', '11', ' degrees', '!!']

A space belongs to the word after it, so that ` the` inside a sentence can become one token. Of several spaces, the last
belongs to the word; the others form one pretoken, together with the line break before them:

>>> code = "if x:\n        return"
>>> split(code, "gpt2")
['if', ' x', ':', '\n       ', ' return']

The pattern *allows* these spaces to become one token. They become one only if the corpus contains indentation, because
BPE merges only pairs that occur in the corpus:

>>> prose, program = "See the weather. See the weather.", "if x:\n        return x\n        return y\n"
>>> for corpus in (prose, program):
...     merges = train_bytes(corpus, 300, split=partial(split, pattern="gpt2"), min_frequency=2)
...     print(b"\n       " in vocabulary(BYTES, merges).values())
False
True

GPT-2 is like the first corpus. Its pattern keeps the spaces together, but its vocabulary, trained on web pages, has no
token of two spaces, so each space is a separate token. The vocabularies of `cl100k` and `o200k` have tokens for many
spaces.

Chinese has no spaces, and its characters are letters to Unicode, so a whole clause is one pretoken up to the next
punctuation mark:

>>> split("今天的天气很好，我们出去走走吧。", "gpt2")
['今天的天气很好', '，', '我们出去走走吧', '。']

The later patterns change details of the first: numbers are cut into groups of at most three digits; `'S` is treated
like `'s`; a line break stays with the punctuation before it; a word can begin with any single sign, as in `(x`, not
only with a space. `gpt4` is minbpe's form of GPT-4's pattern, and `cl100k` is tiktoken's; they differ where a text ends
in white space. `o200k` also cuts between small and capital letters. (Step 14 explains the patterns row by row.)

>>> split("in 20261120", "gpt4"), split("aB cD", "gpt4"), split("aB cD", "o200k")
(['in', ' ', '202', '611', '20'], ['aB', ' cD'], ['a', 'B', ' c', 'D'])
>>> split("a \n  ", "gpt4"), split("a \n  ", "cl100k")
(['a', ' \n', '  '], ['a', ' \n  '])

**Nothing is lost.** A custom pattern need not match all of the text. Many tokenizers silently drop unmatched text; here
it becomes a separate pretoken, and the pretokens joined always give the text back.

>>> split("tel. 555-1234", r"\d+")
['tel. ', '555', '-', '1234']

Training with a pattern is the training of step 4 with `split=`:

>>> spaced = train_bytes("the theme then", 300, split=partial(split, pattern="gpt2"), min_frequency=2)
>>> [show(token) for token in vocabulary(BYTES, spaced).values()][256:]
["'th'", "'the'", "' the'"]

Watch it (needs `pip install "jeton[play]"`): while `jeton play --port 7777` runs, this address trains with the pattern.
It shows a gap between pretokens, and no merge crosses it.

    http://127.0.0.1:7777/#view=train&text=the+theme+then&pattern=gpt2&ties=first&size:=259

**Letters of every script.** In the patterns, `\p{L}` is a letter of any script, `\p{Lu}` a capital, `\p{N}` a digit or
another number. These are *general categories*: Unicode assigns one to each character. A pattern for all languages needs
these categories, but Python's `re` does not support them. `unicodedata` has the category of each character, so
`spell_out` writes the categories as ranges of characters before `re` compiles the pattern:

>>> print(spell_out(r"\p{Zl}|\p{Zp}"))
[\U00002028-\U00002028]|[\U00002029-\U00002029]

Which characters exist depends on the version of Unicode, here that of your Python. Tokenizers for production use a
regex engine that has the categories (the package `regex` in Python, `fancy-regex` in tiktoken).

Left out: caching the ids of frequent pretokens. Next: step14_regex.py.

Source: `gpt2` from openai/gpt-2 (src/encoder.py), `gpt4` from karpathy/minbpe (minbpe/regex.py), `cl100k` and `o200k`
from openai/tiktoken (tiktoken_ext/openai_public.py).

**With Jeton.** The patterns have the same names, and a regular expression is accepted too. `pattern=` of `jeton.train`
corresponds to `split=` here:

    counts = jeton.count_pretokens([text], pattern=name, progress=False)
    tok = jeton.train([corpus], 259, level="byte", pattern="gpt2", tie_break="first", min_frequency=2, progress=False)

    $ jeton train corpus.txt -o tok.json -s 259 --level byte --pattern gpt2 --tie-break first --min-frequency 2 -q
    $ jeton encode -t tok.json 'the then'
    257 258 110
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import chdir
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from unicodedata import category

if not __package__:  # run as a file: `python step08_split.py`
    __import__("running")

from .running import jeton_command, with_jeton
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


# characters with Unicode's property White_Space, which `\s` matches in the patterns; in `re`, `\s` matches four more
SPACES = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
_CLASS = re.compile(r"\\([pP])\{(\w+)\}|\\([sS])|\\.|\[\^?|\]", re.DOTALL)


@lru_cache
def _runs() -> list[tuple[str, bool, int, int]]:
    """List all of Unicode as runs of characters: general category, white space or not, first and last code point."""
    runs: list[tuple[str, bool, int, int]] = []
    for (name, space), run in groupby(range(0x110000), lambda code: (category(chr(code)), chr(code) in SPACES)):
        codes = list(run)
        runs.append((name, space, codes[0], codes[-1]))
    return runs


@lru_cache
def members(name: str, inside: bool = True) -> str:
    r"""List the characters of a class as ranges, as `re` expects them between `[` and `]`.

    Args:
        name: A general category of Unicode (`Lu`) or its first letter (`L`); `s` is white space.
        inside: False lists all characters that are not in the class.

    Raises:
        ValueError: If there is no such category.

    Examples:
        >>> print(members("s")[:21], members("Lu")[:21])
        \U00000009-\U0000000d \U00000041-\U0000005a
    """
    belongs = [space if name == "s" else group.startswith(name) for group, space, _, _ in _runs()]
    if not any(belongs):
        raise ValueError(f"Unicode has no general category {name!r}")
    runs = (run for run, chosen in zip(_runs(), belongs, strict=True) if chosen is inside)
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for _, _, first, last in runs)


def spell_out(pattern: str) -> str:
    r"""Write `\p{...}`, `\P{...}`, `\s` and `\S` as ranges of characters, for `re`.

    Examples:
        >>> re.findall(spell_out(r"\p{Lu}\p{Ll}+|[^\s\p{L}]"), "Étude, Ωμέγα 5")
        ['Étude', ',', 'Ωμέγα', '5']
    """
    in_brackets = False

    def write(match: re.Match[str]) -> str:
        nonlocal in_brackets
        sign = match[1] or match[3]
        if not sign:  # a bracket of a character class, or an escape that stays unchanged
            in_brackets = match[0].startswith("[") or (in_brackets and match[0] != "]")
            return match[0]
        ranges = members(match[2] or "s", sign.islower())
        return ranges if in_brackets else f"[{ranges}]"

    return _CLASS.sub(write, pattern)


@lru_cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a named pattern, or a pattern given as text; the result is cached."""
    try:
        return re.compile(spell_out(PATTERNS.get(pattern, pattern)))
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} does not compile: {error.msg}") from None


def split(text: str, pattern: str) -> list[str]:
    """Cut `text` into pretokens.

    Args:
        text: The text to cut.
        pattern: A name in `PATTERNS`, or a regular expression.

    Returns:
        The matches and the stretches of text between them, in order. Empty matches are ignored.

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
    """Cut the examples of this lesson with each named pattern, then train with and without a pattern."""
    sentence = "How's the weather in 2026? It's 9.11 degrees!!"
    code = "if x:\n        return x\n        return y\n"
    for text in (sentence, code, "今天的天气很好，我们出去走走吧。", "in 20261120, aB cD\n  "):
        print(repr(text))
        for name in PATTERNS:
            print(f"  {name:<7}", split(text, name))
    for corpus in ("the dog. the dog! the dog? of the dog", code):
        print("trained on", repr(corpus))
        for cutter in (None, partial(split, pattern="gpt2")):
            merges = train_bytes(corpus, 300, split=cutter, min_frequency=2)
            learned = list(vocabulary(BYTES, merges).values())[256:]
            print("  with a cut:" if cutter else "  without:   ", [show(token) for token in learned])


def beside_jeton() -> None:
    """Cut the sentence with Jeton, once with each named pattern, and train with one of the patterns."""
    import jeton

    text, corpus = "How's the weather in 2026? It's 9.11 degrees!!", "the theme then"
    for name in PATTERNS:
        counts = jeton.count_pretokens([text], pattern=name, progress=False)
        assert {pretoken.decode(): count for pretoken, count in counts.items()} == Counter(split(text, name))
        print(f"jeton, {name}: {len(counts)} distinct pretokens of {counts.total}")
    merges = train_bytes(corpus, 259, split=partial(split, pattern="gpt2"), min_frequency=2)
    tok = jeton.train([corpus], 259, level="byte", pattern="gpt2", tie_break="first", min_frequency=2, progress=False)
    assert tok.merges == tuple((left, right, new) for left, right, new, _ in merges)
    with TemporaryDirectory() as folder, chdir(folder):
        Path("corpus.txt").write_text(corpus, encoding="utf-8")
        jeton_command(
            "jeton train corpus.txt -o tok.json -s 259 --level byte --pattern gpt2 "
            "--tie-break first --min-frequency 2 -q"
        )
        printed = jeton_command("jeton encode -t tok.json 'the then'")
    assert list(map(int, printed.split())) == tok.encode("the then")


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

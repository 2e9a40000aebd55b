r"""Step 14. The pattern, row by row.

    python step14_regex.py                 also without Jeton
    python -m jeton.reference.step14_regex

The patterns of step 8 are long, but each is a list of *alternatives*, with `|` between them. At each position of the
text the regex engine tries them in order and takes the first that matches, not the longest. The match is a pretoken,
and the search continues after it. So a pattern can be read like a table. This is GPT-2's pattern; below each
alternative are texts with their matches:

>>> print(table("gpt2"))
1  's|'t|'re|'ve|'m|'ll|'d
     "it's IT'S"         "'s"                   contractions, in small letters only
2   ?\p{L}+
     'go home'           'go' ' home'           letters of any script, with the space before them
     '你好，我们'        '你好' '我们'          Chinese too: a clause up to the punctuation mark
3   ?\p{N}+
     'in 2026'           ' 2026'                digits, as many as there are
4   ?[^\s\p{L}\p{N}]+
     'so !!'             ' !!'                  anything else but white space: punctuation, symbols
5  \s+(?!\S)
     'a   b'             '  '                   white space but its last character, which the word takes
6  \s+
     'a\tb'              '\t'                   white space that no alternative above took

The order matters. The first alternative does not know whether a word ends before the apostrophe:

>>> which("'so what", "gpt2")
[(1, "'s"), (2, 'o'), (2, ' what')]

**cl100k** (GPT-3.5, GPT-4) improves this pattern. Contractions can be capitals: `'S`. Any single sign before a word
belongs to the word, not only a space: `，我们`. Numbers are cut into groups of three: `202|6`. Line breaks belong to
the punctuation before them:

>>> print(table("cl100k"))
1  '(?i:[sdmt]|ll|ve|re)
     "IT'S"              "'S"                   contractions, capitals too
2  [^\r\n\p{L}\p{N}]?+\p{L}++
     '你好，我们'        '你好' '，我们'        letters, with any one sign before them but a line break
     'f(x) go'           'f' '(x' ' go'         for code: `(x` is one pretoken
3  \p{N}{1,3}+
     'in 2026'           '202' '6'              at most three digits, from the left, without the space
4   ?[^\s\p{L}\p{N}]++[\r\n]*+
     'so !!\r\n'         ' !!\r\n'              punctuation, with the line breaks after it
5  \s++$
     'end \n  '          ' \n  '                white space at the end of the text: all of it
6  \s*[\r\n]
     'a   \nb'           '   \n'                white space up to the last line break
7  \s+(?!\S)
     'a   b'             '  '                   white space but its last character
8  \s
     'in 2026'           ' '                    the one character that is left

**o200k** (GPT-4o) also cuts where small letters end and capitals begin, and keeps contractions with their word. The
classes are those of Unicode: Lu capitals, Ll small letters, Lt the few title-case letters (ǅ), Lm modifiers (ʰ), Lo
letters without case (Chinese), M combining marks. Lm, Lo and M are in both halves of the pattern of a word, so that
Chinese and Devanagari words are not cut.

>>> print(table("o200k"))
1  [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
     "camelCase's"       'camel' "Case's"       capitals, then at least one small letter, and a contraction
     '你好，我们'        '你好' '，我们'        Chinese has no case: all in the second half
2  [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
     "IT'S HTTP2"        "IT'S" ' HTTP'         a word in capitals only
3  \p{N}{1,3}
     'in 2026'           '202' '6'              as in cl100k
4   ?[^\s\p{L}\p{N}]+[\r\n/]*
     'ok;\n//'           ';\n//'                punctuation, with line breaks and slashes after it
5  \s*[\r\n]+
     'a   \n\nb'         '   \n\n'              white space up to the last line break
6  \s+(?!\S)
     'a   b'             '  '                   white space but its last character
     'end \n  '          '  '                   at the end nothing follows, so it takes all
7  \s+
     'in 2026'           ' '                    the one character that is left

**`(?!\S)`** is a lookahead: the match can end here only if no character other than white space follows. The lookahead
itself takes no character. In `a   b`, `\s+` first takes all three spaces. Then `(?!\S)` fails, because `b` follows. So
`\s+` *gives back* one space (backtracking), and the lookahead succeeds, because a space follows. That is how ` b` gets
its space.

**`++`, `?+`, `*+`** are possessive quantifiers, which never give back. Before this lookahead, a possessive quantifier
would prevent any match:

>>> [found and found[0] for found in (re.match(row, "   b") for row in (r"\s+", r"\s+(?!\S)", r"\s++(?!\S)"))]
['   ', '  ', None]

The patterns have possessive quantifiers only where giving back could not help: after `\p{L}++` nothing more must match,
and a sign that `[^\r\n\p{L}\p{N}]?+` took cannot be the letter that `\p{L}` needs. Possessive quantifiers change no
match here; they only save the engine useless attempts. Without them the pretokens are the same:

>>> print(without_possessive(PATTERNS["cl100k"]))
'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]|\s+(?!\S)|\s
>>> text = "IT'S 2026，我们 !!\r\n   \n  end \n  "
>>> split(text, "cl100k") == split(text, without_possessive(PATTERNS["cl100k"]))
True

**In Python.** `re` has possessive quantifiers since 3.11, but not `\p{L}`; `spell_out` of step 8 writes the classes as
ranges. `which` compiles each alternative separately and tries them in order. It gives the same pretokens as `split`, in
which the regex engine chooses the alternative:

>>> [pretoken for _, pretoken in which(text, "o200k")] == split(text, "o200k")
True
>>> all("|".join(row.alternative for row in rows) == PATTERNS[name] for name, rows in ROWS.items())
True

**With Jeton.** `explain` names the alternative of each pretoken:

    tok = jeton.train(["any"], 256, level="byte", pattern=name, tie_break="first", min_frequency=1, progress=False)
    explained = [(pretoken.part, pretoken.text.decode()) for pretoken in tok.explain(text).pretokens]

    $ jeton train any.txt -o bytes.json -s 256 --level byte --pattern cl100k --tie-break first --min-frequency 1 -q
    $ jeton explain -t bytes.json --json "IT'S 2026"

Left out: patterns that look behind or ahead by more than one character. Next: step13_tokenizer.py.

Source: openai/gpt-2 (src/encoder.py) and openai/tiktoken (tiktoken_ext/openai_public.py).
"""

from __future__ import annotations

import json
import re
from contextlib import chdir
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

if not __package__:  # run as a file: `python step14_regex.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step08_split import PATTERNS, spell_out, split


class Row(NamedTuple):
    r"""One alternative of a pattern, and examples of its matches, each a pair (text, explanation).

    Examples:
        >>> ROWS["gpt2"][2]
        Row(alternative=' ?\\p{N}+', examples=(('in 2026', 'digits, as many as there are'),))
    """

    alternative: str
    examples: tuple[tuple[str, str], ...]


_LAST = ("a   b", "white space but its last character")
_LEFT = ("in 2026", "the one character that is left")
_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_WORD = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _CONTRACTION
_CAPITALS = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _CONTRACTION

ROWS: dict[str, tuple[Row, ...]] = {
    "gpt2": (
        Row("'s|'t|'re|'ve|'m|'ll|'d", (("it's IT'S", "contractions, in small letters only"),)),
        Row(
            r" ?\p{L}+",
            (
                ("go home", "letters of any script, with the space before them"),
                ("你好，我们", "Chinese too: a clause up to the punctuation mark"),
            ),
        ),
        Row(r" ?\p{N}+", (("in 2026", "digits, as many as there are"),)),
        Row(r" ?[^\s\p{L}\p{N}]+", (("so !!", "anything else but white space: punctuation, symbols"),)),
        Row(r"\s+(?!\S)", (("a   b", "white space but its last character, which the word takes"),)),
        Row(r"\s+", (("a\tb", "white space that no alternative above took"),)),
    ),
    "cl100k": (
        Row("'(?i:[sdmt]|ll|ve|re)", (("IT'S", "contractions, capitals too"),)),
        Row(
            r"[^\r\n\p{L}\p{N}]?+\p{L}++",
            (
                ("你好，我们", "letters, with any one sign before them but a line break"),
                ("f(x) go", "for code: `(x` is one pretoken"),
            ),
        ),
        Row(r"\p{N}{1,3}+", (("in 2026", "at most three digits, from the left, without the space"),)),
        Row(r" ?[^\s\p{L}\p{N}]++[\r\n]*+", (("so !!\r\n", "punctuation, with the line breaks after it"),)),
        Row(r"\s++$", (("end \n  ", "white space at the end of the text: all of it"),)),
        Row(r"\s*[\r\n]", (("a   \nb", "white space up to the last line break"),)),
        Row(r"\s+(?!\S)", (_LAST,)),
        Row(r"\s", (_LEFT,)),
    ),
    "o200k": (
        Row(
            _WORD,
            (
                ("camelCase's", "capitals, then at least one small letter, and a contraction"),
                ("你好，我们", "Chinese has no case: all in the second half"),
            ),
        ),
        Row(_CAPITALS, (("IT'S HTTP2", "a word in capitals only"),)),
        Row(r"\p{N}{1,3}", (("in 2026", "as in cl100k"),)),
        Row(r" ?[^\s\p{L}\p{N}]+[\r\n/]*", (("ok;\n//", "punctuation, with line breaks and slashes after it"),)),
        Row(r"\s*[\r\n]+", (("a   \n\nb", "white space up to the last line break"),)),
        Row(r"\s+(?!\S)", (_LAST, ("end \n  ", "at the end nothing follows, so it takes all"))),
        Row(r"\s+", (_LEFT,)),
    ),
}


@lru_cache
def _compile(name: str) -> list[re.Pattern[str]]:
    """Compile each alternative of a pattern separately."""
    return [re.compile(spell_out(row.alternative)) for row in ROWS[name]]


def which(text: str, name: str) -> list[tuple[int, str]]:
    r"""Cut `text` into pretokens, each with the number of the first alternative that matches there.

    Raises:
        ValueError: If no alternative matches at some position, which never happens with the patterns of this lesson.

    Examples:
        >>> which("IT'S 2026", "cl100k")
        [(2, 'IT'), (1, "'S"), (8, ' '), (3, '202'), (3, '6')]
        >>> which("IT'S 2026", "o200k")
        [(2, "IT'S"), (7, ' '), (3, '202'), (3, '6')]
    """
    pretokens: list[tuple[int, str]] = []
    at = 0
    while at < len(text):
        for number, alternative in enumerate(_compile(name), start=1):
            if (found := alternative.match(text, at)) and found[0]:
                pretokens.append((number, found[0]))
                at = found.end()
                break
        else:
            raise ValueError(f"no alternative of {name} matches at index {at}: {text[at : at + 10]!r}")
    return pretokens


def table(name: str) -> str:
    r"""Return the numbered alternatives of a pattern, each with a line per example: text, matches and explanation.

    Examples:
        >>> print(table("o200k").splitlines()[-2])
        7  \s+
    """

    def pad(text: str, width: int) -> str:  # counts a Chinese character as two columns
        return text + " " * (width - len(text) - sum("⺀" <= character <= "￦" for character in text))

    lines: list[str] = []
    for number, row in enumerate(ROWS[name], start=1):
        lines.append(f"{number}  {row.alternative}")
        for text, reason in row.examples:
            matches = " ".join(repr(pretoken) for at, pretoken in which(text, name) if at == number)
            lines.append(f"     {pad(repr(text), 20)}{pad(matches, 23)}{reason}")
    return "\n".join(lines)


def without_possessive(pattern: str) -> str:
    r"""Replace the possessive quantifiers of a pattern by greedy ones.

    Examples:
        >>> print(without_possessive(r"\p{N}{1,3}+|a?+b++"))
        \p{N}{1,3}|a?b+
    """
    return re.sub(r"([?*+]|\{\d+,\d+\})\+", r"\1", pattern)


def main() -> None:
    """Print the table of each pattern, and one text that shows their differences."""
    for name, rows in ROWS.items():
        assert "|".join(row.alternative for row in rows) == PATTERNS[name]
        print(name, table(name), sep="\n", end="\n\n")
    for text in ("IT'S 2026, 我们!\r\n  go", "'so what", "end \n  "):
        print(repr(text))
        for name in ROWS:
            assert [pretoken for _, pretoken in which(text, name)] == split(text, name)
            print(f"  {name:<7}", *(f"{number}:{pretoken!r}" for number, pretoken in which(text, name)))


def beside_jeton() -> None:
    """Check which alternative matches each example, with Jeton's `explain` in Python and on the command line."""
    import jeton

    for name, rows in ROWS.items():
        tok = jeton.train(["any"], 256, level="byte", pattern=name, tie_break="first", min_frequency=1, progress=False)
        texts = [text for row in rows for text, _ in row.examples]
        for text in texts:
            explained = [(pretoken.part, pretoken.text.decode()) for pretoken in tok.explain(text).pretokens]
            assert explained == [(number - 1, pretoken) for number, pretoken in which(text, name)]
        print(f"jeton, {name}: the same alternatives in {len(texts)} texts")
    with TemporaryDirectory() as folder, chdir(folder):
        Path("any.txt").write_text("any", encoding="utf-8")
        jeton_command(
            "jeton train any.txt -o bytes.json -s 256 --level byte --pattern cl100k "
            "--tie-break first --min-frequency 1 -q"
        )
        printed = json.loads(jeton_command('jeton explain -t bytes.json --json "IT\'S 2026"'))
    explained = [(pretoken["part"], pretoken["text"]) for pretoken in printed["pretokens"]]
    assert explained == [(number - 1, pretoken) for number, pretoken in which("IT'S 2026", "cl100k")]


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)

"""Generator of texts that reveal differences between tokenizers, reproducible from a seed.

Random concatenations of tokens find more differences than random text, because at each boundary between two tokens the
model must decide whether to split the text there as well. Between tokens, the generator inserts text that is rare in
corpora and common in bug reports: all kinds of white space, combining marks, joiners, scripts without spaces,
characters from all of Unicode, non-ASCII digits, control characters, runs of one character.

A seed gives the same texts on every machine and Python version: from the module `random`, the generator uses only
`Random.random`, whose results are stable. It uses no Unicode property tables, which depend on the Python version.

Cost: about 4 µs per text, and 50 ms for building the fragments once.

Source: rust-gems `bpe` (concatenations of random tokens).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import TypeAlias

from ..tokenizer import Tokenizer
from ..tokens.kinds import SPECIAL
from .edge_cases import EDGE_CASES, INVALID_UTF8

__all__ = ["generate_bytes", "generate_texts"]

# Maximum number of fragments in a text; texts have some 40 characters on average.
MAX_FRAGMENTS = 14
# One text in RUN_EVERY has a long run: the first characters of one fragment are repeated, up to MAX_RUN characters in
# total.
RUN_EVERY = 50
MAX_RUN = 500
# Number of fragments that are generated for each kind of fragment that is not a fixed list.
POOL = 1500


def generate_texts(tok: Tokenizer | None, n: int, seed: int = 0, *, special: bool = False) -> Iterator[str]:
    """Generates texts.

    Args:
        tok: tokenizer whose tokens the texts contain; None: only fragments that are independent of a tokenizer.
        n: number of texts.
        seed: seed of the generator.
        special: include spellings of special tokens.

    Yields:
        n texts of 0 to some hundred characters, all valid Unicode.

    Examples:
        >>> texts = list(generate_texts(None, 100))
        >>> len(texts), texts == list(generate_texts(None, 100)), texts == list(generate_texts(None, 100, seed=1))
        (100, True, False)
    """
    tokens = [] if tok is None else _tokens_as_text(tok, special)
    draw = Random(seed).random  # noqa: S311 (nothing secret)
    kinds = _kinds()
    num_kinds, num_tokens = len(kinds), len(tokens)
    for _ in range(n):
        count = 1 + int(draw() * MAX_FRAGMENTS)
        # probability that a fragment is a token: with a value below 0, the text has no tokens; above 1, only tokens
        share = draw() * 1.6 - 0.2 if tokens else 0.0
        fragments = []
        for _ in range(count):
            if draw() < share:
                fragments.append(tokens[int(draw() * num_tokens)])
            else:
                kind = kinds[int(draw() * num_kinds)]
                fragments.append(kind[int(draw() * len(kind))])
        if draw() * RUN_EVERY < 1:
            place = int(draw() * count)
            unit = fragments[place][:4] or " "
            fragments[place] = unit * (1 + int(draw() * (MAX_RUN // len(unit))))
        yield "".join(fragments)


def generate_bytes(tok: Tokenizer | None, n: int, seed: int = 0, *, special: bool = False) -> Iterator[bytes]:
    """Generates byte strings, most of them invalid UTF-8, for byte-level tokenizers, which accept any bytes.

    Args:
        tok, n, seed, special: as `generate_texts`.

    Yields:
        n byte strings of 0 to some hundred bytes.

    Examples:
        >>> len(list(generate_bytes(None, 100)))
        100
    """
    tokens = [] if tok is None else _tokens(tok, special)
    draw = Random(seed).random  # noqa: S311 (nothing secret)
    kinds = _kinds()
    for _ in range(n):
        count = 1 + int(draw() * MAX_FRAGMENTS)
        share = draw() if tokens else 0.0
        fragments = []
        for _ in range(count):
            if draw() < share:
                fragment = tokens[int(draw() * len(tokens))]
            else:
                which = draw()
                if which < 0.4:
                    fragment = INVALID_UTF8[int(draw() * len(INVALID_UTF8))]
                elif which < 0.5:
                    fragment = bytes([int(draw() * 256)])
                else:
                    kind = kinds[int(draw() * len(kinds))]
                    fragment = kind[int(draw() * len(kind))].encode()
            if draw() < 0.15:  # cut off the start, often inside a character
                fragment = fragment[int(draw() * (len(fragment) + 1)) :]
            fragments.append(fragment)
        yield b"".join(fragments)


# ── the vocabulary ────────────────────────────────────────────────────────────────────────────────────────────────


def _tokens(tok: Tokenizer, special: bool) -> list[bytes]:
    """Returns the decoded bytes of the tokens, in order of id."""
    kind, decoded = tok._core.kind, tok._core.decoded
    return [decoded(id) or b"" for id in tok._core.ids() if special or kind(id) != SPECIAL]


def _tokens_as_text(tok: Tokenizer, special: bool) -> list[str]:
    """Returns the decoded tokens that are valid UTF-8; tokens that are part of a character are omitted."""
    texts = []
    for token in _tokens(tok, special):
        try:
            texts.append(token.decode())
        except UnicodeDecodeError:
            continue
    return texts


# ── everything else ───────────────────────────────────────────────────────────────────────────────────────────────

_WHITE = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "\r", " \n", "\n ", "\t ", "\x0b", "\x0c", "\x1c"]
_WHITE += [*"\x85\u00a0\u1680\u2003\u2009\u200b\u2028\u2029\u202f\u205f\u3000\ufeff", " " * 8, "\n" * 4, "\t" * 3]
_CONTROL = [*"\x00\x01\x07\x08\x0e\x1b\x1f\x7f\x80\x9f\u00ad\u061c\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2066"]
_CONTROL += [*"\ufe0e\ufe0f\ufff9\ufffc\ufffd\uffff\U000e0001\U000e0061\U0010ffff"]
_CONTRACTIONS = "'s 't 're 've 'm 'll 'd 'S 'T 'RE 'VE 'M 'LL 'D 'Ll 'rE 'ſ ’s ' '' 'x".split()  # noqa: SIM905
_SIGNS = [*"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»“”‘’„…—–·•¡¿§¶©®™°±×÷€£¥₹←→∑√∞≤≥─█■★♥、。，！？「」《》（）：；"]
_WORDS = """
    the The THE of and in to is that for it not was with you self return import function HTTPServer iPhone naïve café
    Straße İstanbul ΣΑΣ ǅ ﬁn x y I a A ing tion ed er un re low lower lowest New York don we can
    привет МИР γειά xin chào việt Nguyễn año über ça łódź
""".split()  # noqa: SIM905
_SNIPPETS = """
    https://example.com/a?b=c&d=%20 user@example.org www. :// f(x): x->y a+=1 != == <= :: -> => ... ``` </div> <p>
    &amp; \\n \\frac{a}{b} C:\\Users\\ ~/.x $HOME @@ 0x1F 1e-9 3.14 1,000 12:34 2026-11-20 {"k":[1,null]}
    ▁ ## </w> <0x0A> <unk> <s> [CLS] Ġ <|x|>
""".split()  # noqa: SIM905
_SNIPPETS += [
    "if (x == 10) {",
    "}\n",
    "    return [i for i in range(10)]\n",
    "# comment\n",
    "| a | b |\n",
    "SELECT * FROM t;",
]
_EMOJI = [*"😀😉🤔🎉🔥✨👍👋🤷👩👨👧💻🌈🏳🏴☠♀♂❤☺⚡🐱🍎🚀🇩🏻\u200d\ufe0f"]
_EMOJI += [
    "👩\u200d👩\u200d👧",
    "👨🏽\u200d💻",
    "🏳\ufe0f\u200d🌈",
    "👍🏿",
    "🤷🏻\u200d♀\ufe0f",
    "1\ufe0f\u20e3",
    "#\u20e3",
    "🇫🇷",
    "❤\ufe0f",
]

Ranges: TypeAlias = Sequence[tuple[int, int]]


def _ranges(table: str) -> Ranges:
    """Parses ranges of code points. The ranges deliberately include unassigned code points."""
    return [(int(first, 16), int(last, 16)) for first, last in (entry.split("-") for entry in table.split())]


_HAN = _ranges("4E00-9FFF 4E00-6000 3400-4DBF 20000-2A6DF")
_KANA = _ranges("3041-3096 30A1-30FC 4E00-9FFF FF66-FF9F 3099-309A")
_HANGUL = _ranges("AC00-D7A3 AC00-D7A3 1100-1112 1161-1175 11A8-11C2 3131-318E")
_MARKS = _ranges("300-36F 483-489 591-5BD 64B-65F 1AB0-1AFF 1DC0-1DFF 20D0-20F0")
_DIGITS = _ranges("""
    30-39 660-669 6F0-6F9 966-96F E50-E59 FF10-FF19 1D7CE-1D7FF 2070-2079 2080-2089 2150-218B 2460-249B BC-BE
""")
# Cyrillic, Greek, Hebrew, Arabic, Devanagari, Bengali, Tamil, Thai, Latin with marks (twice), Georgian, Armenian, …
_COMMON = _ranges("""
    400-45F 370-3FF 590-5F4 600-6FF 900-97F 980-9FF B80-BFF E01-E5B C0-17F 1E00-1EFF 10A0-10FF 530-58F 1000-109F
    1780-17FF F00-FFF 1200-137F
""")
_RARE = _ranges("""
    180-24F 250-2FF 700-7FF 800-8FF A00-B7F C00-DFF E80-EFF 1380-167F 1680-177F 1800-1AAF 1B00-1CFF 1D00-1DBF 1F00-1FFF
    2C00-2DFF A000-A4CF A4D0-ABFF 10000-10FFF 11000-11FFF 12000-1254F 13000-1342F 16800-16FFF 1B000-1B2FF 1E000-1E95F
""")
# Ligatures, presentation forms, full and half width, enclosed and compatibility characters, mathematical letters.
_FORMS = _ranges("""
    FB00-FB4F FB50-FDFF FE70-FEFF FF01-FFEE 3200-33FF 2460-24FF F900-FAFF 1D400-1D7FF 1F100-1F1FF 2F00-2FDF 2100-218F
""")
_SYMBOLS = _ranges(
    "2000-206F 20A0-20CF 2190-23FF 2500-27BF 2900-2BFF 3000-303F 1F300-1F6FF 1F900-1FAFF E000-F8FF A1-BF"
)
_ANY = _ranges("0-D7FF E000-FFFF 10000-10FFFF 20-7E")
_LETTERS = _ranges("61-7A 61-7A 41-5A")
_BASES = _ranges("41-7A 41-7A C0-FF 4E00-9FFF 20-20")


@cache
def _kinds() -> tuple[Sequence[str], ...]:
    """Returns the kinds of fragments. A kind that is listed twice is drawn twice as often."""
    draw = Random(20_261_120).random  # noqa: S311 (nothing secret)

    def pool(make: Callable[[], str]) -> tuple[str, ...]:
        return tuple(make() for _ in range(POOL))

    def one(items: Sequence[str]) -> str:
        return items[int(draw() * len(items))]

    def within(ranges: Ranges) -> str:
        first, last = ranges[int(draw() * len(ranges))]
        return chr(first + int(draw() * (last - first + 1)))

    def run(ranges: Ranges, longest: int) -> Callable[[], str]:
        """Returns a function that draws up to `longest` characters: all from one range, or each from any range."""

        def make() -> str:
            mine = ranges if draw() < 0.3 else (ranges[int(draw() * len(ranges))],)
            return "".join(within(mine) for _ in range(1 + int(draw() * longest)))

        return make

    def marked() -> str:
        base = within(_BASES)
        return base + "".join(within(_MARKS) for _ in range(1 + int(draw() * 3)))

    def word() -> str:
        text = one(_WORDS) + (one(_WORDS) if draw() < 0.2 else "")
        which = draw()
        if which < 0.1:  # mixed case; ASCII only, because other case mappings depend on the Python version
            text = "".join(chr(ord(c) ^ 32) if c.isascii() and c.isalpha() and draw() < 0.5 else c for c in text)
        return (" " if draw() < 0.6 else "") + text + (one(_CONTRACTIONS) if draw() < 0.1 else "")

    def number() -> str:
        return "".join(chr(48 + int(draw() * 10)) for _ in range(1 + int(draw() * 9)))

    def white() -> str:
        return one(_WHITE) if draw() < 0.6 else "".join(one(_WHITE) for _ in range(1 + int(draw() * 4)))

    def letters() -> str:
        return "".join(within(_LETTERS) for _ in range(1 + int(draw() * 9)))

    words, whites = pool(word), pool(white)
    return (
        words, words, words, words, whites, whites, whites,
        pool(letters), pool(number), pool(marked), _SIGNS, _SIGNS, _CONTRACTIONS, _CONTROL, _SNIPPETS, _EMOJI,
        pool(run(_HAN, 8)), pool(run(_KANA, 8)), pool(run(_HANGUL, 6)), pool(run(_COMMON, 8)), pool(run(_COMMON, 8)),
        pool(run(_RARE, 6)), pool(run(_DIGITS, 6)), pool(run(_FORMS, 4)), pool(run(_SYMBOLS, 3)), pool(run(_ANY, 4)),
        tuple(text for text in EDGE_CASES if len(text) < 40),
    )  # fmt: skip

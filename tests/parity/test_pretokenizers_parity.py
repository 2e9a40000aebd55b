"""HF's pre-tokenizers and added tokens: pretokens and offsets equal those of the pinned `tokenizers`.

``JETON_TESTS=exhaustive`` compares every part over all of Unicode (minutes); without it a sample of it.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, Tokenizer, models

from jeton import _core
from jeton.errors import ConfigError
from tests.selection import EXHAUSTIVE

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
Part = dict[str, Any]

BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def split(pattern: str, behavior: str = "Isolated", invert: bool = False, kind: str = "Regex") -> Part:
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(add_prefix_space: bool, use_regex: bool) -> Part:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def metaspace(scheme: str, split: bool, mark: str = "▁") -> Part:
    return {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": split}


PARTS: list[Part] = [
    {"type": "BertPreTokenizer"},
    *(byte_level(prefix, regex) for prefix in (True, False) for regex in (True, False)),
    *({"type": "CharDelimiterSplit", "delimiter": c} for c in "-▁é"),
    *({"type": "Digits", "individual_digits": each} for each in (True, False)),
    *({"type": "FixedLength", "length": length} for length in (1, 2, 5)),
    *(metaspace(scheme, split) for scheme in ("always", "first", "never") for split in (True, False)),
    metaspace("always", True, "_"),
    {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True},
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    {"type": "UnicodeScripts"},
    {"type": "Whitespace"},
    {"type": "WhitespaceSplit"},
    *(
        split(pattern, behavior, invert, kind)
        for kind, pattern in (
            ("String", " "),
            ("String", "aa"),
            ("String", ""),
            ("Regex", r"\s+|\d"),
            ("Regex", r"\S{2}|\s"),
            ("Regex", r"\p{N}{2}|\P{N}"),
        )
        for behavior in BEHAVIORS
        for invert in (False, True)
    ),
]

# The published regexes, then each construct of Oniguruma by itself.
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
REGEXES = [
    LLAMA3,
    LLAMA3.replace("{1,3}", ""),  # Qwen 2
    # GPT-4o
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    # cl100k as spelled in tiktoken, which Oniguruma reads differently
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
    r"\s+(?!\S)|\s",
    # DeepSeek-V3
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
    # DeepSeek-LLM and -Coder
    r"[\r\n]",
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-Ⴥ]+",
    r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    r"\s+$",
    r"[一-龥ࠀ-一가-퟿]+",
    r"\p{N}+",
    # Kimi K2
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r" ?[^(\s|[.,!?…。,、।۔،])]+",  # Bloom
    r"[0-9][0-9][0-9]",  # Falcon
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?:\r?\n)+(?!\r?\n)",  # StarCoder 2's kin
    r"\d",
    r"\d{1,3}(?=(?:\d{3})*\b)",  # digits in groups of three from the right
    # ── one construct each
    *(rf"{escape}+" for escape in (r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\h", r"\H")),
    *(rf"[{escape}\n]+" for escape in (r"\w", r"\W", r"\d", r"\s", r"\S", r"\h", r"\H")),
    *(
        rf"[[:{name}:]]|[[:^{name}:]a]"
        for name in [
            "alpha",
            "alnum",
            "digit",
            "lower",
            "upper",
            "space",
            "punct",
            "cntrl",
            "blank",
            "xdigit",
            "ascii",
            "word",
            "graph",
            "print",
        ]
    ),
    *(rf"\p{{{name}}}+" for name in ["Alpha", "alnum", "Digit", "Punct", "Space", "Upper"]),
    r"\p{^L}+|\P{^Lu}",
    r"\p{Uppercase Letter}|\p{decimal-number}",
    r".",
    r".+",
    r"(?m:.+)x?",
    r"(?m)a.b|.",
    r"^.",
    r".$",
    r"^\s+|\s+$",
    r"\s*^\S",
    r"(?<=^)a|(?<=a)b",
    r"\A.|.\z|.\Z",
    r"\b.",
    r"\B.",
    r"a{2}+|b{2}?c|\s{1,2}+|\d{,2}x|\p{Lu}{1,2}?",
    r"a{|\{b}|[{}]",
    r"(?<name>a)|(b)|(?'other'c)(?#comment)d?",
    r"(?>a+)b?|(?:ab)++|a*+b",
    r"(?i)[a-k]+|'s|x",
    r"(?i:'S|KELVIN|[k-t]+)|(?-i:S)",
    r"(?i:a(?-i:b)c)+|\u00e9|\x{1F600}|\x41",
    r"[a-c\-x-]+|[-_]|[\]\[]|[&~]+|[%&'!]+",
    r"[^a-z&&[^aeiou]]+|[a-z&&[^aeiou]]+",
    r"[^[a-m][n-z]]+",
    r"\t|\n|\r|\f|\v|\a|\e|\/|\<|\>|\#|\&|\-|\ ",
    r"(?=a)a|(?!b)[a-c]|(?<=b)c|(?<!c)\d",
]

REFUSED = {
    r"(a)\1": r"\1",
    r"\Ga": r"\G",
    r"\Ka": r"\K",
    r"\R": r"\R",
    r"\X": r"\X",
    r"(?~a)": "(?~",
    r"(?x) a": "(?x",
    r"a(?i)b|c": "a flag in the middle",
    r"(?i)straße": "under case-insensitive matching",
    r"(?i)[\p{L}]": "under case-insensitive matching",
    r"(?i)(?:as)s": "`ss`",
    r"a*": "the empty text",
    r"(?=[A-Z])": "the empty text",
    r"(?<=a+)b": "without a fixed width",
}

WORDS = [
    "a",
    "aa",
    "aaa",
    "B",
    "b",
    "ab",
    "abc",
    "don't",
    "I'LL",
    "'S",
    "'sS",
    "'RE",
    "KELVIN",
    "straße",
    "STRASSE",
    "ſ",
    "K",
    "ﬁ",
    "ﬀ",
    "s",
    "x",
    "y_z",
    "12",
    "3456789",
    "7",
    "٣٤",
    "१२",
    "²",
    "½",
    "Ⅷ",
    "①",
    "一二三",
    "日本語",
    "ひらがな",
    "カタカナー",
    "한국어",
    "Привет",
    "ελλάς",
    "שלום",
    "العربية",
    "ไทย",
    "हिन्दी",
    "ǅ",
    "İ",
    "ı",
    "ﬁ",
    "é",
    "é",
    "́",
    "̈",
    "\u200d",
    "\u200c",
    "👩\u200d👩\u200d👧",
    "🇩🇪",
    "🏽",
    "❤️",
    ".",
    ",",
    "!",
    "?",
    "...",
    "!!!",
    "—",
    "–",
    "-",
    "--",
    "_",
    "__",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "{",
    "a{",
    "&",
    "&&",
    "~",
    "#",
    "$",
    "+",
    "<",
    "=",
    ">",
    "^",
    "`",
    "|",
    "/",
    "\\",
    '"',
    "'",
    "…",
    "。",
    "、",
    "।",
    "۔",
    "،",
    "！",
    "~～",
    "«",
    "»",
    "“",
    "”",
    "¿",
    "§",
    "᙭",
    "𑇉",
    "⹃",
    "▁",
    "▁▁",
    "▁a",
    "Ġ",
    "Ċ",
    "�",
    "\ufeff",
    "\xad",
    "\u0378",
    "\U0010ffff",
    "\x00",
    "\x07",
    "\x1b",
    "\x7f",
    "\x80",
]
SPACES = [
    " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u1680", "\u2003",
    "\u2028", "\u2029", "\u200b", "\u3000", " \u3000 ",
]  # fmt: skip
FIXED = [
    "",
    " ",
    "\n",
    "a",
    "▁",
    "aa" * 7,
    "a\n",
    "\na",
    "\n\n",
    "Hello, y'all! How are you 😁 ?\n\n  1234567 x²+½\r\n",
]


def strings(count: int, seed: int) -> Iterator[str]:
    """Words and runs of white space, glued."""
    rng = random.Random(seed)
    yield from FIXED
    for _ in range(count):
        bits = rng.choices(WORDS, k=rng.randint(1, 8)) + rng.choices(SPACES, k=rng.randint(0, 6))
        rng.shuffle(bits)
        yield "".join(bits)


@cache
def code_points() -> list[str]:
    """Every character or a sample, each in a context; few in a string, because HF takes quadratic time."""
    rng = random.Random(7)
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    if not EXHAUSTIVE:
        codes = [*range(0x180), *range(0x2000, 0x2070), *rng.sample(codes, 1500)]
    contexts = ["a{}b", "{}", " {} ", "{0}{0}", "1{}2", ".{}", "カ{}"]
    parts = [context.format(chr(code)) for code in codes for context in contexts]
    return ["".join(parts[at : at + 100]) for at in range(0, len(parts), 100)]


def in_hf(parts: list[Part]) -> tokenizers.pre_tokenizers.PreTokenizer:
    pre = {"type": "Sequence", "pretokenizers": parts} if len(parts) > 1 else parts[0]
    model = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    return Tokenizer.from_str(json.dumps({"model": model, "added_tokens": [], "pre_tokenizer": pre})).pre_tokenizer


def check(parts: list[Part], texts: Iterator[str] | list[str]) -> int:
    hf, ours, count = in_hf(parts), json.dumps(parts), 0
    for text in texts:
        starts = list(itertools.accumulate((len(c.encode()) for c in text), initial=0))
        found = _core.pretokenize_text(ours, text)
        in_chars = [(piece, (bisect_left(starts, a), bisect_left(starts, b))) for piece, (a, b) in found]
        assert in_chars == hf.pre_tokenize_str(text), (parts, text)
        count += 1
    return count


def name(part: Part) -> str:
    return re.sub(r"[^\w,. +-]", "", json.dumps(part, ensure_ascii=True))[:80]


@pytest.mark.parametrize("part", PARTS, ids=name)
def test_each_component_splits_as_in_hf(part: Part) -> None:
    check([part], strings(150, 1))


@pytest.mark.parametrize("part", [part for part in PARTS if part["type"] != "Split"], ids=name)
def test_each_component_splits_all_of_unicode_as_in_hf(part: Part) -> None:
    check([part], code_points())


@pytest.mark.parametrize("regex", REGEXES)
def test_each_regex_splits_as_in_hf(regex: str) -> None:
    check([split(regex)], strings(150, 2))
    check([split(regex, "Removed")], strings(20, 3))
    if EXHAUSTIVE:
        check([split(regex)], code_points())


@pytest.mark.parametrize("regex", REFUSED)
def test_unsupported_regexes_are_refused_by_name(regex: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(REFUSED[regex])):
        _core.pretokenize_text(json.dumps([split(regex)]), "")


SEQUENCES: list[list[Part]] = [
    # Falcon
    [
        {"type": "Punctuation", "behavior": "Contiguous"},
        byte_level(False, True),
        {"type": "Digits", "individual_digits": False},
        split("[0-9][0-9][0-9]"),
    ],
    # DeepSeek-V3
    [split(r"\p{N}{1,3}"), split(r"[一-龥぀-ゟ゠-ヿ]+"), split(r"\s?\p{L}+"), byte_level(False, False)],
    # a pattern's splits depend on the boundaries of the preceding patterns
    [split(r"\d{1,3}"), split("2", kind="String"), split("a", kind="String"), byte_level(False, False)],
    [split("[ab]{1,2}"), split("[^a]"), {"type": "Punctuation", "behavior": "Isolated"}, byte_level(False, False)],
    # T5, XLM-R
    [{"type": "WhitespaceSplit"}, metaspace("always", True)],
    [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True}],
    [{"type": "Digits", "individual_digits": True}, byte_level(True, True)],
    [byte_level(True, True), byte_level(True, True)],
    [metaspace("first", True), {"type": "UnicodeScripts"}],
    [
        {"type": "Punctuation", "behavior": "MergedWithNext"},
        metaspace("first", False),
        {"type": "FixedLength", "length": 3},
    ],
    [byte_level(True, False), {"type": "FixedLength", "length": 3}, metaspace("first", True)],
    [{"type": "Whitespace"}, {"type": "Punctuation", "behavior": "Isolated"}, byte_level(True, False)],
]


@pytest.mark.parametrize("parts", SEQUENCES, ids=lambda parts: ",".join(part["type"] for part in parts))
def test_sequences_split_as_in_hf(parts: list[Part]) -> None:
    check(parts, strings(300, 4))


def test_random_sequences_split_as_in_hf() -> None:
    rng = random.Random(5)
    for seed in range(150):
        check(rng.choices(PARTS, k=rng.randint(2, 3)), strings(6, seed))


def test_named_patterns_equal_split_text() -> None:
    text = "Hello, y'all! 1234567 日本語\n"
    for pattern in _core.pattern_names():
        spans = _core.split_text(text, pattern, is_regex=False)
        data = text.encode()
        expected = [(data[a:b].decode(), (a, b)) for a, b in spans]
        assert _core.pretokenize_text(json.dumps([{"type": "Pattern", "name": pattern}]), text) == expected


# ── added tokens ──────────────────────────────────────────────────────────────────────────────────────────────────

FLAGS = list(itertools.product((False, True), repeat=4))  # single_word, lstrip, rstrip, special
CONTENTS = ["<a>", "<a>b", "<mask>", "ab", "a", "b c", " x", "  ", "▁", "é", "\n", "日本", "<a><a>", "a\u0301"]
GLUE = [
    "<a>",
    "<a>b",
    "<mask>",
    "ab",
    "a",
    "b",
    "c",
    "x",
    " ",
    "  ",
    "\n",
    "\xa0",
    "\u3000",
    "_",
    "é",
    "日本",
    "\u0301",
]


def check_added(tokens: list[AddedToken], texts: list[str], skip_special: bool) -> None:
    hf = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    hf.add_tokens(tokens)
    hf.encode_special_tokens = skip_special
    ours = [
        (str(token.content), id, token.single_word, token.lstrip, token.rstrip, token.special and skip_special)
        for id, token in hf.get_added_tokens_decoder().items()
    ]
    for text in texts:
        data, expected = text.encode(), []
        try:
            encoding = hf.encode(text, add_special_tokens=False)
        except BaseException as error:  # a panic in HF
            assert "bad split" in str(error), error
            continue
        free, end = [], 0
        for start, stop, id in _core.find_added(ours, text):
            assert end <= start < stop
            free += [(0, end, start), (id, start, stop)]
            end = stop
        pieces = [(id, a, b) for id, a, b in [*free, (0, end, len(data))] if a < b]
        for id, (a, b) in zip(encoding.ids, encoding.offsets, strict=True):
            expected.append((id, len(text[:a].encode()), len(text[:b].encode())))
        # If the next token begins within white space taken by this one, HF assigns the white space to both.
        for at in range(len(expected) - 1):
            id, a, b = expected[at]
            expected[at] = (id, a, min(b, expected[at + 1][1]))
        assert pieces == expected, (ours, text)


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_added_tokens_split_as_in_hf(flags: tuple[bool, bool, bool, bool]) -> None:
    rng = random.Random(str(flags))
    single_word, lstrip, rstrip, special = flags
    for _ in range(12):
        tokens = []
        for content in rng.sample(CONTENTS, rng.randint(1, 6)):
            same = rng.random() < 0.5
            w, left, right, s = (single_word, lstrip, rstrip, special) if same else rng.choice(FLAGS)
            tokens.append(AddedToken(content, single_word=w, lstrip=left, rstrip=right, normalized=False, special=s))
        texts = ["".join(rng.choices([*GLUE, *CONTENTS], k=rng.randint(1, 10))) for _ in range(40)]
        check_added(tokens, ["", *texts], skip_special=rng.random() < 0.3)

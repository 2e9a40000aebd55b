"""Step 14: the alternatives equal those of the package `regex` and of Jeton's `explain`."""

from __future__ import annotations

import random
import unicodedata
from functools import cache
from typing import Any

import pytest
import regex

import jeton
from jeton.reference.step08_split import PATTERNS, split
from jeton.reference.step14_regex import ROWS, table, which, without_possessive

from ..selection import amount

# texts that reach each alternative; U+0295 has another category in another version of Unicode
FREQUENT = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2028\u200b'sStTſKllreVE019٣½Ⅷǅʰ\u0301.,!/天，我们"


@cache
def known() -> list[str]:
    """All characters of this Python's Unicode."""
    return [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs") and c != "\u0295"]


def texts(seed: int, number: int) -> list[str]:
    """Random texts, mostly of characters that patterns treat differently."""
    rng = random.Random(seed)
    return [
        "".join(rng.choice(FREQUENT if rng.random() < 0.8 else known()) for _ in range(rng.randrange(40)))
        for _ in range(number)
    ]


@pytest.mark.parametrize("name", ROWS)
def test_the_alternatives_joined_are_the_published_pattern(name: str) -> None:
    assert "|".join(row.alternative for row in ROWS[name]) == PATTERNS[name]


@pytest.mark.parametrize("name", ROWS)
def test_the_alternatives_are_those_of_a_regex_engine_and_of_jeton(name: str) -> None:
    published = regex.compile(PATTERNS[name])
    alternatives = [regex.compile(row.alternative) for row in ROWS[name]]
    tok = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [], pattern=name)
    reached = set()
    for text in texts(14, amount(3000, default=300)):
        rows = which(text, name)
        assert [pretoken for _, pretoken in rows] == [found for found in published.findall(text) if found]
        assert [(pretoken.part, pretoken.text.decode()) for pretoken in tok.explain(text).pretokens] == [
            (number - 1, pretoken) for number, pretoken in rows
        ]
        at = 0
        for number, pretoken in rows:
            found = alternatives[number - 1].match(text, at)
            assert found is not None
            assert found[0] == pretoken
            assert not any(earlier.match(text, at) for earlier in alternatives[: number - 1])
            at += len(pretoken)
        reached |= {number for number, _ in rows}
    assert reached == set(range(1, len(ROWS[name]) + 1))


@pytest.mark.parametrize("name", ["gpt4", "cl100k"])
def test_possessive_quantifiers_change_no_pretoken(name: str) -> None:
    greedy = without_possessive(PATTERNS[name])
    assert "+" + "+" not in greedy
    assert greedy != PATTERNS[name]
    for text in texts(15, amount(3000, default=300)):
        assert split(text, name) == split(text, greedy)


def test_tiktokens_spelling_of_gpt2s_pattern_gives_the_same_pretokens() -> None:
    public: Any = pytest.importorskip("tiktoken_ext.openai_public")
    for text in texts(16, amount(3000, default=300)):
        assert [pretoken for _, pretoken in which(text, "gpt2")] == regex.findall(public.r50k_pat_str, text)


@pytest.mark.parametrize(
    ("name", "text", "pretokens"),
    [
        ("gpt2", "IT'S", ["IT", "'", "S"]),
        ("cl100k", "IT'S", ["IT", "'S"]),
        ("o200k", "IT'S", ["IT'S"]),
        ("gpt2", "好，我们", ["好", "，", "我们"]),
        ("cl100k", "好，我们", ["好", "，我们"]),
        ("gpt2", "2026", ["2026"]),
        ("cl100k", "2026", ["202", "6"]),
        ("cl100k", "so !!\r\n", ["so", " !!\r\n"]),
        ("cl100k", "end \n  ", ["end", " \n  "]),
        ("o200k", "end \n  ", ["end", " \n", "  "]),
        ("cl100k", "a   \nb", ["a", "   \n", "b"]),
    ],
)
def test_the_examples_of_the_lesson(name: str, text: str, pretokens: list[str]) -> None:
    assert [pretoken for _, pretoken in which(text, name)] == pretokens
    assert any(text in example or example in text for row in ROWS[name] for example, _ in row.examples)


@pytest.mark.parametrize("name", ROWS)
def test_each_row_of_the_table_has_a_match(name: str) -> None:
    for number, row in enumerate(ROWS[name], start=1):
        assert row.alternative in table(name)
        for text, reason in row.examples:
            assert number in {at for at, _ in which(text, name)}
            assert reason in table(name)

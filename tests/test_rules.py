"""Rules of merging, and superwords: a rule holds for every token, and results are equal in every format."""

from __future__ import annotations

import io
import itertools
import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as HfTokenizer

import jeton
from jeton.training.rules import ACROSS_WORDS, NAMES

from .material import CORPUS

MIXED = CORPUS + "Voilà: naïve café №5, 1234567 of 12345 – 東京タワー2026年 жук α-beta x1y2, «да»… don't! 🎉🎉\n" * 3


def train(texts: Any, vocab_size: int, **options: Any) -> jeton.Tokenizer:
    return jeton.train(texts, vocab_size, progress=False, **options)


def tokens(tok: jeton.Tokenizer) -> list[bytes]:
    """The tokens that merges form."""
    return [tok.vocab[new] for *_, new in tok.merges]


def characters(token: bytes) -> str:
    return token.decode("utf-8", "ignore")


def is_whole(token: bytes) -> bool:
    """True for whole characters, or for a part of one character; in plain Python."""
    if len(token) < 4 and all(0x80 <= byte < 0xC0 for byte in token):
        return True
    rests = [b"", *(bytes([first]) + b"\x80" * n for first in (0x80, 0x90, 0xA0, 0xBF) for n in range(3))]
    for rest in rests:
        try:
            text = (token + rest).decode()
        except UnicodeDecodeError:
            continue
        return not rest or len(text) == 1
    return False


def kind(c: str) -> str:
    if c.isspace():
        return "space"
    return {"L": "letter", "M": "letter", "N": "number"}.get(unicodedata.category(c)[0], "other")


@pytest.mark.parametrize("pattern", ["none", "o200k"])
@pytest.mark.parametrize("rule", [name for name in NAMES if name != "digits_from_right"])
def test_a_rule_holds_for_every_token(rule: str, pattern: str) -> None:
    free = tokens(train([MIXED], 700, pattern=pattern))
    ruled = tokens(train([MIXED], 700, pattern=pattern, rules=[rule]))
    rules = jeton.Rules.of([rule])
    assert all(rules.holds(ruled))
    if pattern == "none":
        assert not all(rules.holds(free))  # otherwise the text would test nothing
    assert all(map(is_whole, ruled))
    for token in ruled:
        text = characters(token)
        if rule == "one_class":
            own = text[1:] if text.startswith(" ") and not text[1:2].isspace() else text
            assert len({kind(c) for c in own}) <= 1, token
        if rule == "one_script":
            names = {unicodedata.name(c).split()[0] for c in text if c.isalpha()}
            assert len(names - {"CJK", "KATAKANA", "HIRAGANA"}) <= 1, token
        if rule == "lone_punctuation":
            assert len(text) < 2 or not any(kind(c) == "other" for c in text), token


@given(st.lists(st.binary(max_size=6), max_size=20))
def test_whole_characters_equal_plain_python(spellings: list[bytes]) -> None:
    assert jeton.Rules(whole_characters=True).holds(spellings) == [is_whole(spelling) for spelling in spellings]


@pytest.mark.parametrize("threads", [1, 2])
def test_no_token_is_blocked_or_too_long(threads: int) -> None:
    rules = jeton.Rules(max_token_length=4, blocked=["the", " the"])
    merged = tokens(train([CORPUS * 3], 500, rules=rules, threads=threads))
    assert max(map(len, merged)) == 4
    assert not {b"the", b" the"} & set(merged)
    by_character = tokens(train([MIXED], 300, level="char", rules=jeton.Rules(max_token_length=2)))
    assert {len(token.decode()) for token in by_character} == {2}


def test_required_tokens_exist_and_are_found() -> None:
    required = ["zebra", " quokka", "\u6771\u4eac", "</think>"]
    plain = train([CORPUS], 540, pattern="none")
    tok = train([CORPUS], 540, pattern="none", rules=jeton.Rules(required=required))
    assert len(tok) == len(plain)
    for text in required:
        assert tok.tokenize(text).tokens == [text.encode()]
    kept = len(set(tokens(tok)) & set(tokens(plain)))
    assert tokens(tok)[: kept - 10] == tokens(plain)[: kept - 10]  # learned tokens come first
    assert tok.training is not None
    assert tok.training.log is not None
    assert tok.training.log[-1].pair_count == 0
    by_character = train([CORPUS], 120, level="char", rules=jeton.Rules(required=["there"]))
    assert by_character.encode("there") == [by_character.token_to_id("there")]


def test_digits_are_grouped_from_the_right() -> None:
    tok = train([MIXED], 400, rules=["digits_from_right"])
    pretokens = tok.tokenize("12345678 and 1234").pretokens
    assert ["12345678 and 1234"[slice(*span)] for span in pretokens][:3] == ["12", "345", "678"]
    assert jeton.Tokenizer.from_bytes(tok.to_bytes()).encode(MIXED) == tok.encode(MIXED)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": ["on_script"]}, "no rule named"),
        ({"rules": jeton.Rules(required=["two words"])}, "split by the pattern"),
        ({"rules": jeton.Rules(required=["it's"], one_class=True), "pattern": "none"}, "breaks another rule"),
        ({"rules": jeton.Rules(required=["東"]), "level": "char"}, "which does not occur in the corpus"),
        ({"rules": ["digits_from_right"], "pattern": "gpt2"}, "needs a pattern with"),
        ({"rules": ["one_class"], "end_of_word": "</w>"}, "not supported together with end_of_word"),
        ({"rules": ["one_class"], "preset": "hf"}, "has its own rules"),
        ({"superwords": True, "preset": "hf"}, "has its own rules"),
        ({"superwords": True, "trace": True}, "does not show two stages"),
    ],
)
def test_contradictory_rules_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(jeton.ConfigError, match=message):
        train(["it's a test, it's two words"], 270, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"max_token_length": 0},
        {"max_words": True},
        {"blocked": "abc"},
        {"blocked": ["\ud800"]},
        {"required": [""]},
        {"blocked": ["a"], "required": ["a"]},
    ],
)
def test_invalid_rules_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(jeton.ConfigError):
        jeton.Rules(**options)


def test_a_size_too_small_for_required_tokens_is_refused() -> None:
    with pytest.raises(jeton.ConfigError, match="too small for the"):
        train(["ab"], 258, pattern="none", rules=jeton.Rules(required=["abcdefgh"]))


def test_rules_are_saved_with_the_tokenizer(tmp_path: Path) -> None:
    rules = jeton.Rules(one_script=True, max_token_length=9, required=["zebra"])
    train([CORPUS], 400, rules=rules).save(tmp_path / "x.json")
    training = jeton.load(tmp_path / "x.json").training
    assert training is not None
    assert training.rules == {"one_script": True, "max_token_length": 9, "required": ["zebra"]}


# ── superwords ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_superwords_continue_plain_training() -> None:
    plain = train([CORPUS], 400)
    tok = train([CORPUS], 600, superwords=jeton.Superwords(from_size=400, max_words=3))
    assert tok.merges[: len(plain.merges)] == plain.merges[:]
    later = tokens(tok)[len(plain.merges) :]
    assert any(b" " in token[1:] for token in later)
    assert all(jeton.Rules(max_words=3).holds(later))
    assert not any(b"\n" in token.strip(b"\r\n") for token in later)
    assert tok.training is not None
    assert tok.training.superwords == {"from_size": 400, "pattern": ACROSS_WORDS, "max_words": 3}
    assert tok.training.log is not None
    assert len(tok.training.log) == len(tok.merges)
    # The log counts what the tokenizer makes of the corpus.
    assert tok.training.log[-1].corpus_tokens == tok.count(CORPUS)


def test_superwords_equal_plain_python() -> None:
    """The second stage counts all pairs anew at every merge."""
    from jeton.definition import Pattern

    text = CORPUS[:3000]
    tok = train([text], 330, superwords=jeton.Superwords(from_size=290, max_words=None), tie_break="lowest_ids")
    first = tok.merges[: 290 - 256]
    raw = text.encode()
    parts = [list(raw[a:b]) for a, b in Pattern.of(ACROSS_WORDS).split(raw)]

    def merged(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
        out: list[int] = []
        at = 0
        while at < len(ids):
            found = tuple(ids[at : at + 2]) == pair
            out.append(new if found else ids[at])
            at += 2 if found else 1
        return out

    for left, right, new in first:
        parts = [merged(part, (left, right), new) for part in parts]
    for left, right, new in tok.merges[len(first) :]:
        counts: dict[tuple[int, int], int] = {}
        for part in parts:
            for pair in itertools.pairwise(part):
                counts[pair] = counts.get(pair, 0) + 1
        most = max(counts.values())
        assert (left, right) == min(pair for pair, n in counts.items() if n == most)
        parts = [merged(part, (left, right), new) for part in parts]


def test_superwords_give_equal_ids_in_hugging_face(tmp_path: Path) -> None:
    tok = train([MIXED], 900, superwords=True, special_tokens=["<|end|>"])
    tok.save(tmp_path / "x.json")
    theirs = HfTokenizer.from_file(str(tmp_path / "x.json"))
    words = MIXED.split(" ")
    shuffled = random.Random(5)
    for _ in range(200):
        text = " ".join(shuffled.choices(words, k=30))
        assert theirs.encode(text).ids == tok.encode(text), text
    facts = json.loads((tmp_path / "x.json").read_text("utf-8"))["model"]["jeton"]
    assert facts["training"]["superwords"]["max_words"] == 4


@pytest.mark.parametrize(
    "corpus", [iter(["a text"]), {"low": 5}, [jeton.Source(iter(["a text"]))], [jeton.Source(io.BytesIO(b"a text"))]]
)
def test_superwords_need_the_corpus_twice(corpus: Any) -> None:
    with pytest.raises(jeton.ConfigError, match="reads the corpus twice"):
        train(corpus, 300, superwords=True)


def test_superwords_do_not_use_up_an_iterator() -> None:
    texts = iter(["a text"])
    with pytest.raises(jeton.ConfigError, match="reads the corpus twice"):
        train(texts, 300, superwords=True)
    assert list(texts) == ["a text"]


def test_rare_lines_are_not_left_out_of_the_second_stage() -> None:
    lines = [f"by the way, by the {word}" for word in ("sea", "river", "moon", "sun")]
    tok = train(lines, 290, superwords=jeton.Superwords(from_size=262), min_count=2)
    assert any(b" " in token[1:] for token in tokens(tok))


@pytest.mark.parametrize(
    "options", [{"from_size": 1.5}, {"from_size": float("nan")}, {"from_size": -1}, {"max_words": 0}, {"pattern": "("}]
)
def test_invalid_superwords_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(jeton.ConfigError):
        jeton.Superwords(**options)

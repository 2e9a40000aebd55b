"""Step 15: a rank file gives back its merges; with GPT-4's file the ids are tiktoken's and Jeton's."""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.reference.step04_train import TIE_BREAKS, train_bytes
from jeton.reference.step05_encode import ranks
from jeton.reference.step08_split import PATTERNS
from jeton.reference.step15_gpt4 import (
    HELLO,
    ORDER,
    SPECIAL,
    Gpt4,
    beside_jeton,
    halves,
    main,
    read_ranks,
    recover,
    small,
)

from ..selection import amount

SLOW = pytest.mark.slow(
    reason="recovers 100,000 merges; the small vocabulary of the lesson is in the default selection"
)


def path() -> Path:
    """GPT-4's rank file in the test data; skips without it."""
    if not (folder := os.environ.get("JETON_TEST_DATA")):
        pytest.skip("needs cl100k's rank file: set JETON_TEST_DATA")
    return Path(folder) / "vocabs" / "cl100k_base.tiktoken"


@cache
def gpt4() -> tuple[dict[bytes, int], Gpt4]:
    """Ranks and tokenizer of GPT-4."""
    found = read_ranks(path().read_bytes())
    return found, Gpt4(found)


def random_text(rng: random.Random) -> str:
    """Words, numbers, code, Chinese, white space and special tokens, glued together."""
    pieces = [
        "The",
        " weather",
        " is",
        "今天",
        "的天气",
        "，我们",
        "'S",
        "'ll",
        " 2026",
        "1234567",
        "\n",
        "\r\n",
        "   ",
        "\t",
    ]
    pieces += [
        "def f(x):",
        "    return x",
        "é",
        "ﷺ",
        "안녕",
        "😉",
        "👨‍👩‍👧",
        "!!",
        "//",
        *SPECIAL,
        "<|",
        "\u0301",
        "ß",
        "strawberry",
    ]
    pieces += [chr(rng.randrange(0x20, 0xD7FF)) for _ in range(4)]
    return "".join(rng.choices(pieces, k=rng.randrange(1, 25)))


def compare(tok: Gpt4, ranks: dict[bytes, int], seed: int, number: int) -> int:
    """Encode random texts by the lesson, by tiktoken and by Jeton; return the number of ids."""
    tiktoken: Any = pytest.importorskip("tiktoken")
    theirs = tiktoken.Encoding(
        "lesson", pat_str=PATTERNS["cl100k"], mergeable_ranks=ranks, special_tokens=dict(tok.special)
    )
    rng = random.Random(seed)
    compared = 0
    for _ in range(number):
        text = random_text(rng)
        for special, allowed in (("none", set()), ("all", "all")):
            ids = tok.encode(text, special)
            assert ids == theirs.encode(text, allowed_special=allowed, disallowed_special=()), text
            assert tok.decode(ids) == text
            compared += len(ids)
    assert tok.vocab_size == theirs.n_vocab
    return compared


def test_the_small_vocabulary_is_encoded_as_by_tiktoken() -> None:
    found = read_ranks(small(30))
    assert compare(Gpt4(found), found, 1, amount(2000, default=200)) > 1000


def test_the_small_vocabulary_is_encoded_as_by_jeton(tmp_path: Path) -> None:
    (tmp_path / "small.tiktoken").write_bytes(small(30))
    mine = Gpt4(read_ranks(small(30)))
    tok = jeton.load(tmp_path / "small.tiktoken", pattern="cl100k", special_tokens=mine.special)
    rng = random.Random(2)
    for _ in range(amount(2000, default=200)):
        text = random_text(rng)
        assert tok.encode(text, special="all") == mine.encode(text, "all")


def test_merges_of_random_vocabularies_are_recovered() -> None:
    rng = random.Random(3)
    for _ in range(amount(2000, default=200)):
        corpus = ["".join(rng.choices("abc 小冬", k=rng.randrange(1, 30))) for _ in range(3)]
        merges = train_bytes(corpus, 276, tie_break=rng.choice(TIE_BREAKS))
        spelling = {byte: bytes([byte]) for byte in range(256)}
        for left, right, new, _ in merges:
            spelling[new] = spelling[left] + spelling[right]
        recovered = recover({token: id for id, token in spelling.items()})
        assert {pair: new for pair, (_, new) in recovered.items()} == {
            pair: new for pair, (_, new) in ranks(merges).items()
        }
        assert list(recovered) == list(ranks(merges))


def test_a_token_that_no_merge_makes_has_more_parts() -> None:
    assert halves(b"abc", {b"a": 0, b"b": 1, b"c": 2, b"abc": 3}) == [b"a", b"b", b"c"]
    assert recover({b"a": 0, b"b": 1, b"c": 2, b"abc": 3}) == {}


def test_the_order_of_the_bytes_is_that_of_the_byte_alphabet() -> None:
    assert sorted(ORDER) == list(range(256))
    assert (ORDER.index(ord("!")), ORDER.index(ord(" "))) == (0, 220)


def test_the_lesson_reports_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    assert "No rank file given" in capsys.readouterr().out


@SLOW
def test_every_token_of_gpt4_is_made_of_two_parts() -> None:
    found, tok = gpt4()
    short = [token for token in found if 1 < len(token) <= 40]
    assert [len(halves(token, found)) for token in short] == [2] * 99815
    assert len(tok.merges) == 100_000
    assert [found[bytes([byte])] for byte in ORDER] == list(range(256))


@SLOW
def test_gpt4s_ids_are_those_of_tiktoken() -> None:
    found, tok = gpt4()
    assert compare(tok, found, 4, 2000) > 50_000


@SLOW
def test_gpt4s_ids_are_those_of_jeton() -> None:
    _, mine = gpt4()
    tok = jeton.load(path())
    assert dict(tok.special_tokens) == mine.special
    rng = random.Random(5)
    for _ in range(2000):
        text = random_text(rng)
        assert tok.encode(text, special="all") == mine.encode(text, "all")


@SLOW
def test_the_lesson_prints_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    import jeton.reference.step15_gpt4 as lesson

    main(str(path()))
    printed = capsys.readouterr().out
    assert lesson.__doc__ is not None
    promised = lesson.__doc__.split("prints, among others:")[1].split("**With Jeton.**")[0]
    for line in promised.strip().splitlines():
        assert line.strip() in printed
    assert f"{HELLO!r}: [15339, 4513, 12340, 30, 320, 31495, 230, 75265, 243, 92245, 16715, 57037]" in printed
    beside_jeton(str(path()))

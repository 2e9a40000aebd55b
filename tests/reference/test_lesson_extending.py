"""Step 22: the engine merges vocabularies, adds words and trains by a rule as the lesson does."""

from __future__ import annotations

import random
from typing import Any

import pytest

import jeton
from jeton.reference.step01_levels import BYTES
from jeton.reference.step03_merge import Merge, vocabulary
from jeton.reference.step04_train import train_bytes
from jeton.reference.step05_encode import encode, ranks
from jeton.reference.step22_extending import (
    CHINESE,
    ENGLISH,
    add_words,
    cl100k,
    encode_added,
    lone_punctuation,
    merge_vocabularies,
    train_by_rule,
)

from ..selection import amount

OPTIONS: dict[str, Any] = {"level": "byte", "pattern": "cl100k", "tie_break": "first", "progress": False}


def random_text(rng: random.Random) -> str:
    """A text of few letters: many merges, and merges that cross."""
    words = [
        "".join(rng.choices(rng.choice(["abc", "abcd", "ab！天", "天气，a"]), k=rng.randrange(1, 8))) for _ in range(9)
    ]
    return " ".join(rng.choices(words, k=30))


def triples(merges: list[Merge]) -> tuple[tuple[int, int, int], ...]:
    """Merges as Jeton returns them."""
    return tuple((left, right, new) for left, right, new, _ in merges)


def test_two_vocabularies_of_26_merges_become_308_tokens() -> None:
    english, chinese = (train_bytes(text, 256 + 26, split=cl100k) for text in (ENGLISH, CHINESE))
    both = merge_vocabularies(english, chinese)
    assert (len(english), len(chinese), 256 + len(both.merges)) == (26, 26, 308)
    assert (both.shared, both.left_out) == ([], [])


def test_merged_vocabularies_are_those_of_the_engine() -> None:
    rng = random.Random(22)
    left_out = shared = 0
    for _ in range(amount(100, default=15)):
        texts = random_text(rng), random_text(rng)
        sizes = [256 + rng.randrange(1, 30) for _ in texts]
        ours = [train_bytes(text, size, split=cl100k) for text, size in zip(texts, sizes, strict=True)]
        theirs = [jeton.train([text], size, **OPTIONS) for text, size in zip(texts, sizes, strict=True)]
        both = merge_vocabularies(*ours)
        merged = jeton.merge_vocab(*theirs)
        assert merged.tokenizer.merges == triples(both.merges)
        assert sum(map(len, merged.report["left_out"].values())) == len(both.left_out)
        assert merged.report["shared"] == 256 + len(both.shared)
        left_out += len(both.left_out)
        shared += len(both.shared)
    assert min(left_out, shared) > 2


def test_added_words_and_tokens_are_those_of_the_engine() -> None:
    rng = random.Random(7)
    for _ in range(amount(100, default=15)):
        text = random_text(rng)
        merges = train_bytes(text, 256 + rng.randrange(20), split=cl100k)
        tok = jeton.train([text], 256 + len(merges), **OPTIONS)
        known = set(vocabulary(BYTES, merges).values())
        words = ["".join(rng.choices("abcd天", k=rng.randrange(1, 6))) for _ in range(3)]
        words = [word for word in dict.fromkeys(words) if word.encode() not in known]
        more = jeton.add_words(tok, words).tokenizer
        ours = add_words(merges, words)
        assert more.merges == triples(ours), (text, words)
        assert more.encode(text) == encode_added(text, ours, {})
        added = {word: 256 + len(merges) + i for i, word in enumerate(words)}
        assert tok.add_tokens(words, special=False).encode(text) == encode_added(text, merges, added)


def test_a_word_in_a_word_stays_whole_and_a_token_cuts() -> None:
    merges = train_bytes("start start start", 260, split=cl100k)
    assert encode(list(b"start"), ranks(add_words(merges, ["art"]))) == [259]
    assert encode_added("start", merges, {"art": 260}) == [256, 260]


@pytest.mark.parametrize("tie_break", ["first", "lowest_ids", "highest_pair", "shortest"])
def test_training_by_the_rule_is_that_of_the_engine(tie_break: str) -> None:
    rng = random.Random(tie_break)
    options = {**OPTIONS, "tie_break": tie_break, "rules": jeton.Rules(lone_punctuation=True)}
    for _ in range(amount(100, default=10)):
        text = random_text(rng)
        ours = train_by_rule(text, 290, lone_punctuation, split=cl100k, tie_break=tie_break)
        tok = jeton.train([text], 256 + len(ours), **options)
        assert tok.merges == triples(ours)
        for token in list(vocabulary(BYTES, ours).values())[256:]:
            assert lone_punctuation(token)

"""Steps 16 and 17: equal to steps 5 and 4, and to Jeton's engine, on random corpora."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

import jeton
from jeton.reference.step01_levels import BYTES
from jeton.reference.step03_merge import Merge, merge, vocabulary
from jeton.reference.step04_train import TIE_BREAKS, train, train_bytes
from jeton.reference.step05_encode import Ranks, encode, ranks
from jeton.reference.step16_fast_encoding import encode_fast, in_order, sample, work
from jeton.reference.step17_fast_training import Chain, main, train_fast

from ..selection import amount

ALPHABETS = ("ab", "abc 小冬", "aab\n", "abcdefgh ")


def random_text(rng: random.Random, longest: int) -> str:
    """Few letters: many ties, runs and overlaps."""
    return "".join(rng.choices(rng.choice(ALPHABETS), k=rng.randrange(longest)))


def test_fast_encoding_is_that_of_step_5_and_of_jeton() -> None:
    rng = random.Random(16)
    for _ in range(amount(2500, default=80)):
        merges = train_bytes([random_text(rng, 60) for _ in range(3)], 256 + rng.randrange(25))
        table = ranks(merges)
        tok = jeton.Tokenizer.from_merges(vocabulary(BYTES, merges), [merge[:3] for merge in merges], pattern="none")
        assert in_order(table)
        for longest in (20, 200):
            text = random_text(rng, longest)
            ids = list(text.encode())
            assert encode_fast(ids, table) == encode(ids, table) == tok.encode(text)


def one_at_a_time(ids: list[int], table: Ranks) -> list[int]:
    """Encode without a heap: merge the leftmost pair of the lowest rank, and repeat."""
    ids = list(ids)
    while found := [(table[pair][0], at) for at, pair in enumerate(pairwise(ids)) if pair in table]:
        _, at = min(found)
        ids[at : at + 2] = [table[ids[at], ids[at + 1]][1]]
    return ids


def test_fast_encoding_by_merges_in_any_order_is_one_merge_at_a_time() -> None:
    rng = random.Random(17)
    differs = 0
    for _ in range(amount(2000, default=300)):
        made = list(range(97, 100))
        pairs: dict[tuple[int, int], int] = {}
        for new in range(256, 256 + rng.randrange(1, 8)):
            pairs.setdefault((rng.choice(made), rng.choice(made)), new)
            made.append(new)
        order = list(range(len(pairs)))
        rng.shuffle(order)
        table = {pair: (rank, new) for rank, (pair, new) in zip(order, pairs.items(), strict=True)}
        ids = list("".join(rng.choices("abc", k=rng.randrange(20))).encode())
        assert encode_fast(ids, table) == one_at_a_time(ids, table)
        if in_order(table):
            assert encode_fast(ids, table) == encode(ids, table)
        differs += encode_fast(ids, table) != encode(ids, table)
    assert differs


@pytest.mark.parametrize("size", [0, 1, 2, 3, 10, 1001])
def test_runs_of_one_letter_take_linear_work(size: int) -> None:
    table = ranks(train_bytes("a" * 64, 262))
    ids = [97] * size
    assert encode_fast(ids, table) == encode(ids, table)
    assert ids == [97] * size  # the argument is not changed
    assert work(ids, table).pushed < 3 * max(1, size)


def test_the_entries_are_few_whatever_the_vocabulary() -> None:
    table = ranks(train_bytes(sample(2000), 556))
    for size in (500, 1000, 2000, 4000):
        done = work(list(sample(size).encode()), table)
        assert done.pushed == done.stale + done.merges < 3 * size


@pytest.mark.parametrize("rule", TIE_BREAKS)
def test_fast_training_is_that_of_step_4_and_of_jeton(rule: Any) -> None:
    rng = random.Random(rule)
    longest = 0
    for _ in range(amount(2500, default=150)):
        counts = {random_text(rng, 40): rng.choice([1, 1, 2, 3, 2**40]) for _ in range(rng.randrange(1, 6))}
        sequences, weights = [list(text.encode()) for text in counts], list(counts.values())
        options: dict[str, Any] = {"tie_break": rule, "min_frequency": rng.choice([1, 1, 2, 4])}
        number = rng.randrange(40)
        merges = train_fast(sequences, weights, BYTES, number, **options)
        assert merges == train(sequences, weights, BYTES, number, **options)
        if any(counts):  # Jeton refuses a corpus without text
            tok = jeton.train(dict(counts), 256 + len(merges), pattern="none", progress=False, **options)
            assert list(tok.merges) == [merge[:3] for merge in merges]
        longest = max(longest, len(merges))
    assert longest > 20


@pytest.mark.parametrize("rule", TIE_BREAKS)
def test_fast_training_on_other_alphabets_and_ids(rule: str) -> None:
    rng = random.Random(18)
    for _ in range(amount(500, default=50)):
        letters = rng.sample(range(50), 4)
        strings = {id: rng.choice([b"a", b"b", b"\xff", "小".encode()]) for id in letters}  # also with equal spellings
        sequences = [rng.choices(letters, k=rng.randrange(30)) for _ in range(4)]
        next_id = rng.choice([None, 60, 1000])
        fast = train_fast(sequences, None, strings, 20, tie_break=rule, next_id=next_id)
        assert fast == train(sequences, None, strings, 20, tie_break=rule, next_id=next_id)


def test_the_counts_are_those_of_counting_again() -> None:
    rng = random.Random(19)
    for _ in range(amount(1000, default=100)):
        sequences = [list(random_text(rng, 40).encode()) for _ in range(3)]
        weights = [rng.randrange(1, 4) for _ in sequences]
        chain = Chain(sequences, weights)
        for new in range(256, 266):
            if not chain.counts:
                break
            pair = rng.choice(list(chain.counts))  # any pair, not only the most frequent one
            before = Counter(chain.counts)
            changes = chain.merge(pair, new)
            sequences = [merge(sequence, pair, new) for sequence in sequences]
            again: Counter[tuple[int, int]] = Counter()
            for sequence, weight in zip(sequences, weights, strict=True):
                for both in pairwise(sequence):
                    again[both] += weight
            assert chain.counts == again
            before.update(changes)
            assert +before == again


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of first, lowest_ids, highest_pair, shortest"):
        train_fast([[1, 2]], None, {1: b"a", 2: b"b"}, 1, tie_break="random")


def test_short_and_empty_corpora_are_trained() -> None:
    assert train_fast([list(b"abab")], None, BYTES, 1) == [Merge(97, 98, 256, 2)]
    assert train_fast([], None, {}, 5) == []


@pytest.mark.slow(reason="4.43 million symbols by step 4; the doctest of the lesson has 1.8 million")
def test_the_figures_of_the_lesson(capsys: pytest.CaptureFixture[str]) -> None:
    main(3000, 221)
    printed = capsys.readouterr().out
    assert "step 4 reads 4,430,510 symbols" in printed
    assert "step 17 reads 59,297 symbols" in printed

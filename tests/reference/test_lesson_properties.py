"""What must hold for every text: the laws behind the lessons, tried on texts that Hypothesis invents."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.reference.step01_levels import BYTES
from jeton.reference.step02_pairs import count_pairs
from jeton.reference.step03_merge import merge, vocabulary
from jeton.reference.step04_train import TIE_BREAKS, train, train_bytes
from jeton.reference.step05_encode import encode, encode_by_rank, ranks
from jeton.reference.step06_decode import decode, decode_bytes
from jeton.reference.step07_special import cut
from jeton.reference.step08_split import PATTERNS, split
from jeton.reference.step09_characters import character_alphabet, to_ids, train_characters
from jeton.reference.step10_words import (
    END,
    UNKNOWN,
    decode_words,
    encode_word,
    known_words,
    longest_first,
    tokens_in_use,
    train_words,
)
from jeton.reference.step13_tokenizer import Tokenizer

few = st.text(alphabet="ab", max_size=40)  # few letters: many ties, many runs
documents = st.lists(st.one_of(few, st.text(alphabet="abc 小冬", max_size=20)), min_size=1, max_size=5)
rules = st.sampled_from(TIE_BREAKS)
anything = st.text(max_size=60)  # any character but surrogates, which have no UTF-8
words = st.dictionaries(
    st.text(alphabet="abc冬", min_size=1, max_size=8), st.integers(1, 2**40), min_size=1, max_size=6
)


@given(documents, rules, anything)
def test_decoding_inverts_encoding(corpus: list[str], rule: str, text: str) -> None:
    tok = Tokenizer.train(corpus, 280, tie_break=rule)
    for each in [text, *corpus]:
        assert tok.decode(tok.encode(each), errors="strict") == each


@given(documents, rules)
def test_encoding_the_corpus_repeats_its_training(corpus: list[str], rule: str) -> None:
    ended: list[list[list[int]]] = [[list(doc.encode()) for doc in dict.fromkeys(corpus)]]
    merges = train_bytes(corpus, 280, tie_break=rule, trace=lambda _, __, after: ended.append(after))
    assert [encode(list(doc.encode()), ranks(merges)) for doc in dict.fromkeys(corpus)] == ended[-1]


@given(documents, rules, st.lists(st.text(alphabet="abc 小冬", max_size=30), max_size=5))
def test_both_encoders_agree_on_trained_merges(corpus: list[str], rule: str, texts: list[str]) -> None:
    merges = train_bytes(corpus, 290, tie_break=rule)
    spelling = vocabulary(BYTES, merges)
    rank_of = {token: id for id, token in spelling.items()}
    assert len(rank_of) == len(spelling)  # a token's bytes come about in one way only
    for data in [text.encode() for text in texts] + list(rank_of):
        assert encode(list(data), ranks(merges)) == encode_by_rank(data, rank_of)
    assert all(encode(list(token), ranks(merges)) == [id] for token, id in rank_of.items())


@given(documents, rules)
def test_a_weight_equals_repetition(corpus: list[str], rule: str) -> None:
    sequences = [list(doc.encode()) for doc in corpus]
    unique = Counter(corpus)
    weighted = train([list(doc.encode()) for doc in unique], list(unique.values()), BYTES, 20, tie_break=rule)
    assert train(sequences, None, BYTES, 20, tie_break=rule) == weighted


@given(documents, rules, st.integers(0, 20))
def test_a_shorter_training_is_the_beginning_of_a_longer_one(corpus: list[str], rule: str, size: int) -> None:
    longer = train_bytes(corpus, 276, tie_break=rule)
    assert train_bytes(corpus, 256 + size, tie_break=rule) == longer[:size]


@given(documents, st.sampled_from([rule for rule in TIE_BREAKS if rule != "first"]))
def test_only_first_depends_on_the_order_of_documents(corpus: list[str], rule: str) -> None:
    assert train_bytes(corpus, 276, tie_break=rule) == train_bytes(corpus[::-1], 276, tie_break=rule)


@given(documents, rules, st.integers(1, 4))
def test_counts_fall_and_stop_at_the_minimum(corpus: list[str], rule: str, minimum: int) -> None:
    counts = [merge.count for merge in train_bytes(corpus, 300, tie_break=rule, min_frequency=minimum)]
    assert counts == sorted(counts, reverse=True)
    assert all(count >= minimum for count in counts)


@given(st.lists(st.integers(0, 2), max_size=30))
def test_merging_shortens_by_one_for_each_place(ids: list[int]) -> None:
    for pair, count in count_pairs([ids]).items():
        merged = merge(ids, pair, 9)
        assert len(ids) - len(merged) == merged.count(9) <= count
        assert [x for id in merged for x in (pair if id == 9 else (id,))] == ids


@given(anything, st.sampled_from(sorted(PATTERNS)))
def test_the_pretokens_joined_are_the_text(text: str, pattern: str) -> None:
    pretokens = split(text, pattern)
    assert "".join(pretokens) == text
    assert all(pretokens)


@given(anything, st.sampled_from([r"\d+", "a*", "", "x|", r"\b", "(?=a)"]))
def test_a_pattern_that_leaves_gaps_loses_nothing(text: str, pattern: str) -> None:
    assert "".join(split(text, pattern)) == text


@given(st.lists(st.sampled_from(["<a>", "<a>b", "b", "<", "小", "a>"]), max_size=12), st.booleans())
def test_cutting_at_special_tokens_loses_nothing(pieces: list[str], permitted: bool) -> None:
    text, special = "".join(pieces), {"<a>": 300, "<a>b": 301}
    names = {id: name for name, id in special.items()}
    found = cut(text, special, permit="all" if permitted else "none")
    assert "".join(names[piece] if isinstance(piece, int) else piece for piece in found) == text
    assert permitted or not any(isinstance(piece, int) for piece in found)


@given(st.text(alphabet="ab小冬", max_size=30), rules)
def test_characters_round_trip(text: str, rule: str) -> None:
    strings = character_alphabet({text: 1})
    learned = train_characters(text, len(strings) + 5, tie_break=rule)
    ids = encode(to_ids(text, strings), ranks(learned.merges))
    assert decode(ids, learned.vocabulary(), errors="strict") == text


@given(words, rules, st.sampled_from(["symbol", "suffix"]))
def test_words_round_trip(counts: dict[str, int], rule: str, style: str) -> None:
    learned = train_words(counts, 10, style=style, tie_break=rule)
    assert all(tokens[-1].endswith(END) for tokens in known_words(counts, learned, style).values())
    spelled = [decode_bytes(encode_word(word, learned, style), learned.vocabulary()).decode() for word in counts]
    assert decode_words(spelled) == " ".join(counts)


@given(st.text(alphabet="abc.", min_size=1, max_size=15), st.lists(st.text(alphabet="ab.", min_size=1, max_size=4)))
def test_longest_first_drops_no_character(word: str, tokens: list[str]) -> None:
    pieces = longest_first(word, tokens)
    rebuilt = "".join("(?:.+)" if piece == UNKNOWN else re.escape(piece) for piece in pieces)
    assert re.fullmatch(rebuilt, word + END)
    assert (UNKNOWN, UNKNOWN) not in pairwise(pieces)


def by_length_and_count(word: str, counts: Mapping[str, int]) -> list[str]:
    """Longest token first, the more frequent one of equal length; `$` is the end mark, recursion the rest."""
    ordered = sorted(counts, key=lambda token: (len(token), counts[token]), reverse=True)

    def cut(rest: str, start: int) -> list[str]:
        for i, token in enumerate(ordered[start:], start):
            if token in rest:
                parts = rest.split(token)
                pieces = [cut(part, i + 1) for part in parts]
                return pieces[0] + [each for piece in pieces[1:] for each in (token, *piece)]
        return [UNKNOWN] if rest else []

    return [piece.replace("$", END) for piece in cut(word + "$", 0)]


def test_longest_first_is_ordered_by_length_and_then_by_frequency() -> None:
    rng = random.Random(10)
    counts = {"".join(rng.choices("lowernstid", k=rng.randrange(2, 8))): rng.randrange(1, 40) for _ in range(60)}
    known = known_words(counts, train_words(counts, 80))
    tokens = tokens_in_use(known, counts)
    of_token: Counter[str] = Counter()
    for word, pieces in known.items():
        for piece in pieces:
            of_token[piece.replace(END, "$")] += counts[word]
    words = ["".join(rng.choices("lowernstid", k=rng.randrange(1, 12))) for _ in range(400)]
    expected = [by_length_and_count(word, of_token) for word in words]
    assert [longest_first(word, tokens) for word in words] == expected
    by_appearance = list(dict.fromkeys(token for pieces in known.values() for token in pieces))
    assert [longest_first(word, by_appearance) for word in words] != expected  # the frequency matters


@pytest.mark.parametrize("pattern", [None, *PATTERNS])
@settings(max_examples=30)
@given(corpus=documents)
def test_no_token_reaches_across_a_cut(pattern: str | None, corpus: list[str]) -> None:
    cutter = None if pattern is None else partial(split, pattern=pattern)
    merges = train_bytes(corpus, 290, split=cutter)
    allowed = [pretoken for doc in corpus for pretoken in (cutter(doc) if cutter else [doc])]
    learned = [vocabulary(BYTES, merges)[merge.new] for merge in merges]
    assert all(any(token in pretoken.encode() for pretoken in allowed) for token in learned)

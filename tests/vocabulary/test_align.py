"""Alignment of two tokenizers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import jeton

from ..selection import amount
from .random_tokenizers import ALPHABETS, KINDS, random_text, random_tokenizer


def test_ids_with_equal_bytes(data: Path) -> None:
    a = jeton.load(data / "vocabs" / "r50k_base.tiktoken")
    b = jeton.load(data / "vocabs" / "mistral-v1.model")
    aligned = jeton.align(a, b)
    theirs = {b.id_to_bytes(id): id for id in reversed([*b.vocab]) if id not in b.special_tokens.values()}
    for id in range(0, a.vocab_size, 97):
        found = aligned.to_b[id]
        assert (found >= 0) == (a.id_to_bytes(id) in theirs)
        assert found < 0 or b.id_to_bytes(int(found)) == a.id_to_bytes(id)
    assert (aligned.to_b >= 0).sum() > 10_000


@pytest.mark.parametrize("seed", range(amount(200, default=20)))
def test_groups_tile_the_text(seed: int) -> None:
    random = Random(seed)
    alphabet = random.choice(ALPHABETS)
    a, b = (random_tokenizer(random, random.choice(KINDS), alphabet) for _ in range(2))
    text = random_text(random, alphabet, 40)
    spans = jeton.align(a, b).spans(text)
    assert spans.ids_a.tolist() == a.encode(text)
    assert spans.ids_b.tolist() == b.encode(text)
    assert spans.groups_a[0] == spans.groups_b[0] == 0
    assert (spans.groups_a[-1], spans.groups_b[-1]) == (spans.ids_a.size, spans.ids_b.size)
    assert spans.byte_spans[0, 0] == 0
    assert spans.byte_spans[-1, 1] == len(text.encode())
    assert (spans.byte_spans[1:, 0] == spans.byte_spans[:-1, 1]).all()
    ends = []
    for tok, ids, groups in ((a, spans.ids_a, spans.groups_a), (b, spans.ids_b, spans.groups_b)):
        tokens = tok.tokenize(text)
        for (start, end), first, last in zip(spans.byte_spans, groups, groups[1:], strict=False):
            for token in list(tokens)[first:last]:
                assert start <= token.byte_span[0]
                assert token.byte_span[1] <= end
        ends.append({token.byte_span[1] for token in tokens} - {0})
        assert ids.size == len(tokens)
    common = (ends[0] & ends[1]) | {len(text.encode())}
    assert set(spans.byte_spans[:, 1].tolist()) == common  # as many groups as there are common boundaries


def test_text_that_one_tokenizer_drops_is_one_group() -> None:
    one = jeton.Tokenizer.from_merges({id: bytes([id]) for id in range(256)}, [])
    other = jeton.train(["low lower low"], 20, preset="bert", progress=False)
    assert other.encode("  ") == []
    for a, b in ((one, other), (other, one)):
        spans = jeton.align(a, b).spans("  ")
        assert spans.byte_spans.tolist() == [[0, 2]]
        assert (spans.groups_a.tolist(), spans.groups_b.tolist()) == ([0, len(spans.ids_a)], [0, len(spans.ids_b)])
        nothing = jeton.align(a, b).spans("")
        assert (nothing.byte_spans.tolist(), nothing.groups_a.tolist()) == ([], [0])


@pytest.mark.parametrize(
    ("a", "b", "text", "groups_a", "groups_b", "byte_spans"),
    [
        (["ab", "c"], ["a", "bc"], "abc", [0, 2], [0, 2], [[0, 3]]),
        (["ab", "c"], ["a", "b", "c"], "abc", [0, 1, 2], [0, 2, 3], [[0, 2], [2, 3]]),
        (["a", "b", "c"], ["a", "bc"], "abc", [0, 1, 3], [0, 1, 2], [[0, 1], [1, 3]]),
        (["a"], ["a"], "", [0], [0], []),
        (["a"], ["a"], "a", [0, 1], [0, 1], [[0, 1]]),
        (["é"], ["é"], "é", [0, 1], [0, 1], [[0, 2]]),
    ],
)
def test_groups_of_small_texts(
    a: list[str], b: list[str], text: str, groups_a: list[int], groups_b: list[int], byte_spans: list[list[int]]
) -> None:
    for given in (text, text.encode()):
        spans = jeton.align(of_tokens(a), of_tokens(b)).spans(given)
        assert (spans.groups_a.tolist(), spans.groups_b.tolist()) == (groups_a, groups_b)
        assert spans.byte_spans.tolist() == byte_spans
        assert len(spans) == len(byte_spans)
        assert repr(spans) == f"<{len(byte_spans)} groups of {spans.ids_a.size} and {spans.ids_b.size} tokens>"


def of_tokens(tokens: list[str]) -> jeton.Tokenizer:
    """A tokenizer of all bytes, which also merges each of some tokens."""
    tok = jeton.Tokenizer.from_merges({id: bytes([id]) for id in range(256)}, [])
    return jeton.add_words(tok, tokens).tokenizer


def test_ids_without_a_counterpart() -> None:
    a = jeton.Tokenizer.from_merges({0: b"a", 1: b"b", 3: b"c"}, [], special_tokens={"<s>": 4, "d": 5})
    b = jeton.Tokenizer.from_merges({0: b"b", 2: b"a", 3: b"d"}, [], special_tokens={"<s>": 1})
    aligned = jeton.align(a, b)
    assert aligned.to_json() == {"to_b": [2, 0, -1, -1, 1, -1], "to_a": [1, 4, 0, -1]}
    assert repr(aligned) == "<3 of 5 and 3 of 4 tokens have the same bytes>"
    for arguments in ((a, "gpt2"), ("gpt2", b)):
        with pytest.raises(jeton.ConfigError, match="is not a Tokenizer"):
            jeton.align(*arguments)  # type: ignore[arg-type]

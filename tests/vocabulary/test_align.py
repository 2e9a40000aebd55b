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

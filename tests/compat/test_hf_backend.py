"""`jeton.compat.hf_backend`: the calls of `tokenizers.Tokenizer`, without transformers."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from jeton.calls.batch import TokenBatch
from jeton.compat.hf_backend import Engine, Rows, Unproven
from tests.material import CORPUS, TRICKY, tokenizer
from tests.selection import amount

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is a test dependency")

NAMES = {"input_ids": "ids", "token_type_ids": "type_ids", "attention_mask": "attention_mask"}
NAMES |= {"special_tokens_mask": "special_tokens_mask", "offset_mapping": "offsets"}


def both(kind: str) -> tuple[Engine, Any]:
    tok = tokenizer(kind)
    file = json.loads(tok.to_bytes())
    file["model"].pop("jeton", None)
    return Engine(tok), tokenizers.Tokenizer.from_str(json.dumps(file))


@pytest.mark.parametrize("kind", ["byte gpt2", "byte cl100k", "char none", "words suffix"])
def test_words_are_encoded_as_by_the_library(kind: str) -> None:
    engine, peer = both(kind)
    rng = random.Random(5)
    for _ in range(amount(200, default=40)):
        texts = [[some(rng) for _ in range(rng.randint(0, 5))] for _ in range(rng.randint(1, 4))]
        pairs = [[some(rng) for _ in range(3)] for _ in texts] if rng.random() < 0.4 else None
        truncation = {
            "max_length": 6,
            "stride": 0,
            "strategy": "longest_first",
            "direction": rng.choice(["left", "right"]),
        }
        truncation = rng.choice([None, truncation])
        padding = rng.choice(
            [None, {"length": rng.choice([None, 8]), "direction": "left", "pad_id": 1, "pad_type_id": 2}]
        )
        overflow = rng.random() < 0.3
        options = {"truncation": truncation, "padding": padding, "overflow": overflow}
        rows = engine.encode(texts, pairs, is_pretokenized=True, offsets=True, **options)
        in_words = engine.encode(texts, pairs, is_pretokenized=True, words=True, **options)
        peer.no_truncation() if truncation is None else peer.enable_truncation(**truncation)
        peer.no_padding() if padding is None else peer.enable_padding(**padding)
        inputs = texts if pairs is None else list(zip(texts, pairs, strict=True))
        found = peer.encode_batch(inputs, is_pretokenized=True)
        found = [each for one in found for each in (one, *one.overflowing)] if overflow else found
        for name, attribute in NAMES.items():
            assert rows.lists(name) == [getattr(one, attribute) for one in found], name
        assert rows.lists("length") == [len(one) for one in found]
        assert [in_words.word_ids(row) for row in range(len(found))] == [one.word_ids for one in found]


def some(rng: random.Random) -> str:
    start = rng.randrange(len(CORPUS) - 20)
    return rng.choice([CORPUS[start : start + rng.randint(0, 12)], rng.choice(TRICKY)[:20]])


def test_arrays_equal_lists() -> None:
    engine, _ = both("byte gpt2")
    padding = {"length": None, "direction": "left", "pad_id": 1, "pad_type_id": 2}
    rows = engine.encode(["the old", "a", "tale of the"], padding=padding, offsets=True)
    for name in (*NAMES, "length"):
        array = rows.array(name)
        assert array is not None
        assert array.dtype == np.int64
        assert array.tolist() == json.loads(json.dumps(rows.lists(name)))
    assert engine.encode(["the old", "a"]).array("input_ids") is None
    with pytest.raises(KeyError):
        rows.lists("nothing")


def test_a_row_equals_that_of_a_batch() -> None:
    engine, _ = both("byte gpt2")
    names = ["input_ids", "token_type_ids", "attention_mask", "special_tokens_mask", "length"]
    for text in TRICKY:
        for padding in (None, {"length": 40, "direction": "left", "pad_id": 1, "pad_type_id": 2}):
            options = {"add_special_tokens": True, "splits_special": False, "truncation": None, "padding": padding}
            for pair in (None, "pair"):
                rows = engine.encode([text], None if pair is None else [pair], **options)
                expected = {name: rows.lists(name)[0] for name in names[:-1]} | {"length": rows.lists("length")}
                assert engine.row(text, pair, names, **options) == expected


def test_unproven_calls_raise() -> None:
    engine, _ = both("char none")
    with pytest.raises(Unproven):
        engine.encode(["\ud800"])
    with pytest.raises(Unproven):
        engine.encode_one("\ud800")
    with pytest.raises(Unproven):
        engine.decode([10**6], skip_special_tokens=False)
    with pytest.raises(Unproven):
        engine.decode_batch([[1], ["x"]], skip_special_tokens=False)  # type: ignore[list-item]
    with pytest.raises(Unproven):  # the model of the library may produce the special token
        engine.encode_one("<|endoftext|>", splits_special=True)
    truncation = {"max_length": 2, "stride": 3, "strategy": "longest_first", "direction": "right"}
    with pytest.raises(Unproven):
        engine.encode(["the old tale"], truncation=truncation)


def test_the_environment_chooses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    from jeton.compat.hf_backend.engine import threads

    monkeypatch.setenv("RAYON_NUM_THREADS", "7")
    for value, expected in (("false", 1), ("0", 1), ("True", 7), ("1", 7)):
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", value)
        assert threads() == expected
    monkeypatch.delenv("TOKENIZERS_PARALLELISM")
    assert threads() == 7


def test_damaged_offsets_of_rows_are_refused() -> None:
    from jeton._core import constant_lists, row_lists, row_pair_lists

    values = np.array([1, 2, 3], "<i8").view(np.uint8)
    for offsets in ([0, 4], [2, 1]):
        with pytest.raises(ValueError, match="offsets"):
            row_lists(values, offsets, wide=True)
        with pytest.raises(ValueError, match="offsets"):
            row_pair_lists(values, offsets)
    assert row_lists(values, [], wide=True) == []
    assert constant_lists(7, [], width=3) == []
    assert Rows(TokenBatch(np.array([], "<u4"), np.array([0]))).longest == 0

"""Pruning and renumbering: kept entries and refusals. Random cases are in `test_random_surgeries`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, UnsupportedFeatureError
from jeton.tokenizer import Tokenizer

CORPUS = ["low lower lowest new newer newest wide wider widest the wind and the rain " * 3, "今天的天气很好"]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return jeton.train(CORPUS, 300, pattern="gpt2", special_tokens=["<a>", "<b>"], progress=False)


def test_tokens_are_kept_by_id_spelling_or_bytes(tok: Tokenizer) -> None:
    id = tok.token_to_id("Ġlower")
    found = [
        jeton.prune(tok, keep=keep).tokenizer
        for keep in ([id], ["Ġlower"], [" lower"], [b" lower"], np.array([id]), iter([id]))
    ]
    assert all(each == found[0] for each in found)
    assert found[0].encode(" lower") == [found[0].token_to_id("Ġlower")]
    assert found[0].special_tokens == {"<a>": len(found[0]) - 2, "<b>": len(found[0]) - 1}


def test_compact_false_keeps_ids(tok: Tokenizer) -> None:
    done = jeton.prune(tok, keep=[" lower"], compact=False)
    assert all(tok.id_to_bytes(id) == content for id, content in done.tokenizer.vocab.items())
    assert done.tokenizer.vocab_size == tok.vocab_size
    assert (done.plan.id_map[done.plan.copied >= 0] == np.flatnonzero(done.plan.copied >= 0)).all()


def test_counts_of_every_kind_prune_alike(tok: Tokenizer) -> None:
    text = "low lowest wider"
    uses = np.bincount(tok.encode(text), minlength=tok.vocab_size)
    counts = jeton.count_pretokens([text], pattern="gpt2", progress=False)
    kinds: list[Any] = [[text], counts, uses, {id: int(count) for id, count in enumerate(uses) if count}]
    found = [jeton.prune(tok, corpus=each, vocab_size=270) for each in kinds]
    assert all(each.tokenizer == found[0].tokenizer for each in found)
    assert len(found[0].tokenizer) == 270
    used = jeton.prune(tok, corpus=[text])
    assert used.tokenizer.tokenize(text).tokens == tok.tokenize(text).tokens
    assert used.report["for_merges"] > 0


def test_the_least_used_leaf_is_removed_first() -> None:
    vocab = {0: b"a", 1: b"b", 2: b"ab", 3: b"aba", 4: b"abb"}
    tok = Tokenizer.from_merges(vocab, [(0, 1, 2), (2, 0, 3), (2, 1, 4)])
    assert [*jeton.prune(tok, corpus={2: 0, 3: 2, 4: 1}, vocab_size=4).tokenizer.vocab.values()] == [
        b"a",
        b"b",
        b"ab",
        b"aba",
    ]
    # The uses of `aba` become those of `ab`, which stays, although no text has used it.
    assert [*jeton.prune(tok, corpus={2: 0, 3: 2, 4: 1}, vocab_size=3).tokenizer.vocab.values()] == [b"a", b"b", b"ab"]


def test_a_template_and_padding_are_renumbered(data: Path) -> None:
    tok = jeton.load(data / "vocabs" / "roberta-base.tokenizer.json")
    done = jeton.prune(tok, corpus=CORPUS, vocab_size=3000)
    made = done.tokenizer
    assert len(made) == 3000
    ids = made.encode("low", add_special_tokens=True)
    assert [made.id_to_token(id) for id in ids] == [
        tok.id_to_token(id) for id in tok.encode("low", add_special_tokens=True)
    ]
    assert (done.plan.id_map[tok.encode("low", add_special_tokens=True)] == ids).all()


def test_the_id_of_padding_is_renumbered() -> None:
    entries = {i: bytes([i]) for i in range(256)} | {257: b"lo", 258: b"low"}
    tok = jeton.Tokenizer.from_merges(
        entries, [(ord("l"), ord("o"), 257), (257, ord("w"), 258)], special_tokens={"<pad>": 300}
    )
    tok = tok._with_facts(padding={"strategy": "BatchLongest", "pad_id": 300, "pad_token": "<pad>"})
    made = jeton.prune(tok, keep=["<pad>"]).tokenizer
    assert made.definition.padding is not None
    assert made.definition.padding["pad_id"] == made.special_tokens["<pad>"] == 256


def test_a_unigram_keeps_a_piece_of_the_lowest_score() -> None:
    """The lowest score is the penalty of unknown characters, so removing it would change ids of other texts."""
    pieces = [["<unk>", 0.0], ["a", -1.0], ["b", -2.0], ["ab", -9.0], ["ba", -3.0]]
    file = {"model": {"type": "Unigram", "unk_id": 0, "vocab": pieces}}
    tok = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    made = jeton.prune(tok, keep=["a", "b"]).tokenizer
    assert set(made.get_vocab()) == {"<unk>", "a", "b", "ab"}


@pytest.mark.parametrize("name", ["o200k_base.tiktoken", "mistral-v1.model", "t5-small.tokenizer.json"])
def test_pruned_published_vocabularies_map_their_ids(data: Path, name: str) -> None:
    tok = jeton.load(data / "vocabs" / name)
    text = (data / "udhr" / "eng.txt").read_text()
    done = jeton.prune(tok, corpus=[text], vocab_size=len(tok) // 3)
    done.plan.verify()
    made = done.tokenizer
    assert len(made) == len(tok) // 3
    assert made.encode(text) == done.plan.id_map[tok.encode(text)].tolist()


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "pass a corpus, vocab_size=, keep= or remove="),
            ({"keep": [0, "nothing like it"]}, "nothing like it"),
            ({"keep": [300]}, r"keep\[0\]=300"),
            ({"keep": [-1]}, r"keep\[0\]=-1"),
            ({"keep": np.array([300])}, "keep: 300"),
            ({"keep": "low"}, "keep='low' is not a list"),
            ({"keep": [], "vocab_size": 260}, "need a corpus"),
            ({"corpus": [CORPUS[0]], "vocab_size": 257}, "vocab_size=257 is too small: .* kept tokens need 258"),
            ({"corpus": [CORPUS[0]], "vocab_size": 301}, "vocab_size=301 is above"),
            ({"corpus": {300: 1}}, "corpus=300"),
            ({"corpus": {1: -1}}, "corpus=-1"),
            ({"corpus": np.zeros(301, int)}, "up to 300 counts"),
            ({"corpus": np.zeros(3)}, "up to 300 counts"),
        ],
    )
    def test_invalid_options(self, tok: Tokenizer, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            jeton.prune(tok, **options)

    def test_counts_of_another_pattern(self, tok: Tokenizer) -> None:
        with pytest.raises(ConfigError, match="pattern 'o200k', but the tokenizer has pattern 'gpt2'"):
            jeton.prune(tok, corpus=jeton.count_pretokens(CORPUS, progress=False))

    def test_unsupported_models(self) -> None:
        words = Tokenizer.from_bytes(
            b'{"model": {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"}}'
        )
        with pytest.raises(UnsupportedFeatureError, match="WordLevel"):
            jeton.prune(words, keep=["a"])
        assert jeton.renumber(words, {0: 1, 1: 0}).tokenizer.encode("a") == [1]
        unigram = jeton.train(CORPUS, 40, preset="unigram", progress=False)
        with pytest.raises(ConfigError, match="a corpus or keep="):
            jeton.prune(unigram, vocab_size=30)

    @pytest.mark.parametrize(
        ("map", "message"),
        [
            ({0: 1}, "the new id 1 would have two entries"),
            ({300: 1}, "map: the old id 300"),
            ({0: -1}, r"map\[0\]=-1"),
            ([1, 2], "an array of 300 new ids"),
            (np.arange(300) - 1, "new ids are integers from 0"),
            ("x", "map='x'"),
        ],
    )
    def test_invalid_maps(self, tok: Tokenizer, map: Any, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            jeton.renumber(tok, map)


def test_an_array_may_have_the_highest_id(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = Tokenizer.from_merges({0: b"a", 1: b"b"}, [])
    monkeypatch.setattr(import_module("jeton.vocabulary.renumber"), "MAX_ID", 3)
    assert jeton.renumber(tok, np.array([3, 0])).tokenizer.encode("ab") == [3, 0]
    with pytest.raises(ConfigError, match="new ids are integers from 0 to 3"):
        jeton.renumber(tok, np.array([4, 0]))


def test_ranks_become_merges_only_if_their_order_changes(data: Path) -> None:
    tok = jeton.load(data / "vocabs" / "r50k_base.tiktoken")
    shifted = jeton.renumber(tok, np.arange(tok.vocab_size) + 10)
    assert shifted.tokenizer.definition.model.ranks == "tokens"  # type: ignore[union-attr]
    turned = jeton.renumber(tok, np.arange(tok.vocab_size)[::-1].copy())
    assert turned.tokenizer.definition.model.ranks == "merges"  # type: ignore[union-attr]
    assert "a list of merges" in turned.report["ranks"]
    text = "".join(CORPUS) + " The quick brown foxes' 1234 \n\n  end<|endoftext|>"
    ids = np.array(tok.encode(text, special="all"))
    assert shifted.tokenizer.encode(text, special="all") == (ids + 10).tolist()
    assert turned.tokenizer.encode(text, special="all") == (tok.vocab_size - 1 - ids).tolist()

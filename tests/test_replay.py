"""`replay`: a training run as data, compared with the log of the run, the encoder and the lessons."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.corpus import open_corpus
from jeton.reference.step04_train import choose
from jeton.tokens.spelling import Spelling
from jeton.training.count import count
from jeton.training.presets import Bert, Hf, SentencePiece
from jeton.training.request import TrainingRequest

from .material import CORPUS

RULES = ["first", "lowest_ids", "highest_pair", "shortest"]
WAYS: dict[str, dict[str, Any]] = {
    "bytes": {"vocab_size": 300, "pattern": "none"},
    "bytes, gpt2": {"vocab_size": 340, "pattern": "gpt2"},
    "characters": {"vocab_size": 200, "level": "char"},
    "words, symbol": {"vocab_size": 180, "end_of_word": "</w>"},
    "words, suffix": {"vocab_size": 220, "end_of_word": "</w>", "end_of_word_style": "suffix"},
    "one class": {"vocab_size": 320, "pattern": "none", "rules": ["one_class"]},
}
DOCUMENTS = [CORPUS[: len(CORPUS) // 3], "aaaa aaa aaaaaaa", "low lower lowest", "naïve café naïve"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("way", WAYS)
def test_replayed_steps_equal_the_training_log(way: str, rule: Any) -> None:
    tok = jeton.train(DOCUMENTS, **WAYS[way], tie_break=rule, progress=False)
    run = jeton.replay(tok, DOCUMENTS, top=5)
    assert tok.training is not None
    assert tok.training.log is not None
    assert len(run.steps) == len(tok.merges) == len(tok.training.log) > 20
    for step, logged in zip(run.steps, tok.training.log, strict=True):
        assert (step.left, step.right, step.id, step.token) == (logged.left, logged.right, logged.id, logged.token)
        assert (step.pair_count, step.corpus_tokens) == (logged.pair_count, logged.corpus_tokens)
        assert step.bytes_per_token == logged.bytes_per_token
    assert [id for sequence in run.at(len(run.steps)) for id in sequence] == [
        id for doc in DOCUMENTS for id in tok.encode(doc)
    ]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "one class"])
def test_the_chosen_pair_follows_from_counts_and_tie_rule(way: str, rule: str) -> None:
    tok = jeton.train(DOCUMENTS, **WAYS[way], tie_break=rule, progress=False)  # type: ignore[arg-type]
    run = jeton.replay(tok, DOCUMENTS, top=7)
    spelling = {id: Spelling(tok)(id) for id in tok.vocab}
    size = dict.fromkeys(spelling, 1)
    for step in run.steps:
        counts: dict[tuple[int, int], int] = {}
        for sequence in run.at(step.rank):
            for pair in pairwise(sequence):
                counts[pair] = counts.get(pair, 0) + 1
        assert (step.left, step.right) == choose(counts, rule, spelling, size)
        assert step.pairs[0] == (step.left, step.right, counts[step.left, step.right])
        assert step.num_pairs == len(counts)
        # also for the rest of the list, after removal of the winner
        for listed in step.pairs:
            assert listed[:2] == choose(counts, rule, spelling, size)
            assert counts.pop(listed[:2]) == listed.pair_count
        assert len(step.pairs) == min(7, step.num_pairs)
        size[step.id] = size[step.left] + size[step.right]


def test_rules_of_merging_leave_pairs_out_of_the_list() -> None:
    text = ["it's it's it's low"]
    tok = jeton.train(text, 262, pattern="none", rules=["one_class"], progress=False)
    run = jeton.replay(tok, text)
    assert all(step.pairs[0][:2] == (step.left, step.right) for step in run.steps)
    assert not any(b"'" in bytes([pair.left, pair.right]) for pair in run.steps[0].pairs)
    assert run.steps[0].num_pairs > len(run.steps[0].pairs)


@given(st.lists(st.text("ab c", min_size=1, max_size=30), min_size=1, max_size=4), st.sampled_from(RULES))
def test_replay_of_random_texts_ends_in_their_encoding(texts: list[str], rule: Any) -> None:
    tok = jeton.train(texts, 280, pattern="gpt2", tie_break=rule, progress=False)
    run = jeton.replay(tok, texts)
    assert [id for sequence in run.at(len(run.steps)) for id in sequence] == [
        id for text in texts for id in tok.encode(text)
    ]
    assert all(step.pairs[0][:2] == (step.left, step.right) for step in run.steps)


def test_word_counts_weigh_pairs() -> None:
    corpus = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    tok = jeton.train(corpus, 20, end_of_word="</w>", tie_break="first", progress=False)
    run = jeton.replay(tok, corpus)
    assert tok.training is not None
    assert tok.training.log is not None
    assert [step.pair_count for step in run.steps] == [step.pair_count for step in tok.training.log]
    assert [step.corpus_tokens for step in run.steps] == [step.corpus_tokens for step in tok.training.log]
    assert [sequence.count for sequence in run.sequences] == [5, 2, 6, 3]
    assert all(step.pairs[0][:2] == (step.left, step.right) for step in run.steps)
    counted = jeton.count_pretokens(["low low lower"], pattern="gpt2")
    small = jeton.train(counted, 258, pattern="gpt2", progress=False)
    assert jeton.replay(small, counted).corpus_tokens == 13


PRESETS = {
    "bert": Bert(min_frequency=1),
    "sentencepiece": SentencePiece(hard_vocab_limit=False, character_coverage=1.0),
    "hf, prefix": Hf(continuing_subword_prefix="##", pre_tokenizer=[{"type": "Whitespace"}]),
    "hf, suffix": Hf(end_of_word_suffix="</w>", pre_tokenizer=[{"type": "Whitespace"}]),
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_replayed_on_the_counts_of_their_training(name: str) -> None:
    """WordPiece and SentencePiece keep no merges; the log of the run has them."""
    recipe = PRESETS[name].recipe(TrainingRequest(vocab_size=260))
    cuts = list(recipe.special_tokens)
    limits = jeton.Limits()
    counts = count(open_corpus(DOCUMENTS), recipe.stages, cuts, lambda event: None, limits=limits)
    tok = jeton.train(counts, 260, preset=PRESETS[name], progress=False)
    assert tok.training is not None
    assert tok.training.log is not None
    run = jeton.replay(tok, counts)
    assert len(run.steps) == len(tok.training.log) > 20
    for step, logged in zip(run.steps, tok.training.log, strict=True):
        assert (step.left, step.right, step.id, step.token) == (logged.left, logged.right, logged.id, logged.token)
        assert (step.pair_count, step.corpus_tokens) == (logged.pair_count, logged.corpus_tokens)
        assert step.bytes_per_token == logged.bytes_per_token
        chosen = step.pairs[0][:2] == (step.left, step.right)
        assert chosen or name == "sentencepiece", "sentencepiece does not merge every pair"
    ends = run.at(len(run.steps))
    assert all(len(ids) <= len(sequence.ids) for ids, sequence in zip(ends, run.sequences, strict=True))
    if name != "hf, suffix":
        with pytest.raises(jeton.ConfigError, match="replayed on the counts of its training"):
            jeton.replay(tok, DOCUMENTS)
    if name in ("bert", "sentencepiece"):
        with pytest.raises(jeton.ConfigError, match="no merges that can be replayed"):
            jeton.replay(jeton.Tokenizer.from_bytes(tok.to_bytes()), counts)


def test_steps_are_computed_in_any_order() -> None:
    tok = jeton.train(["abcababcaabc"], 260, pattern="none", tie_break="first", progress=False)
    run = jeton.replay(tok, ["abcababcaabc"])
    shown = [[tok.decode(sequence) for sequence in run.at(step)] for step in (4, 0, 2)]
    assert shown == [["abcababcaabc"]] * 3
    assert [len(run.at(step)[0]) for step in (4, 0, 2)] == [3, 12, 5]
    assert str(run).splitlines()[2] == "(256, 99) -> 257 'abc' ×3  ['abc', 'ab', 'abc', 'a', 'abc']"
    assert repr(run) == "Replay(4 merges of 12 bytes)"
    with pytest.raises(IndexError, match="not in 0 to 4"):
        run.at(5)


def test_to_json_has_all_steps() -> None:
    tok = jeton.train(["天气 天气"], 258, pattern="none", tie_break="first", progress=False)
    data = jeton.replay(tok, ["天气 天气"], top=2).to_json()
    assert data["sequences"] == [
        {
            "ids": list("天气 天气".encode()),
            "joined": [0, 1, None, None, None, None, None, 0, 1, None, None, None],
            "count": 1,
        }
    ]
    assert [step["token"] for step in data["steps"]] == ["e5a4", "e5a4a9"]
    assert (data["tokens"][256], data["tokens"][0xE5]) == ("e5a4", "e5")
    assert (data["tie_break"], data["corpus_bytes"], data["stopped"]) == ("first", 13, None)


def test_special_tokens_split_the_corpus_and_are_left_out() -> None:
    tok = jeton.train(["ab<|end|>ab"], 258, pattern="none", special_tokens=["<|end|>"], progress=False)
    assert jeton.replay(tok, ["ab<|end|>ab"]).at(0) == [[97, 98], [97, 98]]


def test_a_file_is_a_corpus_too(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("abab")
    tok = jeton.train(tmp_path, 257, pattern="none", progress=False)
    assert jeton.replay(tok, tmp_path).at(1) == [[256, 256]]


def test_unsupported_replays_are_refused_by_name(data: Path) -> None:
    tok = jeton.train(["abab"], 257, pattern="none", progress=False)
    with pytest.raises(jeton.ConfigError, match="10001 bytes exceed the maximum of 10000"):
        jeton.replay(tok, ["a" * 10_001])
    with pytest.raises(jeton.TrainingError, match="no text"):
        jeton.replay(tok, [""])
    with pytest.raises(jeton.ConfigError, match="weighted"):
        jeton.replay(tok, [jeton.Source(["abab"], weight=2)])
    characters = jeton.train(["abab"], 3, level="char", progress=False)
    with pytest.raises(jeton.InvalidTextError, match="'c'"):
        jeton.replay(characters, ["abc"])
    with pytest.raises(jeton.ConfigError, match="'c' is in the text"):
        jeton.replay(characters, {"abc": 1})
    with pytest.raises(jeton.ConfigError, match=r"jeton\.prune"):
        jeton.replay(jeton.load(data / "vocabs" / "r50k_base.tiktoken"), ["abc"])
    with pytest.raises(jeton.ConfigError, match="Unigram"):
        jeton.replay(jeton.load(data / "vocabs" / "t5-small.tokenizer.json"), ["abc"])
    text = ["by the way, by the sea, by the river"]
    wide = jeton.train(text, 274, superwords=jeton.Superwords(from_size=266), progress=False)
    with pytest.raises(jeton.ConfigError, match="two stages"):
        jeton.replay(wide, text)

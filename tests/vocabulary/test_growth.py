"""Adding words, extending and merging: reports, published vocabularies, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, UnsupportedFeatureError
from jeton.tokenizer import Tokenizer

ENGLISH = "low lower lowest new newer newest wide wider widest slow slowly the wind and the rain of an evening " * 5
CHINESE = "今天的天气很好，明天的天气也很好。今天我们去公园，明天我们在家。" * 5


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return jeton.train([ENGLISH], 290, pattern="gpt2", special_tokens=["<|end|>"], progress=False)


def test_words_are_found_inside_of_pretokens(tok: Tokenizer) -> None:
    text = "a slowest widest-slowest day"
    done = jeton.add_words(tok, ["slowest", " slowest", "天气"], corpus=[text, text])
    made = done.tokenizer
    tokens = made.tokenize(text + "今天的天气好").tokens
    assert b" slowest" in tokens
    assert b"slowest" in tokens
    assert "天气".encode() in tokens
    assert done.report["documents"] == 2
    old, new = tok.encode(text), made.encode(text)
    assert done.report["tokens_before"] == 2 * len(old)
    assert done.report["tokens_after"] == 2 * len(new)
    changed = len(old) - sum(id < tok.vocab_size for id in new)
    assert done.report["changed_tokens"] == changed / len(old)
    assert jeton.add_words(made, ["slowest"]).tokenizer == made
    assert len(jeton.add_words(tok, []).tokenizer) == len(tok)
    assert json.loads(json.dumps(done.to_json()))["report"]["words"] == 3


def test_adding_an_unreachable_entry_makes_it_reachable() -> None:
    vocab = {0: b"a", 1: b"b", 2: b"c", 3: b"abc"}
    tok = Tokenizer.from_merges(vocab, [])
    assert tok.encode("abc") == [0, 1, 2]
    done = jeton.add_words(tok, ["abc"])
    assert done.tokenizer.encode("xabc".replace("x", "a")) == [0, 3]
    assert done.report["new_entries"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["low slow"], "is not one token: the tokenizer normalizes or splits"),
        ([""], "a word is empty"),
        (["\ud800"], "lone surrogate"),
        (["<|end|>"], "is an added token"),
        ("word", "is not a list of strings"),
        (["a" * 5000], "over 1024"),
    ],
)
def test_words_that_cannot_be_added(tok: Tokenizer, words: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        jeton.add_words(tok, words)


def test_extending_continues_training(tok: Tokenizer) -> None:
    """Extending on the training corpus equals training with a larger size."""
    plain = jeton.train([ENGLISH], 280, pattern="gpt2", progress=False)
    more = jeton.extend(plain, [ENGLISH], 10, progress=False).tokenizer
    assert more == jeton.train([ENGLISH], 290, pattern="gpt2", progress=False)
    counts = jeton.count_pretokens([ENGLISH], pattern="gpt2", progress=False)
    assert jeton.extend(plain, counts, 10, progress=False).tokenizer == more


def test_protected_text_does_not_change(tok: Tokenizer) -> None:
    other = "newly lowly widely"
    free = jeton.extend(tok, [other * 9, CHINESE], 30, other=[other], progress=False)
    assert free.tokenizer.encode(other) != tok.encode(other)
    assert free.report["other"]["changed_tokens"] > 0
    bound = jeton.extend(tok, [other * 9, CHINESE], 30, protect=[other], other=[other], progress=False)
    assert bound.tokenizer.encode(other) == tok.encode(other)
    assert bound.report["other"]["changed_tokens"] == 0
    assert bound.report["bytes_per_token_after"] > bound.report["bytes_per_token_before"]


def test_protected_text_may_contain_special_tokens(tok: Tokenizer) -> None:
    text = "low<|end|>low newly"
    made = jeton.extend(tok, [text * 9, "<|newly end|>" * 9], 30, protect=[text], progress=False).tokenizer
    for special in ("none", "all"):
        assert made.encode(text, special=special) == tok.encode(text, special=special)
    with pytest.raises(ConfigError, match="read twice"):
        jeton.extend(tok, [text], 3, protect=iter([text]), progress=False)


def test_a_checkpoint_resumes(tok: Tokenizer, tmp_path: Path) -> None:
    limits = jeton.Limits(checkpoint=tmp_path / "kept")
    first = jeton.extend(tok, [CHINESE], 5, limits=limits, progress=False)
    more = jeton.extend(tok, [CHINESE], 9, limits=limits, progress=False)
    assert more.tokenizer == jeton.extend(tok, [CHINESE], 9, progress=False).tokenizer
    assert more.tokenizer.merges[: len(first.tokenizer.merges)] == first.tokenizer.merges


@pytest.mark.parametrize("name", ["r50k_base.tiktoken", "llama3.tiktoken", "phi-3-mini.tokenizer.json"])
def test_extending_published_vocabularies_keeps_protected_text(data: Path, name: str) -> None:
    tok = jeton.load(data / "vocabs" / name)
    amharic, english = ((data / "udhr" / f"{code}.txt").read_text() for code in ("amh", "eng"))
    half = len(amharic) // 2
    done = jeton.extend(tok, [amharic[:half]], 100, protect=[english], progress=False)
    made = done.tokenizer
    assert done.report["unreachable"] == []
    assert made.encode(english) == tok.encode(english)
    if "phi" not in name:  # in this vocabulary its characters are byte tokens, which do not merge
        assert len(made.encode(amharic[half:])) < 0.9 * len(tok.encode(amharic[half:]))
    again = Tokenizer.from_bytes(made.to_bytes())
    assert again.encode(amharic) == made.encode(amharic)


def test_merging_keeps_the_encodings_of_both() -> None:
    """As in the lesson: two vocabularies of 256 bytes and 26 merges."""
    english = jeton.train([ENGLISH], 282, pattern="gpt2", progress=False)
    chinese = jeton.train([CHINESE], 282, pattern="gpt2", progress=False)
    done = jeton.merge_vocab(english, chinese, corpus_a=[ENGLISH], corpus_b=[CHINESE])
    assert len(done.tokenizer) == 308
    assert done.report["agreement_a"] == done.report["agreement_b"] == 1
    assert done.tokenizer.encode(ENGLISH) == english.encode(ENGLISH)
    assert done.tokenizer.tokenize(CHINESE).tokens == chinese.tokenize(CHINESE).tokens
    assert done.report["left_out"] == {}
    assert done.report["split"] == []


def test_entries_that_merges_cross_are_listed() -> None:
    a = Tokenizer.from_merges({0: b"a", 1: b"b", 2: b"c", 3: b"d", 4: b"bc"}, [(1, 2, 4)])
    b = Tokenizer.from_merges(
        {0: b"a", 1: b"b", 2: b"c", 3: b"d", 4: b"ab", 5: b"cd", 6: b"abcd"}, [(0, 1, 4), (2, 3, 5), (4, 5, 6)]
    )
    done = jeton.merge_vocab(a, b)
    assert done.report["left_out"] == {"merges of the first tokenizer cross its parts": [6]}
    assert done.tokenizer.tokenize("abcdab").tokens == [b"a", b"bc", b"d", b"ab"]


def test_merging_appends_added_tokens_of_the_second(tok: Tokenizer) -> None:
    other = jeton.train([CHINESE], 270, pattern="gpt2", special_tokens=["<|end|>", "<|other|>"], progress=False)
    done = jeton.merge_vocab(tok, other)
    made = done.tokenizer
    source, pieces = done.plan.of(made.vocab_size - 1)
    assert (source, {*pieces}) == ("mean", {*tok.encode("<|other|>", special="none")})
    assert made.special_tokens["<|end|>"] == tok.special_tokens["<|end|>"]
    assert made.special_tokens["<|other|>"] == made.vocab_size - 1


def test_merging_sentencepiece_models_keeps_the_first_encoding(data: Path) -> None:
    mistral = jeton.load(data / "vocabs" / "mistral-v1.model")
    japanese = jeton.train(
        (data / "udhr" / "jpn.txt").read_text().splitlines(), 900, preset="sentencepiece", progress=False
    )
    done = jeton.merge_vocab(mistral, japanese)
    made = done.tokenizer
    reached = len(made) - len(mistral)
    listed = sum(map(len, done.report["left_out"].values()))
    ordinary = len(japanese._core.ids_of(1))
    assert done.report["unreachable"] == []
    scores = np.array(made._core.scores(), np.float32)[mistral.vocab_size :]  # Mistral's lowest score is -1e9
    assert (np.diff(scores) < 0).all()
    assert done.report["shared"] + done.report["appended"] + listed == ordinary
    assert reached == done.report["appended"] + done.report["added_tokens"]
    text = "すべての人間は、生まれながらにして自由であり"
    assert len(made.encode(text)) < len(mistral.encode(text))
    assert made.decode(made.encode(text)) == text
    again = Tokenizer.from_bytes(made.to_bytes())
    assert again.encode(text) == made.encode(text)


@pytest.mark.parametrize("verb", ["add_words", "extend", "merge_vocab"])
def test_models_without_support_for_new_merges_are_refused(verb: str, tok: Tokenizer) -> None:
    unigram = jeton.train([ENGLISH], 40, preset="unigram", progress=False)
    words = jeton.train({"low": 5, "newest": 6}, 30, end_of_word="</w>", progress=False)
    arguments = {"add_words": (["x"],), "extend": ([ENGLISH], 3), "merge_vocab": (tok,)}[verb]
    refused = ((words, "end_of_word"),) if verb == "add_words" else ((unigram, "Unigram"), (words, "end_of_word"))
    for other, named in refused:
        with pytest.raises(UnsupportedFeatureError, match=named):
            getattr(jeton, verb)(other, *arguments)


@pytest.mark.parametrize("verb", ["add_words", "extend", "merge_vocab"])
def test_a_name_in_place_of_a_tokenizer(verb: str, tok: Tokenizer) -> None:
    arguments = {"add_words": (["x"],), "extend": ([ENGLISH], 3), "merge_vocab": (tok,)}[verb]
    with pytest.raises(ConfigError, match="is not a Tokenizer"):
        getattr(jeton, verb)("gpt2", *arguments)


def test_a_piece_that_is_an_added_token_of_whole_words() -> None:
    file = {
        "added_tokens": [{"id": 0, "content": "<pad>", "special": True, "single_word": True}],
        "model": {"type": "Unigram", "unk_id": 1, "vocab": [["<pad>", 0.0], ["<unk>", 0.0], ["a", -3.0], ["p", -3.0]]},
    }
    tok = Tokenizer.from_bytes(json.dumps(file).encode())
    assert jeton.add_words(tok, ["pa"]).tokenizer.encode("papa") == [4, 4]
    after = tok.add_tokens([jeton.AddedToken("<x>", single_word=True)])
    with pytest.raises(UnsupportedFeatureError, match="single_word after the pieces"):
        jeton.add_words(after, ["pa"])


def test_models_of_two_kinds_are_not_merged(tok: Tokenizer) -> None:
    characters = jeton.train([ENGLISH], 60, level="char", progress=False)
    with pytest.raises(UnsupportedFeatureError, match=r"BPE \(byte level\) and BPE \(char level\)"):
        jeton.merge_vocab(tok, characters)


def test_wrong_corpora_are_refused(tok: Tokenizer) -> None:
    with pytest.raises(jeton.TrainingError, match="no text"):
        jeton.extend(tok, [""], 3, progress=False)
    with pytest.raises(ConfigError, match="pattern 'o200k'"):
        jeton.extend(tok, jeton.count_pretokens([ENGLISH], progress=False), 3)
    stopped = jeton.extend(tok, ["ab"], 30, progress=False)
    assert stopped.report["stopped"].startswith("no pair is left")

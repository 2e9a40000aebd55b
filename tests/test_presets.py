"""Presets: worked examples, contradictory options, and their facts in a tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.training.presets import PRESETS, Bert, Hf, MinBpe, SentencePiece, SubwordNmt, make

TEXT = ["low lower lowest newest widest", "the newest is the widest"]


def train(vocab_size: int = 60, **options: Any) -> jeton.Tokenizer:
    return jeton.train(TEXT, vocab_size, progress=False, **options)


def test_a_name_is_the_class_with_its_defaults() -> None:
    of_libraries = {name: preset for name, preset in PRESETS.items() if name != "unigram"}
    assert sorted(of_libraries) == ["bert", "hf", "minbpe", "sentencepiece", "sentencepiece-unigram", "subword-nmt"]
    for name, preset in of_libraries.items():
        size = 300
        options: Any = {"hard_vocab_limit": False} if name.startswith("sentencepiece") else {}
        one = jeton.train(TEXT, size, preset=make(name, options), progress=False)
        other = jeton.train(TEXT, size, preset=preset(**options), progress=False)
        assert one == other
        assert one.training is not None
        assert one.training.preset == name


def test_sentencepiece_merges_computed_by_hand() -> None:
    tok = train(30, preset=SentencePiece(character_coverage=1.0))
    # es and st occur 5 times: es, the smaller string, merges first; then est, 5 times; lo, ow and ▁l 3 times: lo.
    assert [tok.id_to_token(id) for id in range(6)] == ["<unk>", "<s>", "</s>", "es", "est", "lo"]
    assert tok.decode(tok.encode("lowest")) == "lowest"
    assert tok.roles == {"unk": "<unk>", "bos": "<s>", "eos": "</s>"}


def test_training_facts_record_the_preset(tmp_path: Path) -> None:
    tok = train(preset=SentencePiece(split_digits=True, hard_vocab_limit=False))
    facts = tok.training
    assert facts is not None
    assert facts.preset_options == {"split_digits": True, "hard_vocab_limit": False}
    assert facts.log is not None
    assert facts.log[0].pair_count == 5
    hf = train(300, preset=Hf(max_token_length=4))
    hf.save(tmp_path / "hf.json")
    again = jeton.load(tmp_path / "hf.json")
    assert again == hf
    assert again.training == hf.training
    assert train(300, preset="hf").training.preset_options is None  # type: ignore[union-attr]


def test_counts_and_mappings_train_as_text() -> None:
    words = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    by_mapping = jeton.train(words, preset=SubwordNmt(symbols=6), progress=False)
    assert [(by_mapping.id_to_token(a), by_mapping.id_to_token(b)) for a, b, _ in by_mapping.merges] == [
        ("s", "t</w>"), ("e", "st</w>"), ("l", "o"), ("w", "est</w>"), ("n", "e"), ("ne", "west</w>"),
    ]  # fmt: skip
    text = [" ".join(word for word, count in words.items() for _ in range(count))]
    assert jeton.train(text, preset=SubwordNmt(symbols=6), progress=False) == by_mapping
    with pytest.raises(jeton.ConfigError, match="the counts were made with pattern 'gpt2'"):
        jeton.train(jeton.count_pretokens(TEXT, pattern="gpt2"), 60, preset="bert", progress=False)


def test_counts_that_are_not_split_at_the_special_tokens() -> None:
    text = ["low<s>lower low<s>lower"]
    whole, split = (jeton.count_pretokens(text, pattern="gpt2", special_tokens=tokens) for tokens in ([], ["<s>"]))
    for preset in (None, "hf", "minbpe"):
        options: Any = {"preset": preset, "pattern": "gpt2", "unk_token": "<unk>", "progress": False}
        assert len(jeton.train(split, 300, special_tokens=["<s>"], **options)) < 300
        assert len(jeton.train(whole, 300, **options)) < 300  # the unknown token does not occur in text
        with pytest.raises(jeton.ConfigError, match="not split at the special token '<s>'") as caught:
            jeton.train(whole, 300, special_tokens=["<s>"], **options)
        assert caught.value.option == "special_tokens"


@pytest.mark.parametrize(
    ("preset", "message", "option"),
    [
        (None, "with pattern 'gpt4', but this call counts with pattern 'o200k' by default", "pattern"),
        ("hf", "with pattern 'gpt4', but this call counts with pattern 'gpt2' by default", "pattern"),
        ("minbpe", "with pattern 'gpt4', but this call counts with pattern 'none' by default", "pattern"),
        ("bert", "with pattern 'gpt4', but this call counts with the stages BertNormalizer, BertPreT", "preset"),
    ],
)
def test_counts_of_other_stages_are_refused(preset: str | None, message: str, option: str) -> None:
    counts = jeton.count_pretokens(TEXT, pattern="gpt4")
    with pytest.raises(jeton.ConfigError, match=message) as caught:
        jeton.train(counts, 300, preset=preset, progress=False)
    assert caught.value.option == option


def test_an_option_of_the_preset_can_be_given_to_train() -> None:
    for preset, option in (("bert", Bert(min_frequency=3)), ("subword-nmt", SubwordNmt(min_frequency=3))):
        assert train(min_frequency=3, preset=preset) == train(preset=option)


def test_lines_are_documents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low lower\r\nlowest\n\nnew\n")
    for preset in (SubwordNmt(min_frequency=1), SentencePiece(hard_vocab_limit=False)):
        tok = jeton.train(tmp_path / "a.txt", 40, preset=preset, progress=False)
        assert tok == jeton.train(["low lower", "lowest", "new"], 40, preset=preset, progress=False)


def test_too_long_lines_and_reserved_characters_are_left_out() -> None:
    preset = SentencePiece(max_sentence_length=10, hard_vocab_limit=False, character_coverage=1.0)
    tok = jeton.train(["low low", "x" * 11, "y\u2585"], 20, preset=preset, progress=False)
    assert {tok.id_to_token(id) for id in tok.vocab} >= {"▁low", "l", "o", "w"}
    assert not any("x" in tok.id_to_token(id) or "y" in tok.id_to_token(id) for id in tok.vocab)
    with pytest.raises(jeton.TrainingError, match="no text"):
        jeton.train(["x" * 11], 20, preset=preset, progress=False)


def test_custom_normalization_rules_apply() -> None:
    preset = SentencePiece(
        normalization_rule_name="identity", normalization_rules={"Å": "aa", "x": ""}, hard_vocab_limit=False
    )
    tok = jeton.train(["Åxb"] * 3, 20, preset=preset, progress=False)
    assert tok.decode(tok.encode("Åxb")) == "aab"


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"preset": "tiktoken"}, "preset"),
        ({"preset": 7}, "preset"),
        ({"preset": "sentencepiece", "pattern": "gpt2"}, "pattern"),
        ({"preset": "sentencepiece", "special_tokens": ["<x>"]}, "special_tokens"),
        ({"preset": "sentencepiece", "min_frequency": 2}, "min_frequency"),
        ({"preset": "sentencepiece", "vocab_size": 3}, "vocab_size"),
        ({"preset": "sentencepiece", "vocab_size": 8}, "vocab_size"),
        ({"preset": "subword-nmt", "tie_break": "first"}, "tie_break"),
        ({"preset": SubwordNmt(symbols=5), "vocab_size": 50}, "vocab_size"),
        ({"preset": "bert", "level": "byte"}, "level"),
        ({"preset": "bert", "vocab_size": 5}, "vocab_size"),
        ({"preset": Bert(min_frequency=3), "min_frequency": 4}, "min_frequency"),
        ({"preset": "hf", "end_of_word": "</w>"}, "end_of_word_style"),
        ({"preset": Hf(pre_tokenizer=[{"type": "Whitespace"}]), "pattern": "gpt2"}, "pattern"),
        ({"preset": Hf(pre_tokenizer=[{"type": "Whitespace"}]), "level": "byte"}, "level"),
        ({"preset": Hf(continuing_subword_prefix="##"), "level": "byte"}, "continuing_subword_prefix"),
        ({"preset": Hf(end_of_word_suffix="</w>"), "tie_break": "shortest"}, "tie_break"),
        ({"preset": "hf", "special_tokens": ["a"]}, "special_tokens"),
        ({"preset": "hf", "special_tokens": "ab"}, "special_tokens"),
        ({"preset": "bert", "trace": True}, "trace"),
        ({"preset": "unigrams"}, "preset"),
        ({"preset": "hf", "rules": ["one_class"]}, "rules"),
        ({"preset": "bert", "superwords": True}, "superwords"),
        ({"preset": MinBpe("gpt4"), "pattern": "gpt2"}, "pattern"),
        ({"preset": SubwordNmt(min_frequency=3), "min_frequency": 4}, "min_frequency"),
        ({"preset": Bert(min_frequency=0), "min_frequency": 4}, "min_frequency"),
    ],
)
def test_contradictory_options_are_refused(options: dict[str, Any], option: str) -> None:
    with pytest.raises(jeton.ConfigError) as caught:
        train(**{"vocab_size": 300, **options})
    assert caught.value.option == option


@pytest.mark.parametrize(
    ("name", "options", "option"),
    [
        ("hf", {"max_token_length": -1}, "max_token_length"),
        ("hf", {"limit_alphabet": True}, "limit_alphabet"),
        ("hf", {"initial_alphabet": "abc"}, "initial_alphabet"),
        ("hf", {"initial_alphabet": ["ab"]}, "initial_alphabet"),
        ("hf", {"initial_alphabet": ["\ud800"]}, "initial_alphabet"),
        ("hf", {"end_of_word_suffix": ""}, "end_of_word_suffix"),
        ("hf", {"nonsense": 1}, "preset"),
        ("bert", {"lowercase": "yes"}, "lowercase"),
        ("minbpe", {"pattern": "gpt4", "nonsense": 1}, "preset"),
        ("sentencepiece", {"character_coverage": 0.5}, "character_coverage"),
        ("sentencepiece", {"character_coverage": float("nan")}, "character_coverage"),
        ("sentencepiece", {"max_sentencepiece_length": 0}, "max_sentencepiece_length"),
        ("sentencepiece", {"max_sentence_length": 9}, "max_sentence_length"),
        ("sentencepiece", {"normalization_rule_name": "nfd"}, "normalization_rule_name"),
        ("sentencepiece", {"split_digits": 1}, "split_digits"),
        ("sentencepiece", {"user_defined_symbols": "<x>"}, "user_defined_symbols"),
        ("sentencepiece", {"unk_id": -1}, "unk_id"),
        ("subword-nmt", {"symbols": 0}, "symbols"),
        ("subword-nmt", {"total_symbols": True}, "total_symbols"),
    ],
)
def test_invalid_options_are_refused(name: str, options: dict[str, Any], option: str) -> None:
    with pytest.raises(jeton.ConfigError) as caught:
        make(name, options)
    assert caught.value.option == option


@pytest.mark.parametrize(
    "options",
    [
        {"bos_id": 0},
        {"eos_id": 400},
        {"bos_piece": "<unk>"},
        {"user_defined_symbols": ["<x>", "<x>"]},
        {"control_symbols": ["<x>"], "user_defined_symbols": ["<x>"]},
        {"control_symbols": ["<unk>"]},
        {"byte_fallback": True, "user_defined_symbols": ["<0x41>"]},
    ],
)
def test_colliding_pieces_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(jeton.ConfigError):
        train(300, preset=SentencePiece(**options))


def test_a_token_that_comes_about_twice_is_an_error() -> None:
    """`#` and `###` merge to `##`. With `##a` it would spell a token that exists already."""
    preset = Hf(pre_tokenizer=[{"type": "WhitespaceSplit"}], continuing_subword_prefix="##")
    with pytest.raises(jeton.TrainingError, match="can be formed in two ways"):
        jeton.train(["###a ba ###a ba"] * 5, 60, preset=preset, progress=False)


def test_minbpe_options_are_those_of_the_preset() -> None:
    assert train(270, preset=MinBpe("gpt4")) == train(270, preset="minbpe", pattern="gpt4")

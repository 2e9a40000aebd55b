"""GPT-2's pair of files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import jeton
from jeton.formats import bpe_pair, detection
from tests.material import byte_tokenizer, tokenizer


def pair(*more: str) -> tuple[bytes, bytes]:
    letters = [jeton._core.spell_bytes(bytes([byte])) for byte in range(256)]
    vocab = {token: id for id, token in enumerate([*letters, "ab", "Ġab", *more])}
    return json.dumps(vocab).encode(), "#version: 0.2\na b\nĠ ab\n".encode()


def test_a_pair_without_a_config_is_read_as_gpt2() -> None:
    vocab, merges = pair("<|endoftext|>")
    assert detection.is_gpt2_pair(vocab)
    assert detection.is_gpt2_pair(merges)
    tok = bpe_pair.read(vocab, merges, source="x")
    assert tok.encode("ab abc") == [256, 257, 99]
    assert tok.special_tokens == {"<|endoftext|>": 258}
    assert tok.roles == {"bos": "<|endoftext|>", "eos": "<|endoftext|>"}
    assert bpe_pair.read(*pair(), source="x").special_tokens == {}


@pytest.mark.parametrize(
    ("config", "before", "after"),
    [
        ({}, [], []),
        ({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True}, [258], []),
        ({"add_bos_token": True, "bos_token": "</s>"}, [259], []),  # as OPT
        ({"tokenizer_class": "Qwen2Tokenizer", "add_bos_token": True, "add_eos_token": True}, [], [258]),
    ],
    ids=str,
)
def test_special_tokens_around_a_text_follow_the_config(
    config: dict[str, object], before: list[int], after: list[int]
) -> None:
    """As transformers 5.23 does."""
    tok = bpe_pair.read(*pair("<|endoftext|>", "</s>"), source="x", config=config)
    once = [*before, 256, *after]
    assert tok.encode("ab", add_special_tokens=True) == once
    assert tok.encode("ab", "ab", add_special_tokens=True) == once * 2


def test_a_config_names_class_and_tokens() -> None:
    vocab, merges = pair("<s>", "</s>", "<unk>", "<pad>", "<mask>")
    tok = bpe_pair.read(vocab, merges, source="x", config={"tokenizer_class": "RobertaTokenizer"})
    assert tok.encode("ab", add_special_tokens=True) == [258, 256, 259]
    assert tok.encode("ab", "ab", add_special_tokens=True) == [258, 256, 259, 259, 256, 259]
    assert tok.roles["mask"] == "<mask>"
    added = {"258": {"content": "<s>", "special": True, "lstrip": True}, "263": {"content": "<x>", "special": False}}
    tok = bpe_pair.read(vocab, merges, source="x", config={"added_tokens_decoder": added, "add_prefix_space": True})
    assert tok.encode("ab<x>") == [257, 263]
    assert tok.special_tokens == {"<s>": 258}
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        bpe_pair.read(vocab, merges, source="x", config={"tokenizer_class": "CLIPTokenizer"})
    assert caught.value.feature == "tokenizer_class"
    with pytest.raises(jeton.FormatError):
        bpe_pair.read(vocab, merges, source="x", config={"added_tokens_decoder": {"a": {"content": "<x>"}}})


@pytest.mark.parametrize("names", [("vocab.json", "merges.txt"), ("my.encoder.json", "my.vocab.bpe")])
def test_the_second_file_of_a_pair_is_found(names: tuple[str, str], tmp_path: Path) -> None:
    for name, data in zip(names, pair(), strict=True):
        (tmp_path / name).write_bytes(data)
    expected = (str(tmp_path / names[0]), str(tmp_path / names[1]))
    assert bpe_pair.partner(expected[0]) == bpe_pair.partner(expected[1]) == expected
    if names[0] == "vocab.json":
        assert bpe_pair.partner(tmp_path) == expected
    (tmp_path / "merges.txt").touch()  # without its partner, the other pair of a folder is read
    (tmp_path / "encoder.json").touch()
    (tmp_path / "vocab.bpe").touch()
    if names[0] != "vocab.json":
        assert bpe_pair.partner(tmp_path) == (str(tmp_path / "encoder.json"), str(tmp_path / "vocab.bpe"))
    (tmp_path / "encoder.json").unlink()
    Path(expected[1]).unlink()
    for path in (expected[0], tmp_path, tmp_path / "any.bin"):
        with pytest.raises(FileNotFoundError):
            bpe_pair.partner(path)


def test_every_loss_is_refused_by_name(tmp_path: Path) -> None:
    """Features that a pair alone cannot store are refused by name."""
    gpt2 = bpe_pair.read(*pair("<|endoftext|>"), source="x")
    unknown = replace(gpt2.definition, model=replace(gpt2.definition.model, unk_token="<|endoftext|>"))  # type: ignore[type-var]
    part = gpt2._core.vocabulary()
    few = jeton.Tokenizer.from_merges({97: b"a", 98: b"b"}, [], pattern="gpt2", special_tokens={"<|endoftext|>": 9})
    cases = {
        "chat_template": gpt2._with_facts(chat_template="x"),
        "roles": gpt2._with_facts(roles={"pad": "<|endoftext|>"}),
        "decoder": jeton.Tokenizer(replace(gpt2.definition, decoder=({"type": "Join", "separator": " "},)), part),
        "unk_token": jeton.Tokenizer(unknown, few._core.vocabulary()),
        "special_tokens": gpt2.add_tokens(["two words"]),
    }
    for feature, tok in cases.items():
        with pytest.raises(jeton.UnsupportedFeatureError) as caught:
            tok.save(tmp_path / feature, format="merges.txt")
        assert caught.value.feature == feature
    bpe_pair.write(jeton.Tokenizer(unknown, part), tmp_path, ())  # every byte has an entry
    with pytest.raises(jeton.UnsupportedFeatureError, match="two words"):
        cases["special_tokens"].save(tmp_path / "words", format="merges.txt", accept_loss=["special_tokens"])


def test_a_written_pair_reads_as_an_equal_tokenizer(tmp_path: Path) -> None:
    tok = bpe_pair.read(*pair("<|endoftext|>"), source="x")
    bpe_pair.write(tok, tmp_path / "out", ())
    vocab, merges = (Path(path).read_bytes() for path in bpe_pair.partner(tmp_path / "out"))
    assert bpe_pair.read(vocab, merges, source="x") == tok


@pytest.mark.parametrize(
    ("tok", "feature"),
    [
        (lambda: tokenizer("char gpt2"), "model"),
        (lambda: tokenizer("byte gpt2"), "special_tokens"),
        (lambda: byte_tokenizer((97, 98, 256)), "pattern"),
    ],
)
def test_unsupported_features_are_refused_by_name(tok: object, feature: str, tmp_path: Path) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        bpe_pair.write(tok(), tmp_path / "out", ())  # type: ignore[operator]
    assert caught.value.feature == feature
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("config", "kind", "expected"),
    [
        ({}, "GPT2Tokenizer", {"bos": "<|endoftext|>", "eos": "<|endoftext|>"}),
        ({}, "Qwen2Tokenizer", {"eos": "<|endoftext|>"}),
        ({}, "PreTrainedTokenizer", {"bos": "<|endoftext|>", "eos": "<|endoftext|>"}),
        ({}, "RobertaTokenizer", {"bos": "<s>", "cls": "<s>"}),
        ({"bos_token": None, "pad_token": "<new>"}, "GPT2Tokenizer", {"eos": "<|endoftext|>", "pad": "<new>"}),
        ({"eos_token": {"content": "<s>"}, "bos_token": ""}, "GPT2Tokenizer", {"eos": "<s>"}),
    ],
)
def test_roles_of_a_class(config: dict[str, object], kind: str, expected: dict[str, str]) -> None:
    spelled = jeton._core.SpelledVocabulary.from_pair(*pair("<|endoftext|>", "<s>"))
    assert bpe_pair._roles(config, kind, spelled) == expected
    with pytest.raises(jeton.FormatError, match="mask_token is not a string"):
        bpe_pair._roles({"mask_token": 3}, kind, spelled)


@pytest.mark.parametrize(
    ("config", "kind", "expected"),
    [
        ({}, "GPT2Tokenizer", {"type": "Pattern", "name": "gpt2"}),
        ({}, "RobertaTokenizer", {"type": "Pattern", "name": "gpt2"}),
        ({"add_prefix_space": True}, "Qwen2Tokenizer", {"type": "Pattern", "name": "qwen2"}),
        (
            {"add_prefix_space": True},
            "GPT2Tokenizer",
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        ),
    ],
)
def test_pre_tokenizers_of_a_class(config: dict[str, object], kind: str, expected: dict[str, object]) -> None:
    assert bpe_pair._split(config, kind) == expected


def test_flags_and_facts_of_a_class() -> None:
    vocab, merges = pair("<s>", "</s>", "<unk>", "<pad>", "<mask>")
    roberta = bpe_pair.read(vocab, merges, source="x", config={"tokenizer_class": "RobertaTokenizerFast"})
    assert [token.content for token in roberta.added_tokens.values() if token.lstrip] == ["<mask>"]
    assert roberta.definition.template is not None
    assert roberta.definition.template["trim_offsets"] is True
    assert roberta.definition.hf_vocab_size is None
    plain = bpe_pair.read(vocab, merges, source="x", config={"mask_token": "<mask>"})
    assert not any(token.lstrip for token in plain.added_tokens.values())
    assert (plain.definition.template, plain.definition.normalizer) == (None, ())
    without = bpe_pair.read(*pair("<s>"), source="x", config={"tokenizer_class": "RobertaTokenizer"})
    assert without.definition.template is None
    added = {"300": {"content": "<x>", "special": True}}
    with pytest.raises(jeton.UnsupportedFeatureError, match="T5Tokenizer"):
        bpe_pair.read(vocab, merges, source="x", config={"tokenizer_class": "T5Tokenizer"})
    more = bpe_pair.read(vocab, merges, source="x", config={"added_tokens_decoder": added})
    assert more.definition.hf_vocab_size == 263
    assert bpe_pair.read(vocab, merges, source="x", config={"tokenizer_class": "Qwen2Tokenizer"}).definition.normalizer


def test_a_vocabulary_of_some_bytes_without_an_unknown_token() -> None:
    tok = jeton.Tokenizer.from_merges({0: b"a", 1: b"b", 2: b"ab"}, [(0, 1, 2)], pattern="gpt2")
    assert json.loads(bpe_pair.render(tok, ())["vocab.json"]) == {"a": 0, "b": 1, "ab": 2}


def test_ends_of_words_are_refused() -> None:
    words = jeton.train({"low": 5, "newest": 6}, 270, end_of_word="</w>", progress=False)
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        bpe_pair.render(words, ())
    assert caught.value.feature == "model"

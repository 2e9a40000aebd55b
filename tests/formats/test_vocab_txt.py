"""BERT's vocab.txt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton
from jeton.formats import detection, vocab_txt
from tests.material import tokenizer

VOCAB = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nold\n##er\n,\ncafe\n"


def test_line_numbers_are_ids() -> None:
    assert detection.is_vocab_txt(VOCAB)
    tok = vocab_txt.read(VOCAB.replace(b"\n", b"\r\n") + b"\n", source="x")
    assert tok.vocab_size == 10
    assert tok.encode("The older, caf\u00e9 man") == [5, 6, 7, 8, 9, 1]
    assert tok.encode("the", add_special_tokens=True) == [2, 5, 3]
    assert tok.encode("the", "old", add_special_tokens=True) == [2, 5, 3, 6, 3]
    assert tok.decode([2, 5, 6, 7, 8, 3], skip_special_tokens=True) == "the older,"
    assert tok.roles == {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"}


@pytest.mark.parametrize(
    ("more", "config", "lowercase"),
    [
        (b"", None, True),
        (b"The\n", None, False),
        (b"[UPPER]\n", None, True),
        (b"The\n", {"do_lower_case": True}, True),
        (b"", {"do_lower_case": False}, False),
        (b"", {"tokenizer_class": "BertTokenizer"}, True),
        (b"The\n", {"tokenizer_class": "BertTokenizer"}, True),
        (b"The\n", {"do_lower_case": None}, True),
        (b"The\n", {}, False),
    ],
)
def test_lowercasing_follows_the_config_or_the_entries(
    more: bytes, config: dict[str, object] | None, lowercase: bool
) -> None:
    tok = vocab_txt.read(VOCAB + more, source="x", config=config)
    assert tok.definition.normalizer[0]["lowercase"] is lowercase
    assert (tok.encode("THE") == [5]) is lowercase


CASED = VOCAB + b"The\n##ER\n"


@pytest.mark.parametrize("config", [None, {}, {"tokenizer_class": "BertTokenizer"}, {"model_max_length": 512}])
def test_a_folder_lowercases_by_default(config: dict[str, object] | None, tmp_path: Path) -> None:
    """As in transformers, for all entries; for a file alone, its entries decide."""
    (tmp_path / "vocab.txt").write_bytes(CASED)
    if config is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    tok = jeton.load(tmp_path)
    assert [tok.id_to_token(id) for id in tok.encode("The OLDer")] == ["the", "old", "##er"]
    lone = jeton.load(tmp_path / "vocab.txt")
    assert (lone == tok) is bool(config), "a configuration beside the file is used"
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertTokenizer.from_pretrained(tmp_path)
    for text in ("The OLDer caf\u00e9", "THE, the", "\u0130"):
        assert tok.encode(text, add_special_tokens=True) == theirs(text)["input_ids"]


def test_options_are_read_from_the_config() -> None:
    config = {"strip_accents": False, "tokenize_chinese_chars": False, "unk_token": {"content": "[UNK]"}}
    tok = vocab_txt.read(VOCAB, source="x", config=config)
    assert tok.encode("caf\u00e9") == [1]
    assert not tok.definition.normalizer[0]["handle_chinese_chars"]
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        vocab_txt.read(VOCAB, source="x", config={"do_basic_tokenize": False})
    assert caught.value.feature == "do_basic_tokenize"
    for wrong in ({"do_lower_case": "yes"}, {"unk_token": 3}):
        with pytest.raises(jeton.FormatError, match=r"tokenizer_config\.json|is not a string|is 'yes'"):
            vocab_txt.read(VOCAB, source="x", config=wrong)


@pytest.mark.parametrize("name", ["MPNetTokenizer", "BertJapaneseTokenizer", "FunnelTokenizerFast", "MyOwnTokenizer"])
def test_a_class_with_special_behavior_is_refused(name: str) -> None:
    with pytest.raises(jeton.UnsupportedFeatureError, match=name.removesuffix("Fast")) as caught:
        vocab_txt.read(VOCAB, source="x", config={"tokenizer_class": name})
    assert caught.value.feature == "tokenizer_class"


def test_added_tokens_are_read_from_the_config() -> None:
    new = {"content": "[new]", "special": True, "lstrip": False}
    tok = vocab_txt.read(VOCAB, source="x", config={"added_tokens_decoder": {"0": {"content": "[PAD]"}, "12": new}})
    assert tok.encode("the [new] old", special="all") == [5, 12, 6]
    assert tok.definition.hf_vocab_size == 10  # without the added token
    for id in ("5", "-1", "x"):
        with pytest.raises(jeton.FormatError, match="added token"):
            vocab_txt.read(VOCAB, source="x", config={"added_tokens_decoder": {id: new}})


def test_a_vocabulary_round_trips_or_its_loss_is_refused(tmp_path: Path) -> None:
    tok = vocab_txt.read(VOCAB, source="x")
    path = tmp_path / "vocab.txt"
    vocab_txt.write(tok, path, ())
    assert path.read_bytes() == VOCAB
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        vocab_txt.write(tok._with_facts(chat_template="x"), path, ())
    assert caught.value.feature == "chat_template"
    cased = vocab_txt.read(VOCAB, source="x", config={"do_lower_case": False})
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        vocab_txt.write(cased, path, ())
    assert caught.value.feature == "normalizer"
    vocab_txt.write(cased, path, ["normalizer"])
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        vocab_txt.write(tokenizer("byte gpt2"), path, ())
    assert caught.value.feature == "model"

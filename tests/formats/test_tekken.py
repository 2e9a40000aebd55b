"""Mistral's tekken.json."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.formats import detection, tekken
from tests.material import byte_tokenizer, tokenizer


def file(*tokens: bytes, cut: int = 0, **config: Any) -> bytes:
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate([*(bytes([byte]) for byte in range(256)), *tokens])
    ]
    options = {
        "pattern": r"\p{L}+|[^\p{L}]+",
        "num_vocab_tokens": len(vocab),
        "default_vocab_size": len(vocab) - cut + 30,
        "default_num_special_tokens": 30,
        "version": "v3",
        **config,
    }
    return json.dumps({"config": options, "vocab": vocab, "image": {"patch": 16}}).encode()


def test_special_tokens_come_first() -> None:
    data = file(b"ab", b"abc")
    assert detection.is_tekken(data)
    tok = tekken.read(data, source="x")
    assert tok.vocab_size == 30 + 258
    assert [tok.id_to_token(id) for id in (0, 1, 2, 10, 20, 29)] == [
        "<unk>",
        "<s>",
        "</s>",
        "[IMG]",
        "<SPECIAL_20>",
        "<SPECIAL_29>",
    ]
    assert tok.encode("abc abd") == [30 + 257, 30 + 32, 30 + 256, 30 + 100]
    assert tok.encode("a", add_special_tokens=True) == [1, 30 + 97]
    assert tok.roles == {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}


def test_ranks_past_the_size_are_cut() -> None:
    tok = tekken.read(file(b"ab", b"abc", cut=1), source="x")
    assert tok.vocab_size == 30 + 257
    assert tok.encode("abc") == [30 + 256, 30 + 99]


def test_a_written_file_reads_as_an_equal_tokenizer(tmp_path: Path) -> None:
    tok = tekken.read(file(b"ab", b"abc", b"\xff\xfe"), source="x")
    path = tmp_path / "tekken.json"
    tekken.write(tok, path, ())
    assert detection.is_tekken(path.read_bytes())
    assert tekken.read(path.read_bytes(), source="x") == tok


def test_unsupported_features_are_refused_by_name(tmp_path: Path) -> None:
    whole = tekken.read(file(b"ab"), source="x")
    joined = replace(whole.definition, decoder=({"type": "Join", "separator": " "},))
    spaced = jeton.Tokenizer(joined, whole._core.vocabulary())
    special_last = byte_tokenizer((97, 98, 256), special_tokens={"<s>": 300}, pattern="gpt2")
    refused = ((special_last, "special_tokens"), (tokenizer("char gpt2"), "model"), (spaced, "decoder"))
    for tok, feature in refused:
        with pytest.raises(jeton.UnsupportedFeatureError) as caught:
            tekken.write(tok, tmp_path / "tekken.json", ())
        assert caught.value.feature == feature
    assert not list(tmp_path.iterdir())


def test_a_tokenizer_with_merges_that_are_ranks_can_be_written(tmp_path: Path) -> None:
    tok = byte_tokenizer((97, 98, 256), (256, 99, 257), pattern="gpt2")
    path = tmp_path / "tekken.json"
    tekken.write(tok, path, ())
    again = tekken.read(path.read_bytes(), source="x")
    assert again.encode("abcab") == tok.encode("abcab") == [257, 256]


def damaged(config: dict[str, Any] | None = None, **top: Any) -> bytes:
    facts = json.loads(file(b"ab"))
    facts["config"] |= config or {}
    return json.dumps(facts | top).encode()


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (file(b"ab").replace(b'"config": {', b'"config": [], "other": {'), "$.config"),
        (damaged({"default_num_special_tokens": None}), "$.config.default_num_special_tokens"),
        (damaged({"default_num_special_tokens": True}), "$.config.default_num_special_tokens"),
        (damaged({"default_num_special_tokens": -1}), "$.config.default_num_special_tokens"),
        (damaged({"default_num_special_tokens": (1 << 16) + 1}), "$.config.default_num_special_tokens"),
        (damaged({"default_vocab_size": 30 + 258}), "$.config.default_vocab_size"),
        (damaged({"default_vocab_size": 30 + 255}), "$.config.default_vocab_size"),
        (damaged({"pattern": ""}), "$.config.pattern"),
        (damaged({"pattern": 1}), "$.config.pattern"),
        (damaged({"pattern": "("}), "$.config.pattern"),
        (damaged({"version": "v8"}), "$.special_tokens"),
        (damaged({"version": "v12345"}), "$.special_tokens"),
        (damaged({"version": "7"}), "$.special_tokens"),
        (damaged({"default_num_special_tokens": 19, "default_vocab_size": 276}), "$.special_tokens"),
        (damaged(special_tokens={}), "$.special_tokens"),
        (damaged(special_tokens=["<s>"]), "$.special_tokens[0]"),
        (damaged(special_tokens=[{"rank": 0, "token_str": ""}]), "$.special_tokens[0]"),
        (damaged(special_tokens=[{"rank": 0, "token_str": 1}]), "$.special_tokens[0]"),
        (damaged(special_tokens=[{"rank": 0}]), "$.special_tokens[0]"),
        (damaged(special_tokens=[{"token_str": "a"}]), "$.special_tokens[0].rank"),
        (damaged(special_tokens=[{"rank": False, "token_str": "a"}]), "$.special_tokens[0].rank"),
        (damaged(special_tokens=[{"rank": 0, "token_str": "a"}, {"rank": 0, "token_str": "b"}]),
         "$.special_tokens[1].rank"),
        (damaged(special_tokens=[{"rank": 0, "token_str": "a"}, {"rank": 1, "token_str": "a"}]), "$.special_tokens[1]"),
        (damaged(special_tokens=[{"rank": 0, "token_str": "<SPECIAL_3>"}]), "$.special_tokens[3]"),
    ],
)  # fmt: skip
def test_damaged_files_are_errors_with_their_place(data: bytes, place: str) -> None:
    with pytest.raises(jeton.FormatError) as caught:
        tekken.read(data, source="x")
    assert caught.value.place == place


@pytest.mark.parametrize(
    ("config", "top", "special"),
    [
        ({"version": "v7"}, {}, ["<unk>", "<s>", "</s>"]),
        ({"version": "v3"}, {"special_tokens": []}, ["<SPECIAL_0>", "<SPECIAL_1>", "<SPECIAL_2>"]),
        ({"version": None}, {"special_tokens": [{"rank": 0, "token_str": "<s>"}]}, ["<s>", "<SPECIAL_1>"]),
        ({"default_num_special_tokens": 20, "default_vocab_size": 276}, {}, ["<unk>", "<s>", "</s>"]),
    ],
)
def test_special_tokens_of_each_version(config: dict[str, Any], top: dict[str, Any], special: list[str]) -> None:
    tok = tekken.read(damaged(config, **top), source="x")
    assert [tok.id_to_token(id) for id in range(len(special))] == special
    expected = [] if "<s>" not in special else [special.index("<s>")]
    assert tok.encode("a", add_special_tokens=True)[:-1] == expected


def test_the_content_of_a_written_file() -> None:
    tok = tekken.read(damaged(special_tokens=[{"rank": 0, "token_str": "<s>"}]), source="x")
    made = json.loads(tekken.render(tok, ()))
    assert made["config"] == {
        "pattern": r"\p{L}+|[^\p{L}]+",
        "num_vocab_tokens": 257,
        "default_vocab_size": 287,
        "default_num_special_tokens": 30,
        "version": "v7",
    }
    assert made["special_tokens"][:2] == [
        {"rank": 0, "token_str": "<s>", "is_control": True},
        {"rank": 1, "token_str": "<SPECIAL_1>", "is_control": True},
    ]
    assert (len(made["special_tokens"]), len(made["vocab"])) == (30, 257)


def test_every_loss_is_named() -> None:
    tok = tekken.read(damaged(special_tokens=[{"rank": 0, "token_str": "<s>"}]), source="x")
    core = tok._core.vocabulary()
    digits = replace(tok.definition, pretokenizer=({"type": "Digits", "individual_digits": True},))
    cases = {
        "template": tok._derived(definition=replace(tok.definition, template=None), vocabulary=core),
        "roles": tok.with_roles(bos=None),
        "chat_template": tok._with_facts(chat_template="x"),
        "normalizer": jeton.Tokenizer(replace(tok.definition, normalizer=({"type": "NFC"},)), core),
        "pattern": jeton.Tokenizer(digits, core),
        "added_tokens": tok.add_tokens([jeton.AddedToken("<y>", special=False, lstrip=True)]),
    }
    for feature, case in cases.items():
        with pytest.raises(jeton.UnsupportedFeatureError) as caught:
            tekken.render(case, ())
        assert caught.value.feature == feature

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

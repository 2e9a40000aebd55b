"""Spellings of tokens: the id of a spelling, and back."""

from __future__ import annotations

import pytest

import jeton

BYTES = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])


def test_added_tokens_of_a_byte_level_model_are_spelled_as_text() -> None:
    tok = BYTES.add_tokens(["<é a>", jeton.AddedToken("<ü b>", special=False)])
    assert [tok.id_to_token(id) for id in (0xE9, 256, 257)] == ["é", "<é a>", "<ü b>"]
    assert [tok.token_to_id(text) for text in ("é", "<é a>", "<ü b>")] == [0xE9, 256, 257]


def test_only_entries_that_end_a_word_have_the_mark() -> None:
    tok = jeton.train({"abcd": 2, "abce": 1}, 20, end_of_word="</w>", progress=False)
    spelled = [tok.id_to_token(id) for id in range(tok.vocab_size)]
    assert {"ab", "abcd</w>"} <= set(spelled)
    assert [tok.token_to_id(text) for text in spelled] == list(range(tok.vocab_size))
    with pytest.raises(jeton.UnknownTokenError):
        tok.token_to_id("ab</w>")

"""Spellings of tokens: the id of a spelling, and back."""

from __future__ import annotations

import json
import pickle

import pytest

import jeton
from jeton.tokens.kinds import ENDS_WORD, TOKEN
from jeton.tokens.spelling import Spelling

from ..material import byte_tokenizer, tokenizer

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


def test_bytes_with_a_space_at_the_end_are_those_of_a_word_s_end() -> None:
    tok = jeton.train({"abcd": 2, "abce": 1}, 20, end_of_word="</w>", progress=False)
    end, inside = tok.token_to_id("abcd</w>"), tok.token_to_id("ab")
    assert (tok._core.kind(end), tok._core.kind(inside)) == (ENDS_WORD, TOKEN)
    assert [tok.token_to_id(token) for token in (b"abcd ", b"ab", b" ")] == [end, inside, tok.token_to_id("</w>")]
    assert (Spelling(tok)(end), Spelling(tok)(inside)) == (b"abcd</w>", b"ab")
    for other in (b"abcdx", b"abcd", b"ab ", b"abcd  ", b""):
        with pytest.raises(jeton.UnknownTokenError):
            tok.token_to_id(other)
    assert tok.get_vocab() == {tok.id_to_token(id): id for id in range(tok.vocab_size)}


@pytest.mark.parametrize("kind", ["byte gpt2", "char gpt2", "words suffix"])
def test_spellings_and_bytes_lead_back_to_their_ids(kind: str) -> None:
    tok = tokenizer(kind)
    assert {tok.token_to_id(tok.id_to_token(id)): id for id in tok.vocab} == {id: id for id in tok.vocab}
    assert tok.token_to_id(b"<a>b") == tok.token_to_id("<a>b") == tok.special_tokens["<a>b"]
    if not kind.startswith("words"):
        assert tok.token_to_id(b" ") == tok._core.find(b" ", False)
    if kind == "char gpt2":
        assert tok.id_to_token(tok.token_to_id("天".encode())) == "天"


def test_entries_outside_of_the_byte_alphabet_are_spelled_as_in_the_file() -> None:
    """No text reaches such an entry of a byte-level vocabulary."""
    file = json.loads(BYTES.to_bytes())
    del file["model"]["jeton"]
    file["model"]["vocab"] |= {"今": 256, "天 ": 257, "Ġ天": 258}
    tok = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    spelled = {"é": 0xE9, "Ġ": 0x20, "今": 256, "天 ": 257, "Ġ天": 258}
    assert {text: tok.token_to_id(text) for text in spelled} == spelled
    assert {tok.id_to_token(id): id for id in spelled.values()} == spelled
    for other in ("天", "今天", " ", "ĠĠ", ""):
        with pytest.raises(jeton.UnknownTokenError):
            tok.token_to_id(other)


def test_an_added_token_that_is_spelled_like_an_entry_is_matched_first() -> None:
    """`é` spells the byte 0xE9 in the byte alphabet."""
    tok = BYTES.add_tokens(["é", "<x>", jeton.AddedToken("<n>", special=False)])
    vocab = tok.get_vocab()
    assert list(vocab.values()) == sorted(vocab.values())
    assert (vocab["é"], vocab["<x>"], vocab["<n>"], vocab["a"]) == (256, 257, 258, 97)
    assert tok.token_to_id("é") == 256
    assert 0xE9 not in vocab.values()
    tok = byte_tokenizer((97, 98, 256)).add_tokens([jeton.AddedToken("<n>", special=False)])
    assert tok.get_vocab()["<n>"] == 257


def test_an_id_without_a_token_has_no_bytes() -> None:
    assert Spelling(BYTES)(256) == b""


def test_spellings_of_one_tokenizer_are_equal() -> None:
    other = BYTES.with_options()
    assert Spelling(BYTES) == Spelling(BYTES)
    assert len({Spelling(BYTES), Spelling(BYTES), Spelling(other)}) == 2
    assert Spelling(BYTES) != Spelling(other)
    assert Spelling(BYTES) != BYTES
    assert Spelling(BYTES) != 7
    assert pickle.loads(pickle.dumps(Spelling(BYTES)))(97) == b"a"


@pytest.mark.parametrize("token", [7, None, ["a"]])
def test_other_types_are_no_spellings(token: object) -> None:
    with pytest.raises(TypeError, match=f"a token must be bytes or str, not {type(token).__name__}"):
        BYTES.token_to_id(token)  # type: ignore[arg-type]


def test_a_lone_surrogate_is_no_spelling() -> None:
    with pytest.raises(jeton.UnknownTokenError, match="lone surrogate"):
        BYTES.token_to_id("\ud800")

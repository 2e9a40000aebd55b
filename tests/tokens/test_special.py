"""Special tokens: by permission only, the leftmost first, of those the longest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.reference.step07_special import cut
from jeton.tokens.special import permission

from ..material import SPECIAL, byte_tokenizer, tokenizer

TOKENS = {"<a>": 300, "<a>b": 301, "a>b": 302, "<|end|>": 310}
TOK = byte_tokenizer((97, 62, 256), (98, 98, 257), special_tokens=TOKENS)


def test_text_is_text_without_permission(kind: str) -> None:
    tok = tokenizer(kind)
    special = set(tok.special_tokens.values()) - {tok.special_tokens.get("<unk>")}
    for token in SPECIAL:
        assert not special & set(tok.encode(f"the {token} old"))
        assert tok.special_tokens[token] in tok.encode(f"the {token} old", special="all")
        assert tok.special_tokens[token] in tok.encode(f"the {token} old", special=[token])


def test_the_longest_wins() -> None:
    assert TOK.encode("x<a>bb<a>", special="all") == [120, 301, 98, 300]
    assert TOK.encode("<a>b", special={"<a>"}) == [300, 98]
    assert TOK.encode("<a>b", special={"<a>b"}) == [301]
    assert TOK.encode("a>b<a>b", special="all") == [302, 301]
    assert TOK.encode("<<a>b", special={"a>b"}) == [60, 60, 302]


def test_merges_cross_characters_without_special_tokens() -> None:
    assert byte_tokenizer((97, 98, 256)).encode("abab", special="all") == [256, 256]
    assert byte_tokenizer((97, 98, 256)).encode("abab", special=[]) == [256, 256]


def test_no_merge_crosses_a_special_token() -> None:
    tok = byte_tokenizer((97, 98, 256), special_tokens={"|": 300})
    assert tok.encode("a|b", special="all") == [97, 300, 98]
    assert tok.encode("ab|ab", special="all") == [256, 300, 256]


@given(
    text=st.lists(st.sampled_from([*TOKENS, "<", "a", ">", "b", "bb", "今", "<|end", "|>"]), max_size=10).map("".join)
)
def test_cuts_are_those_of_the_reference(text: str) -> None:
    for permit in ("none", "all", {"<a>"}, {"<a>", "a>b"}):
        expected: list[int] = []
        for piece in cut(text, TOKENS, permit):
            expected += [piece] if isinstance(piece, int) else TOK.encode(piece)
        assert TOK.encode(text, special=permit) == expected
        assert TOK.decode(expected) == text


@pytest.mark.parametrize(
    ("text", "position"), [("so: <a>b", 4), ("今天<|end|>", 2), (b"so: <a>b", 4), ("今天<|end|>".encode(), 6)]
)
def test_raise_names_the_token_and_its_place(text: Any, position: int) -> None:
    with pytest.raises(jeton.SpecialTokenError) as caught:
        TOK.encode(text, special="raise")
    assert caught.value.position == position
    assert caught.value.token in TOKENS
    assert caught.value.token in str(caught.value)
    for call in (TOK.count, TOK.tokenize, TOK.encode_array, TOK.explain):
        with pytest.raises(jeton.SpecialTokenError):
            call(text, special="raise")
    with pytest.raises(jeton.SpecialTokenError) as caught:
        TOK.encode_batch(["fine", text], special="raise")
    assert (caught.value.index, str(caught.value)[:24]) == (1, "text 1 of the batch: the")
    assert TOK.encode("<a", special="raise") == TOK.encode("<a")


def unigram(added: dict[str, Any], *, unk: bool = False) -> jeton.Tokenizer:
    """A Unigram model of HF's with a special token that is a piece, as T5 has it, behind a normalizer."""
    pieces = [["<pad>", 0.0], ["<unk>", 0.0], *([piece, -3.0] for piece in ["a", "<", "p", "d", ">", "▁"])]
    file = {
        "added_tokens": [
            {"id": 0, "content": "<pad>", "special": True, **added},
            *([{"id": 1, "content": "<unk>", "special": True}] if unk else []),
        ],
        "normalizer": {"type": "NFKC"},
        "model": {"type": "Unigram", "unk_id": 1, "vocab": pieces},
    }
    return jeton.Tokenizer.from_bytes(json.dumps(file).encode())


@pytest.mark.parametrize("flags", [{}, {"normalized": True}, {"single_word": True}])
def test_raise_sees_what_normalization_and_the_model_make(flags: dict[str, Any]) -> None:
    tok = unigram(flags)
    text = "ad \uff1cpad\uff1e"  # full width: only the normalizer makes it <pad>
    assert 0 in tok.encode(text, special="all")
    assert 0 not in tok.encode(text, special="none")
    calls = [tok.encode, tok.count, tok.tokenize, tok.encode_array, tok.explain]
    for call in [*calls, lambda text, special: tok.nbest(text, 2, special=special)]:
        with pytest.raises(jeton.SpecialTokenError) as caught:
            call(text, special="raise")  # type: ignore[operator]
        assert (caught.value.token, caught.value.position) == ("<pad>", 3)
    with pytest.raises(jeton.SpecialTokenError):
        tok.encode_batch(["a", text * 2000], special="raise")
    assert tok.encode("pad a", special="raise") == tok.encode("pad a")


@given(
    text=st.lists(
        st.sampled_from(["<pad>", "\uff1cpad\uff1e", "a", "x<", "\uff1cpad>", " ", "d", "q"]), max_size=8
    ).map("".join),
    flags=st.sampled_from([{}, {"normalized": True}, {"single_word": True}, {"lstrip": True}]),
)
def test_raise_is_all_or_an_error(text: str, flags: dict[str, Any]) -> None:
    tok = unigram(flags)
    ids = tok.encode(text, special="all")
    if 0 in ids:
        with pytest.raises(jeton.SpecialTokenError):
            tok.encode(text, special="raise")
    else:
        assert tok.encode(text, special="raise") == ids == tok.encode(text, special="none")


def test_an_unknown_special_token_is_named() -> None:
    with pytest.raises(jeton.SpecialTokenError, match=r"<\|x\|>") as caught:
        TOK.encode("x", special={"<|x|>"})
    assert caught.value.token == "<|x|>"
    with pytest.raises(jeton.SpecialTokenError, match="none at all"):
        byte_tokenizer().encode("x", special={"<|x|>"})


@pytest.mark.parametrize("wrong", ["some", "<a>", 3, True, None], ids=repr)
def test_what_is_no_permission(wrong: Any) -> None:
    if wrong is None:
        assert TOK.encode("<a>", special=wrong) == TOK.encode("<a>"), "None is the default"
        return
    with pytest.raises(jeton.ConfigError, match="special") as caught:
        TOK.encode("x", special=wrong)
    assert caught.value.option == "special"


def test_what_the_core_is_told() -> None:
    assert permission("none", TOKENS) is None
    assert permission("all", TOKENS) == "all"
    assert permission("raise", TOKENS) == "raise"
    assert permission(frozenset({"<a>"}), TOKENS) == [300]
    assert permission({"<a>": 1}.keys(), TOKENS) == [300]
    assert permission([], TOKENS) is None
    assert permission(TOKENS.keys(), TOKENS) == "all"


def test_special_tokens_of_any_content() -> None:
    odd = {"\n\n": 300, " ": 301, "今": 302, "\x00": 303, ".*": 304, "(?i)a": 305}
    tok = byte_tokenizer(pattern="gpt2", special_tokens=odd)
    text = "a\n\n今 .*A(?i)a\x00"
    assert tok.encode(text, special="all") == [97, 300, 302, 301, 304, 65, 305, 303]
    assert tok.decode(tok.encode(text, special="all")) == text
    assert tok.encode(text) == list(text.encode())


def test_a_name_given_twice_permits_no_other_token() -> None:
    tok = byte_tokenizer(special_tokens={"<|a|>": 256, "<|b|>": 257})
    assert permission(["<|a|>", "<|a|>"], tok.special_tokens) == [256, 256]
    ids = tok.encode("<|a|><|b|>", special=["<|a|>", "<|a|>"])  # type: ignore[arg-type]
    assert ids == [256, *b"<|b|>"]

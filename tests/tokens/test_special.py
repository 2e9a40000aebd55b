"""Special tokens match by permission only: the leftmost first, of these the longest."""

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


def test_the_longest_special_token_is_matched() -> None:
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
def test_splits_at_special_tokens_equal_the_reference(text: str) -> None:
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
    """HF's Unigram with a normalizer and a special token that is a piece, as in T5."""
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
def test_raise_covers_tokens_made_by_normalization_and_the_model(flags: dict[str, Any]) -> None:
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
def test_raise_is_an_error_where_special_tokens_would_match(text: str, flags: dict[str, Any]) -> None:
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
    for number, known in ((0, "it has no special tokens"), (2, "it has: '<0>', '<1>'"),
                          (8, "it has: '<0>', '<1>', '<2>', '<3>', '<4>', '<5>', '<6>', '<7>'"),
                          (9, "it has: '<0>', '<1>', '<2>', '<3>', '<4>', '<5>', '<6>', '<7>', …")):  # fmt: skip
        with pytest.raises(jeton.SpecialTokenError) as caught:
            permission({"<|x|>"}, {f"<{at}>": 300 + at for at in range(number)})
        assert str(caught.value) == f"the tokenizer has no special token '<|x|>'; {known}"


@pytest.mark.parametrize("wrong", ["some", "<a>", 3, True, None], ids=repr)
def test_an_invalid_permission_is_refused(wrong: Any) -> None:
    if wrong is None:
        assert TOK.encode("<a>", special=wrong) == TOK.encode("<a>"), "None is the default"
        return
    with pytest.raises(jeton.ConfigError, match="special") as caught:
        TOK.encode("x", special=wrong)
    assert caught.value.option == "special"


def test_permissions_are_converted_for_the_core() -> None:
    assert permission("none", TOKENS) is None
    assert permission("all", TOKENS) == "all"
    assert permission("raise", TOKENS) == "raise"
    assert permission(frozenset({"<a>"}), TOKENS) == [300]
    assert permission({"<a>": 1}.keys(), TOKENS) == [300]
    assert permission([], TOKENS) is None
    assert permission(TOKENS.keys(), TOKENS) == "all"


def test_special_tokens_may_have_any_content() -> None:
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


def test_a_unit_that_is_a_special_token_is_named_where_it_is_not_permitted() -> None:
    tok = byte_tokenizer().add_tokens(["<", "\u00e9"])
    with pytest.raises(
        jeton.InvalidTextError, match=r'special token "<" is the only entry for byte 0x3c, .* \(position 1\)'
    ):
        tok.encode("a<b")
    assert tok.encode("a<b", special=["<"]) == [97, 60, 98]
    assert tok.encode("\u00e9") == [0xC3, 0xA9]
    bytes_without = jeton.Tokenizer.from_merges({97: b"a"}, [], special_tokens={"\u00e9": 5})
    with pytest.raises(jeton.InvalidTextError, match="byte 0xe9 is not in the vocabulary"):
        bytes_without.encode(b"\xe9")

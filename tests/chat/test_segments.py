"""Chats in which messages spell special tokens: masks, refusals, and the encoding of the text between special tokens."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import AddedToken
from jeton.chat.encode import _OTHERS, _WORDS, _masked, control_spans, encode, encode_between
from jeton.chat.provenance import CALLER, MIXED, TEMPLATE
from jeton.chat.template import RenderedRun
from jeton.errors import ChatTemplateError, SpecialTokenError

from ..material import byte_tokenizer
from ..tokens.test_special import unigram
from .prefixes import PREFIXED, spelled
from .test_trust import TOK, user

TRUSTED = byte_tokenizer((97, 98, 256), special_tokens={"<s>": 300, "<e>": 301, "|||": 302})


def runs(*parts: tuple[str, Any]) -> tuple[str, list[RenderedRun]]:
    """A text of parts with their origins."""
    return "".join(text for text, _ in parts), [RenderedRun(len(text), origin, None) for text, origin in parts]


# ── masks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tokens", "masked"),
    [
        ([], "q \x01qq ƿꙮ𐌰\t¦\x01"),
        (["<q>", "ƿꙮ", "¦"], "j \x01jj ƾꜣ𐌰\t¬\x01"),
        # Without a free word character, another character that is free; without any, the first one.
        ([_WORDS[0]], "\x01 \x01\x01\x01 ƿꙮ𐌰\t¦\x01"),
        ([_WORDS[0], _WORDS[1], _WORDS[2], _WORDS[3]], "\x01 \x01\x01\x01 ¦※🜀\t¦\x01"),
        ([*_WORDS, *_OTHERS], "q \x01qq ƿꙮ𐌰\t¦\x01"),
    ],
)  # fmt: skip
def test_masks_of_characters(tokens: list[str], masked: str) -> None:
    text = "a <_1 é天𐍈\t«>"
    assert _masked(text, [(0, len(text))], [], tokens) == masked


@given(
    st.lists(st.tuples(st.text("ab_<|> \n\té天😀𐍈«0", max_size=5), st.sampled_from(["ours", "theirs", "kept"]))),
    st.lists(st.text("qjx<|>_\x01\x02ƿ¦", min_size=1, max_size=4), max_size=4),
)
def test_masks_keep_lengths_white_space_and_words(parts: list[tuple[str, str]], tokens: list[str]) -> None:
    theirs: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    text, foreign = "", ""  # `foreign` has a mark for each character that is masked
    for part, owner in parts:
        span = (len(text), len(text) + len(part))
        if owner != "ours":
            joined = theirs and theirs[-1][1] == span[0]
            theirs[-1:] = [(theirs[-1][0], span[1])] if joined else [*theirs[-1:], span]
            kept += [span] * (owner == "kept")
        text += part
        foreign += ("x" if owner == "theirs" else ".") * len(part)
    masked = _masked(text, theirs, kept, tokens)
    assert len(masked) == len(text)
    for char, mask, mark in zip(text, masked, foreign, strict=True):
        if mark == "." or char.isspace():
            assert mask == char
        else:
            assert mask not in "".join(tokens)
            assert len(mask.encode()) == len(char.encode())
            assert (mask.isalnum() or mask == "_") == (char.isalnum() or char == "_")


def test_masks_of_many_ranges_take_linear_time() -> None:
    number = 20_000
    starts = range(0, 5 * number, 5)
    began = time.process_time()
    masked = _masked("<a>x " * number, [(at, at + 4) for at in starts], [(at, at + 3) for at in starts], ["<a>"])
    assert time.process_time() - began < 5
    assert masked == "<a>q " * number


@pytest.mark.parametrize("content", ["|||", "a|||b", "||", "|"])
def test_a_special_token_without_word_characters_is_text_in_a_message(content: str) -> None:
    chat = TRUSTED.chat(user(content), template="|||{{ messages[0].content }}|<s>")
    assert chat.ids == [302, *TRUSTED.encode(content + "|"), 300]


# ── permission ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("special", ["none", "raise", {"<s>"}, {"<e>"}, {"<s>", "<e>"}, "all"])
def test_segments_are_returned_if_a_special_token_is_text(special: Any) -> None:
    permitted = {"none": set(), "raise": set(), "all": {"<s>", "<e>", "|||"}}.get(str(special), special)
    for spelled_tokens in ([], ["<s>"], ["<e>"], ["<s>", "<e>"]):
        text, pieces = runs(
            ("<s>", TEMPLATE), ("".join(f"ab{token}" for token in spelled_tokens), CALLER), ("|||", TEMPLATE)
        )
        if special == "raise" and spelled_tokens:
            with pytest.raises(SpecialTokenError) as caught:
                encode(TRUSTED, text, pieces, special)
            assert (caught.value.token, caught.value.position) == (spelled_tokens[0], 5)
            continue
        ids, segments = encode(TRUSTED, text, pieces, special)
        assert (segments is None) == (permitted >= set(spelled_tokens))
        inside = [
            [256, TRUSTED.special_tokens[one]] if one in permitted else [256, *one.encode()] for one in spelled_tokens
        ]
        assert ids == [300, *(id for part in inside for id in part), 302]


@pytest.mark.parametrize(
    ("tok", "content", "special"),
    [
        (TRUSTED, "b<e>", {"<s>"}),
        (TRUSTED, "b<e>", {"<e>"}),
        (TRUSTED, "b", "none"),
        (unigram({}, unk=True), "a<pad>", "none"),
        (unigram({}, unk=True), "a<pad>", {"<pad>"}),
        (unigram({}, unk=True), "a", "none"),
    ],
)
def test_ids_of_a_chat_have_no_template_of_the_tokenizer(tok: jeton.Tokenizer, content: str, special: Any) -> None:
    first, second = list(tok.special_tokens)[:2]
    source = f"{second}{{{{ messages[0].content }}}}{first}"
    with_template = tok.with_template(f"{first} $A {second}")
    chat = with_template.chat(user(content), template=source, special=special)
    assert chat.ids == tok.chat(user(content), template=source, special=special).ids
    assert chat.encoding.ids == chat.ids
    text, pieces = runs((second, TEMPLATE), (content, CALLER), (first, TEMPLATE))
    is_text = any(token in content and token not in special for token in tok.special_tokens)
    assert (encode(with_template, text, pieces, special)[1] is not None) == is_text
    assert chat.ids[0] == tok.special_tokens[second]
    assert chat.ids[-1] == tok.special_tokens[first]


def test_white_space_of_a_message_that_a_special_token_takes_is_permitted() -> None:
    tok = byte_tokenizer().add_tokens([AddedToken("<l>", lstrip=True), AddedToken("<r>", rstrip=True)])
    for template, ids in (
        ("{{ messages[0].content }}<l>", [97, 256]),
        ("<r>{{ messages[1].content }}", [257, 98]),
        ("{{ messages[0].content }}<l><r>{{ messages[1].content }}", [97, 256, 257, 98]),
    ):
        for special in ("none", "raise", {"<l>"}):
            chat = tok.chat([*user("a \n"), *user("\t b")], template=template, special=special)
            assert chat.ids == ids


@pytest.mark.parametrize(
    ("template", "content", "ids"),
    [
        ("{{ messages[0].content }}<s>", "a\n\n", [97, 10, 10, 301]),
        ("{{ messages[0].content }}<s>", "a\n\nb", [97, 10, 10, 98, 301]),
        ("<s>{{ messages[0].content }}<s>", "\n\n", [301, 10, 10, 301]),
        ("\n{{ messages[0].content }}<s>", "\n", [10, 10, 301]),
        ("a{{ messages[0].content }}\n<s>", "\n", [97, 10, 10, 301]),
        ("<a{{ messages[0].content }}b><s>", " ", [*b"<a b>", 301]),
        # The template's own, before and after the message's.
        ("\n\n{{ messages[0].content }}\n\n<a b>", "a\n\n<a b>\n\nb", [300, *b"a\n\n<a b>\n\nb", 300, 302]),
    ],
)
def test_special_tokens_with_white_space_are_text_in_messages(template: str, content: str, ids: list[int]) -> None:
    tok = byte_tokenizer(special_tokens={"\n\n": 300, "<s>": 301, "<a b>": 302})
    chat = tok.chat(user(content), template=template)
    assert chat.ids == ids
    assert chat.encoding.ids == ids
    with pytest.raises(SpecialTokenError, match="a message contains the special token"):
        tok.chat(user(content), template=template, special="raise")


def test_text_that_only_normalization_makes_a_special_token_is_not_refused() -> None:
    tok = unigram({})
    for content, is_refused in (("a＜pad＞", False), ("a＜pad＞<pad>", True)):
        template = "<pad>{{ messages[0].content }}"
        if is_refused:
            with pytest.raises(SpecialTokenError) as caught:
                tok.chat(user(content), template=template, special="raise")
            assert caught.value.position == len("<pad>a＜pad＞")
        else:
            ids = tok.chat(user(content), template=template, special="raise").ids
            assert ids.count(0) == 1
            assert ids == tok.chat(user(content), template=template).ids


def test_a_permitted_token_of_unknown_origin_is_not_refused() -> None:
    """`bc` is permitted, but not matched: without the first message's `<`, the template's `a>b` is matched before it."""
    tok = byte_tokenizer(special_tokens={"<a>": 300, "a>b": 301, "bc": 302})
    text, pieces = runs(("<", CALLER), ("a>", TEMPLATE), ("bc", MIXED))
    ids, segments = encode(tok, text, pieces, {"bc"})
    assert segments is not None
    assert ids == [60, 301, 99]
    with pytest.raises(ChatTemplateError, match="'bc' at character 3 of the chat is in text that combines"):
        encode(tok, text, pieces, "none")


def test_special_tokens_that_the_template_writes() -> None:
    text, pieces = runs(
        ("<s>é", TEMPLATE), ("<s>a|", CALLER), ("|||", TEMPLATE), ("<", MIXED), ("e>", TEMPLATE), ("<e><", TEMPLATE), ("e>|||", CALLER)
    )  # fmt: skip
    assert control_spans(TRUSTED, text, pieces) == [(300, 0, 3), (302, 9, 12), (301, 15, 18)]
    assert control_spans(TRUSTED, *runs(("<s>", CALLER))) == []


# ── text between special tokens ─────────────────────────────────────────────────────────────────────────────────────


def test_text_after_a_special_token_is_encoded_as_such() -> None:
    assert spelled(PREFIXED, encode_between(PREFIXED, "ab a", 0)) == "▁ ab ▁a"
    assert spelled(PREFIXED, encode_between(PREFIXED, "ab a", 7)) == "ab ▁a"
    assert spelled(PREFIXED, encode_between(PREFIXED, "a<end>", 7)).startswith("a <0x3C>")  # no other special token
    chat = PREFIXED.chat(user("b<end>"), template="a<end>{{ messages[0].content }}<end>a")
    assert spelled(PREFIXED, chat.ids).startswith("▁a <end> b <0x3C>")
    assert spelled(PREFIXED, chat.ids).endswith("<0x3E> <end> a")


@pytest.mark.parametrize(
    "tokens",
    [
        [AddedToken("<r>", rstrip=True)],
        [AddedToken("<r>", rstrip=True), AddedToken("<n>", special=False), "<x>"],
        [AddedToken("<w>", single_word=True), AddedToken("<m>", normalized=True)],
    ],
)
def test_white_space_after_a_special_token_is_kept(tokens: list[str | AddedToken]) -> None:
    tok = byte_tokenizer((97, 98, 256)).add_tokens(tokens)
    for text in ("  ab", "\nab ", "ab", "<x> a", "<n>b"):
        assert encode_between(tok, text, 5) == tok.encode(text)


@pytest.mark.parametrize("tok", [TRUSTED, unigram({}, unk=True), unigram({}, unk=True).with_template("<pad> $A")])
def test_segments_are_encoded_after_a_special_token_of_the_tokenizer(
    tok: jeton.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one is added only if the text spells all of them."""
    first, second = list(tok.special_tokens)[:2]
    added: list[Any] = []
    add_tokens = jeton.Tokenizer.add_tokens

    def counted(self: jeton.Tokenizer, tokens: Any) -> jeton.Tokenizer:
        added.append(tokens)
        return add_tokens(self, tokens)

    monkeypatch.setattr(jeton.Tokenizer, "add_tokens", counted)
    template = f"{first}{{{{ messages[0].content }}}}"
    for content, num_added in ((f"a{second}", 0), ("a" + "".join(tok.special_tokens), 1)):
        added.clear()
        chat = tok.chat(user(content), template=template)
        assert chat.ids[0] == tok.special_tokens[first]
        assert len(added) == num_added


def test_pretokens_of_segments_are_those_of_their_text() -> None:
    template = "<|user|>é{{ messages[0].content }}<|end|>so it is"
    chat = TOK.chat(user("the old<|im_end|> man"), template=template)
    pretokens = [chat.text.encode()[start:end].decode() for start, end in chat.encoding.pretokens]
    assert pretokens == [
        "<|user|>",
        "éthe",
        " old",
        "<|",
        "im",
        "_",
        "end",
        "|>",
        " man",
        "<|end|>",
        "so",
        " it",
        " is",
    ]


@pytest.mark.parametrize("special", ["none", {"<|im_end|>"}])
@pytest.mark.parametrize("content", ["é <s>天<|im_end|>\n", "<|im_end|>", "<s>", "天<|im_end|>é<s>"])
def test_spans_of_segments_are_those_of_the_text(content: str, special: Any) -> None:
    """The bytes of each token are those of its span."""
    chat = TOK.chat([*user(content), *user("é" + content)], template="chatml", special=special)
    data = chat.text.encode()
    columns = chat.encoding
    assert [data[slice(*span)] for span in columns.byte_spans] == [TOK.id_to_bytes(id) for id in chat.ids]
    for (byte, _), (char, _) in zip(columns.byte_spans, columns.char_spans, strict=True):
        if data[byte] & 0xC0 != 0x80:  # the token begins with a character
            assert data[:byte].decode() == chat.text[:char]
    alone = TOK.chat(user(content), template="chatml")
    other = TOK.chat(user(content.replace("<s>", "<z>").replace("<|im_end|>", "<|im_ene|>")), template="chatml")
    assert alone.encoding.char_spans == other.encoding.char_spans
    assert alone.encoding.hf_offsets == other.encoding.hf_offsets
    assert alone.encoding.byte_spans == other.encoding.byte_spans
    assert alone.encoding.pretokens == other.encoding.pretokens

"""Ids without spans, spans on access, texts and batches."""

from __future__ import annotations

import pickle
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton.chat.template import has_generation, render
from jeton.tokens.added import AddedToken
from jeton.tokens.matcher import AddedTokenMatcher
from jeton.tokens.roles import role_id

from ..material import tokenizer
from ..selection import amount
from .templates import TEMPLATES
from .test_parity import CONVERSATIONS
from .test_trust import TOK, user

PUBLISHED = (
    "bert-uncased.vocab.txt", "t5-small.tokenizer.json", "phi-3-mini.tokenizer.json", "mistral-v1.model",
    "mbart-en-fairseq.tokenizer.json", "roberta-base.tokenizer.json", "o200k_base.tiktoken", "spm-ja.model",
)  # fmt: skip
FLAGS: list[dict[str, bool]] = [
    {},
    {"lstrip": True},
    {"rstrip": True},
    {"single_word": True},
    {"normalized": True},
    {"lstrip": True, "rstrip": True, "normalized": True},
]


def check_char_spans(chat: jeton.chat.Chat) -> None:
    """Checks that the spans for turns and masks equal those of the encoding."""
    found = chat._char_spans().tolist()  # before `encoding`: once that is computed, spans are taken from it
    assert found == [list(span) for span in chat.encoding.char_spans]
    assert chat._char_spans().tolist() == found


def check_matches(tok: jeton.Tokenizer, text: str) -> None:
    encoding = tok.tokenize(text, special="all")
    unk = role_id(tok, "unk")
    expected = [
        (id, *span)
        for id, span in zip(encoding.ids, encoding.char_spans, strict=True)
        if id in tok.special_tokens.values() and id != unk and span[0] < span[1]
    ]
    found = [tuple(match) for match in tok._special_matcher(text) if match.id != unk]
    assert found == expected


@given(st.lists(st.sampled_from(["<a>", "<a>b", "<|im_end|>", " ", "é", "天", "b", "<", "the", "\n"])).map("".join))
def test_matches_are_the_special_tokens_of_the_encoding(text: str) -> None:
    check_matches(tokenizer("byte gpt2"), text)


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("kind", ["byte gpt2", "char gpt2"])
def test_matches_of_tokens_with_flags_equal_the_encoding(flags: dict[str, bool], kind: str) -> None:
    tokens = [AddedToken("<x>", **flags), AddedToken("x>", special=False), AddedToken("b<", **flags)]
    tok = tokenizer(kind).add_tokens(tokens)
    for text in ("a <x>  b", "<x><x> x>天<x>x>", "b<x>", " <x> é <x>\n", "<a><x><a>b", "", "plain"):
        check_matches(tok, text)


@pytest.mark.parametrize("name", PUBLISHED)
def test_matches_of_published_vocabularies(data: Path, name: str) -> None:
    tok = jeton.load(data / "vocabs" / name).add_tokens(["<|im_start|>", "<|im_end|>"])
    tokens = list(tok.special_tokens)[-6:]
    for text in ("a <|im_start|>天气 café", *(f" {a}x {b}\n{a}" for a in tokens for b in tokens)):
        check_matches(tok, text)
    texts = ["hi", "", "  two ", "天气", *(f"x {token} y" for token in tokens)]
    for text in texts:
        chat = tok.chat([*user(text), {"role": "assistant", "content": text}], template="chatml")
        check_char_spans(chat)
        assert chat.ids == chat.encoding.ids
        controls = [
            id for id in chat.ids if id in (tok.special_tokens["<|im_start|>"], tok.special_tokens["<|im_end|>"])
        ]
        assert len(controls) == 4


def test_a_matcher_without_special_tokens_finds_nothing() -> None:
    tok = jeton.Tokenizer.from_merges({97: b"a"}, [])
    assert AddedTokenMatcher(tok._core, tok.definition)("a") == []


@pytest.mark.parametrize("special", ["none", "all", {"<|im_end|>"}])
@pytest.mark.parametrize("name", TEMPLATES)
def test_ids_equal_those_of_the_spans(name: str, special: Any) -> None:
    for messages in CONVERSATIONS.values():
        spelled = [{**message, "content": "a<|im_end|> b<s>"} for message in messages]
        for conversation in (messages, spelled):
            try:
                chat = TOK.chat(conversation, template=TEMPLATES[name], special=special)
            except jeton.errors.ChatTemplateError:
                continue
            check_char_spans(chat)
            assert chat.encoding.ids == chat.ids


@given(
    st.lists(st.sampled_from(["<|im_end|>", " ", "é", "天", "\U0001f469\u200d\U0001f52c", "b", "the", "\n"])).map(
        "".join
    )
)
def test_turns_and_mask_of_a_hand_checked_chat(text: str) -> None:
    """An id belongs to the turn of its first character, and to the mask if it overlaps a marked run."""
    marked = "{% for m in messages %}{{ '<|im_start|>' }}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    chat = TOK.chat([*user(text), *user("é" + text)], template=marked)
    check_char_spans(chat)
    chat = TOK.chat([*user(text), *user("é" + text)], template=marked)
    turns, mask = chat.turns, chat.mask  # before `encoding`
    starts = [start for start, _ in chat.encoding.char_spans]
    for turn in turns:
        inside = {i for first, last in turn.token_spans for i in range(first, last)}
        chars = {i for first, last in turn.char_spans for i in range(first, last)}
        assert inside == {i for i, start in enumerate(starts) if start in chars}
    ends = [0]
    for run in chat.pieces:
        ends.append(ends[-1] + run.length)
    generated = {i for run, end in zip(chat.pieces, ends, strict=False) if run.origin.generated
                 for i in range(end, end + run.length)}  # fmt: skip
    assert mask == [
        any(i in generated for i in range(start, max(end, start + 1))) for start, end in chat.encoding.char_spans
    ]


@pytest.mark.parametrize(
    "flags", [{}, {"lstrip": True, "rstrip": True}, {"single_word": True}, {"normalized": True}], ids=str
)
@pytest.mark.parametrize("kind", ["byte gpt2", "char gpt2"])
def test_fast_path_ids_equal_those_of_the_segments(kind: str, flags: dict[str, bool]) -> None:
    """`encode_chat` (the fast path) refuses every chat for which the slow path gives other ids."""
    tok = tokenizer(kind).add_tokens([AddedToken("<x>", **flags), "<unk>"])
    texts = ["hi", "", "天<x>é", " <x> ", "<", "a<|im_end|>", "x>", "\n", "e\u0301 <unk>", "<a", ">b<a>"]
    rng = random.Random(3)
    fast = 0
    for _ in range(200):
        parts = [
            "{{ messages[0].content }}",
            "{{ messages[1].content }}",
            *rng.choices(["<x>", "<a>b ", " é", "<"], k=4),
        ]
        rng.shuffle(parts)
        messages = [*user(rng.choice(texts)), *user(rng.choice(texts))]
        special: Any = rng.choice(["none", {"<x>"}])
        template = "".join(parts) + "."
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(tok, "_core", WithoutFastChat(tok._core))
            wanted = outcome(tok, messages, template, special)
        assert outcome(tok, messages, template, special) == wanted, (template, messages)
        text, runs = render(template, messages, {}, {}, list(tok.special_tokens))
        ids = tok._core.encode_chat(text, runs, role_id(tok, "unk"))
        fast += ids is not None
        if ids is not None:
            assert ids == wanted
            assert ids == tok.encode(text, special="all")
    assert fast == 0 if flags.get("normalized") else 20 < fast < 200


class WithoutFastChat:
    """A core whose `encode_chat` refuses all chats."""

    def __init__(self, core: _core.Tokenizer) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        return (lambda *_: None) if name == "encode_chat" else getattr(self._core, name)


def outcome(tok: jeton.Tokenizer, messages: Any, template: str, special: Any) -> list[int] | str:
    try:
        return tok.chat(messages, template=template, special=special).ids
    except jeton.errors.ChatTemplateError as error:
        return str(error)


def test_invalid_runs_are_refused() -> None:
    for runs in ([1], [(1, 2)], [(1, ("message",)), ("a", ("message",))], [(1, (2,))], [(-1, ("template",))]):
        with pytest.raises((TypeError, OverflowError)):
            TOK._core.encode_chat("hi", runs, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="longer than a text"):
        TOK._core.encode_chat("hi", [(2**64 - 1, ("message", 0, False), 0), (1, ("caller", None, False), None)], None)


@pytest.mark.parametrize(
    ("source", "mask"),
    [
        ("{% for m in messages if m.role == 'x' %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}ab", False),
        ("ab{% generation %}{% endgeneration %}", False),
        ("ab{%- generation -%} {%- endgeneration -%}", False),
        ("{% macro never() %}{% generation %}a{% endgeneration %}{% endmacro %}ab", False),
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}ab", True),
        ("{# {% generation %} #}ab", None),
        ("{% raw %}{% generation %}{% endraw %}ab", None),
        ("{{ generation }}{% set generated = 1 %}ab", None),
    ],
)  # fmt: skip
def test_the_mask_of_a_template_without_generated_text_is_false(source: str, mask: bool | None) -> None:
    """`mask` is None for a template without markers. Without markers or generated text, the mask is all False."""
    chat = TOK.chat(user("hi"), template=source)
    for one in (chat, pickle.loads(pickle.dumps(chat)), *TOK.chat([user("hi")], template=source)):
        assert one.mask == [bool(mask) and start < 2 for start, _ in one.encoding.char_spans]
    assert (mask is None) is not has_generation(source)


def test_the_mask_without_reply_text_is_false() -> None:
    for messages in (user("hi"), [*user("hi"), {"role": "assistant", "content": ""}]):
        chat = TOK.chat(messages, template=TEMPLATES["generation"].replace("+ '<|im_end|>' -}}", "-}}"))
        assert chat.mask == [False] * len(chat.ids)
        assert chat.ids


def test_spans_are_computed_on_access(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("computes spans")

    with monkeypatch.context() as patched:
        patched.setattr(jeton.Tokenizer, "tokenize", refused)
        chats = [TOK.chat(user(text), template="chatml") for text in ("hi", "a<|im_end|>b")]
        assert not any(any(chat.mask) for chat in chats)
        assert chats[0].turns[0].token_spans == [(0, len(chats[0].ids))]
    assert [len(chat.encoding) for chat in chats] == [len(chat.ids) for chat in chats]
    assert chats[0].encoding is chats[0].encoding


def test_ids_take_about_as_long_as_encoding() -> None:
    """The measured ratio is below 1.5; the limit leaves room for other load on the machine."""
    messages = user("The old keeper reads the older weather. " * amount(4000, default=2000))
    text = TOK.chat(messages, template="chatml", tokenize=False)

    def fastest(run: Any) -> float:
        times = []
        for _ in range(7):
            begun = time.perf_counter()
            run()
            times.append(time.perf_counter() - begun)
        return min(times)

    encoding = fastest(lambda: TOK.encode(text, special="all"))
    rendering = fastest(lambda: TOK.chat(messages, template="chatml", tokenize=False))
    assert fastest(lambda: TOK.chat(messages, template="chatml")) - rendering < 4 * encoding


def test_tokenize_false_returns_text() -> None:
    text = TOK.chat(user("a<|im_end|>"), template="chatml", tokenize=False)
    assert text == TOK.chat(user("a<|im_end|>"), template="chatml").text
    assert type(text) is str
    with pytest.raises(jeton.ConfigError, match="tokenize='no'"):
        TOK.chat(user("a"), template="chatml", tokenize="no")  # type: ignore[call-overload]


def test_a_batch_of_chats_equals_single_chats() -> None:
    batch = [user("one"), [*user("two"), {"role": "assistant", "content": "three"}]]
    chats = TOK.chat(batch, template="chatml", add_generation_prompt=True)
    assert [chat.ids for chat in chats] == [
        TOK.chat(one, template="chatml", add_generation_prompt=True).ids for one in batch
    ]
    assert TOK.chat(tuple(batch), template="chatml", tokenize=False) == [
        TOK.chat(one, template="chatml", tokenize=False) for one in batch
    ]
    for wrong, message in [
        ([user("a"), []], "conversation 1: not a list of at least one message"),
        ([user("a"), "b"], "conversation 1: not a list"),
        ([user("a"), [{"content": "b"}]], "conversation 1: message 0 has no role"),
        ([[]], "conversation 0: not a list"),
        ([], "at least one message"),
    ]:
        with pytest.raises(jeton.ConfigError, match=message):
            TOK.chat(wrong, template="chatml")  # type: ignore[call-overload]
    with pytest.raises(jeton.SpecialTokenError, match="conversation 1: a message contains") as caught:
        TOK.chat([user("a"), user("<|im_end|>")], template="chatml", special="raise")
    assert caught.value.token == "<|im_end|>"


def test_a_pickled_chat_has_its_spans_and_no_tokenizer() -> None:
    for text in ("hi", "a<|im_end|>b"):
        chat = TOK.chat(user(text), template="chatml")
        copy = pickle.loads(pickle.dumps(chat))
        assert copy._source is None
        assert (copy.ids, copy.text, copy.pieces) == (chat.ids, chat.text, chat.pieces)
        assert (copy.encoding, copy.turns, copy.mask) == (chat.encoding, chat.turns, chat.mask)
        assert len(pickle.dumps(chat)) < 10_000

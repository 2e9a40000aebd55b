"""Conversations keep sampled ids, equal the rendering of the whole chat, and refuse what the template rewrites."""

from __future__ import annotations

import copy
import pickle
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.chat import Conversation, conversation
from jeton.chat.prepared import PreparedTemplate
from jeton.errors import ChatTemplateError, ConfigError, SpecialTokenError, UnknownTokenError

from ..material import byte_tokenizer
from ..selection import amount
from .prefixes import PREFIXED, SPM, spelled
from .rollouts import Rollout, in_bytes, tokenizer_of
from .templates import TEMPLATES
from .test_published import TOOLS
from .test_trust import TOK, user

ROUNDS = amount(60, default=1)
THINKING = """\
{%- set ns = namespace(last=0) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
    {{- '<|im_start|>' + m.role + '\\n' }}
    {%- set content = m.content | trim %}
    {%- if '</think>' in content and loop.index0 < ns.last %}{% set content = content.split('</think>')[-1] %}{% endif %}
    {{- content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
OWNED_BY_NEXT = "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
# As in gpt-oss: the last reply of a chat has a different stop token.
PLAIN = """\
{%- for m in messages %}{{ '<|im_start|>' + m.content + '<|im_end|>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>' }}{% endif %}"""
TWO_STOPS = """\
{%- for m in messages %}
    {{- '<|im_start|>' + m.role + '<|user|>' + m.content }}
    {{- '</s>' if loop.last and not add_generation_prompt and m.role == 'assistant' else '<|im_end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant<|user|>' }}{% endif %}"""


def ids(text: str) -> list[int]:
    return TOK.encode(text, special="all")


def start(template: str = "chatml", **options: Any) -> Conversation:
    return TOK.conversation(user("hi"), template=template, **options)


def decoded(found: list[int] | None) -> str | None:
    return None if found is None else TOK.decode(found)


# ── every published template ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("part", range(18))
def test_random_conversations_equal_whole_chats(part: int, data: Path) -> None:
    """500 conversations with each published template, one in the default selection."""
    paths = sorted((data / "templates").glob("*.jinja"))[part::18]
    if not paths:
        pytest.skip(f"no templates in {data}")
    counts: Counter[str] = Counter()
    for path in paths:
        source = path.read_text(encoding="utf-8")
        for number in range(ROUNDS):
            try:
                Rollout(source, random.Random(f"{path.name} {number}"), counts).run()
            except Exception as error:
                error.add_note(f"{path.name}, conversation {number}")
                raise
    for name, count in sorted(counts.items()):
        print(f"{count:8,} {name}")
    if ROUNDS > 1:
        assert counts["text equal"] + counts["text equal but for white space"] >= ROUNDS / 2


@pytest.mark.parametrize("part", range(9))
def test_kept_turns_of_published_templates(part: int, data: Path) -> None:
    """Sampled reasoning stays, even if the template would drop it; the text between sampled turns is the template's."""
    kept = 0
    for path in sorted((data / "templates").glob("*.jinja"))[part::9]:
        source = path.read_text(encoding="utf-8")
        tok = tokenizer_of(source)
        options: dict[str, Any] = {"template": source}
        try:
            conv = tok.conversation(user("hi"), keep_sampled=True, **options)
        except ChatTemplateError:
            options |= {"tools": TOOLS, "variables": {"datetime": "now", "functions": "[]"}}
            if "c4ai-command-r-plus" in path.name:  # it writes tools in its own form
                continue
            conv = tok.conversation(user("hi"), keep_sampled=True, **options)
        for turn in range(3):
            conv.add_sampled(tok.encode("<think>\nhm</think>ok"))
            if conv.add(user(f"q{turn}")) is None:
                assert "c4ai-command-r7b" in path.name, conv.refusal  # it always writes a generation prompt
                break
        else:
            kept += 1
            shown = [
                message if message["role"] == "user" else {**message, "content": "ok"} for message in conv.messages
            ]
            whole = tok.chat(shown, add_generation_prompt=True, **options).text
            assert tok.decode(conv.ids).count("<think>\nhm</think>ok") == 3
            assert (
                tok.decode(conv.ids[conv.spans[-2].start :])
                == whole[-len(tok.decode(conv.ids[conv.spans[-2].start :])) :]
            )
    assert kept or not (data / "templates").is_dir()


@pytest.mark.parametrize("name", sorted({*TEMPLATES} - {"filters", "generation"}))
def test_random_conversations_with_small_templates(name: str) -> None:
    counts: Counter[str] = Counter()
    for number in range(amount(100, default=5)):
        Rollout(TEMPLATES[name], random.Random(f"{name} {number}"), counts).run()
    assert sum(counts.values())


# ── closing a turn ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sampled", "closing", "added"),
    [
        ("ok<|im_end|>", "\n", "<|im_start|>user\nbye<|im_end|>\n<|im_start|>assistant\n"),
        ("ok", "<|im_end|>\n", "<|im_start|>user\nbye<|im_end|>\n<|im_start|>assistant\n"),
        ("", "<|im_end|>\n", "<|im_start|>user\nbye<|im_end|>\n<|im_start|>assistant\n"),
        ("<|im_end|>", "\n", "<|im_start|>user\nbye<|im_end|>\n<|im_start|>assistant\n"),
    ],
)
def test_a_turn_is_closed_once(sampled: str, closing: str, added: str) -> None:
    conv = start()
    before = conv.prompt_ids
    conv.add_sampled(ids(sampled))
    assert decoded(conv.ids[len(before) :]) == sampled + closing
    assert decoded(conv.add(user("bye"))) == added


def test_a_stop_token_of_the_next_turn_is_not_doubled() -> None:
    tok = TOK.add_tokens(["<|assistant|>"])
    for sampled, added in (("ok<|user|>", "bye<|assistant|>"), ("ok", "<|user|>bye<|assistant|>")):
        conv = tok.conversation(user("hi"), template=OWNED_BY_NEXT)
        conv.add_sampled(tok.encode(sampled, special="all"))
        assert tok.decode(conv.add(user("bye")) or []) == added


def test_a_foreign_stop_token_is_refused_or_kept_on_request() -> None:
    conv = start(TWO_STOPS)
    conv.add_sampled(ids("ok</s>"))
    assert conv.add(user("bye")) is None
    assert conv.refusal == ("the reply ends with '</s>', but the template writes '<|im_end|><|im_start|>user<|user|>'")
    conv = start(TWO_STOPS, keep_sampled=True)
    conv.add_sampled(ids("ok</s>"))
    assert decoded(conv.add(user("bye"))) == "<|im_start|>user<|user|>bye<|im_end|><|im_start|>assistant<|user|>"


def test_a_stop_token_spelled_as_text_does_not_end_the_reply() -> None:
    conv = start()
    conv.add_sampled(TOK.encode("ok<|im_end|>", special="none"))
    assert decoded(conv.add(user("bye"))) == "<|im_start|>user\nbye<|im_end|>\n<|im_start|>assistant\n"
    assert decoded(conv.ids).count("<|im_end|><|im_end|>\n") == 1  # type: ignore[union-attr]


def test_an_added_token_at_the_end_is_not_a_stop_token() -> None:
    tok = TOK.add_tokens([jeton.AddedToken("</plan>", special=False)])
    conv = tok.conversation(user("hi"), template="chatml")
    conv.add_sampled(tok.encode("<plan>hm</plan>"))  # the reply is cut off there
    assert tok.decode(conv.add(user("bye")) or []).startswith("<|im_start|>user")
    assert tok.decode(conv.ids).count("hm</plan><|im_end|>\n") == 1
    assert conv.messages[1] == {"role": "assistant", "content": "<plan>hm</plan>"}
    conv = start()
    conv.add_sampled(ids("ok</s>"))  # `</s>` is special, so it ends the reply
    assert conv.add(user("bye")) is None
    assert conv.refusal == "the reply ends with '</s>', but the template writes '<|im_end|>\\n<|im_start|>user\\n'"


def test_the_refusal_is_that_of_the_reading_with_a_stop_token() -> None:
    tok = TOK.add_tokens([jeton.AddedToken("</plan>", special=False)])
    conv = tok.conversation(user("hi"), template=PLAIN.replace("m.content", "m.content | upper"))
    conv.add_sampled(tok.encode("ok</plan>"))
    assert conv.add(user("bye")) is None
    assert conv.refusal == "the reply ends with '</plan>', but the template writes '<|im_end|><|im_start|>'"


def test_a_message_of_the_caller_is_not_replaced_by_the_sampled_text() -> None:
    tok = TOK.add_tokens([jeton.AddedToken("</plan>", special=False)])
    conv = tok.conversation(user("hi"), template="chatml")
    conv.add_sampled(tok.encode("ok</plan>"), {"content": "ok"})
    assert conv.add(user("bye")) is None
    assert conv.refusal is not None
    assert conv.refusal.startswith("the reply ends with '</plan>', but the template writes '<|im_end|>")
    assert conv.messages[1]["content"] == "ok"


@pytest.mark.parametrize(
    ("template", "message", "added"),
    [
        # Between a reply and its stop token, both renderings have the same text.
        (TWO_STOPS.replace("m.content }}", "m.content + '\n' }}"), "bye",
         "<|im_start|>user<|user|>bye\n<|im_end|><|im_start|>assistant<|user|>"),
        # The text after the reply is not that before its stop token.
        (TWO_STOPS.replace("m.content }}", "m.content + ('\n' if loop.last else ' ') }}"), "bye", None),
        # The template writes text before the other stop token.
        (TWO_STOPS.replace("'<|im_end|>'", "' <|im_end|>'"), "bye", None),
        # The text after the reply has no special token.
        (TWO_STOPS.replace("'<|im_end|>'", "''").replace("'<|im_start|>'", "''"), "bye", None),
        # The special token after the reply is that of a message.
        (PLAIN.replace("'<|im_start|>' +", "'' +").replace("'<|im_end|>'", "('</s>' if loop.last and m.role == 'assistant' and not add_generation_prompt else '')"),
         "<|im_end|>bye", None),
    ],
)  # fmt: skip
def test_another_stop_token_follows_the_same_text(template: str, message: str, added: str | None) -> None:
    conv = TOK.conversation(user("the old man " * 20), template=template, keep_sampled=True)
    conv.add_sampled(ids("ok</s>"))
    assert decoded(conv.add(user(message))) == added
    assert (conv.refusal is None) == (added is not None)


def test_no_turn_is_closed_if_the_template_refuses_the_next_one() -> None:
    conv = start(PLAIN + "{{ raise_exception('three') if messages|length > 2 }}")
    before = conv.ids
    conv.add_sampled(ids("ok"))
    assert conv.ids == before + ids("ok")


@pytest.mark.parametrize(
    ("template", "closing"),
    [
        (THINKING, "\n"),  # it drops the reasoning in the next turn, but closes this one in the same way
        # The opening of the next turn at the end of each chat is not part of the closing.
        (PLAIN.replace("add_generation_prompt", "true"), ""),
        (
            PLAIN.replace("add_generation_prompt", "true").replace("'<|im_end|>'", "'<|im_end|> '"),
            " ",
        ),
    ],
)
def test_a_closing_is_the_template_s_text_of_that_turn(template: str, closing: str) -> None:
    conv = start(template)
    before = conv.ids
    conv.add_sampled(ids("<think>hm</think>ok<|im_end|>"))
    assert conv.ids == before + ids("<think>hm</think>ok<|im_end|>" + closing)


def test_a_turn_that_is_closed_in_another_way_is_refused() -> None:
    conv = start(
        PLAIN.replace(
            "'<|im_end|>'", "'<|im_end|>' + (' ' if not loop.last and loop.nextitem.role == 'tool' else '\n')"
        )
    )
    conv.add_sampled(ids("ok<|im_end|>"))
    assert decoded(conv.ids[-2:]) == "<|im_end|>\n"
    assert conv.copy().add(user("bye")) is not None
    assert conv.add([{"role": "tool", "content": "rain"}]) is None
    assert conv.refusal == (
        "the template closes the turn with ' ' before these messages, but with '\\n' at the end of a chat"
    )


# ── sampled ids stay ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "sampled",
    [
        in_bytes(TOK, ids("the old man<|im_end|>")),
        [*ids("a")[:1], *in_bytes(TOK, ids("é"))[:1]],  # half a character
        ids("  the old  \n\n<|im_end|>"),
        ids("a<|im_start|>user\nb<|im_end|>"),
        ids(""),
    ],
)
@pytest.mark.parametrize("template", ["chatml", "llama3"])  # the second template strips replies
def test_non_canonical_sampled_ids_are_kept(sampled: list[int], template: str) -> None:
    tok = TOK.add_tokens(list(jeton.chat.PRESETS[template].tokens))
    if template == "llama3":
        sampled = [tok.special_tokens["<|eot_id|>"] if id == tok.special_tokens["<|im_end|>"] else id for id in sampled]
    conv = tok.conversation(user("hi"), template=template)
    before = conv.prompt_ids
    conv.add_sampled(sampled)
    assert conv.add(user("bye")) is not None
    assert conv.ids[len(before) :][: len(sampled)] == sampled
    stop = "<|eot_id|>" if template == "llama3" else "<|im_end|>"
    added = tok.decode(conv.ids[len(before) + len(sampled) :])
    assert added.startswith(stop) == (sampled[-1:] != [tok.special_tokens[stop]])
    assert [id for id, is_sampled in zip(conv.ids, conv.mask, strict=True) if is_sampled] == sampled


def test_sampled_ids_may_be_an_array() -> None:
    np = pytest.importorskip("numpy")
    conv = start()
    conv.add_sampled(np.array(ids("ok<|im_end|>"), np.int64))
    assert conv.ids[-len(ids("ok<|im_end|>\n")) :] == ids("ok<|im_end|>\n")


def test_spans_name_the_source_of_ids() -> None:
    conv = start()
    conv.add_sampled(ids("ok<|im_end|>"))
    conv.add([*user("bye"), *user("now")])
    assert [(span.source, span.message, decoded(conv.ids[span.start : span.end])) for span in conv.spans] == [
        ("message", 0, "<|im_start|>user\nhi<|im_end|>\n"),
        ("header", 1, "<|im_start|>assistant\n"),
        ("sampled", 1, "ok<|im_end|>"),
        ("closing", 1, "\n"),
        ("message", 2, "<|im_start|>user\nbye<|im_end|>\n"),
        ("message", 3, "<|im_start|>user\nnow<|im_end|>\n"),
        ("header", 4, "<|im_start|>assistant\n"),
    ]


BYTES = byte_tokenizer((97, 98, 256), special_tokens={"<s>": 257, "<|end|>": 258})  # a + b -> 256


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        # Text before the first message is no header, and text after the last one is.
        ("<s>{{ messages[0].content }}<|end|>", [("template", None, "<s>"), ("message", 0, "x"), ("header", 2, "<|end|>")]),
        # Text between messages.
        ("{{ messages[0].content }}<s>{{ messages[1].content }}", [("message", 0, "x"), ("template", None, "<s>"), ("message", 1, "b")]),
        # Without the text of a message, no text can be told to be the header.
        ("a{{ motto }}<|end|>", [("template", None, "acarpe<|end|>")]),
        ("<s>{{ '' }}<|end|>", [("template", None, "<s><|end|>")]),
        # The id of `ab` begins in text of the template; message 1 has no id.
        ("a{{ messages[1].content }}ca{{ messages[1].content }}", [("template", None, "abcab")]),
    ],
)  # fmt: skip
def test_spans_of_a_first_prompt(template: str, expected: list[tuple[str, int | None, str]]) -> None:
    conv = BYTES.conversation([*user("x"), *user("b")], template=template, variables={"motto": "carpe"})
    assert [
        (span.source, span.message, BYTES.decode(conv.ids[span.start : span.end])) for span in conv.spans
    ] == expected


@pytest.mark.parametrize("sampled", [ids("the old"), in_bytes(TOK, ids("the old"))])
def test_spans_after_a_turn_that_add_closes(sampled: list[int]) -> None:
    conv = start(TWO_STOPS, keep_sampled=True)
    conv.add_sampled(sampled)
    conv.add(user("bye"))
    assert [(span.source, span.message, decoded(conv.ids[span.start : span.end])) for span in conv.spans] == [
        ("message", 0, "<|im_start|>user<|user|>hi<|im_end|>"),
        ("header", 1, "<|im_start|>assistant<|user|>"),
        ("sampled", 1, "the old"),
        ("closing", 1, "<|im_end|>"),
        ("message", 2, "<|im_start|>user<|user|>bye<|im_end|>"),
        ("header", 3, "<|im_start|>assistant<|user|>"),
    ]


@pytest.mark.parametrize("sampled", [ids("the old"), in_bytes(TOK, ids("the old"))])
def test_a_header_alone_after_a_reply(sampled: list[int]) -> None:
    conv = start(OWNED_BY_NEXT)
    conv.add_sampled(sampled)
    conv.add([])
    assert [(span.source, span.message) for span in conv.spans][-2:] == [("sampled", 1), ("header", 2)]


# ── the context of new text ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tok", "sampled", "is_canonical"),
    [
        (PREFIXED, "a", True),
        (PREFIXED, "▁a", True),
        (PREFIXED, "▁a a a", True),
        (PREFIXED, "<0xC3> <0xA9>", True),
        (PREFIXED, "<0xC3> <0xA9> a", True),
        # Ids of the text, of which the special token is the last but one, two or three: those before it are not.
        (PREFIXED, "a b <end> a", True),
        (PREFIXED, "a b <end> a a", True),
        (PREFIXED, "a b <end> a a a", True),
        (SPM, "▁a", True),
        (SPM, "▁ab </t>", True),
        (SPM, "▁ab </t> b", True),
        (PREFIXED, "a b", False),
        (PREFIXED, "a b <0xC3> <0xA9>", False),
        (SPM, "▁ a b", False),
    ],
)
def test_ids_after_a_reply_are_those_after_its_text(
    tok: jeton.Tokenizer, sampled: str, is_canonical: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spans of characters are computed only if the ids from a special token on are not those of their text."""
    calls: list[str] = []
    char_spans = conversation.char_spans
    monkeypatch.setattr(
        conversation, "char_spans", lambda tok, text, *rest: calls.append(text) or char_spans(tok, text, *rest)
    )
    template = "{% for m in messages %}{{ m.content + ('<end>' if m.role == 'user' else '.') }}{% endfor %}"
    conv = tok.conversation(user("a"), template=template)
    assert spelled(tok, conv.ids) == "▁a <end>"
    conv.add_sampled([tok.token_to_id(token) for token in sampled.split()])
    assert spelled(tok, conv.ids) == f"▁a <end> {sampled} ."
    assert spelled(tok, conv.add(user("b")) or []) == "b <end>"
    assert (not calls) == is_canonical


@pytest.mark.parametrize(
    ("sampled", "ids"),
    [
        ([256, 98], [99]),  # no id begins between b and c in their text
        ([97, 97, 98], [99]),
        ([97, 97, 97, 97], [99]),
        ([97, 97], [99]),
        ([], [99]),
    ],
)
def test_ids_after_a_reply_do_not_contain_its_text(sampled: list[int], ids: list[int]) -> None:
    tok = byte_tokenizer((97, 97, 256), (98, 99, 257))
    conv = tok.conversation(user("x"), template="{% for m in messages %}{{ m.content }}{% endfor %}")
    conv.add_sampled(sampled)
    assert conv.add(user("c")) == ids
    assert conv.ids == [120, *sampled, *ids]
    assert [(span.source, span.end - span.start) for span in conv.spans] == [
        ("message", 1), *([("sampled", len(sampled))] if sampled else []), ("message", 1),
    ]  # fmt: skip


def test_ids_after_a_special_token_are_those_after_it() -> None:
    """The ids before it are not those of their text."""
    template = "{% for m in messages %}{{ m.content + '<end>' }}{{ '.' if m.role == 'assistant' }}{% endfor %}"
    conv = PREFIXED.conversation(user("a"), template=template)
    conv.add_sampled([PREFIXED.token_to_id(token) for token in ("a", "b", "<end>")])
    assert spelled(PREFIXED, conv.add(user("b")) or []) == "b <end>"
    assert spelled(PREFIXED, conv.ids) == "▁a <end> a b <end> . b <end>"


# ── what a template rewrites ────────────────────────────────────────────────────────────────────────────────────────


def test_a_template_that_drops_reasoning_is_refused() -> None:
    sampled = ids("<think>hm</think>ok<|im_end|>")
    conv = start(THINKING)
    conv.add_sampled(sampled)
    closed = conv.ids
    assert conv.add(user("bye")) is None
    assert conv.refusal == "the template rewrites the sampled text of message 1: '<think>hm</think>ok' becomes 'ok'"
    assert conv.ids == closed
    tool = [{"role": "tool", "content": "rain"}]
    assert conv.add(tool) is not None  # the same conversation goes on with other messages
    assert conv.refusal is None
    conv.add_sampled(ids("It rains.<|im_end|>"))
    assert conv.add(user("bye")) is None  # now the template drops the reasoning of message 1
    assert conv.refusal is not None
    assert conv.refusal.startswith(
        "the template rewrites the content of message 1, at character 52: '<think>hm</think>ok"
    )
    assert "becomes 'ok<|im_end|>" in conv.refusal


def test_keep_sampled_keeps_reasoning() -> None:
    conv = start(THINKING, keep_sampled=True)
    for turn in range(3):
        conv.add_sampled(ids("<think>hm</think>ok<|im_end|>"))
        assert conv.add(user(f"bye {turn}")) is not None
    assert decoded(conv.ids).count("<think>") == 3  # type: ignore[union-attr]


def test_refusals_name_moved_tools_rewritten_messages_and_template_errors() -> None:
    moved = "{% for m in messages %}{% if loop.last %}{{ '<|user|>' + tools[0].name }}{% endif %}{{ '<|im_start|>' + m.content + '<|im_end|>' }}{% endfor %}"
    conv = start(moved, tools=[{"name": "weather"}])
    conv.add_sampled(ids("ok<|im_end|>"))
    assert conv.add(user("bye")) is None
    assert conv.refusal is not None
    assert conv.refusal.startswith("the template moves the tools, at character 0: '<|user|>weather<|im_start|>hi")
    counts = "{% for m in messages %}{{ messages|length }}{{ m.content + '<|im_end|>' }}{% endfor %}"
    conv = start(counts)
    conv.add_sampled(ids("ok<|im_end|>"))
    assert conv.add(user("bye")) is None
    assert conv.refusal == (
        "the template rewrites its own text in message 0, at character 0: '1hi<|im_end|>' becomes "
        "'3hi<|im_end|>3ok<|im_end|>3bye<|im_end|>'"
    )
    refuses = "{{ raise_exception('three') if messages|length > 2 }}{% for m in messages %}{{ m.content }}{% endfor %}"
    conv = start(refuses)
    conv.add_sampled(ids("ok"))
    assert conv.add(user("bye")) is None
    assert conv.refusal == "the chat template rejects the messages in line 1: three"


@pytest.mark.parametrize("content", ["", "ok"])
@pytest.mark.parametrize(
    "calls", [{}, {"tool_calls": []}, {"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}]
)
def test_a_kept_reply_has_a_placeholder_as_its_text(content: str, calls: dict[str, Any]) -> None:
    """The template is passed no placeholder if the reply has calls only."""
    message = {"role": "assistant", "content": content, "reasoning_content": "hm", **calls}
    reply = conversation.SampledReply("x", "", message, True)
    shown = "" if calls.get("tool_calls") and not content else "reply"
    assert start(keep_sampled=True)._opaque(reply) == {"role": "assistant", "content": shown, **calls}
    assert start()._opaque(reply) == message


def test_a_message_given_with_sampled_ids_is_compared_with_them() -> None:
    tool_calls = [{"function": {"name": "weather", "arguments": {"city": "x"}}}]
    message = {"content": "", "tool_calls": tool_calls}
    result = [{"role": "tool", "content": "rain"}]
    tok = TOK.add_tokens(["<|im_start|>", "<|im_end|>"])
    template = TEMPLATES["chatml with tools"]
    spaced = '<tool_call>\n{"name":   "weather",\n "arguments": {"city":  "x"}}\n</tool_call><|im_end|>'
    conv = tok.conversation(user("hi"), template=template)
    conv.add_sampled(tok.encode(spaced, special="all"), message)
    assert conv.add(result) is not None, conv.refusal
    assert tok.decode(conv.ids).count(spaced) == 1
    conv = tok.conversation(user("hi"), template=template)
    conv.add_sampled(tok.encode("well: " + spaced, special="all"), message)  # the message lacks "well: "
    assert conv.add(result) is None
    assert conv.refusal is not None
    assert conv.refusal.startswith("the template rewrites the sampled text of message 1: 'well: <tool_call>")


def test_a_template_that_drops_content_is_refused() -> None:
    template = "{% for m in messages %}{{ '<|im_start|>' + (m.content if m.content is string else m.content[0].text) + '<|im_end|>' }}{% endfor %}"
    template += "{% if add_generation_prompt %}{{ '<|im_start|>' }}{% endif %}"
    for texts, refusal in (
        (["ok"], None),
        (["o", "k"], "the template drops the content of message 1, or writes it differently"),
    ):
        conv = start(template)
        conv.add_sampled(ids("ok<|im_end|>"),
                         {"content": [{"type": "text", "text": text} for text in texts]})  # fmt: skip
        assert (conv.add(user("bye")) is None) is (refusal is not None)
        assert conv.refusal == refusal


# ── long conversations ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of messages of each rendering, in order."""
    numbers: list[int] = []
    render = PreparedTemplate.render

    def counted(self: Any, messages: Any, **options: Any) -> Any:
        numbers.append(len(messages))
        return render(self, messages, **options)

    monkeypatch.setattr(PreparedTemplate, "render", counted)
    return numbers


ROLES = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}


def chat_of(roles: str) -> list[dict[str, Any]]:
    """Messages m0, m1 …, with the initials of their roles."""
    return [{"role": ROLES[role], "content": f"m{number}"} for number, role in enumerate(roles)]


def renderings_of(conv: Conversation, turns: int, rendered: list[int], *, role: str = "assistant") -> list[list[int]]:
    """Numbers of messages that the calls of `add` render; each turn adds a reply and a message."""
    calls = []
    for _ in range(turns):
        conv.add_sampled(ids("ok<|im_end|>"), {"role": role, "content": "ok"})
        rendered.clear()
        assert conv.add(user("x")) is not None, conv.refusal
        calls.append([*rendered])
    return calls


@pytest.mark.parametrize(
    ("sampled", "message", "readings"),
    [("ok", None, 1), ("ok<|im_end|>", None, 1), ("ok</plan>", None, 2), ("ok</plan>", {"content": "ok"}, 1)],
)
def test_only_a_token_that_may_be_text_is_read_in_two_ways(
    sampled: str, message: Any, readings: int, rendered: list[int]
) -> None:
    tok = TOK.add_tokens([jeton.AddedToken("</plan>", special=False)])
    conv = tok.conversation(user("hi"), template=PLAIN.replace("m.content", "messages|length ~ m.content"))
    conv.add_sampled(tok.encode(sampled, special="all"), message)
    rendered.clear()
    assert conv.add(user("bye")) is None
    assert rendered == [3, 1] * readings  # the second rendering is without the generation prompt


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ("u", [[3], [5], [7]]),
        # More than 48 messages: those between the first and one of the last 16 replies are left out.
        ("ua" * 22 + "u", [[47], [49, 17], [19]]),
        ("s" + "ua" * 22 + "u", [[48], [50, 18], [20]]),
        # All are rendered when there are 70, a quarter more than 56.
        ("s" + "ua" * 26 + "u", [[56, 18], *([n] for n in range(20, 32, 2)), [32, 70], [34]]),
        # The same with 80, a quarter more than 64, and with 100.
        (
            "s" + "ua" * 30 + "u",
            [[64, 18], *([n] for n in range(20, 34, 2)), [34, 80], *([n] for n in range(36, 50, 2)), [50, 18], [20],
             [22, 100], [24], [26]],
        ),
        # The first reply that is rendered follows a message of the same role as the first reply of the chat.
        ("uata" * 15 + "u", [[63, 19], [21]]),
        ("s" + "uata" * 15 + "u", [[64, 20], [22]]),
        ("suuta" * 12 + "u", [[63, 23], [25]]),
        # No message precedes the first reply.
        ("a" + "uata" * 15 + "u", [[64, 16], [18]]),
        # Between the first reply and the last messages is no other reply.
        ("a" + "u" * 60, [[63], [65]]),
        ("u" * 60, [[62], [64]]),
    ],
)  # fmt: skip
def test_messages_in_the_middle_are_not_rendered(roles: str, expected: list[list[int]], rendered: list[int]) -> None:
    conv = TOK.conversation(chat_of(roles), template=PLAIN)
    assert renderings_of(conv, len(expected), rendered) == expected
    assert conv.prove()
    assert conv.ids == TOK.chat(conv.messages, template=PLAIN, add_generation_prompt=True).ids
    # All messages, with the number of each: the template writes no other text.
    numbers = [span.message for span in conv.spans]
    assert sorted({*numbers}, key=numbers.index) == list(range(len(conv.messages) + 1))
    assert {span.source for span in conv.spans} == {"message", "sampled", "header"}
    for span in conv.spans:
        if span.source == "message":
            content = conv.messages[span.message]["content"]  # type: ignore[index]
            assert decoded(conv.ids[span.start : span.end]) == f"<|im_start|>{content}<|im_end|>"


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ("s" + "ua" * 6 + "u", [[16, 6], [8], [10, 20, 6]]),  # a quarter more than 16
        ("suuta" + "uuta" * 3 + "uu", [[21, 9]]),
        ("s" + "ua" * 2 + "u", [[8], [10, 6], [8], [10, 14, 6], [8], [10, 18, 6], [8], [10, 6], [8, 24]]),
        ("s" + "ua" * 4 + "u", [[12, 6], [8], [10, 16, 6], [8], [10, 20, 6], [8], [10, 6], [8, 26], [10, 6]]),
        ("uata" * 3 + "u", [[15, 7], [9, 5], [7, 19], [9, 5], [7], [9, 25, 5], [7]]),
    ],
)
def test_messages_in_the_middle_are_not_rendered_with_other_limits(
    roles: str, expected: list[list[int]], rendered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most 8 messages are rendered, unless all are, and at least the last 4."""
    monkeypatch.setattr(conversation, "_MOST_SHOWN", 8)
    monkeypatch.setattr(conversation, "_LEAST_SHOWN", 4)
    conv = TOK.conversation(chat_of(roles), template=PLAIN)
    assert renderings_of(conv, len(expected), rendered) == expected
    assert conv.prove()
    assert conv.ids == TOK.chat(conv.messages, template=PLAIN, add_generation_prompt=True).ids


def test_a_template_that_refuses_few_messages_is_rendered_whole(
    rendered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "_MOST_SHOWN", 8)
    monkeypatch.setattr(conversation, "_LEAST_SHOWN", 4)
    conv = TOK.conversation(
        chat_of("uata" * 3 + "u"), template=PLAIN + "{{ raise_exception('few') if messages|length < 10 }}"
    )
    assert renderings_of(conv, 2, rendered) == [[15, 7, 5], [17]]


def test_a_chat_without_assistant_is_rendered_whole(rendered: list[int]) -> None:
    conv = TOK.conversation(chat_of("u" * 60), template=PLAIN)
    assert renderings_of(conv, 2, rendered, role="model") == [[62], [64]]


@pytest.mark.parametrize(
    "template",
    [
        PLAIN.replace("m.content", "loop.index ~ m.content").replace(
            "{{ '<|im_start|>' }}", "{{ '<|im_start|>' ~ (messages|length + 1) }}"
        ),
        PLAIN + "{{ raise_exception('few') if messages|length < 30 }}",
    ],
)
def test_two_ranges_of_messages_are_tried(template: str, rendered: list[int]) -> None:
    """Of the last 16 messages: a reply after a message as the first reply's, and any. The template refuses both."""
    conv = TOK.conversation(chat_of("uata" * 15 + "u"), template=template)
    assert renderings_of(conv, 3, rendered) == [[63, 19, 17], [65], [67]]


@pytest.mark.parametrize("number", [0, 47, 62])
@pytest.mark.parametrize(
    ("written", "refusal"),
    [
        ("m.content + ('?' if IS_AGAIN else '')", "the template rewrites its own text in message {}, at character"),
        (
            "(m.content | upper if IS_AGAIN else m.content)",
            "the template rewrites the content of message {}, at character",
        ),
    ],
)
def test_refusals_have_the_numbers_of_the_conversation(number: int, written: str, refusal: str) -> None:
    """Messages 1 to 46 are left out of the renderings."""
    is_again = "messages[-1].content == 'again ' + m.content"
    conv = TOK.conversation(
        chat_of("ua" * 30 + "u"), template=PLAIN.replace("m.content", written.replace("IS_AGAIN", is_again))
    )
    conv.add_sampled(ids("ok<|im_end|>"))
    assert conv.add(user("m62")) is not None
    assert conv._skipped == (1, 47)
    conv.add_sampled(ids("ok<|im_end|>"))
    assert conv.add(user(f"again m{number}")) is None
    assert conv.refusal is not None
    assert conv.refusal.startswith(refusal.format(number))


def test_text_after_that_of_the_partial_renderings_is_found(rendered: list[int]) -> None:
    conv = TOK.conversation(chat_of("ua" * 30 + "u"), template=PLAIN + "{{ '!' if messages|length > 64 }}")
    renderings_of(conv, 2, rendered)
    assert not conv.prove()
    assert conv.refusal == (
        f"the template rewrites the end of the text, at character {len(TOK.decode(conv.ids))}: '' becomes '!'; the last "
        "rendering of all messages had 63 of them"
    )


@pytest.mark.parametrize(("roles", "turns"), [("u", 2), ("ua" * 30 + "u", 10)])
def test_the_prompt_of_kept_turns_is_replaced_in_the_proof(roles: str, turns: int, rendered: list[int]) -> None:
    """The template begins the turn with <think>, and drops it when the turn is over."""
    template = PLAIN.replace("{{ '<|im_start|>' }}", "{{ '<|im_start|><think>' }}")
    conv = TOK.conversation(chat_of(roles), template=template, keep_sampled=True)
    calls = renderings_of(conv, turns, rendered)
    assert any(79 in call for call in calls) == (turns == 10)  # all of the messages
    assert decoded(conv.ids).count("<think>ok") == turns  # type: ignore[union-attr]
    assert conv.prove()


def test_a_difference_is_told_from_the_start_of_its_special_token() -> None:
    """More than 100 characters of text are before it."""
    text = "the old man " * 20
    conv = TOK.conversation(
        user(text), template=PLAIN.replace("'<|im_end|>'", "('<|im_end|>' if messages|length == 1 else '<|im_start|>')")
    )
    conv.add_sampled(ids("ok"))
    assert conv.add(user("bye")) is None
    assert conv.refusal is not None
    assert conv.refusal.startswith(
        f"the template rewrites its own text in message 0, at character {len('<|im_start|>' + text)}: '<|im_end|><|im_start|>' becomes "
        "'<|im_start|><|im_start|>ok<|im_start|>"
    )


def grow(conv: Conversation, turns: int) -> list[int]:
    for turn in range(turns):
        conv.add_sampled(ids("ok<|im_end|>"))
        if conv.add(user(f"and {turn}")) is None:
            break
    return conv.ids


@pytest.mark.parametrize("template", ["chatml", THINKING])
def test_a_turn_renders_and_encodes_a_bounded_part(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[int] = []
    encoded: list[int] = []
    render, encode = PreparedTemplate.render, conversation.encode

    def counted(self: Any, messages: Any, **options: Any) -> Any:
        rendered.append(len(messages))
        return render(self, messages, **options)

    def measured(tok: Any, text: str, *rest: Any) -> Any:
        encoded.append(len(text))
        return encode(tok, text, *rest)

    monkeypatch.setattr(PreparedTemplate, "render", counted)
    monkeypatch.setattr(conversation, "encode", measured)
    conv = start(template)
    costs = {}
    for turns in (50, 50):
        rendered.clear()
        grow(conv, turns)
        costs[len(conv.messages)] = sum(rendered) / turns
    assert max(costs.values()) < 2 * costs[101], costs
    assert max(encoded) < 200
    assert sorted(number for number in rendered if number > 60)[-1] < 202  # sometimes the whole chat is rendered
    monkeypatch.undo()
    assert conv.prove()
    assert conv.ids == TOK.chat(conv.messages, template=template, add_generation_prompt=True).ids
    assert [span.message for span in conv.spans if span.source == "sampled"] == list(range(1, 200, 2))


def test_a_change_outside_of_the_rendered_part_is_found_later() -> None:
    forgetful = THINKING.replace(
        "{%- set content = m.content | trim %}",
        "{%- set content = m.content if loop.index0 + 100 > messages|length else '' %}",
    )
    conv = start(forgetful)
    grow(conv, 100)
    assert conv.refusal is not None
    assert "the last rendering of all messages had" in conv.refusal
    assert 100 < len(conv.messages) < 130
    assert conv.prove() is (len(conv.messages) < 101)


def test_a_template_with_message_numbers_is_rendered_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    numbered = "{% for m in messages %}{{ '<|im_start|>' ~ loop.index ~ m.content + '<|im_end|>' }}{% endfor %}"
    numbered += "{% if add_generation_prompt %}{{ '<|im_start|>' ~ (messages|length + 1) }}{% endif %}"
    conv = start(numbered)
    grow(conv, 30)
    renderings: list[int] = []
    render = PreparedTemplate.render

    def counted(self: Any, messages: Any, **options: Any) -> Any:
        renderings.append(len(messages))
        return render(self, messages, **options)

    monkeypatch.setattr(PreparedTemplate, "render", counted)
    grow(conv, 10)
    assert len(renderings) == 30  # three each turn: no more attempts to leave messages out
    assert len(conv.messages) == 81
    assert conv.ids == TOK.chat(conv.messages, template=numbered, add_generation_prompt=True).ids


def test_calls_before_the_reply_are_counted() -> None:
    def messages(*numbers: int | None) -> list[dict[str, Any]]:
        return [
            {"role": "user", "content": "ok", **({} if number is None else {"tool_calls": [{}] * number})}
            for number in numbers
        ]

    for numbers, total in (((None,), 0), ((2,), 2), ((2, 0, None, 1), 3)):
        conv = TOK.conversation(messages(*numbers), template=PLAIN)
        assert conv.parser()._num_calls == total
        conv.add_sampled(ids("ok"), messages(4)[0])
        assert conv.parser()._num_calls == total
        assert conv.add([]) is not None
        assert conv.parser()._num_calls == total + 4


def test_calls_are_numbered_through_the_conversation() -> None:
    """All calls before the reply count, whatever the role of their message; those of the reply do not."""
    calls = [{"function": {"name": "weather", "arguments": {"city": "x"}}}] * 2
    tok = TOK.add_tokens(["<tool_call>", "</tool_call>"])
    sampled = tok.encode(
        '<tool_call>\n{"name": "weather", "arguments": {"city": "y"}}\n</tool_call><|im_end|>', special="all"
    )
    conv = tok.conversation(
        [
            *user("hi"),
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "content": "rain", "tool_calls": None},
            {"role": "tool", "content": "sun", "tool_calls": calls[:1]},
        ],
        template=TEMPLATES["chatml with tools"],
    )
    assert [call["id"] for call in conv.parse(sampled).tool_calls] == ["call00003"]
    conv.add_sampled(sampled, {"content": "", "tool_calls": calls[:1]})
    assert [call["id"] for call in conv.parse(sampled).tool_calls] == ["call00003"]
    assert conv.add([{"role": "tool", "content": "sun"}]) is not None, conv.refusal
    assert [call["id"] for call in conv.parse(sampled).tool_calls] == ["call00004"]


# ── copies, errors ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_branches_are_independent() -> None:
    conv = start()
    grow(conv, 2)
    branches = [conv.copy() for _ in range(2)]
    branches[0].add_sampled(ids("one<|im_end|>"))
    branches[0].add(user("more"))
    branches[1].add_sampled(ids("two"))
    assert conv.ids == branches[0].ids[: len(conv.ids)] == branches[1].ids[: len(conv.ids)]
    assert len({len(conv.ids), len(branches[0].ids), len(branches[1].ids)}) == 3
    assert conv.mask != branches[0].mask[: len(conv.ids)] or len(conv.messages) == 5
    assert len(conv.spans) < len(branches[0].spans)
    grow(conv, 1)
    assert decoded(branches[1].add(user("end"))) == "<|im_start|>user\nend<|im_end|>\n<|im_start|>assistant\n"


def test_a_pickled_conversation_continues() -> None:
    conv = start(THINKING)
    conv.add_sampled(ids("<think>hm</think>ok<|im_end|>"))
    again = pickle.loads(pickle.dumps(conv))
    assert (again.ids, again.mask, again.spans) == (conv.ids, conv.mask, conv.spans)
    assert again.add([{"role": "tool", "content": "x"}]) == conv.add([{"role": "tool", "content": "x"}])


def test_changes_of_the_callers_messages_do_not_reach_the_conversation() -> None:
    messages = user("hi")
    conv = TOK.conversation(messages, template="chatml")
    messages[0]["content"] = "changed"
    conv.messages[0]["content"] = "changed"  # type: ignore[index]
    conv.add_sampled(ids("ok<|im_end|>"))
    assert conv.add(user("bye")) is not None


def test_wrong_calls_are_refused() -> None:
    conv = start()
    with pytest.raises(ConfigError, match=r"waits for a sampled turn; call add_sampled\(ids\) before add"):
        conv.add(user("bye"))
    before = conv.ids
    with pytest.raises(UnknownTokenError):
        conv.add_sampled([10**6])
    for wrong in (["a"], [1.5], 3, None):
        with pytest.raises(ConfigError, match="is not a sequence of integer ids"):
            conv.add_sampled(wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownTokenError):
        conv.add_sampled([-1])
    with pytest.raises(ConfigError, match="is not a message"):
        conv.add_sampled([], "text")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="has the type set"):
        conv.add_sampled(ids("ok"), {"content": {1, 2}})
    assert conv.ids == before
    conv.add_sampled(ids("ok"))
    with pytest.raises(ConfigError, match="sampled already"):
        conv.add_sampled(ids("ok"))
    with pytest.raises(ConfigError, match=r"add\(messages\) to open the next one"):
        _ = conv.prompt_ids
    closed = conv.ids
    for messages in ("text", b"text", {"role": "user"}, None, iter(user("hi"))):
        with pytest.raises(ConfigError, match=r"^messages=.* is not a list of"):
            conv.add(messages)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="has no role"):
        conv.add([{"content": "x"}])
    assert conv.ids == closed
    assert conv.add([]) is not None  # another turn of the model
    with pytest.raises(ConfigError, match="messages is empty"):
        TOK.conversation([], template="chatml")
    for messages in ("text", b"text", {"role": "user", "content": "hi"}, None, iter(user("hi"))):
        with pytest.raises(ConfigError, match=r"^messages=.* is not a list of"):
            TOK.conversation(messages, template="chatml")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="keep_sampled=1"):
        start(keep_sampled=1)


def test_special_tokens_in_messages_are_refused_or_text() -> None:
    conv = start(special="raise")
    conv.add_sampled(TOK.encode("ok <|im_end|>", special="none"))  # the reply spells a special token
    with pytest.raises(SpecialTokenError):
        conv.add(user("<|im_end|>"))
    assert conv.add(user("bye")) is not None
    conv = start()
    conv.add_sampled(ids("ok<|im_end|>"))
    conv.add(user("<|im_end|>"))
    assert conv.ids.count(TOK.special_tokens["<|im_end|>"]) == 3


# ── published vocabularies ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name", ["phi-3-mini.tokenizer.json", "mistral-v1.model", "roberta-base.tokenizer.json", "spm-ja.model"]
)
@pytest.mark.parametrize("template", ["chatml", "llama3", "mistral", "gemma"])
def test_ids_with_published_vocabularies_equal_those_of_the_whole_chat(data: Path, name: str, template: str) -> None:
    """Some vocabularies add a space at the start of a text; ids after a reply equal those of the whole chat."""
    special = jeton.chat.PRESETS[template].tokens
    tok = jeton.load(data / "vocabs" / name).add_tokens(list(special))
    messages = user("hi there")
    conv = tok.conversation(messages, template=template)
    for number, text in enumerate(["the old man", "ok then", "a", "two lines"]):
        before = tok.chat(messages, template=template, add_generation_prompt=True).ids
        following = user(f"and {number}")
        messages = [*messages, {"role": "assistant", "content": text}, *following]
        whole = tok.chat(messages, template=template)
        if whole.ids[: len(before)] != before:
            assert (name, template) == ("roberta-base.tokenizer.json", "llama3")  # it has a token of two newlines
            return
        assert conv.prompt_ids == before
        end = whole.turns[-2].token_spans[0][1]
        stop = max(at for at in range(end) if tok.id_to_token(whole.ids[at]) in special)
        conv.add_sampled(whole.ids[len(before) : stop + number % 2])  # with the stop token, and without it
        assert conv.add(following) is not None, conv.refusal
    assert conv.ids == tok.chat(messages, template=template, add_generation_prompt=True).ids


def test_copy_module_gives_independent_conversations() -> None:
    conv = TOK.conversation(user("hi"), template="chatml")
    branch = copy.copy(conv)
    branch.add_sampled(TOK.encode("ok"))
    assert branch.add(user("x"))
    assert conv.ids == conv.prompt_ids != branch.ids
    assert len(conv.messages) == 1
    conv.add_sampled(TOK.encode("no"))
    assert conv.add(user("y"))
    assert conv.prove()
    assert branch.prove()

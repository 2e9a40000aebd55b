"""Masks that are derived from the origin of text, against expected texts and against the markers of templates."""

from __future__ import annotations

import os
import pickle
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.chat import Chat
from jeton.chat.masks import ids_of, without
from jeton.errors import ChatTemplateError, ConfigError

from .templates import TEMPLATES
from .test_trust import TOK

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import compare_masks  # type: ignore[import-not-found]
from compare_masks import call, reply, result, user

Messages = list[dict[str, Any]]
TURNS = [user("one"), reply("uno"), user("two"), reply("dos")]
TOOL = [user("rain?"), reply("", tool_calls=[call("Rome", "callaaaa1")]), result("yes", "callaaaa1"), reply("it rains")]
REASONED = [user("one"), reply("uno", reasoning_content="hm"), user("two"), reply("dos", reasoning_content="so")]


def said(chat: Chat, tok: jeton.Tokenizer = TOK, **options: Any) -> list[str]:
    """The text of each run of ids in the mask."""
    rows = zip(chat.ids, chat.reply_mask(**options), strict=True)
    return [tok.decode([id for id, _ in run]) for is_reply, run in groupby(rows, lambda row: row[1]) if is_reply]


# The text that the model emits by the description of its format: from the generation prompt to the stop token.
THINKING: dict[str, Any] = {"enable_thinking": True, "thinking": True}
HAND: list[tuple[str, Messages, dict[str, Any], list[str]]] = [
    ("Qwen-Qwen3-0.6B", REASONED, {}, ["uno<|im_end|>", "<think>\nso\n</think>\n\ndos<|im_end|>"]),
    ("Qwen-Qwen3-0.6B", TURNS, {"enable_thinking": False}, ["uno<|im_end|>", "dos<|im_end|>"]),
    (
        "Qwen-Qwen3-0.6B",
        TOOL,
        {},
        [
            '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call><|im_end|>',
            "<think>\n\n</think>\n\nit rains<|im_end|>",
        ],
    ),
    ("GLM-4.7-Flash", TURNS, {}, ["uno<|user|>", "dos"]),
    ("GLM-4.7-Flash", [*REASONED, user("ok")], {"clear_thinking": False}, ["hm</think>uno<|user|>", "so</think>dos<|user|>"]),
    (
        "GLM-4.7-Flash",
        [*TOOL, user("ok")],
        {},
        ["<tool_call>weather<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call><|observation|>", "it rains<|user|>"],
    ),
    (
        "openai-gpt-oss-120b",
        REASONED,
        {},
        [
            "<|channel|>final<|message|>uno<|end|>",
            "<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>final<|message|>dos<|return|>",
        ],
    ),
    (
        "openai-gpt-oss-120b",
        TOOL,
        {},
        [
            ' to=functions.weather<|channel|>commentary json<|message|>{"city": "Rome"}<|call|>',
            "<|channel|>final<|message|>it rains<|return|>",
        ],
    ),
    ("deepseek-ai-DeepSeek-V3.1", TURNS, {}, ["uno<｜end▁of▁sentence｜>", "dos<｜end▁of▁sentence｜>"]),
    (
        "deepseek-ai-DeepSeek-V3.1",
        TOOL,
        {},
        [
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Rome"}<｜tool▁call▁end｜>'
            "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
            "it rains<｜end▁of▁sentence｜>",
        ],
    ),
    ("meta-llama-Llama-3.1-8B-Instruct", TURNS, {}, ["uno<|eot_id|>", "dos<|eot_id|>"]),
    (
        "meta-llama-Llama-3.1-8B-Instruct",
        TOOL,
        {},
        ['{"name": "weather", "parameters": {"city": "Rome"}}<|eot_id|>', "it rains<|eot_id|>"],
    ),
    ("google-gemma-2-2b-it", TURNS, {}, ["uno<end_of_turn>", "dos<end_of_turn>"]),
    (
        "google-gemma-4-31B-it",
        TOOL,
        {},
        ['<|tool_call>call:weather{city:<|"|>Rome<|"|>}<tool_call|><|tool_response>', "it rains<turn|>"],
    ),
    ("microsoft-Phi-3.5-mini-instruct", TURNS, {}, ["uno<|end|>", "dos<|end|>"]),
    ("mistralai-Mistral-Nemo-Instruct-2407", TURNS, {}, ["uno</s>", "dos</s>"]),
    (
        "mistralai-Mistral-Nemo-Instruct-2407",
        TOOL,
        {},
        ['[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Rome"}, "id": "callaaaa1"}]</s>', "it rains</s>"],
    ),
    ("MiniMax-M2", REASONED, {}, ["uno[e~[", "so\n</think>\n\ndos[e~["]),
    (
        "MiniMax-M2",
        TOOL,
        {},
        [
            '\n<minimax:tool_call>\n<invoke name="weather">\n<parameter name="city">Rome</parameter>\n</invoke>\n'
            "</minimax:tool_call>[e~[",
            "it rains[e~[",
        ],
    ),
    ("Kimi-K2-Instruct", TURNS, {}, ["uno<|im_end|>", "dos<|im_end|>"]),
    (
        "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
        TURNS,
        {},
        [
            "<|START_RESPONSE|>uno<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
            "<|START_RESPONSE|>dos<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
        ],
    ),
    ("llama-cpp-rwkv-world", TURNS, {}, [" uno\n\n", " dos\n\n"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "messages", "variables", "expected"), HAND)
def test_the_mask_covers_the_text_that_models_emit(
    name: str, messages: Messages, variables: dict[str, Any], expected: list[str], data: Path
) -> None:
    source = (data / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
    tools = compare_masks.TOOLS if "tool_calls" in str(messages) else None
    text = TOK.chat(messages, template=source, tools=tools, variables=variables, tokenize=False)
    tok = TOK.add_tokens(sorted({*compare_masks.SPECIAL.findall(text), *compare_masks.SPECIAL.findall(source)}))
    chat = tok.chat(messages, template=source, tools=tools, variables=variables)
    assert said(chat, tok) == expected


def test_markers_of_published_templates(data: Path) -> None:
    """Beyond derived masks, published markers cover only white space after the stop token, and the header."""
    paths = list(compare_masks.marked_templates([data / "templates"]))
    assert len(paths) >= 3
    for path in paths:
        found = compare_masks.compare(path.read_text(encoding="utf-8"))
        assert found.rendered == 10
        assert not found.refused
        assert set(found.kinds) <= {
            (True, "the prompt has it, before the reply"),
            (True, "the template writes it after the turn"),
        }


@pytest.mark.slow(reason="350 conversations; the default selection has the marked templates of the large data")
def test_masks_equal_the_markers_of_trl() -> None:
    folder = Path(os.environ.get("JETON_TRL_TEMPLATES", ""))
    paths = list(compare_masks.marked_templates([folder])) if folder.name else []
    if not paths:
        pytest.skip("JETON_TRL_TEMPLATES names no folder with TRL's templates: trl/chat_templates of its wheel")
    assert len(paths) >= 30
    for path in paths:
        found = compare_masks.compare(path.read_text(encoding="utf-8"))
        derived = {kind: found.examples[kind] for kind in found.kinds if not kind[0]}
        # A tool's result is in the same turn of Gemma: the model emits the token before it.
        assert {text for text, _ in derived.values()} <= {"<|tool_response>"}, path.name
        assert all("prints nothing" in reason for reason in found.refused), path.name


MARKED = """\
{%- for m in messages -%}
    {{- '<|im_start|>' + m.role + '\\n' -}}
    {%- if m.role == 'assistant' -%}
        {%- generation -%}{{ m.content + '<|im_end|>' }}{%- endgeneration -%}
    {%- else -%}
        {{- m.content + '<|im_end|>' -}}
    {%- endif -%}
    {{- '\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
"""


def test_markers_and_renderings_agree() -> None:
    for messages in (TURNS, TURNS[:1], TURNS[:3], [*TURNS, *TURNS]):
        chat = TOK.chat(messages, template=MARKED)
        assert chat.mask_differences() == []
        for options in ({}, {"turns": "last"}, {"stop": False}, {"reasoning": False}):
            marked = chat.reply_mask(source="markers", **options)
            assert marked == chat.reply_mask(source="provenance", **options) == chat.reply_mask(**options)
        assert chat.mask == chat.reply_mask()


def test_mask_differences_have_reasons() -> None:
    wide = MARKED.replace("    {{- '\\n' -}}", "{% generation %}{{ '\\n' }}{% endgeneration %}")
    found = TOK.chat(TURNS[:2], template=wide).mask_differences()
    assert [(one.text, one.is_marked, one.reason) for one in found] == [
        ("\n", True, "the template writes it after the turn"),
        ("\n", True, "the template writes it after the turn"),
    ]
    narrow = (
        MARKED.replace("+ '<|im_end|>' }}", "}}")
        .replace("{%- else", "{{- '<|im_end|>' -}}{%- else")
        .replace("{{- m.content +", "{%- generation -%}{{ m.content }}{%- endgeneration -%}{{- '' +")
    )
    found = TOK.chat(TURNS[:2], template=narrow).mask_differences()
    assert [(one.text, one.is_marked, one.reason) for one in found] == [
        ("one", True, "the text of message 0 (user)"),
        ("<|im_end|>", False, "the stop token of message 1"),
    ]
    of_caller = MARKED.replace("    {{- '\\n' -}}", "{% generation %}{{ motto }}{% endgeneration %}{{- '\\n' -}}")
    found = TOK.chat(TURNS[:2], template=of_caller, variables={"motto": "carpe"}).mask_differences()
    assert {(one.text, one.reason) for one in found} == {("carpe", "the caller's text")}
    header = MARKED.replace(
        "{{- m.content + '<|im_end|>' -}}", "{%- generation -%}HEAD{%- endgeneration -%}{{- m.content -}}"
    )
    found = TOK.chat(TURNS[:2], template=header).mask_differences()
    assert [(one.text, one.is_marked, one.reason) for one in found] == [
        ("HEAD", True, "the template writes it after the turn")
    ]
    tail = header.replace(
        "{%- generation -%}HEAD{%- endgeneration -%}{{- m.content -}}",
        "{{- m.content -}}{%- generation -%}TAIL{%- endgeneration -%}",
    )
    found = TOK.chat(TURNS[:2], template=tail).mask_differences()
    assert [(one.text, one.is_marked, one.reason) for one in found] == [
        ("TAIL", True, "the template writes it after the turn")
    ]
    prompt = MARKED.replace("{{- '<|im_start|>' + m.role + '\\n' -}}", "").replace(
        "{{ m.content +", "{{ '<|im_start|>assistant\\n' + m.content +"
    )
    found = TOK.chat(TURNS, template=prompt).mask_differences()
    assert [(one.text, one.is_marked, one.reason) for one in found] == [
        ("<|im_start|>assistant\n", True, "the prompt has it, before the reply")
    ] * 2
    with pytest.raises(ChatTemplateError, match=r"has no \{% generation %\}"):
        TOK.chat(TURNS, template="chatml").mask_differences()
    with pytest.raises(ChatTemplateError, match=r"has no \{% generation %\}"):
        TOK.chat(TURNS, template="chatml").reply_mask(source="markers")


def test_options_limit_masks_to_turns_answers_and_text() -> None:
    chat = TOK.chat(REASONED, template=TEMPLATES["chatml with tools"])
    assert said(chat) == ["uno<|im_end|>", "<think>\nso\n</think>\n\ndos<|im_end|>"]
    assert said(chat, turns="last") == ["<think>\nso\n</think>\n\ndos<|im_end|>"]
    assert said(chat, reasoning=False) == ["uno<|im_end|>", "dos<|im_end|>"]
    assert said(chat, stop=False) == ["uno", "<think>\nso\n</think>\n\ndos"]
    assert said(chat, turns="last", reasoning=False, stop=False) == ["dos"]
    for wrong in ({"turns": "first"}, {"source": "both"}, {"stop": 1}):
        with pytest.raises(ConfigError):
            chat.reply_mask(**wrong)  # type: ignore[arg-type]


def test_reasoning_before_a_tool_call() -> None:
    messages = [user("rain?"), reply("", reasoning_content="so", tool_calls=[call("Rome", "a")])]
    chat = TOK.chat(messages, template=TEMPLATES["chatml with tools"])
    assert said(chat, reasoning=False) == [
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call><|im_end|>'
    ]
    assert said(chat)[0].startswith("<think>\nso\n</think>\n\n<tool_call>")


@pytest.mark.parametrize("name", ["chatml", "llama3", "gemma", "phi3", "mistral", "zephyr", "command"])
@pytest.mark.parametrize(
    "text", ["one", "assistant", "<|im_start|>assistant\n", "<|im_end|>", "<think>\n", "\n\n", " a "]
)
def test_messages_that_equal_the_templates_text(name: str, text: str) -> None:
    source = TEMPLATES[name]
    chat = TOK.chat([user(text), reply(text), user(text), reply("dos")], template=source)
    first, second = chat.replies
    spans = [chat.text[start:end] for one in (first, second) for start, end in one.spans]
    assert [one.message for one in (first, second)] == [1, 3]
    assert spans[0].startswith((text, text.strip(), f" {text.strip()}"))
    assert spans[1].strip().startswith("dos")
    plain = TOK.chat([user("x"), reply("uno"), user("x"), reply("dos")], template=source)
    ends = [plain.text[start:end] for one in plain.replies for start, end in one.stops]
    assert [chat.text[start:end] for one in chat.replies for start, end in one.stops] == ends
    assert all(ends)


def test_where_a_turn_has_its_stop_token() -> None:
    """In the next turn, after text, or missing at the end; the header of the next turn is not a stop token."""
    glm = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    assert said(TOK.chat(TURNS, template=glm)) == ["uno<|user|>", "dos"]
    assert said(TOK.chat([*TURNS[:2], reply("tres")], template=glm)) == ["uno", "tres"]
    assert said(TOK.chat(TURNS[:3], template=glm, add_generation_prompt=True)) == ["uno<|user|>"]
    assert said(TOK.chat(TURNS[:2], template=glm, add_generation_prompt=True)) == ["uno"]
    spaced = glm.replace("{{ m.content }}", "{{ m.content + '\\n ' }}")
    assert said(TOK.chat(TURNS, template=spaced))[0] == "uno\n <|user|>"
    written = glm.replace("{{ m.content }}", "{{ m.content }} <|end|>\n")
    assert said(TOK.chat(TURNS, template=written)) == ["uno <|end|>", "dos <|end|>"]
    assert said(TOK.chat(TURNS, template=written), stop=False) == ["uno ", "dos "]


def test_a_header_in_the_prompt_is_not_part_of_the_reply() -> None:
    """Prompts with more text than the headers of earlier turns, with another mode, and with text in between."""
    base = "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}HEAD{% endif %}{{ m.content }}<|end|>{% endfor %}"
    for head, prompt, expected in [
        ("", "<|assistant|><think>", "uno<|end|>"),
        ("<think>", "<|assistant|><think>", "uno<|end|>"),
        ("<think></think>", "<|assistant|>", "<think></think>uno<|end|>"),
        ("</think>", "<|assistant|><think></think>", "uno<|end|>"),
        ("</think>", "<|assistant|>{{ '</think>' if off else '<think>' }}", "uno<|end|>"),
        ("", "<|system|>answer<|end|><|assistant|>", "uno<|end|>"),
    ]:
        source = base.replace("HEAD", head) + "{% if add_generation_prompt %}" + prompt + "{% endif %}"
        assert said(TOK.chat(TURNS, template=source))[0] == expected, (head, prompt)


def test_a_header_that_no_prompt_has_is_refused() -> None:
    """The template writes a reply's header unasked, but not after a reply, so a second one's header is unproved."""
    source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    source += "{% if messages[-1].role != 'assistant' %}<|assistant|>{% endif %}"
    assert said(TOK.chat(TURNS, template=source)) == ["uno<|end|>", "dos<|end|>"]
    chat = TOK.chat([user("one"), reply("uno"), reply("dos"), user("two")], template=source)
    with pytest.raises(
        ChatTemplateError, match=r"begins in message 2: it follows a reply, and no prompt contains '<\|assistant"
    ):
        assert chat.mask


def test_consecutive_and_empty_replies_are_masked() -> None:
    chat = TOK.chat([user("one"), reply("uno"), reply("dos"), user("two"), reply("")], template="chatml")
    assert said(chat) == ["uno<|im_end|>", "dos<|im_end|>", "<|im_end|>"]
    assert said(TOK.chat([reply("hello"), *TURNS], template="chatml"))[0] == "hello<|im_end|>"
    assert said(TOK.chat(TURNS[:3], template="chatml", add_generation_prompt=True)) == ["uno<|im_end|>"]
    glm = "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}\n<think></think>{% endif %}"
    glm += "{% if m.content %}{{ '\n' + m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    assert said(TOK.chat([user("one"), reply("")], template=glm)) == []
    assert TOK.chat(TURNS[:1], template="chatml").mask == [False] * len(TOK.chat(TURNS[:1], template="chatml").ids)


def test_copied_text_after_a_turn_is_not_part_of_a_reply() -> None:
    source = (
        "{% for m in messages %}<|start|>{% if m.role == 'tool' %}{{ last.name }} {% endif %}{{ m.role }}<|message|>"
        "{% for c in m.tool_calls or [] %}{% set last.name = c.function.name %}{{ c.function.name }}{% endfor %}"
        "{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant<|message|>{% endif %}"
    )
    chat = TOK.chat(TOOL, template="{% set last = namespace(name='') %}" + source)
    assert "<|start|>weather tool" in chat.text
    assert said(chat) == ["weather<|end|>", "it rains<|end|>"]
    twice = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% for m in messages %}{{ m.content }};{% endfor %}"
    assert said(TOK.chat(TURNS, template=twice + "{% if add_generation_prompt %}<|assistant|>{% endif %}")) == [
        "uno<|end|>",
        "dos<|end|>",
    ]


def test_refusals_name_the_reason() -> None:
    def refused(match: str, source: str, messages: Messages = TURNS) -> None:
        with pytest.raises(ChatTemplateError, match=match):
            _ = TOK.chat(messages, template=source).mask

    refused(
        "does not render the assistant's messages",
        "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
    )
    refused("cannot be located", "{{ (messages | map(attribute='content') | join(' ')).casefold() }}")
    prompted = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    refused(
        "message 1: the text before it, .* does not begin with the end of the prompt",
        prompted + "{% if add_generation_prompt %}[INST]answer:{% endif %}",
    )
    named = "{% for m in messages %}<|{{ m.role }}|>{{ m.name }}:{{ m.content }}{% endfor %}"
    refused(
        "its header has the name of the message",
        named + "{% if add_generation_prompt %}<|assistant|>:{% endif %}",
        [user("one"), reply("uno", name="bob")],
    )
    refused(
        "no message has the role 'assistant'",
        "chatml",
        [user("one"), {"role": "model", "content": "a", "reasoning": "b"}],
    )


def test_tokens_at_the_ends_of_a_reply() -> None:
    """A token that begins before the reply or ends after it does not belong to the model."""
    tok = jeton.train(["x: uno. uno."] * 9, 300, pattern=r"(?s).+", special_tokens=["<|im_end|>"], progress=False)
    source = "{% for m in messages %}{{ 'x: ' + m.content + '.' }}{% endfor %}"
    chat = tok.chat([user("q"), reply("uno")], template=source)
    spans = [span for one in chat.replies for span in one.spans]
    for (start, end), is_reply in zip(chat.encoding.char_spans, chat.mask, strict=True):
        assert is_reply == any(low <= start and end <= high for low, high in spans)


def test_a_stop_token_that_strips_white_space() -> None:
    from jeton.tokens.added import AddedToken

    tok = TOK.add_tokens([AddedToken("<|fin|>", rstrip=True)])
    source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|fin|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    chat = tok.chat(TURNS, template=source)
    assert [tok.decode([id]) for id, is_reply in zip(chat.ids, chat.mask, strict=True) if is_reply].count(
        "<|fin|>"
    ) == 2


def test_later_changes_of_messages_do_not_change_the_mask() -> None:
    messages = [dict(one) for one in TURNS]
    chat = TOK.chat(messages, template="chatml")
    copy = pickle.loads(pickle.dumps(chat))
    messages[1]["content"] = "other"
    messages.pop()
    assert said(chat) == said(copy) == ["uno<|im_end|>", "dos<|im_end|>"]


def test_the_number_of_renderings_grows_with_the_kinds_of_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    from jeton.chat import replies

    numbers = []
    real = replies.render
    for length in (4, 40):
        count = [0]

        def counted(*args: Any, count: list[int] = count) -> Any:
            count[0] += 1
            return real(*args)

        chat = TOK.chat(TURNS * length, template=TEMPLATES["chatml with tools"])
        monkeypatch.setattr(replies, "render", counted)
        assert len(chat.replies) == 2 * length
        numbers.append(count[0])
        monkeypatch.setattr(replies, "render", real)
    assert numbers[0] == numbers[1] < 12


@pytest.mark.parametrize("name", TEMPLATES)
def test_replies_contain_assistant_text_only(name: str) -> None:
    """For every template, masks contain no text of other messages and each reply once, or the template is refused."""
    for messages in (TURNS, TOOL, REASONED, [{"role": "system", "content": "sys"}, *TURNS]):
        try:
            chat = TOK.chat(messages, template=TEMPLATES[name])
            replies = chat.replies
        except ChatTemplateError:
            continue
        inside = [range(*span) for one in replies for span in one.spans]
        at = 0
        for piece in chat.pieces:
            if piece.origin.message is not None and messages[piece.origin.message]["role"] != "assistant":
                assert not any(at in span for span in inside)
            at += piece.length
        assert [one.message for one in replies] == sorted({one.message for one in replies})
        for one in replies:
            assert all(any(low <= start and end <= high for low, high in one.spans) for start, end in one.stops)


def test_tokens_in_ranges() -> None:
    """A token without characters counts as the one at its start. Stop tokens count by their start."""
    tokens = {
        (0, 1): False, (1, 2): False, (1, 3): False, (2, 2): True, (2, 3): True, (4, 5): True, (4, 6): False, (5, 5): False,
        (5, 6): False, (7, 9): False, (8, 8): True, (8, 9): True, (8, 10): True, (9, 9): True, (9, 10): True, (10, 10): False,
        (10, 14): False, (11, 12): True, (11, 14): True, (12, 13): False,
    }  # fmt: skip
    assert ids_of([(2, 5), (8, 10)], [(11, 12)], np.array([*tokens])) == [*tokens.values()]


def test_spans_are_subtracted() -> None:
    assert without([(0, 5)], []) == [(0, 5)]
    assert without([(0, 5)], [(0, 5)]) == []
    assert without([(0, 3), (4, 9)], [(1, 2), (3, 5), (8, 20)]) == [(0, 1), (2, 3), (5, 8)]

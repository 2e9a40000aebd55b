"""For every kind of conversation, published templates give equal text and ids in transformers, or both refuse."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

from tools import template_table as tool
from tools.template_table import SYSTEM, TOOLS, call, parts, reply, result, user

from jeton.errors import JetonError

from ..selection import ALL, amount
from .styles import STYLES

CALL = reply("", tool_calls=[call({"city": "x"})])
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    **{name: messages for name, (messages, _) in tool.CONVERSATIONS.items()},
    "empty": [user(""), reply("")],
    "reasoning alone": [user("17 * 3"), reply(None, reasoning_content="ten times"), user("ok")],
    "reasoning at the end": [user("17 * 3"), reply("51", reasoning_content="ten times")],
    "reasoning by other names": [user("a"), reply("51", reasoning="ten"), user("b"), reply("x", thinking="hm")],
    "reasoning in tags": [user("17 * 3"), reply("<think>\nten\n</think>\n\n51"), user("ok")],
    "reasoning in parts": [user("q"), reply([{"type": "thinking", "thinking": "hm"}, *parts("a")]), user("r")],
    "no reasoning": [user("x"), reply("y", reasoning_content=None, tool_calls=None), reply("", reasoning_content="")],
    "many turns": [one for n in range(8) for one in (user(f"q{n}"), reply(f"a{n}", reasoning_content=f"t{n}"))],
    "late system": [user("x"), SYSTEM, reply("y")],
    "two systems": [SYSTEM, SYSTEM, user("x")],
    "system alone": [SYSTEM],
    "system and developer": [SYSTEM, {"role": "developer", "content": "Be terse."}, user("hi"), reply("a")],
    "reply first": [reply("x"), user("y")],
    "twice the same role": [user("x"), user("y"), reply("a"), reply("b")],
    "another role": [{"role": "critic", "content": "x"}],
    "names": [{"role": "user", "name": "bob", "content": "x"}, reply("y", name="amy")],
    "other keys": [
        {"role": "user", "content": "x", "id": "m1", "end_turn": True, "recipient": "all", "tools": TOOLS},
        reply("y", channel="analysis", prefix=True, weight=0, citations=[]),
    ],
    "null content": [user("w"), reply(None, tool_calls=[call({"n": None})]), result("rain"), reply(None), user(None)],
    "tool without content": [user("w?"), {"role": "assistant", "tool_calls": [call({"n": 1.5})]}, result({"t": "<x>"})],
    "tool in parts": [user(parts("w?")), reply([], tool_calls=[call({"city": "x"})]), result(parts("rain", "sun"))],
    "tool with an image": [user("w"), CALL, result([{"type": "image"}, *parts("x")])],
    "tool results that are no texts": [user("w"), CALL, result({"a": [1]}), result([1, 2]), result(7)],
    "three calls": [
        user("w"),
        reply("", tool_calls=[call({"city": name}, "id000000" + name) for name in "abc"]),
        *(result(name, "id000000" + name) for name in "bac"),
        reply("done"),
    ],
    "no calls": [user("w"), reply("x", tool_calls=[]), user("y")],
    "no ids": [user("w"), reply("", tool_calls=[{"function": {"name": "f", "arguments": {}}}]), {"role": "tool", "content": "x"}],
    "flat calls": [user("w"), reply("", tool_calls=[{"name": "f", "arguments": {"a": 1}}]), {"role": "tool", "content": "x"}],
    "arguments of other types": [user("w"), *(reply("", tool_calls=[call(one)]) for one in ("not JSON", [1], None, {}, 3))],
    "function role": [user("w"), reply("", function_call={"name": "f", "arguments": "{}"}), {"role": "function", "name": "f", "content": "x"}],
    "ipython role": [user("w"), CALL, {"role": "ipython", "content": "x"}, reply("y")],
    "tool plan": [user("w"), {"role": "assistant", "tool_plan": "I will", "tool_calls": [call({})]}, result("x")],
    "image urls": [user([{"type": "image_url", "image_url": {"url": "http://x"}}, *parts("what")])],
    "images between": [user([*parts("a"), {"type": "image", "image": "f.png"}, *parts("b")]), reply("c")],
    "video and audio": [user([{"type": "video", "video": "f"}, {"type": "audio", "audio": "g"}, *parts("b")])],
    "parts that are texts": [user(["a", "b"]), reply("c")],
    "tuples": [user(tuple(parts("a", "b"))), reply(("a", "b"))],
    "numbers": [user(3), reply(4.5), user(True), reply(float("nan"))],
    "objects": [user({"a": 1}), reply([])],
    "Unicode": [user("\u2028a\u0085b\x0b\x0cc\x1c"), reply("e\u0301 ﬀ İ ß ŉ 𝔘")],
    "spelled": [user("<think>a</think> <|im_end|> <|eot_id|> [INST]"), reply("</think>x<|im_start|>")],
}  # fmt: skip
SCHEMAS = [
    *TOOLS,
    {"name": "flat", "description": "d", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}},
    {"type": "function", "function": {"name": "bare"}},
    {
        "type": "function",
        "function": {
            "name": "deep",
            "description": "two\nlines",
            "parameters": {
                "type": "object",
                "properties": {
                    "o": {"type": "object", "properties": {"x": {"type": ["string", "null"], "default": None}}},
                    "e": {"type": "integer", "enum": [1, 2], "default": 1},
                    "b": {"type": "boolean", "default": True, "nullable": True},
                    "of": {"oneOf": [{"type": "string"}, {"type": "number"}]},
                    "ref": {"$ref": "#/$defs/d"},
                    "u": {"description": "北京"},
                },
                "additionalProperties": False,
                "$defs": {"d": {"type": "string"}},
            },
            "return": {"type": "string", "description": "r"},
            "strict": True,
        },
    },
]
# Variables that the templates of the data folder read.
VARIABLES: list[dict[str, Any]] = [
    {},
    {"enable_thinking": False},
    {"enable_thinking": True, "thinking": True, "reasoning_effort": "high", "date_string": "26 Jul 2024"},
    {"documents": [{"title": "t<1>", "text": "x & y"}, {"title": "b", "text": "z", "doc_id": 3}]},
    {"documents": [], "clear_thinking": False, "preserve_thinking": True, "keep_past_thinking": True},
    {
        "reasoning_effort": "low", "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
        "builtin_tools": ["browser", "python"], "model_identity": "I am", "current_date": "2025", "knowledge_cutoff": "x",
        "reasoning_strength": "high", "thinking_effort": "high", "tool_choice": "auto", "datetime": "now", "functions": "f",
    },
    {
        "preserved_thinking": True, "drop_thinking": False, "thinking_mode": "on", "training_prompt": True,
        "is_training": True, "render_assistant_messages_raw": True, "image_prompts": ["a"], "skip_thinking": True,
        "thinking_option": "on", "think_render_option": "lastthink", "enable_citations": True, "custom_tools": TOOLS,
        "controls": {"length": "short"}, "tools_in_user_message": False, "thinking_effort": "low", "system_prompt": "s",
    },
]  # fmt: skip


@cache
def paths(folder: Path) -> list[Path]:
    return sorted((folder / "templates").glob("*.jinja"))


PARTS = 24


def some(data: Path, part: int) -> list[Path]:
    """A part of the published templates."""
    chosen = paths(data)[part::PARTS]
    if not chosen:
        pytest.skip(f"no templates in {data}")
    return chosen


@pytest.mark.parametrize("part", range(PARTS))
def test_published_templates_render_as_in_transformers(part: int, data: Path) -> None:
    """The table of `tools/template_table.py` has no difference, and no refusal by Jeton alone."""
    counts: Counter[str] = Counter()
    for name, cells in tool.rows(some(data, part), tool.small()):
        for conversation, two in cells.items():
            assert {one.mark for one in two} <= {"=", "R"}, (name, conversation, two)
            counts.update(one.mark for one in two)
    assert counts["="] >= 20


def cases(rng: random.Random) -> Iterator[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Conversations, and arguments of `apply_chat_template`: some of all combinations."""
    for messages in CONVERSATIONS.values():
        for _ in range(4):
            options = {"tools": rng.choice([None, [], TOOLS, SCHEMAS]), "add_generation_prompt": rng.random() < 0.5}
            yield messages, {**options, **rng.choice(VARIABLES)}


# (messages, field to continue)
CONTINUED: list[tuple[list[dict[str, Any]], bool | str]] = [
    ([user("a"), reply("Sure, ")], True),
    ([user("a"), reply("  x y \n")], True),
    ([user("a"), reply("a"), user("b"), reply("a")], True),
    ([user("a"), reply("assistant")], "content"),
    ([user("a"), reply(parts("p ", " q "))], True),
    ([user("w"), reply("wait", tool_calls=[call({"city": "x"})])], True),
    ([user("w"), reply("<think>\nhm</think>\n\nyes")], True),
    ([user("w"), reply("yes", reasoning_content="hm")], True),
    ([user("w"), reply("yes", reasoning_content="hm")], "reasoning_content"),
    ([user("w"), reply("", thinking="hm ")], "thinking"),
    ([SYSTEM, user("tell me")], True),
    ([user("a"), reply("")], True),
    ([user("a"), reply(None)], True),
    ([user("a"), reply([{"type": "image"}])], True),
]


@pytest.mark.parametrize("part", range(PARTS))
def test_continued_messages_render_as_in_transformers(part: int, data: Path) -> None:
    """The rendering ends with the text of the last message, as in transformers, or Jeton refuses it."""
    counts: Counter[str] = Counter()
    for path in some(data, part):
        source = path.read_text(encoding="utf-8")
        pair = tool.pair(source, tool.small())
        for messages, field in CONTINUED:
            outcome = tool.compare(pair, source, messages, {"continue_final_message": field})
            assert outcome.mark in "=Rrs", (path.name, outcome, messages)
            counts[outcome.mark] += 1
    assert counts["="] >= 5


def test_a_continued_message_is_a_prefix_of_the_whole_chat() -> None:
    tok = tool.pair(tool.TOOLS[0]["type"], tool.small()).ours
    template = "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}</s>{% endfor %}"
    chat = tok.chat([user("a"), reply(" b ")], template=template, continue_final_message=True)
    assert chat.text == "[user]a</s>[assistant]b"
    assert sum(piece.length for piece in chat.pieces) == len(chat.text)
    assert chat.turns[1].char_spans == [(11, 23)]
    refused: list[tuple[dict[str, Any], str]] = [
        ({"continue_final_message": True, "add_generation_prompt": True}, "pass only one of them"),
        ({"continue_final_message": 1}, "continue_final_message=1 is not"),
        ({"continue_final_message": "reasoning"}, "no 'reasoning' to continue"),
        ({"continue_final_message": True, "template": "{{ messages[1].content | upper }}"}, "does not write the"),
        ({"continue_final_message": True, "template": "{{ messages[0].content }}"}, "does not write the"),
    ]  # fmt: skip
    for options, text in refused:
        with pytest.raises(JetonError) as caught:
            tok.chat([user("a"), reply(" b ")], **{"template": template, **options})
        assert text in str(caught.value)


@pytest.mark.slow(reason="the table has 12 conversations for all templates, in the default selection")
@pytest.mark.parametrize("part", range(PARTS))
def test_random_conversations_render_as_in_transformers(part: int, data: Path) -> None:
    counts: Counter[str] = Counter()
    for path in some(data, part):
        source = path.read_text(encoding="utf-8")
        pair = tool.pair(source, tool.small())
        for messages, options in cases(random.Random(path.name)):
            outcome = tool.compare(pair, source, messages, options)
            assert outcome.mark in "=Rs", (path.name, outcome, messages, options)
            counts[outcome.mark] += 1
    assert counts["="] >= 20


@pytest.mark.parametrize("name", STYLES)
def test_templates_in_other_styles_render_as_in_transformers(name: str) -> None:
    """Templates in other styles; the table's conversations, and in the slow selection all."""
    source = STYLES[name]
    pair = tool.pair(source, tool.small())
    counts: Counter[str] = Counter()
    conversations = CONVERSATIONS if ALL else tool.CONVERSATIONS
    rng = random.Random(name)
    for conversation in conversations:
        for prompt in (False, True):
            for variables in rng.sample(VARIABLES, amount(3, default=1)):
                options = {"tools": rng.choice([None, TOOLS]), "add_generation_prompt": prompt, **variables}
                outcome = tool.compare(pair, source, CONVERSATIONS[conversation], options)
                assert outcome.mark in "=Rs", (outcome, conversation, options)
                counts[outcome.mark] += 1
    assert counts["="] >= 20


# ── values that are not JSON ────────────────────────────────────────────────────────────────────────────────────────


class Text(StrEnum):
    A = "a"


@dataclasses.dataclass
class Message:
    role: str
    content: str


def function(x: int) -> None:
    """Do it.

    Args:
        x: the x
    """


HI = [user("x")]
PRINTS = "{{ messages }}|{{ tools }}|{{ documents }}|{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
SHAPES: list[tuple[Any, dict[str, Any], str]] = [
    *(([user(value)], {}, "=") for value in (Text.A, [[[[1]]]], (1,), [("a",)], {"a": ()}, float("inf"), "\x00")),
    *(
        ([user(value)], {}, "r")
        for value in (b"x", {1, 2}, {1: 2}, object(), 1j, range(3), iter([1]), Message("a", "b"))
    ),
    *(([message], {}, "r") for message in (Message("user", "x"), {"content": "x"}, {"role": None}, {"role": 1}, {})),
    *((messages, {}, "R") for messages in (["x"], [], {"role": "user"}, "x")),
    (tuple(HI), {}, "="),
    (HI, {"tools": [function]}, "r"),
    (HI, {"tools": ({"a": 1},)}, "="),
    *((HI, {"tools": tools}, "R") for tools in ("x", 3, [[]], ["x"])),
    (HI, {"tools": {}}, "r"),
    *((HI, {"documents": documents}, "=") for documents in (None, [], [{"a": 1}], ({"a": 1},))),
    *((HI, {"documents": documents}, "R") for documents in (["x"], "x", {"a": 1}, 3)),
    (HI, {"x": (1, 2)}, "="),
    (HI, {"eos_token": "x"}, "r"),
]


def test_values_of_other_types_give_equal_text_or_an_error() -> None:
    """Equal text, or an error of Jeton."""
    pair = tool.pair(PRINTS, tool.small())
    for messages, options, mark in SHAPES:
        outcome = tool.compare(pair, PRINTS, messages, options)
        assert outcome.mark == mark, (outcome, ascii(messages), options)


def test_errors_name_the_argument_to_pass() -> None:
    tok = tool.small()

    class Model:
        def model_dump(self) -> dict[str, str]:
            return user("x")

    for messages, options, text in [
        (HI, {"tools": [function]}, "a Python function is not supported, pass its schema"),
        ([Model()], {}, "pass its model_dump()"),
        (HI, {"variables": {"documents": ["x"]}}, "documents must be a list of objects"),
    ]:
        with pytest.raises(JetonError) as caught:
            tok.chat(messages, template=PRINTS, **options)  # type: ignore[arg-type]
        assert text in str(caught.value)


def test_errors_name_the_classes_of_a_template() -> None:
    tok = tool.small()
    for template, text in {
        "{{ messages[0].x.y }}": "'dict object' has no attribute 'x'",
        "{{ messages[0].content.x.y }}": "'str object' has no attribute 'x'",
        "{{ 'a' + messages }}": "str and list",
        "{{ messages[0].nope | tojson }}": "Object of type Undefined is not JSON serializable",
    }.items():
        with pytest.raises(JetonError) as caught:
            tok.chat(HI, template=template)
        assert text in str(caught.value)

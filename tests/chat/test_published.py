"""Published chat templates render as in transformers, for every kind of conversation, or both refuse it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jeton.chat.template import render
from jeton.errors import ChatTemplateError

from ..selection import ALL

transformers = pytest.importorskip("transformers")

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a <place>, é & 'more'",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": 'the "city"'},
                    "unit": {"type": "string", "enum": ["c", "f"]},
                    "days": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["city"],
            },
        },
    },
    {"type": "function", "function": {"name": "time", "description": "", "parameters": {"type": "object"}}},
]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def reply(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def call(arguments: Any, id: str = "abc123xyz") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "weather", "arguments": arguments}}


def result(content: Any, id: str = "abc123xyz") -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": id, "name": "weather"}


def parts(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in texts]


SYSTEM = {"role": "system", "content": " Be short. <&> "}
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "one": [user("hello <b> & 'x'")],
    "turns": [user("  hi\n"), reply("\n ok 今天 😉 "), user("again")],
    "answered": [user("1 + 1"), reply("2")],
    "system": [SYSTEM, user("hi\r\nthere"), reply("<b>ok</b> & {{ x }}"), user("\tif")],
    "empty": [user(""), reply("")],
    "reasoning": [user("17 * 3"), reply("51", reasoning_content="ten & three <x>"), user("and?")],
    "reasoning alone": [user("17 * 3"), reply(None, reasoning_content="ten times"), user("ok")],
    "reasoning at the end": [user("17 * 3"), reply("51", reasoning_content="ten times")],
    "reasoning by other names": [user("a"), reply("51", reasoning="ten"), user("b"), reply("x", thinking="hm")],
    "reasoning in tags": [user("17 * 3"), reply("<think>\nten\n</think>\n\n51"), user("ok")],
    "parts": [{"role": "system", "content": parts("a", "b")}, user(parts(" one ", "two")), reply(parts("yes"))],
    "an image": [user([{"type": "image"}, *parts("what")])],
    "tool": [user("weather?"), reply("", tool_calls=[call({"city": "北京 <x>"})]), result("rain <x>"), reply("It rains.")],
    "tools": [
        SYSTEM,
        user("weather?"),
        reply(None, tool_calls=[call({"city": "a", "days": [1, 2]}), call({"city": "b"}, "abc123xyy")]),
        result("rain"),
        result("sun", "abc123xyy"),
    ],
    "tool with a text": [user("weather?"), reply("wait", tool_calls=[call('{"city": "x"}')]), result("rain")],
    "tool without content": [user("weather?"), {"role": "assistant", "tool_calls": [call({"n": 1.5})]}, result({"t": "<x>"})],
    "tool and reasoning": [user("w?"), reply("", reasoning_content="hm", tool_calls=[call({"city": "x"})]), result("rain")],
    "tool in parts": [user(parts("w?")), reply([], tool_calls=[call({"city": "x"})]), result(parts("rain", "sun"))],
}  # fmt: skip
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
VARIABLES: list[dict[str, Any]] = [
    {},
    {"enable_thinking": False},
    {"enable_thinking": True, "thinking": True, "reasoning_effort": "high", "date_string": "26 Jul 2024"},
    {"documents": [{"title": "t<1>", "text": "x & y"}]},
]


def cases() -> Iterator[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Conversations, and arguments of `apply_chat_template`."""
    for messages in CONVERSATIONS.values():
        for tools in (None, TOOLS):
            for prompt in (False, True):
                for variables in VARIABLES if ALL else VARIABLES[:1]:
                    yield messages, {"tools": tools, "add_generation_prompt": prompt, **variables}


def theirs(source: str, messages: Any, options: Any) -> str | None:
    from transformers import PreTrainedTokenizerBase

    tok = PreTrainedTokenizerBase(**SPECIAL)
    try:
        text: str = tok.apply_chat_template(messages, chat_template=source, tokenize=False, **options)
    except Exception:  # whatever a template raises
        return None
    return text


def ours(source: str, messages: Any, options: Any) -> str | None:
    prompt = {"add_generation_prompt": options["add_generation_prompt"]}
    given = {"documents": None, **{name: value for name, value in options.items() if name not in prompt}}
    try:
        return render(source, messages, given, {**SPECIAL, **prompt}, list(SPECIAL.values()))[0]
    except ChatTemplateError:
        return None


@pytest.mark.parametrize("part", range(12))
def test_published_templates(part: int, data: Path) -> None:
    paths = sorted((data / "templates").glob("*.jinja"))[part::12]
    if not paths:
        pytest.skip(f"no templates in {data}")
    rendered = 0
    for path in paths:
        source = path.read_text(encoding="utf-8")
        for messages, options in cases():
            expected = theirs(source, messages, options)
            assert ours(source, messages, options) == expected, (path.name, messages, options)
            rendered += expected is not None
    assert rendered >= 50

"""`chat_diff` names planted causes, also with published templates."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton import Tokenizer
from jeton.chat.values import difference_of_tools, difference_of_values
from jeton.errors import ChatTemplateError, ConfigError, UnsupportedFeatureError

from .templates import CHATML, CHATML_WITH_TOOLS, LLAMA3, MISTRAL, SPECIAL

pytest.importorskip("jinja2")

BYTES = {byte: bytes([byte]) for byte in range(256)}
TOK = Tokenizer.from_merges(BYTES, [], special_tokens={token: 256 + index for index, token in enumerate(SPECIAL)})
TOK = TOK.with_roles(bos="<s>", eos="</s>").with_chat_template(CHATML_WITH_TOOLS)

Json = dict[str, Any]


def tool(name: str, description: str = "Tells it", **parameters: Any) -> Json:
    schema = {"type": "object", "properties": parameters, "required": [*parameters]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def call(name: str, id: str = "abc123xyz", **arguments: Any) -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


CITY = {"type": "string", "description": "Where"}
BASE: Json = {
    "messages": [
        {"role": "system", "content": "You help Ada. Today is 2026-11-26, at 10:20. Request 7f3c2d9e8b1a4c6d."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hello, Ada."},
        {"role": "user", "content": "What is the weather of Paris?"},
        {"role": "assistant", "content": "", "tool_calls": [call("get_weather", city="Paris", days=2)]},
        {"role": "tool", "content": "rain, 12 degrees", "tool_call_id": "abc123xyz", "name": "get_weather"},
    ],
    "tools": [tool("get_time"), tool("get_date"), tool("get_weather", city=CITY, days={"type": "integer"})],
}


def system(text: str, new: str) -> Callable[[Json], None]:
    def change(request: Json) -> None:
        message = request["messages"][0]
        assert text in message["content"]
        message["content"] = message["content"].replace(text, new)

    return change


def field(index: int, name: str, value: Any) -> Callable[[Json], None]:
    return lambda request: request["messages"][index].update({name: value})


def schema(index: int, change: Callable[[Json], Any]) -> Callable[[Json], None]:
    return lambda request: change(request["tools"][index]["function"])


def reordered(function: Json) -> None:
    parameters = function["parameters"]
    parameters["properties"] = dict(reversed(parameters["properties"].items()))


def arguments(**values: Any) -> Callable[[Json], None]:
    return field(4, "tool_calls", [call("get_weather", **values)])


# Name → (the change of BASE, its kind, the cause as a regular expression).
PLANTED: dict[str, tuple[Callable[[Json], Any], str, str]] = {
    "a date": (system("11-26", "11-27"), "system", r"system message: .*character 32: '2026-11-26,' / .*\(a date\)$"),
    "a time": (system("10:20", "10:21"), "system", r"system message: .*'10:20\.' / '10:21\.' \(a time\)$"),
    "an identifier": (system("7f3c2d", "7f3c2e"), "system", r"system message: .* \(an identifier\)$"),
    "a name": (system("Ada", "Bob"), "system", r"system message: differs at character 9: 'Ada\.' / 'Bob\.'$"),
    "white space": (system("Ada. T", "Ada.  T"), "system", r"system message: .* \(white space only\)$"),
    "a case": (system("You", "YOU"), "system", r"system message: .* \(case only\)$"),
    "key order": (schema(2, reordered), "tool", r"tool 2 \(get_weather\): .*properties: same JSON, other key order$"),
    "a description": (
        schema(1, lambda function: function.update(description="Tells the date")),
        "tool",
        r"tool 1 \(get_date\): function.description: differs at character 6: 'it' / 'the'$",
    ),
    "white space of a tool": (
        schema(1, lambda function: function.update(description="Tells  it")),
        "tool",
        r"tool 1 \(get_date\): function.description: .*\(white space only\)$",
    ),
    "a tool removed": (lambda request: request["tools"].pop(1), "tool", r"tool 1 \(get_date\) is only in A$"),
    "a tool inserted": (
        lambda request: request["tools"].insert(1, tool("get_news")),
        "tool",
        r"tool 1 \(get_news\) is only in B$",
    ),
    "tools in another order": (
        lambda request: request["tools"].reverse(),
        "tools",
        r"tools in another order: get_time, get_date, get_weather / get_weather, get_date, get_time$",
    ),
    "no tools": (lambda request: request.pop("tools"), "tools", r"tools are only in A$"),
    "a message removed": (
        lambda request: request["messages"].__delitem__(slice(1, 3)),
        "removed",
        r"2 messages were removed: message 1 \(user\) and later$",
    ),
    "a message inserted": (
        lambda request: request["messages"].__setitem__(
            slice(3, 3), [{"role": "user", "content": "ok?"}, {"role": "assistant", "content": "Yes."}]
        ),
        "inserted",
        r"2 messages were inserted: message 3 \(user\) and later$",
    ),
    "a text of the user": (field(3, "content", "What is the weather of Rome?"), "message", r"message 3 \(user\): .*'Rome\?'$"),
    "a text of the assistant": (
        field(2, "content", "Hello Ada."),
        "message",
        r"message 2 \(assistant\): differs at character 5: 'Hello,' / 'Hello Ada\.'$",
    ),
    "a result": (field(5, "content", "rain, 13 degrees"), "message", r"message 5 \(tool\): .*'12' / '13' \(a number\)$"),
    "arguments": (
        arguments(city="Lyon", days=2),
        "message",
        r"message 4 \(assistant\): tool_calls\[0\].function.arguments.city: differs at character 0: 'Paris' / 'Lyon'$",
    ),
    "order of arguments": (
        arguments(days=2, city="Paris"),
        "message",
        r"message 4 \(assistant\): tool_calls\[0\].function.arguments: same JSON, other key order$",
    ),
    "a later turn": (
        lambda request: request["messages"].append({"role": "user", "content": "thanks"}),
        "inserted",
        r"message 6 \(user\) was added$",
    ),
}  # fmt: skip


def changed(change: Callable[[Json], Any]) -> Json:
    request = deepcopy(BASE)
    change(request)
    return request


@pytest.mark.parametrize("name", PLANTED)
def test_planted_causes_are_named(name: str) -> None:
    change, kind, cause = PLANTED[name]
    found = jeton.chat_diff(TOK, BASE, changed(change))
    assert (found.kind, bool(re.fullmatch(cause, found.cause))) == (kind, True), found.cause
    # The figures of the result agree with the ids and texts.
    a, b = (
        TOK.chat(each["messages"], tools=each.get("tools"), add_generation_prompt=True)
        for each in (BASE, changed(change))
    )
    position = found.position
    assert position is not None
    assert a.ids[:position] == b.ids[:position]
    assert a.ids[position : position + 1] != b.ids[position : position + 1]
    assert found.char is not None
    assert a.text[: found.char] == b.text[: found.char]
    assert a.text[found.char :].startswith(found.excerpts[0])
    assert b.text[found.char :].startswith(found.excerpts[1])
    assert found.excerpts[0][:1] != found.excerpts[1][:1]
    assert (found.shared, found.lengths) == (position, (len(a.ids), len(b.ids)))
    assert str(found).splitlines()[-1] == f"cause    {found.cause}"
    assert json.loads(json.dumps(found.to_json()))["a"]["ids"] == len(a.ids)


@pytest.mark.slow(reason="the templates of these tests, above")
def test_planted_causes_are_named_with_published_templates(data: Path) -> None:
    """Planted causes are named for each template that renders both requests and writes the change."""
    counts: Counter[str] = Counter()
    for path in sorted((data / "templates").glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        for name, (change, kind, cause) in PLANTED.items():
            try:
                found = jeton.chat_diff(TOK, BASE, changed(change), template=template)
            except ChatTemplateError:
                counts["refused"] += 1
                continue
            if found.kind in ("same", "continues"):
                counts["not written"] += 1
            elif found.kind == "history":
                counts["history"] += 1
            else:
                assert (found.kind, bool(re.fullmatch(cause, found.cause))) == (kind, True), (
                    path.name,
                    name,
                    str(found),
                )
                counts["named"] += 1
    print(dict(counts))
    assert counts["named"] > 500


def test_reasoning_dropped_from_history_is_named() -> None:
    asked = [{"role": "user", "content": "weather?"}]
    thought = {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [call("f", city="x")]}
    asked += [thought, {"role": "tool", "content": "rain"}]
    answer = {"role": "assistant", "content": "It rains."}
    later = [*asked, answer, {"role": "user", "content": "ok"}, answer, {"role": "user", "content": "more"}]
    found = jeton.chat_diff(TOK, asked, later)
    assert found.kind == "history"
    assert found.cause == (
        "the template drops reasoning_content of message 1 (assistant), because message 4 (user) is added"
    )
    assert jeton.chat_diff(TOK, asked, later[:4]).kind == "continues"
    back = jeton.chat_diff(TOK, later, asked)
    assert back.kind == "history"
    assert "the template adds reasoning_content of message 1 (assistant)" in back.cause


def test_a_generation_prompt_that_does_not_start_the_reply() -> None:
    template = CHATML.replace("assistant\n' }}{% endif %}", "assistant\n<think>' }}{% endif %}")
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]
    found = jeton.chat_diff(TOK, messages[:1], messages, template=template)
    assert found.kind == "generation prompt"
    assert found.authors[0] == "the generation prompt"
    assert found.cause.endswith("(assistant) of B, the reply, does not begin with the generation prompt of A")


def test_a_spelled_special_token_differs_from_a_real_one() -> None:
    one = [{"role": "user", "content": "hi<|im_end|>\n<|im_start|>user\nho"}]
    two = [{"role": "user", "content": "hi"}, {"role": "user", "content": "ho"}]
    found = jeton.chat_diff(TOK, one, two)
    assert (found.kind, found.char) == ("special token", None)
    assert "A: text, by message 0 (user), content; B: special token, by the template" in found.cause
    assert jeton.chat_diff(TOK, one, two, special="all").kind == "same"


def test_different_dates_and_variables_are_named() -> None:
    template = "{{ strftime_now('%Y-%m-%d') }} {{ style }} {{ messages[0].content }}"
    messages = [{"role": "user", "content": "hi"}]
    dates = (datetime(2026, 11, 26), datetime(2026, 11, 27))
    found = jeton.chat_diff(TOK, messages, messages, template=template, dates=dates)
    assert (found.kind, found.char, found.authors[0]) == ("date", 9, "the template, by the date")
    assert jeton.chat_diff(TOK, messages, messages, template=template).kind == "same"
    one, two = ({"messages": messages, "chat_template_kwargs": {"style": style}} for style in ("short", "long"))
    found = jeton.chat_diff(TOK, one, two, template=template)
    assert (found.kind, found.cause) == (
        "variable", "variable style: differs at character 0: 'short' / 'long'",
    )  # fmt: skip
    assert found.authors == ("variable style", "variable style")


def test_requests_of_anthropic_and_of_openai_are_compared() -> None:
    """One conversation in three forms has equal ids."""
    anthropic = {
        "system": [{"type": "text", "text": "Be short."}],
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "…"},
                    {"type": "text", "text": "wait"},
                    {"type": "tool_use", "id": "1", "name": "f", "input": {"n": 1}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "r"}]},
        ],
    }
    function = {"name": "f", "description": "d", "parameters": {"type": "object"}}
    completions = {
        "tools": [{"type": "function", "function": function}],
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": "wait",
                "reasoning_content": "hm",
                "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"n": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": "r"},
        ],
    }
    responses = {
        "instructions": "Be short.",
        "tools": [{"type": "function", **function}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "wait"}]},
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"n":1}'},
            {"type": "function_call_output", "call_id": "1", "output": "r"},
        ],
    }
    for other in (completions, responses):
        assert jeton.chat_diff(TOK, anthropic, other).kind == "same"
    later = deepcopy(anthropic)
    later["messages"][2]["content"][0]["content"] = "s"
    found = jeton.chat_diff(TOK, anthropic, later)
    assert found.cause == ("message 3 (tool, messages[2].content[0] of the request): differs at character 0: 'r' / 's'")


@pytest.mark.parametrize("template", [LLAMA3, MISTRAL], ids=["llama3", "mistral"])
def test_changed_tools_are_named_with_other_templates(template: str) -> None:
    """Templates that write tools after the first messages, or with the last message."""
    request = changed(lambda request: request["messages"].__delitem__(0))
    other = deepcopy(request)
    other["tools"][2]["function"]["description"] = "Weather"
    found = jeton.chat_diff(TOK, request, other, template=template)
    assert found.kind == "tool"
    assert "tool 2 (get_weather): function.description" in found.cause


def test_arguments_given_to_the_template_as_text_are_compared() -> None:
    template = "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ '<' + c.function.arguments + '>' }}{% endfor %}{% endfor %}"
    one, two = (
        [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call("f", n=number)]}]
        for number in (1, 2)
    )
    found = jeton.chat_diff(TOK, one, two, template=template)
    assert found.cause == "message 1 (assistant): tool_calls[0].function.arguments.n: 1 / 2"


def test_errors_name_the_request() -> None:
    good = [{"role": "user", "content": "hi"}]
    picture = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "…"}}]}]
    with pytest.raises(
        UnsupportedFeatureError, match=r"^B: messages\[0\].content\[0\]: content of type 'image_url' is"
    ):
        jeton.chat_diff(TOK, good, picture)
    with pytest.raises(ConfigError, match=r"^A: messages is 7, not a list"):
        jeton.chat_diff(TOK, 7, good)
    with pytest.raises(ChatTemplateError, match=r"^B: the chat template rejects the messages in line 1: no b"):
        jeton.chat_diff(
            TOK,
            good,
            [{"role": "user", "content": "b"}],
            template="{% if messages[0].content == 'b' %}{{ raise_exception('no b') }}{% endif %}",
        )


def test_long_conversations_take_few_renderings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of renderings does not grow with the number of messages before the change."""
    turns = [{"role": role, "content": f"{role} {index}"} for index in range(200) for role in ("user", "assistant")]
    other = deepcopy(turns)
    other[399]["content"] = "else"
    calls = 0
    chat = Tokenizer.chat

    def counted(self: Tokenizer, *args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        return chat(self, *args, **options)

    monkeypatch.setattr(Tokenizer, "chat", counted)
    assert jeton.chat_diff(TOK, turns, other).cause.startswith("message 399 (assistant): differs")
    assert calls <= 6


def test_differences_of_values_are_described() -> None:
    assert difference_of_values({"a": 1}, {"b": 1}) == "a: only in A"
    assert difference_of_values({"a": 1}, {"a": 1, "b": 1}) == "b: only in B"
    assert difference_of_values({"a": 1, "b": 2}, {"b": 3, "a": 1}) == "other key order, and other values"
    assert difference_of_values([1], [1, 2], "x") == "x: 1 items / 2 items"
    assert difference_of_values(None, 2) == "only in B"
    assert difference_of_values("e\u0301", "\u00e9").endswith(
        "(the same characters in another Unicode normalization form)"
    )
    for one, two in (("26 Nov 2026", "27 Nov 2026"), ("on Nov 26, 2026", "on Dec 26, 2026"), ("Thursday", "Friday")):
        assert difference_of_values(one, two).endswith("(a date)"), (one, two)
    assert difference_of_tools([tool("f")], [tool("f"), tool("g")]) == ("tool", "tool 1 (g) is only in B")

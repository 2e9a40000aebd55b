"""Requests of three APIs become messages for templates, or are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from jeton.chat.requests import read_request, with_text_arguments
from jeton.errors import ConfigError, JetonError, UnsupportedFeatureError

USER = {"role": "user", "content": "hi"}


def text(value: str, kind: str = "text") -> dict[str, str]:
    return {"type": kind, "text": value}


def test_messages_in_template_form_are_unchanged() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"n": 1}}}
    messages = [
        {"role": "developer", "content": "d", "name": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "r"},
        {"role": "tool", "content": "t", "tool_call_id": "1"},
    ]
    made = read_request(messages)
    assert made.messages == messages
    assert made.paths == ["messages[0]", "messages[1]", "messages[2]"]
    assert (made.tools, made.variables, made.add_generation_prompt) == (None, {}, True)
    assert read_request({"messages": messages, "add_generation_prompt": False}).add_generation_prompt is False


def test_blocks_of_text_are_joined() -> None:
    made = read_request([{"role": "user", "content": [text("a"), text("b")]}, {"role": "assistant", "content": []}])
    assert [message["content"] for message in made.messages] == ["a\nb", ""]
    refusal = [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]
    assert read_request(refusal).messages[0]["content"] == "no"


def test_results_of_tools_become_separate_messages() -> None:
    """Results and the texts between them keep their order."""
    result = {"type": "tool_result", "tool_use_id": "1", "content": [text("r"), text("s")]}
    content = [text("before"), result, {"type": "tool_result", "tool_use_id": "2"}, text("after")]
    made = read_request({"messages": [{"role": "user", "content": content}]})
    assert made.messages == [
        {"role": "user", "content": "before"},
        {"role": "tool", "tool_call_id": "1", "content": "r\ns"},
        {"role": "tool", "tool_call_id": "2", "content": ""},
        {"role": "user", "content": "after"},
    ]
    assert made.paths == ["messages[0]", *(f"messages[0].content[{index}]" for index in (1, 2, 3))]


def test_items_of_responses_become_messages() -> None:
    call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
    made = read_request({"input": [{"role": "user", "content": "hi"}, call, {**call, "call_id": "2"}]})
    (_, assistant) = made.messages
    assert [each["id"] for each in assistant["tool_calls"]] == ["1", "2"]
    assert assistant["content"] == ""
    assert read_request({"input": "hi"}).messages == [USER]


def test_arguments_are_parsed_if_they_are_json_objects() -> None:
    call = {"function": {"name": "f", "arguments": '{"b": 1, "a": 2}'}}
    made = read_request([{"role": "assistant", "tool_calls": [call]}]).messages
    assert list(made[0]["tool_calls"][0]["function"]["arguments"].items()) == [("b", 1), ("a", 2)]
    for broken in ("{", "[1]", "", "[" * 100_000):
        call = {"function": {"name": "f", "arguments": broken}}
        made = read_request([{"role": "assistant", "tool_calls": [call]}]).messages
        assert made[0]["tool_calls"][0]["function"]["arguments"] == broken
    assert with_text_arguments([USER]) == [USER]


def test_tools_of_every_provider_become_functions() -> None:
    function = {"name": "f", "parameters": {"type": "object"}}
    nested = {"type": "function", "function": function}
    for tool, made in (
        (nested, nested),
        ({"type": "function", **function}, nested),
        ({"name": "f", "input_schema": {"type": "object"}}, nested),
        (function, function),  # unchanged: templates take both forms
    ):
        assert read_request({"messages": [USER], "tools": [tool]}).tools == [made]


def test_request_options_become_template_variables() -> None:
    request = {"messages": [USER], "chat_template_kwargs": {"x": 1}, "reasoning_effort": "low", "documents": [{}]}
    assert read_request(request).variables == {"x": 1, "reasoning_effort": "low", "documents": [{}]}
    assert read_request({"input": "hi", "reasoning": {"effort": "high"}}).variables == {"reasoning_effort": "high"}


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages[0].content[0]: content of type 'image'"),
        ({"messages": [{"role": "assistant", "content": [{"type": "redacted_thinking"}]}]}, "'redacted_thinking'"),
        ({"system": [{"type": "image"}], "messages": [USER]}, "system[0]: content of type 'image'"),
        ({"input": [{"type": "web_search_call"}]}, "input[0]: an item of type 'web_search_call'"),
        ({"input": [{"type": "reasoning", "summary": []}]}, "input[0]: reasoning without its text"),
        ({"messages": [USER], "tools": [{"type": "web_search"}]}, "tools[0]: a tool of type 'web_search'"),
        ({"previous_response_id": "x", "input": "hi"}, "previous_response_id refers to messages"),
    ],
)  # fmt: skip
def test_features_that_templates_lack_are_refused_by_name(request_: Any, said: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as raised:
        read_request(request_)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "request_",
    [
        *(7, None, "hi", {}, [], [7], {"messages": 7}, {"messages": [[]]}, {"messages": []}, {"input": 7}, {"input": []}),
        {"messages": [{"role": "user", "content": [7]}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": 7}]}]},
        {"messages": [{"role": "assistant", "tool_calls": 7}]},
        {"messages": [USER], "tools": {}},
        {"messages": [USER], "tools": [7]},
        {"messages": [USER], "variables": 7},
        {"messages": [USER], "system": 7},
        {"input": [{"type": "function_call_output", "output": 7}]},
        {"messages": [{"role": "assistant", "content": [{"type": "thinking"}]}]},
    ],
)  # fmt: skip
def test_invalid_requests_are_refused(request_: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        read_request(request_)
    assert len(str(raised.value)) < 200


def test_hostile_requests_give_errors_of_our_own() -> None:
    """Values of any wrong type end in an error of Jeton."""
    keys = ("messages", "input", "system", "instructions", "tools", "reasoning", "documents", "chat_template_kwargs")
    values: list[Any] = [None, 7, "x", [], {}, [None], [{}], [{"type": []}], {"content": 1}, [{"role": 1}], [[{}]]]
    inner = ("content", "tool_calls", "type", "text", "thinking", "input", "output", "arguments", "role", "function")
    requests = [{"messages": [USER], key: value} for key in keys for value in values]
    requests += [{"input": [{key: value}]} for key in inner for value in values]
    requests += [{"messages": [{"role": "user", key: value}]} for key in inner for value in values]
    requests += [
        {"messages": [{"role": "user", "content": [{"type": "text", key: value}]}]} for key in inner for value in values
    ]
    refused = 0
    for request in requests:
        try:
            read_request(request)
        except JetonError:
            refused += 1
    assert refused > 100

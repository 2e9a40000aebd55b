"""Converts requests to chat models to the messages and tools that chat templates take.

    chat completions   {"messages": […], "tools": […]}                       OpenAI, and servers of open models
    responses          {"input": … or […], "instructions": …, "tools": […]}  OpenAI
    messages           {"system": …, "messages": […], "tools": […]}          Anthropic

A template takes messages with a text as content, ``reasoning_content``, ``tool_calls`` with arguments as an object, and
one message with the role ``tool`` for each result. Content that has no such form (images, server tools, earlier
messages that only the provider stores) raises an error that names the path of the content.

Left out: sampling options, which do not change the prompt, and cache markers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ConfigError, UnsupportedFeatureError

__all__ = ["ChatRequest", "read_request", "with_text_arguments"]

Json = dict[str, Any]

_TEXTS = ("text", "input_text", "output_text", "reasoning_text")


class ChatRequest(NamedTuple):
    """A request, in the form that `Tokenizer.chat` takes.

    Attributes:
        messages: messages in the form that templates read.
        tools: schemas of functions, or None.
        variables: other variables of the template.
        add_generation_prompt: whether the prompt ends with the start of a reply; True by default.
        paths: for each message, its path in the given request: ``"messages[2].content[0]"``.
    """

    messages: list[Json]
    tools: list[Json] | None
    variables: Json
    add_generation_prompt: bool
    paths: list[str]


def read_request(request: Any) -> ChatRequest:
    """Converts a request, or a list of messages.

    Raises:
        ConfigError: the argument is neither a list of messages nor a request.
        UnsupportedFeatureError: chat templates do not support a content or a tool of the request (the error names the
            path of this content or tool), or the request refers to messages that it does not contain.

    Examples:
        >>> made = read_request({"system": "Be short.", "messages": [{"role": "user", "content": "hi"}]})
        >>> made.messages
        [{'role': 'system', 'content': 'Be short.'}, {'role': 'user', 'content': 'hi'}]
        >>> made.paths
        ['system', 'messages[0]']
    """
    if not isinstance(request, Mapping):
        request = {"messages": request}
    for name in ("previous_response_id", "conversation"):
        if request.get(name) is not None:
            raise UnsupportedFeatureError(
                f"{name} refers to messages that the request does not have; give the whole conversation", feature=name
            )
    made: list[tuple[str, Json]] = []
    if (system := request.get("system", request.get("instructions"))) is not None:
        name = "system" if "system" in request else "instructions"
        made.append((name, {"role": "system", "content": _text(system, name)}))
    if "messages" not in request and "input" in request:
        made += _items(request["input"])
    else:
        for path, message in _each(request.get("messages"), "messages"):
            made += _message(message, path)
    if not made:
        raise ConfigError("messages is empty: a chat needs at least one message", option="messages")
    return ChatRequest(
        [message for _, message in made],
        _tools(request),
        _variables(request),
        bool(request.get("add_generation_prompt", True)),
        [path for path, _ in made],
    )


def with_text_arguments(messages: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Copies messages, and converts the arguments of tool calls from objects to JSON text, which some templates need.

    Examples:
        >>> call = {"function": {"name": "f", "arguments": {"n": 1}}}
        >>> with_text_arguments([{"role": "assistant", "tool_calls": [call]}])[0]["tool_calls"]
        [{'function': {'name': 'f', 'arguments': '{"n": 1}'}}]
    """

    def text(call: Json) -> Json:
        function = call.get("function")
        if not isinstance(function, Mapping) or isinstance(function.get("arguments"), str | None):
            return call
        return {**call, "function": {**function, "arguments": json.dumps(function["arguments"], ensure_ascii=False)}}

    return [
        {**message, "tool_calls": [*map(text, message["tool_calls"])]} if message.get("tool_calls") else dict(message)
        for message in messages
    ]


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _message(message: Json, path: str) -> Iterator[tuple[str, Json]]:
    """Converts a message of OpenAI's chat completions or of Anthropic's; the latter can become several messages."""
    made = dict(message)
    if calls := made.get("tool_calls"):
        made["tool_calls"] = [_call(call) for _, call in _each(calls, f"{path}.tool_calls")]
    content = made.get("content")
    if not isinstance(content, list | tuple):
        yield path, made
        return
    texts: list[str] = []
    first = path  # path of the message that gets `texts` as content; "" after a tool result, until a text follows
    thoughts: list[str] = []
    for place, block in _each(content, f"{path}.content"):
        kind = block.get("type")
        if kind == "tool_result":
            if texts:
                yield first, {**made, "content": "\n".join(texts)}
                texts = []
            result = {"role": "tool", "tool_call_id": block.get("tool_use_id")}
            yield place, {**result, "content": _text(block.get("content") or "", f"{place}.content")}
            first = ""
        elif kind == "tool_use":
            call = {"name": block.get("name"), "arguments": block.get("input")}
            made.setdefault("tool_calls", []).append({"id": block.get("id"), "type": "function", "function": call})
        elif kind == "thinking":
            thoughts.append(_string(block.get("thinking"), f"{place}.thinking"))
        else:
            first = first or place
            texts.append(_text_of(block, place))
    if thoughts:
        made["reasoning_content"] = "\n".join(thoughts)
    if texts or first:
        yield first, {**made, "content": "\n".join(texts)}


def _call(call: Json) -> Json:
    """Returns a tool call with its arguments as an object; arguments that are not a JSON object stay text."""
    function = call.get("function")
    if isinstance(function, Mapping) and isinstance(function.get("arguments"), str):
        return {**call, "function": {**function, "arguments": _object(function["arguments"])}}
    return call


def _object(text: Any) -> Any:
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _items(items: Any) -> list[tuple[str, Json]]:
    """Converts the items of OpenAI's responses: calls and reasoning become fields of an assistant message."""
    if isinstance(items, str):
        return [("input", {"role": "user", "content": items})]
    made: list[tuple[str, Json]] = []
    thoughts: list[str] = []
    for path, item in _each(items, "input"):
        kind = item.get("type", "message")
        if kind == "reasoning":
            if not item.get("content"):
                raise UnsupportedFeatureError(
                    f"{path}: reasoning without its text is not supported by chat templates; leave the item out",
                    feature=kind,
                )
            thoughts.append(_text(item["content"], f"{path}.content"))
            continue
        if kind == "function_call_output":
            result = {"role": "tool", "tool_call_id": item.get("call_id")}
            made.append((path, {**result, "content": _text(item.get("output", ""), f"{path}.output")}))
            continue
        if kind not in ("message", "function_call"):
            raise UnsupportedFeatureError(
                f"{path}: an item of type {kind!r:.60} is not supported by chat templates", feature=kind
            )
        if kind == "message":
            made += _message(
                {name: value for name, value in item.items() if name not in ("type", "status", "id")}, path
            )
        elif not made or made[-1][1]["role"] != "assistant" or thoughts:
            made.append((path, {"role": "assistant", "content": ""}))
        if kind == "function_call":
            call = {"name": item.get("name"), "arguments": _object(item.get("arguments"))}
            calls = made[-1][1].setdefault("tool_calls", [])
            calls.append({"id": item.get("call_id"), "type": "function", "function": call})
        if thoughts and made[-1][1].get("role") == "assistant":
            made[-1][1]["reasoning_content"] = "\n".join(thoughts)
            thoughts = []
    return made


def _text(content: Any, path: str) -> str:
    """Returns a content as text; joins blocks of text by line feeds."""
    if isinstance(content, str):
        return content
    return "\n".join(_text_of(block, place) for place, block in _each(content, path))


def _text_of(block: Json, path: str) -> str:
    kind = block.get("type")
    if kind == "refusal":
        return _string(block.get("refusal"), f"{path}.refusal")
    if kind not in _TEXTS:
        raise UnsupportedFeatureError(
            f"{path}: content of type {kind!r:.60} is not supported by chat templates", feature=str(kind)
        )
    return _string(block.get("text"), f"{path}.text")


def _string(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{path} is {value!r:.60}, not a text", option="messages")
    return value


def _each(items: Any, path: str) -> Iterator[tuple[str, Json]]:
    """Yields the objects of a list, each with its path."""
    if items is None:
        raise ConfigError(f"{path} is missing or null; expected a list of objects", option="messages")
    if not isinstance(items, list | tuple):
        raise ConfigError(f"{path} is {items!r:.60}, not a list of objects", option="messages")
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise ConfigError(f"{path}[{index}] is {item!r:.60}, not an object", option="messages")
        yield f"{path}[{index}]", dict(item)


# ── tools and variables ─────────────────────────────────────────────────────────────────────────────────────────────


def _tools(request: Mapping[str, Any]) -> list[Json] | None:
    if request.get("tools") is None:
        return None
    return [_tool(tool, path) for path, tool in _each(request["tools"], "tools")]


def _tool(tool: Json, path: str) -> Json:
    if "input_schema" in tool:
        schema = {"name": tool.get("name"), "description": tool.get("description"), "parameters": tool["input_schema"]}
        return {"type": "function", "function": {name: value for name, value in schema.items() if value is not None}}
    kind = tool.get("type", "function")
    if kind != "function":
        raise UnsupportedFeatureError(
            f"{path}: a tool of type {kind!r:.60} is not supported by chat templates", feature=str(kind)
        )
    if "type" in tool and "function" not in tool:
        return {"type": kind, "function": {name: value for name, value in tool.items() if name != "type"}}
    return tool


def _variables(request: Mapping[str, Any]) -> Json:
    made: Json = {}
    for name in ("chat_template_kwargs", "variables"):
        given = request.get(name)
        if given is not None and not isinstance(given, Mapping):
            raise ConfigError(f"{name} is {given!r:.60}, not an object", option="variables")
        made.update(given or {})
    effort = request.get("reasoning_effort")
    if effort is None and isinstance(request.get("reasoning"), Mapping):
        effort = request["reasoning"].get("effort")
    for name, value in (("documents", request.get("documents")), ("reasoning_effort", effort)):
        if value is not None:
            made.setdefault(name, value)
    return made

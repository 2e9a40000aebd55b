"""`chat_count`: estimate of the prompt tokens that OpenAI's API bills for a request to chat completions.

OpenAI does not publish how requests become prompts. The rules here reproduce published figures of ``prompt_tokens``:

- messages: each has three tokens, plus the tokens of its role, text and name, plus one token if it has a name. Three
  tokens begin the reply. Source: OpenAI's cookbook, "How to count tokens with tiktoken".
- functions: TypeScript definitions in the first system message. Sources: hmarr/openai-chat-tokens (tests,
  gpt-3.5-turbo) and, with ``tool_choice``, pamelafox/openai-messages-token-helper (tests, gpt-35-turbo).
- tool calls and their results: chrisdinn/tokens (tests, gpt-4-turbo-preview).

``tests/chat/test_count.py`` has the figures and the deviations. Left out, and refused by name: images, audio, files,
``response_format`` with a schema, and other models' reasoning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from ..errors import ConfigError, InvalidTextError, UnsupportedFeatureError, keyword
from ..util.arguments import wrong
from ..util.messages import translate

__all__ = ["ChatCount", "chat_count"]

PER_MESSAGE, REPLY, NAME = 3, 3, 1
FUNCTION_CALL, FUNCTION_RESULT = 3, -2
TOOL_CALL, CALL_AND_TEXT, SEVERAL_CALLS = 5, 4, 13
# FUNCTIONS: number of tokens to add for the definitions of functions. SHARED_SYSTEM: correction if the chat has a
# system message, because this message then also contains the definitions.
FUNCTIONS, SHARED_SYSTEM = 9, -4
CHOICE_NONE, CHOICE_TOOL, CHOICE_FUNCTION = 1, 7, 4
INDENT = 2
MAX_DEPTH = 100  # depth of nested schemas

_FIELDS = {"role", "content", "name", "tool_calls", "function_call", "tool_call_id"}
_TEXTS = {"text": "text", "refusal": "refusal"}  # type of a part -> its field
# Field of a request that can add an unpublished number of tokens -> the values for which the field adds no tokens.
_UNKNOWN = {
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "web_search_options": (),
    "input": (),
    "system": (),
}
_TYPES = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}


class CountingTokenizer(Protocol):
    """The part of `Tokenizer`'s interface that `chat_count` needs."""

    def count_batch(
        self, texts: Sequence[str], *, special: Any = None, add_special_tokens: bool | None = None
    ) -> list[int]:
        """Returns the number of tokens of each text."""


@dataclass(frozen=True, slots=True)
class ChatCount:
    """Estimated prompt tokens of a request. `str` returns a report.

    Attributes:
        messages: tokens of each message.
        tools: tokens of the definitions of all functions.
        tool_choice: tokens that ``tool_choice`` or ``function_call`` adds.
        reply: tokens that begin the reply.

    Examples:
        >>> ChatCount((18, 13), 63, 0, 3).tokens
        97
    """

    messages: tuple[int, ...]
    tools: int
    tool_choice: int
    reply: int

    @property
    def tokens(self) -> int:
        """The sum of the four counts, which estimates ``usage.prompt_tokens``."""
        return sum(self.messages) + self.tools + self.tool_choice + self.reply

    def to_json(self) -> dict[str, Any]:
        """Returns the counts as a JSON object."""
        return {
            "tokens": self.tokens,
            "messages": list(self.messages),
            "tools": self.tools,
            "tool_choice": self.tool_choice,
            "reply": self.reply,
            "is_estimate": True,
        }

    def __str__(self) -> str:
        return translate(
            "{tokens} tokens, estimated: messages {messages}, tools {tools}, tool_choice {choice}, start of the reply "
            "{reply}",
            tokens=f"{self.tokens:,}",
            messages=f"{sum(self.messages):,}",
            tools=f"{self.tools:,}",
            choice=f"{self.tool_choice:,}",
            reply=f"{self.reply:,}",
        )


def chat_count(tok: CountingTokenizer, request: Any) -> ChatCount:
    """Estimates the prompt tokens that OpenAI's API bills for a request to chat completions.

    The estimate covers text messages, names, functions (``tools`` or ``functions``), ``tool_choice``, function calls
    and function results. For gpt-3.5-turbo, gpt-4, gpt-4o and gpt-4o-mini, the estimate equals the published figures
    for messages, and the figure for the cookbook's example with a function. For functions with gpt-3.5-turbo and
    gpt-4-turbo, there are 27 published figures: the estimate equals 19 of these figures, and is at most 3 tokens higher
    than the remaining 8. For function calls and function results, the estimate equals all 11 published figures in
    Jeton's tests. Other models have no published figures. A response of the API has the billed number in
    ``usage.prompt_tokens``.

    Args:
        tok: the tokenizer of the model: ``jeton.load("gpt-4o")``. Special tokens spelled in a text count as plain text.
        request: the body of a request, or its list of messages. Sampling options have no effect.

    Raises:
        ConfigError: `request` has another form.
        InvalidTextError: a text contains a lone surrogate. The error names its place.
        UnsupportedFeatureError: the request has content or an option without a published count, such as an image. The
            error names its place.

    Examples:
        >>> import jeton
        >>> messages = [{"role": "user", "content": "Is it cold?"}]
        >>> schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        >>> tools = [{"type": "function", "function": {"name": "weather", "parameters": schema}}]
        >>> tok = jeton.default()                               # for a model of OpenAI: jeton.load("gpt-4o")
        >>> print(jeton.chat_count(tok, {"messages": messages, "tools": tools}))
        42 tokens, estimated: messages 8, tools 31, tool_choice 0, start of the reply 3
    """
    if not callable(getattr(tok, "count_batch", None)):
        raise wrong("tok", tok, "a Tokenizer")
    if isinstance(request, list | tuple):
        request = {"messages": request}
    if not isinstance(request, Mapping):
        raise wrong("request", request, "a list of messages or the body of a request")
    for name, neutral in _UNKNOWN.items():
        if request.get(name) is not None and request[name] not in neutral:
            _refuse(name, name)
    if "messages" not in request:
        some = ", ".join(f"{key!r:.40}" for key in [*request][:8]) or "no keys"
        missing = f'the request has no key "messages" (a list of messages); it has {some}'
        raise ConfigError(missing, option="messages")
    messages = [*_objects(request["messages"], "messages")]
    if not messages:
        raise ConfigError("messages is empty: a chat needs at least one message", option="messages")
    functions = _functions(request)
    has_system = next((at for at, (_, message) in enumerate(messages) if message.get("role") == "system"), None)
    extra = []
    texts: list[list[str]] = []
    for at, (path, message) in enumerate(messages):
        added, parts = _message(message, path)
        if functions and at == has_system:
            parts[1:2] = [parts[1] + "\n"]
        extra.append(added)
        texts.append(parts)
    choice, chosen = _choice(request)
    definitions = [_definitions(functions)] if functions else []
    everything = [text for parts in [*texts, definitions, chosen] for text in parts]
    counts = iter(tok.count_batch(everything, special="none", add_special_tokens=False))
    of_messages = [added + sum(next(counts) for _ in parts) for added, parts in zip(extra, texts, strict=True)]
    of_tools = sum(next(counts) + FUNCTIONS + (0 if has_system is None else SHARED_SYSTEM) for _ in definitions)
    return ChatCount(tuple(of_messages), of_tools, choice + sum(counts), REPLY)


def _message(message: Mapping[str, Any], path: str) -> tuple[int, list[str]]:
    """Returns the number of tokens of a message's structure, and the texts whose tokens the caller must add."""
    for name, value in message.items():
        if name not in _FIELDS and value is not None:
            _refuse(name, f"{path}.{name}")
    role = _string(message.get("role"), f"{path}.role")
    content = [*_content(message.get("content"), f"{path}.content")]
    extra, texts = PER_MESSAGE, [role, "".join(content[:1]), *content[1:]]
    if message.get("name") is not None:
        extra += NAME
        texts.append(_string(message["name"], f"{path}.name"))
    if role == "function":
        extra += FUNCTION_RESULT
    if message.get("function_call") is not None:
        extra += FUNCTION_CALL
        texts += _call(message["function_call"], f"{path}.function_call")
    calls = [*_objects(message.get("tool_calls") or [], f"{path}.tool_calls")]
    for place, call in calls:
        if call.get("type", "function") != "function":
            _refuse(str(call["type"]), f"{place}: a call of type {call['type']!r:.60}")
        name, arguments = _call(call.get("function"), f"{place}.function")
        extra += TOOL_CALL
        texts += [name, name, _compact(arguments)]  # the name counts twice: the header of the call's result repeats it
    if calls and any(content):
        extra += CALL_AND_TEXT
    if len(calls) > 1:
        extra += SEVERAL_CALLS
    return extra, texts


def _content(content: Any, path: str) -> Iterator[str]:
    if content is None:
        return
    if isinstance(content, str):
        yield _unicode(content, path)
        return
    for place, part in _objects(content, path):
        kind = part.get("type")
        if kind not in _TEXTS:
            _refuse(str(kind), f"{place}: content of type {kind!r:.60}")
        yield _string(part.get(_TEXTS[kind]), f"{place}.{_TEXTS[kind]}")


def _call(call: Any, path: str) -> tuple[str, str]:
    if not isinstance(call, Mapping):
        raise ConfigError(f"{path} is {call!r:.60}, not an object", option="messages")
    return _string(call.get("name"), f"{path}.name"), _string(call.get("arguments"), f"{path}.arguments")


def _compact(arguments: str) -> str:
    """Returns arguments as compact JSON. Invalid JSON, and JSON with a lone surrogate, is returned unchanged."""
    try:
        compact = json.dumps(json.loads(arguments), ensure_ascii=False, separators=(",", ":"))
        compact.encode()
    except (ValueError, RecursionError):
        return arguments
    return compact


def _functions(request: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns the functions of a request, each with its path."""
    made = [*_objects(request.get("functions") or [], "functions", "functions")]
    for path, tool in _objects(request.get("tools") or [], "tools", "tools"):
        if tool.get("type", "function") != "function":
            _refuse(str(tool.get("type")), f"{path}: a tool of type {tool.get('type')!r:.60}")
        if not isinstance(tool.get("function"), Mapping):
            raise ConfigError(f"{path}.function is {tool.get('function')!r:.60}, not an object", option="tools")
        made.append((f"{path}.function", tool["function"]))
    return made


def _choice(request: Mapping[str, Any]) -> tuple[int, list[str]]:
    """Returns the number of tokens that a choice of tools adds, and a list with the chosen function's name, if any."""
    for option, form in (("tool_choice", CHOICE_TOOL), ("function_call", CHOICE_FUNCTION)):
        choice = request.get(option)
        if choice == "none":
            return CHOICE_NONE, []
        if isinstance(choice, Mapping) and choice.get("type", "function") == "function":
            function = choice.get("function") if option == "tool_choice" else choice
            name = function.get("name") if isinstance(function, Mapping) else None
            return form, [_string(name, f"{option}.name")]
        if choice not in (None, "auto"):
            _refuse(option, f"{keyword(option, choice)}")
    return 0, []


# ── definitions of functions ────────────────────────────────────────────────────────────────────────────────────────


def _definitions(functions: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    lines = ["namespace functions {", ""]
    for path, function in functions:
        name = _string(function.get("name"), f"{path}.name")
        start = len(lines)
        lines += _comment(function)
        properties = [*_properties(function.get("parameters"), 0, 0)]
        lines += [f"type {name} = (_: {{", *properties, "}) => any;"] if properties else [f"type {name} = () => any;"]
        lines.append("")
        _unicode("\n".join(lines[start:]), path)
    return "\n".join([*lines, "} // namespace functions"])


def _properties(schema: Any, indent: int, depth: int) -> Iterator[str]:
    """Yields the properties of an object schema as lines of TypeScript."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    required = schema.get("required") if isinstance(schema, Mapping) else None
    required = {name for name in required if isinstance(name, str)} if isinstance(required, list | tuple) else ()
    for name, of in properties.items() if isinstance(properties, Mapping) else ():
        lines = [*_comment(of), f"{name}{'' if name in required else '?'}: {_type(of, indent, depth)},"]
        yield from (" " * indent + line for line in lines)


def _comment(schema: Any) -> list[str]:
    description = schema.get("description") if isinstance(schema, Mapping) else None
    return [f"// {description}"] if isinstance(description, str) and description else []


def _type(schema: Any, indent: int, depth: int) -> str:
    if depth > MAX_DEPTH:
        raise ConfigError(f"the schema of a tool is nested deeper than {MAX_DEPTH}", option="tools")
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if kind == "object":
        return "\n".join(["{", *_properties(schema, indent + INDENT, depth + 1), "}"])
    if kind == "array":
        return f"{_type(schema['items'], indent, depth + 1)}[]" if "items" in schema else "any[]"
    if isinstance(kind, str) and isinstance(schema.get("enum"), list | tuple):
        return " | ".join(map(_value, schema["enum"]))
    return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"


def _value(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        what = f"a value of type {type(value).__name__} that is not JSON"
        raise ConfigError(f"an enum in the schema of a tool contains {what}", option="tools") from None


# ── checks ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _refuse(feature: str, place: str) -> NoReturn:
    raise UnsupportedFeatureError(
        f"{place} has no published token count; a response reports the billed number as usage.prompt_tokens",
        feature=feature,
    )


def _string(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{path} is {value!r:.60}, not a text", option=path.partition("[")[0].partition(".")[0])
    return _unicode(value, path)


def _unicode(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidTextError(f"{path} is not Unicode text: it contains a lone surrogate") from None
    return text


def _objects(items: Any, path: str, option: str = "messages") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the objects of a list, each with its path."""
    if not isinstance(items, list | tuple):
        raise ConfigError(f"{path} is {items!r:.60}, not a list of objects", option=option)
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise ConfigError(f"{path}[{index}] is {item!r:.60}, not an object", option=option)
        yield f"{path}[{index}]", item

"""harmony, the conversation format of gpt-oss: messages → ids, and ids → messages.

    <|start|>assistant to=functions.weather<|channel|>commentary <|constrain|>json<|message|>{"city": "x"}<|call|>
             role or name, recipient       channel    content type                 content        end

A message has an author; an assistant's message also has a *channel*: ``analysis`` (reasoning), ``commentary`` (function
calls) or ``final`` (the answer). Ids are equal to those of `openai-harmony` 0.0.8, which encodes each field separately.
Only the renderer writes special tokens; a special token that a message spells is encoded as text.

Messages are dicts, in the form of that library's ``Message.to_dict()``. For messages of chat completions
(``reasoning_content``, ``tool_calls``), use `Tokenizer.chat` with the model's template.

Left out: the texts of the built-in tools `browser` and `python` (their namespaces are passed as `tools` of `system`),
and the tokens ``<|refusal|>`` and ``<|untrusted|>``, which the published vocabulary lacks.

Source: https://github.com/openai/harmony, docs/format.md and src/encoding.rs (Apache-2.0).
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict

from ..errors import ConfigError, FormatError, keyword
from ..tokens.special import Special
from ..util.arguments import choice, flag
from .typescript import MAX_DEPTH, tools_section

__all__ = ["Harmony", "HarmonyIds", "HarmonyMessage", "HarmonyParser", "HarmonyTokenizer", "developer", "system"]

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
_ROLES = ("user", "assistant", "system", "developer", "tool")
_TOKENS = ("<|start|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|channel|>", "<|constrain|>")
_CONSTRAIN = "<|constrain|>"
_CHANNEL = "<|channel|>"
# White space as defined by Rust's `is_ascii_whitespace` and `is_whitespace`. `str.isspace` and `str.split` use other
# sets.
_ASCII_SPACES = " \t\n\x0c\r"
_SPACES = _ASCII_SPACES + "\x0b\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class HarmonyMessage(TypedDict, total=False):
    """A message of a harmony conversation.

    Attributes:
        role: role of the author.
        name: name of the author; required for a tool (``"functions.weather"``).
        content: a text, or a list with items ``{"type": "text", "text": …}`` and items from `system` and `developer`.
        channel: ``"analysis"``, ``"commentary"`` or ``"final"``.
        recipient: ``"functions.weather"`` in a call, ``"assistant"`` in the result of the call.
        content_type: ``"<|constrain|>json"`` or ``"json"``.
    """

    role: Role
    name: str | None
    content: str | Sequence[Mapping[str, Any]]
    channel: str | None
    recipient: str | None
    content_type: str | None


class HarmonyTokenizer(Protocol):
    """The part of a tokenizer's interface that harmony needs."""

    @property
    def special_tokens(self) -> Mapping[str, int]: ...  # noqa: D102
    def encode(self, text: str, *, special: Special, add_special_tokens: bool) -> list[int]: ...  # noqa: D102
    def decode_bytes(self, ids: Iterable[int]) -> bytes: ...  # noqa: D102


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────


def system(
    *,
    reasoning: Literal["low", "medium", "high"] | None = "medium",
    date: str | None = None,
    cutoff: str | None = "2024-06",
    identity: str | None = "You are ChatGPT, a large language model trained by OpenAI.",
    channels: Sequence[str] = ("analysis", "commentary", "final"),
    tools: Sequence[Mapping[str, Any]] = (),
) -> HarmonyMessage:
    """Returns the system message, which describes the model and its channels.

    Args:
        reasoning: the reasoning effort.
        date: today's date: ``"2025-06-28"``.
        cutoff: date at which the training data ends.
        identity: a sentence with the model's name and maker; instructions belong in the message of `developer`.
        channels: the valid channels; the model must name one of them in each message.
        tools: namespaces of built-in tools: ``{"name": …, "description": …, "tools": […]}``, such as
            ``ToolNamespaceConfig.browser().model_dump()`` of `openai-harmony`.

    Examples:
        >>> system(reasoning="high", date="2025-06-28")["content"][0]["reasoning_effort"]
        'High'
    """
    if reasoning is not None:
        choice(reasoning, "reasoning", ("low", "medium", "high"))
    content = {
        "type": "system_content",
        "model_identity": identity,
        "reasoning_effort": reasoning and reasoning.capitalize(),
        "conversation_start_date": date,
        "knowledge_cutoff": cutoff,
        "channel_config": {"valid_channels": list(channels), "channel_required": True},
        "tools": {one["name"]: one for one in _namespaces(list(tools), "tools")} or None,
    }
    return {"role": "system", "content": [{key: value for key, value in content.items() if value is not None}]}


def developer(instructions: str | None = None, *, tools: Sequence[Mapping[str, Any]] = ()) -> HarmonyMessage:
    """Returns the developer message, which has the instructions that other formats put into the system prompt.

    Args:
        instructions: the system prompt.
        tools: functions, as in chat completions: ``{"type": "function", "function": {"name": …, "parameters": …}}``,
            or the inner objects.

    Examples:
        >>> developer("Be brief.")["content"]
        [{'type': 'developer_content', 'instructions': 'Be brief.'}]
    """
    content: dict[str, Any] = {"type": "developer_content"}
    if instructions is not None:
        content["instructions"] = instructions
    if tools:
        functions = [tool.get("function", tool) if isinstance(tool, Mapping) else tool for tool in tools]
        functions = [{"description": "", **one} if isinstance(one, Mapping) else one for one in functions]
        namespace = {"name": "functions", "tools": functions}
        content["tools"] = {"functions": _namespaces([namespace], "tools")[0]}
    return {"role": "developer", "content": [content]}


class _Fields:
    """Reads the fields of an object; its errors name the field."""

    def __init__(self, value: Any, where: str, known: Iterable[str]) -> None:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where} is {value!r:.60}, not an object", option="messages")
        self.value, self.where = value, where
        unknown = [key for key in value if key not in {*known}]
        if unknown:
            raise ConfigError(f"{where} has the key {unknown[0]!r:.60}; known: {', '.join(known)}", option="messages")

    def get(self, key: str, kind: type | tuple[type, ...], expected: str, *, required: bool = False) -> Any:
        """Returns a field of the given type; None if it is missing or null."""
        value = self.value.get(key)
        if value is None and not required:
            return None
        if not isinstance(value, kind):
            raise ConfigError(f"{self.where}.{key} is {value!r:.60}, not {expected}", option="messages")
        return value

    def text(self, key: str, *, required: bool = False) -> Any:
        """Returns a field that is a text; converts a subclass of `str`, such as an enum, to a plain string."""
        value = self.get(key, str, "a string", required=required)
        return None if value is None else str.__str__(value)


def _namespaces(values: Sequence[Any], where: str) -> list[dict[str, Any]]:
    """Checks namespaces of tools, and returns them as plain dicts."""
    checked = []
    for at, value in enumerate(values):
        fields = _Fields(value, f"{where}[{at}]", ("name", "description", "tools"))
        tools = []
        for index, tool in enumerate(fields.get("tools", list | tuple, "a list", required=True)):  # type: ignore[arg-type]
            of = _Fields(tool, f"{fields.where}.tools[{index}]", ("name", "description", "parameters", "strict"))
            schema = of.get("parameters", Mapping, "a JSON schema")
            if schema is not None:
                _check_json(schema, f"{of.where}.parameters", 0)
            texts = {key: of.text(key, required=True) for key in ("name", "description")}
            tools.append(texts if schema is None else {**texts, "parameters": schema})
        namespace = {"name": fields.text("name", required=True), "description": fields.text("description")}
        checked.append({**{key: text for key, text in namespace.items() if text is not None}, "tools": tools})
    return checked


def _check_json(value: Any, where: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ConfigError(f"{where} is nested deeper than {MAX_DEPTH}", option="tools")
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ConfigError(f"{where} has the key {key!r:.60}, which is not a string", option="tools")
            _check_json(item, where, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_json(item, where, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{where} holds {value}, which is not JSON", option="tools")
    elif value is not None and not isinstance(value, str | int | float):
        raise ConfigError(f"{where} has the type {type(value).__name__}, which is not JSON", option="tools")


class _Message(NamedTuple):
    """A checked message; its `contents` are texts, and items from `system` and `developer`."""

    role: str
    name: str | None
    contents: list[Any]
    channel: str | None
    recipient: str | None
    content_type: str | None


def _checked(message: Any, index: int) -> _Message:
    fields = _Fields(message, f"messages[{index}]", HarmonyMessage.__annotations__)
    role = fields.text("role", required=True)
    if role not in _ROLES:
        raise ConfigError(f"{fields.where}.role is {role!r:.60}; roles: {', '.join(_ROLES)}", option="messages")
    name = fields.text("name")
    if role == "tool" and name is None:
        raise ConfigError(
            f'{fields.where} is a tool without a name; add "name": "functions.…", the function that was called',
            option="messages",
        )
    content = fields.get("content", (str, list, tuple), "a string or a list of parts", required=True)
    parts = (
        [content]
        if isinstance(content, str)
        else [_part(part, f"{fields.where}.content[{at}]", role) for at, part in enumerate(content)]
    )
    return _Message(role, name, parts, fields.text("channel"), fields.text("recipient"), fields.text("content_type"))


_PARTS: dict[Any, tuple[str, ...]] = {
    "text": ("text",),
    "system_content": (
        *("model_identity", "reasoning_effort", "conversation_start_date", "knowledge_cutoff"),
        *("channel_config", "tools"),
    ),
    "developer_content": ("instructions", "tools"),
}


def _part(part: Any, where: str, role: str) -> Any:
    """Checks an item of a message's content, and returns it in the form that is rendered.

    An item with a text becomes a string. Any other item becomes a dict, in which the value of ``"tools"`` is a list of
    namespaces, sorted by name.
    """
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind not in _PARTS:
        raise ConfigError(f"{where} is {part!r:.60}; its type is one of {', '.join(_PARTS)}", option="messages")
    fields = _Fields(part, where, ("type", *_PARTS[kind]))
    if kind == "text":
        return fields.text("text", required=True)
    if kind != f"{role}_content":
        raise ConfigError(f"{where} is {kind}, which a message of {role!r} cannot have", option="messages")
    kept = {key: part[key] for key in part if part[key] is not None}
    for key in _PARTS[kind]:
        if key not in ("channel_config", "tools"):
            fields.text(key)
    if "reasoning_effort" in kept and kept["reasoning_effort"] not in ("Low", "Medium", "High"):
        raise ConfigError(f"{where}.reasoning_effort is not Low, Medium or High", option="messages")
    tools = fields.get("tools", Mapping, "an object of namespaces by name")
    if tools is not None:
        ordered = [tools[key] for key in sorted(tools, key=str.encode)]
        kept["tools"] = _namespaces(ordered, f"{where}.tools")
        kept["has_functions"] = bool("functions" in tools and tools["functions"]["tools"])
    if "channel_config" in kept:
        config = _Fields(kept["channel_config"], f"{where}.channel_config", ("valid_channels", "channel_required"))
        channels = config.get("valid_channels", list | tuple, "a list", required=True)  # type: ignore[arg-type]
        if not all(isinstance(channel, str) for channel in channels):
            raise ConfigError(f"{config.where}.valid_channels is not a list of strings", option="messages")
        config.get("channel_required", bool, "true or false", required=True)
    return kept


def _system_text(content: Mapping[str, Any], has_functions: bool) -> str:
    labels = {
        "model_identity": "",
        "knowledge_cutoff": "Knowledge cutoff: ",
        "conversation_start_date": "Current date: ",
    }
    top = [label + content[key] for key, label in labels.items() if key in content]
    sections = ["\n".join(top)] if top else []
    if "reasoning_effort" in content:
        sections.append(f"Reasoning: {content['reasoning_effort'].lower()}")
    if content.get("tools"):
        sections.append(tools_section(content["tools"]))
    config = content.get("channel_config")
    if config and config["valid_channels"]:
        text = f"# Valid channels: {', '.join(config['valid_channels'])}."
        text += " Channel must be included for every message." if config["channel_required"] else ""
        text += "\nCalls to these tools must go to the commentary channel: 'functions'." if has_functions else ""
        sections.append(text)
    return "\n\n".join(sections)


def _developer_text(content: Mapping[str, Any]) -> str:
    sections = ["# Instructions", content["instructions"]] if "instructions" in content else []
    return "\n\n".join([*sections, tools_section(content["tools"])] if content.get("tools") else sections)


def _has_functions(messages: Iterable[_Message]) -> bool:
    return any(
        isinstance(part, dict) and part["type"] == "developer_content" and part.get("has_functions")
        for message in messages
        for part in message.contents
    )


# ── messages → ids ──────────────────────────────────────────────────────────────────────────────────────────────────


class HarmonyIds(NamedTuple):
    """A rendered conversation.

    Attributes:
        ids: the ids.
        mask: for each id, whether the model generates it. The model generates all ids of a reply after
            ``<|start|>assistant``, including the end token. From the second reply of a turn on, it also generates
            ``<|start|>assistant``. It does not generate the ``<|end|>`` of a final message, because it ended this
            message with ``<|return|>``.
        spans: for each message, its half-open range of indices into the ids; None for reasoning that is dropped.
    """

    ids: list[int]
    mask: list[bool]
    spans: list[tuple[int, int] | None]


class Harmony:
    """Renderer and parser for a tokenizer with harmony's special tokens, such as ``jeton.load("openai/gpt-oss-20b")``.

    Examples:
        >>> import jeton
        >>> tokens = ["<|start|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|channel|>", "<|constrain|>"]
        >>> tok = jeton.train(["the weather in the city"], 280, special_tokens=tokens, progress=False)
        >>> harmony = Harmony(tok)
        >>> question = [developer("Be brief."), {"role": "user", "content": "2 + 2?"}]
        >>> prompt = harmony.render(question, next_role="assistant").ids
        >>> print(tok.decode(prompt))
        <|start|>developer<|message|># Instructions
        <BLANKLINE>
        Be brief.<|end|><|start|>user<|message|>2 + 2?<|end|><|start|>assistant

        The ids that the model generates are parsed, with or without the end token:

        >>> sampled = tok.encode("<|channel|>final<|message|>4<|return|>", special="all")
        >>> reply = harmony.parse(sampled)
        >>> reply
        [{'role': 'assistant', 'content': '4', 'channel': 'final'}]
        >>> rendered = harmony.render([*question, *reply], training=True)
        >>> rendered.ids == prompt + sampled, rendered.mask == [False] * len(prompt) + [True] * len(sampled)
        (True, True)
    """

    def __init__(self, tok: HarmonyTokenizer) -> None:
        """Checks that the tokenizer has the special tokens.

        Raises:
            ConfigError: some special tokens are missing. The error names them.
        """
        missing = [token for token in _TOKENS if token not in tok.special_tokens]
        if missing:
            raise ConfigError(
                f"the tokenizer lacks special tokens of harmony: {', '.join(map(repr, missing))}; "
                'use that of gpt-oss, such as jeton.load("o200k_harmony")',
                option="tok",
            )
        self._tok = tok
        self._id = {token: tok.special_tokens[token] for token in _TOKENS}

    @property
    def stop_ids(self) -> list[int]:
        """Ids at which sampling stops: those of ``<|return|>`` and ``<|call|>``."""
        return [self._id["<|return|>"], self._id["<|call|>"]]

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        next_role: Role | None = None,
        training: bool = False,
        keep_analysis: bool = False,
    ) -> HarmonyIds:
        """Renders a conversation.

        Args:
            messages: `HarmonyMessage` dicts.
            next_role: role of the next message, whose header is appended: ``"assistant"`` for a prompt.
            training: a final message at the end is closed by ``<|return|>``, as the model generates it, instead of
                ``<|end|>``.
            keep_analysis: keep all reasoning. By default, if the last reply is final, messages of the channel
                ``analysis`` before the first final message are dropped.

        Raises:
            ConfigError: a message or a tool does not have the required form. The error names the field and its place.
            InvalidTextError: a text has a lone surrogate.
        """
        flag(training, "training")
        flag(keep_analysis, "keep_analysis")
        if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
            raise ConfigError('messages must be a list of {"role": …, "content": …}', option="messages")
        if next_role is not None:
            choice(next_role, "next_role", _ROLES)
            if training:
                raise ConfigError(
                    f"{keyword('training', True)} renders a finished conversation, without {keyword('next_role')}",
                    option="training",
                )
        checked = [_checked(message, index) for index, message in enumerate(messages)]
        has_functions = _has_functions(checked)
        dropped = range(0) if keep_analysis else _dropped(checked)
        ids: list[int] = []
        mask: list[bool] = []
        spans: list[tuple[int, int] | None] = []
        is_open = False  # whether the model's turn continues after the last message
        for index, message in enumerate(checked):
            if index in dropped and message.channel == "analysis":
                spans.append(None)
                continue
            is_reply, is_final = message.role == "assistant", message.channel == "final"
            header, rest = self._message(message, has_functions)
            is_last = index == len(checked) - 1
            if training and is_last and is_reply and is_final:
                rest[-1] = self._id["<|return|>"]
            spans.append((len(ids), len(ids) + len(header) + len(rest)))
            ids += header + rest
            mask += [is_reply and is_open] * len(header) + [is_reply] * len(rest)
            if is_reply and is_final and rest[-1] == self._id["<|end|>"]:
                mask[-1] = False
            is_open = is_reply and not is_final and message.recipient is None
        if next_role is not None:
            prompt = [self._id["<|start|>"], *self._text(next_role)]
            ids, mask = ids + prompt, mask + [False] * len(prompt)
        return HarmonyIds(ids, mask, spans)

    def _text(self, text: str) -> list[int]:
        return self._tok.encode(text, special="none", add_special_tokens=False)

    def _message(self, message: _Message, has_functions: bool) -> tuple[list[int], list[int]]:
        """Returns the ids of a message in two parts: ``<|start|>`` with the author, and all other ids."""
        header = [self._id["<|start|>"]]
        if message.role == "tool":
            header += self._text(message.name or "")
        else:
            header += self._text(message.role)
            header += self._text(f":{message.name}") if message.name is not None else []
        rest: list[int] = []
        if message.recipient is not None and message.recipient != "all":
            rest += self._text(f" to={message.recipient}")
        if message.channel is not None:
            rest += [self._id[_CHANNEL], *self._text(message.channel)]
        kind = message.content_type
        if kind is not None and kind.startswith(_CONSTRAIN):
            rest += [*self._text(" "), self._id[_CONSTRAIN], *self._text(kind.removeprefix(_CONSTRAIN))]
        elif kind is not None:
            rest += self._text(f" {kind}")
        rest.append(self._id["<|message|>"])
        for part in message.contents:
            if isinstance(part, str):
                rest += self._text(part)
            else:
                is_system = part["type"] == "system_content"
                rest += self._text(_system_text(part, has_functions) if is_system else _developer_text(part))
        is_call = message.role == "assistant" and message.recipient is not None
        rest.append(self._id["<|call|>" if is_call else "<|end|>"])
        return header, rest

    # ── ids → messages ───────────────────────────────────────────────────────────────────────────────────────────────

    def parse(
        self, ids: Iterable[int], *, role: Role | None = "assistant", strict: bool = True
    ) -> list[HarmonyMessage]:
        """Parses ids to messages.

        Args:
            ids: the generated ids, or a whole conversation. The last message may lack its end token.
            role: role of the first message, if the prompt contains the beginning of its header; None if ids begin with
                ``<|start|>``.
            strict: if False, a header without content is accepted as a message, whose text is the rest of the header.

        Raises:
            FormatError: the ids are not in harmony's format. The error names the first wrong id.
            UnknownTokenError: an id is not in the vocabulary.
        """
        parser = self.parser(role=role, strict=strict)
        for id in ids:
            parser.push(id)
        return parser.finish()

    def parser(self, *, role: Role | None = "assistant", strict: bool = True) -> HarmonyParser:
        """Returns a parser of ids that arrive one by one; the arguments are those of `parse`."""
        if role is not None:
            choice(role, "role", _ROLES)
        return HarmonyParser(self._tok, self._id, role, flag(strict, "strict"))


def _dropped(messages: Sequence[_Message]) -> range:
    """Returns the range of messages whose reasoning is dropped.

    If the last reply is final, these are the messages before the first final one. If it is not, the range is empty.
    """
    replies = [message for message in messages if message.role == "assistant"]
    if not replies or replies[-1].channel != "final":
        return range(0)
    return range(next(index for index, message in enumerate(messages) if message.channel == "final"))


class HarmonyParser:
    """Parser of harmony ids that arrive one by one.

    Attributes:
        messages: the finished messages.

    Examples:
        >>> import jeton
        >>> tokens = ["<|start|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|channel|>", "<|constrain|>"]
        >>> tok = jeton.train(["the weather"], 270, special_tokens=tokens, progress=False)
        >>> parser = Harmony(tok).parser()
        >>> for id in tok.encode("<|channel|>analysis<|message|>hm<|end|>", special="all"):
        ...     text = parser.push(id)
        ...     if text:
        ...         print(parser.current["channel"], repr(text))
        analysis 'h'
        analysis 'm'
        >>> parser.messages
        [{'role': 'assistant', 'content': 'hm', 'channel': 'analysis'}]
    """

    def __init__(self, tok: HarmonyTokenizer, ids: Mapping[str, int], role: Role | None, strict: bool) -> None:
        """Starts in the header of a message of `role`, or before a message if `role` is None; see `Harmony.parser`."""
        self.messages: list[HarmonyMessage] = []
        self._tok, self._id = tok, ids
        self._ends = {ids[token] for token in ("<|end|>", "<|return|>", "<|call|>")}
        self._role, self._strict = role, strict
        self._header: list[int] | None = None if role is None else []
        self._current: HarmonyMessage | None = None
        self._texts: list[str] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._number = 0

    @property
    def current(self) -> HarmonyMessage | None:
        """The message whose content is arriving, with its text so far; None before the first and between messages."""
        return None if self._current is None else _with_text(self._current, "".join(self._texts))

    def push(self, id: int) -> str:
        """Adds an id.

        Returns:
            The text that the id adds to the content of the current message; empty in a header. Bytes of an incomplete
            character are buffered until the next id.

        Raises:
            FormatError, UnknownTokenError: as `Harmony.parse`.
        """
        self._number += 1
        if self._current is not None:
            if id in self._ends:
                self._close(self._current)
                return ""
            text = self._decoder.decode(self._tok.decode_bytes([id]))
            self._texts.append(text)
            return text
        if self._header is None:
            if id != self._id["<|start|>"]:
                raise self._error(f"expected <|start|> at the beginning of a message, found id {id}")
            self._header = []
        elif id == self._id["<|message|>"]:
            fields, left = _fields(self._decoded(self._header), self._role, self._error)
            if left:
                raise self._error(f"unexpected text in a header, after role, recipient and type: {left!r:.60}")
            self._current, self._header, self._role = fields, None, None
        elif id in self._ends and not self._strict:
            if self._role is not None and self._header:
                fields, left = _fields(self._decoded(self._header), self._role, self._error, is_content=True)
                self.messages.append(_with_text(fields, left))
            self._header = self._role = None
        else:
            self._header.append(id)
        return ""

    def finish(self) -> list[HarmonyMessage]:
        """Returns all messages; call it after the last id.

        Raises:
            FormatError: the ids end inside a header.
        """
        if self._header is not None:
            raise self._error("the ids end in a header, before <|message|>")
        if self._current is not None:
            self._close(self._current)
        return self.messages

    def _close(self, fields: HarmonyMessage) -> None:
        text = "".join((*self._texts, self._decoder.decode(b"", final=True)))
        self.messages.append(_with_text(fields, text))
        self._current, self._texts = None, []

    def _decoded(self, ids: list[int]) -> str:
        try:
            return self._tok.decode_bytes(ids).decode()
        except UnicodeDecodeError as error:
            raise self._error("a header is not UTF-8") from error

    def _error(self, what: str) -> FormatError:
        return FormatError(f"harmony: {what} (id number {self._number})", format="harmony", place=f"id {self._number}")


def _with_text(fields: HarmonyMessage, text: str) -> HarmonyMessage:
    """Returns a message of the given fields and content, with its keys in the order of `HarmonyMessage`."""
    given: Any = {**fields, "content": text}
    return {key: given[key] for key in HarmonyMessage.__annotations__ if key in given}  # type: ignore[return-value]


def _fields(header: str, role: str | None, error: Any, *, is_content: bool = False) -> tuple[HarmonyMessage, str]:
    """Parses the header of a message.

    Args:
        header: the text of the header.
        role: the role, if the prompt contains it; else None.
        error: function that creates an exception with the given error message.
        is_content: True if the text after the role and the channel is the content of the message; False if it is a
            recipient and a content type.

    Returns:
        The fields of the message, and the remaining text.
    """
    fields: dict[str, str] = {}
    before, mark, after = header.partition(_CHANNEL)
    if mark:
        end = next((at for at, char in enumerate(after) if char in _SPACES or char == "<"), len(after))
        if not end:
            raise error("<|channel|> without a channel name")
        fields["channel"] = after[:end]
        header = before + after[end:]
    header = header.strip(_SPACES).replace(_CONSTRAIN, f" {_CONSTRAIN}")
    for space in _ASCII_SPACES:
        header = header.replace(space, " ")
    parts = [part for part in header.split(" ") if part]
    if role is None:
        if not parts:
            raise error("a header without a role")
        name, role = parts[0], parts[0]
        if role not in _ROLES:
            if len(parts) == 1 and not name.startswith("to="):
                raise error(f"unknown role {name!r:.60}")
            role = "tool"
            del parts[0]
        if role == "tool":
            fields["name"] = name
    if parts[:1] == [role]:
        del parts[0]
    if parts and not is_content:
        last = parts.pop()
        if last.startswith("to=") or not parts:
            fields["recipient"] = last.removeprefix("to=")
        else:
            fields["content_type"] = last
            fields["recipient"] = parts.pop().removeprefix("to=")
    return {"role": role, **fields}, " ".join(parts)  # type: ignore[typeddict-item]

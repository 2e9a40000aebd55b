"""Presets of `jeton.chat` print what the published templates print, or refuse what they do not support."""

from __future__ import annotations

import json
import os
import random
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import pytest

import jeton
from jeton.chat import PRESETS, presets_for
from jeton.errors import ChatTemplateError

from ..selection import amount

Message = dict[str, Any]


class Published(NamedTuple):
    """A published template, and its features that the preset does not support.

    Attributes:
        preset: name of the preset.
        file: name of the template in the folder of published ones.
        bos: the token that the template reads as ``bos_token``.
        variables: values of the template's variables, of which one each is drawn.
        refusals: words of the preset's errors for conversations that the published template renders.
        always: variables that the published copy needs to print what the model's repository does.
        renders_more: the preset renders conversations that the published template refuses.
    """

    preset: str
    file: str
    bos: str = ""
    variables: dict[str, list[Any]] = {}  # noqa: RUF012
    refusals: tuple[str, ...] = ()
    always: dict[str, Any] = {}  # noqa: RUF012
    renders_more: bool = False


_DEEPSEEK = "<｜begin▁of▁sentence｜>"
_PARTS = "must be a text"
_ARGUMENTS = "must be an object"
_ROLES = "roles are "
_TOOLS = "the format has no tools"
PUBLISHED = [
    Published(
        "llama3.1",
        "meta-llama-Llama-3.1-8B-Instruct.jinja",
        "<|begin_of_text|>",
        {"date_string": ["01 Jan 2026"], "tools_in_user_message": [True, False]},
        refusals=(_PARTS, _ARGUMENTS, "tools need a first message of the user"),
    ),
    # Gemma 2 has no system message; the preset supports one, as Gemma 3 does
    Published(
        "gemma",
        "google-gemma-2-2b-it.jinja",
        "<bos>",
        refusals=("system message must be the first",),
        renders_more=True,
    ),
    Published(
        "qwen3", "Qwen-Qwen3-0.6B.jinja", variables={"enable_thinking": [True, False]}, refusals=(_PARTS, _ROLES)
    ),
    Published(
        "harmony",
        "openai-gpt-oss-120b.jinja",
        variables={"reasoning_effort": ["low"], "model_identity": ["You are X."]},
        refusals=(_PARTS, _ROLES, "a message has one call of a tool, whose arguments are an object"),
    ),
    Published(
        "deepseek-v3.1",
        "deepseek-ai-DeepSeek-V3.1.jinja",
        _DEEPSEEK,
        {"thinking": [True, False], "enable_thinking": [True, False]},
        refusals=(_ARGUMENTS, _ROLES, _TOOLS),
    ),
    # llama.cpp's copy closes the reasoning unless `enable_thinking` is set; the model's repository has no such variable
    Published(
        "deepseek-r1",
        "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja",
        _DEEPSEEK,
        refusals=(_ROLES, _TOOLS, "without parts and calls of tools"),
        always={"enable_thinking": True},
    ),
    Published(
        "glm4.7",
        "GLM-4.7-Flash.jinja",
        variables={"enable_thinking": [True, False], "clear_thinking": [True, False]},
        refusals=(_PARTS, _ROLES),
    ),
    Published("kimi-k2", "Kimi-K2-Instruct.jinja"),
]
TEXTS = [
    "hi",
    " two  spaces \n",
    "今天 😉",
    "<b>ok</b> & 'x' \"y\"",
    "a\n\nb",
    "",
    "<think>\nx\n</think>\n\n51",
    "1 </think> 2",
]
SCHEMAS: list[dict[str, Any]] = [
    {"type": "string", "description": "the \"city\""},
    {"type": "string", "enum": ["c", "f"], "default": "c"},
    {"type": "string", "nullable": True},
    {"type": "integer", "default": 3},
    {"type": "number"},
    {"type": "boolean", "description": "é <x>"},
    {"type": "array", "items": {"type": "integer"}, "nullable": True},
    {"type": "array"},
    {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
    {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    {"type": "array", "items": {"type": "object", "properties": {f"property{n}": {"type": "string"} for n in range(4)}}},
    {"type": ["string", "null"]},
    {"type": ["object"]},
    {"type": "object"},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "string"}}}},
    {"oneOf": [{"type": "string", "description": "d"}, {"type": "integer", "default": 1}]},
    {"oneOf": [{"type": "object"}, {"type": "string"}], "default": "x"},
    {"oneOf": [{"type": "object"}]},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
]  # fmt: skip


def published(file: str) -> str:
    """The source of a published template; skips without the folder of data."""
    if "JETON_TEST_DATA" not in os.environ:
        pytest.skip("JETON_TEST_DATA names no folder")
    return (Path(os.environ["JETON_TEST_DATA"]) / "templates" / file).read_text(encoding="utf-8")


def rendered(source: str, messages: list[Message], **variables: Any) -> str:
    """The text of a template in Jinja itself, with the settings and functions of transformers."""
    return str(compiled(source).render(messages=messages, **variables))


@cache
def compiled(source: str) -> jinja2.Template:
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])

    def to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    environment.filters["tojson"] = to_json
    environment.globals.update(raise_exception=refuse, strftime_now=datetime.now().strftime)
    return environment.from_string(source)


@cache
def tokenizer(name: str) -> jeton.Tokenizer:
    base = jeton.train([json.dumps([TEXTS, SCHEMAS])], 400, pattern="gpt2", progress=False)
    return base.add_tokens(PRESETS[name].tokens)


class Conversation(NamedTuple):
    messages: list[Message]
    tools: list[dict[str, Any]] | None


def conversation(rng: random.Random) -> Conversation:
    """A random conversation: system, turns, reasoning, calls of tools with their results."""
    has_calls, has_reasoning = rng.random() < 0.5, rng.random() < 0.5
    text = lambda: rng.choice(TEXTS)  # noqa: E731
    messages: list[Message] = []
    if rng.random() < 0.5:
        messages.append({"role": rng.choice(["system", "system", "developer"]), "content": text()})

    def reply(**more: Any) -> Message:
        message = {"role": "assistant", "content": text(), **more}
        if has_reasoning and rng.random() < 0.7:
            thoughts = rng.choice([t for t in TEXTS if "think" not in t])
            message |= {"thinking": thoughts, "reasoning_content": thoughts}
            if more and rng.random() < 0.7:
                message["content"] = ""
        return message

    for _ in range(rng.randint(1, 4)):
        messages.append({"role": "user", "content": text()})
        while has_calls and rng.random() < 0.5:
            calls = [
                {
                    "id": f"call{n}",
                    "type": "function",
                    "function": {"name": rng.choice(["weather", "time"]), "arguments": arguments(rng)},
                }
                for n in range(rng.choice([1, 1, 1, 2, 3]))
            ]
            messages.append(reply(tool_calls=calls))
            messages += [{"role": "tool", "content": text(), "tool_call_id": call["id"]} for call in calls]
        messages.append(reply())
    del messages[rng.randint(max(1, len(messages) - 3), len(messages)) :]
    if rng.random() < 0.15:
        at = rng.randrange(len(messages))
        messages[at] = {**messages[at], "content": [{"type": "text", "text": "a"}, {"type": "text", "text": " b "}]}
    if rng.random() < 0.1:
        messages.insert(rng.randint(0, len(messages)), {"role": "system", "content": text()})
    return Conversation(messages, tools(rng) if rng.random() < (0.8 if has_calls else 0.1) else None)


def arguments(rng: random.Random) -> Any:
    if rng.random() < 0.1:
        return '{"city": "x"}'
    values: list[Any] = ["北京 <x>", 3, 0.5, None, [1, {"k": 'q"\\\n'}], True]
    return {name: rng.choice(values) for name in rng.sample(["city", "days", "place"], rng.randint(0, 3))}


def tools(rng: random.Random) -> list[dict[str, Any]]:
    def one(name: str) -> dict[str, Any]:
        properties = {f"p{n}": rng.choice(SCHEMAS) for n in range(rng.randint(0, 5))}
        parameters = {
            "type": "object",
            "properties": properties,
            "required": [p for p in properties if rng.random() < 0.5],
        }
        return {
            "type": "function",
            "function": {"name": name, "description": "Of a <place>, é", "parameters": parameters},
        }

    return [one(name) for name in rng.sample(["weather", "time"], rng.randint(1, 2))]


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: one.preset)
def test_presets_render_as_published_templates(one: Published) -> None:
    """Random conversations without and with the generation prompt have equal text and ids, or are refused."""
    source, tok, rng = published(one.file), tokenizer(one.preset), random.Random(1)
    equal = 0
    for _ in range(amount(2000, default=20)):
        messages, tools = conversation(rng)
        variables = {name: rng.choice(values) for name, values in one.variables.items() if rng.random() < 0.5}
        variables |= one.always
        for prompt in (False, True):
            given = {**variables, "tools": tools, "add_generation_prompt": prompt}
            try:
                expected = rendered(source, messages, bos_token=one.bos, **given)
            except Exception:  # whatever a template raises
                expected = None
            options: dict[str, Any] = {"tools": tools, "variables": variables, "add_generation_prompt": prompt}
            try:
                chat = tok.chat(messages, template=one.preset, special="all", **options)
            except ChatTemplateError as error:
                assert expected is None or any(words in str(error) for words in one.refusals), messages
                continue
            if expected is None:
                assert one.renders_more, messages
                continue
            assert chat.text == expected, messages
            assert chat.ids == tok.encode(expected, special="all")
            equal += 1
    assert equal > amount(400, default=4)


CALL = {"id": "c0", "type": "function", "function": {"name": "weather", "arguments": {"city": "北京", "days": [1, 2]}}}
TALK: list[Message] = [
    {"role": "system", "content": " Be short. "},
    {"role": "user", "content": " hi "},
    {"role": "assistant", "content": " hello ", "reasoning_content": "hm"},
    {"role": "user", "content": "weather?"},
]
CALLED: list[Message] = [
    *TALK,
    {"role": "assistant", "content": "wait", "reasoning_content": " look ", "tool_calls": [CALL]},
    {"role": "tool", "content": "rain"},
    {"role": "assistant", "content": "It rains."},
]
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


# Texts that the published templates of google/gemma-3-4b-it and zai-org/GLM-4.5 print, and `ChatFormat` of
# meta-llama/llama3 llama/tokenizer.py; the folder of published templates does not have these.
_LLAMA3 = "<|start_header_id|>{}<|end_header_id|>\n\n"
RENDERED: list[tuple[str, list[Message], list[dict[str, Any]] | None, str]] = [
    (
        "gemma3",
        TALK,
        None,
        "<bos><start_of_turn>user\n Be short. \n\nhi<end_of_turn>\n<start_of_turn>model\nhello<end_of_turn>\n"
        "<start_of_turn>user\nweather?<end_of_turn>\n<start_of_turn>model\n",
    ),
    (
        "glm4.5",
        CALLED,
        TOOLS,
        "[gMASK]<sop><|system|>\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
        '{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}\n</tools>\n\n'
        "For each function call, output the function name and arguments within the following XML format:\n"
        "<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n<arg_value>{arg-value-1}</arg_value>\n"
        "<arg_key>{arg-key-2}</arg_key>\n<arg_value>{arg-value-2}</arg_value>\n...\n</tool_call><|system|>\n Be short. "
        "<|user|>\n hi <|assistant|>\n<think></think>\nhello<|user|>\nweather?<|assistant|>\n<think>look</think>\nwait\n"
        "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>北京</arg_value>\n<arg_key>days</arg_key>\n"
        "<arg_value>[1, 2]</arg_value>\n</tool_call><|observation|>\n<tool_response>\nrain\n</tool_response><|assistant|>\n"
        "<think></think>\nIt rains.<|assistant|>",
    ),
    (
        "llama3",
        TALK,
        None,
        "<|begin_of_text|>"
        + "".join(_LLAMA3.format(message["role"]) + message["content"].strip() + "<|eot_id|>" for message in TALK)
        + _LLAMA3.format("assistant"),
    ),
]


def test_presets_without_a_published_file_render_as_pinned() -> None:
    for name, messages, tools, expected in RENDERED:
        options: dict[str, Any] = {"template": name, "tools": tools, "add_generation_prompt": True}
        assert tokenizer(name).chat(messages, tokenize=False, **options) == expected


def test_tokens_of_a_tokenizer_determine_its_presets() -> None:
    assert presets_for(tokenizer("qwen3")) == ["qwen3", "chatml"]
    assert presets_for(tokenizer("llama3")) == ["llama3"]
    assert presets_for(tokenizer("llama3.1")) == ["llama3.1", "llama3"]
    assert presets_for(tokenizer("glm4.5")) == ["glm4.5", "glm4.7"]
    plain = jeton.Tokenizer.from_merges({}, []).add_tokens(PRESETS["harmony"].tokens, special=False)
    assert presets_for(plain) == ["harmony"]  # some models have these marks as tokens that are not special


def test_a_tokenizer_without_template_names_the_presets_that_fit() -> None:
    messages = [{"role": "user", "content": "hi"}]
    with pytest.raises(
        ChatTemplateError, match=r"template; pass template= .* special tokens: 'qwen3', 'chatml'; tok.with"
    ):
        tokenizer("qwen3").chat(messages)
    bare = jeton.Tokenizer.from_merges({}, [])
    with pytest.raises(
        ChatTemplateError, match=r"add ChatML's special tokens and template with .*PRESETS\['chatml'\].tokens"
    ):
        bare.chat(messages)

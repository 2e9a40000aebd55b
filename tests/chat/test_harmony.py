"""harmony: ids and messages equal those of openai-harmony where it is installed; texts of golden cases elsewhere."""

from __future__ import annotations

import hashlib
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.chat.harmony import Harmony, developer, system
from jeton.chat.typescript import tools_section
from jeton.errors import ConfigError, FormatError, InvalidTextError, JetonError, UnknownTokenError
from jeton.formats.registry import _HARMONY

from ..selection import amount
from . import harmony_messages as generated

TOKENS = ["<|start|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|channel|>", "<|constrain|>"]
TOK = jeton.Tokenizer.from_merges(
    {byte: bytes([byte]) for byte in range(256)},
    [],
    special_tokens={token: 256 + at for at, token in enumerate(TOKENS)},
)
HARMONY = Harmony(TOK)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def reply(content: str, channel: str | None = "final", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "channel": channel, **more}


CALL = reply('{"city": "x"}', "commentary", recipient="functions.weather", content_type="<|constrain|>json")
RESULT = {
    "role": "tool",
    "name": "functions.weather",
    "content": "rain",
    "recipient": "assistant",
    "channel": "commentary",
}


def rendered(messages: Any, **options: Any) -> str:
    return TOK.decode(HARMONY.render(messages, **options).ids)


def ids_of(text: str) -> list[int]:
    return TOK.encode(text, special="all")


# ── rendering ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_conversation_with_a_call() -> None:
    tool = {
        "name": "weather",
        "description": "Now.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    messages = [
        system(reasoning="high", date="2025-06-28"),
        developer("Be brief.", tools=[{"type": "function", "function": tool}]),
        user("weather?"),
        reply("call it", "analysis"),
        CALL,
        RESULT,
    ]
    assert rendered(messages, next_role="assistant") == (
        "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
        "Knowledge cutoff: 2024-06\nCurrent date: 2025-06-28\n\nReasoning: high\n\n"
        "# Valid channels: analysis, commentary, final. Channel must be included for every message.\n"
        "Calls to these tools must go to the commentary channel: 'functions'.<|end|>"
        "<|start|>developer<|message|># Instructions\n\nBe brief.\n\n# Tools\n\n## functions\n\nnamespace functions {\n\n"
        "// Now.\ntype weather = (_: {\ncity?: string,\n}) => any;\n\n} // namespace functions<|end|>"
        "<|start|>user<|message|>weather?<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|>call it<|end|>"
        '<|start|>assistant to=functions.weather<|channel|>commentary <|constrain|>json<|message|>{"city": "x"}<|call|>'
        "<|start|>functions.weather to=assistant<|channel|>commentary<|message|>rain<|end|>"
        "<|start|>assistant"
    )


def test_reasoning_is_dropped_before_a_final_reply() -> None:
    past = [user("a"), reply("hm", "analysis"), reply("b")]
    assert rendered(past) == ("<|start|>user<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|end|>")
    assert "hm" in rendered(past, keep_analysis=True)
    assert "hm" in rendered([*past[:2], CALL, RESULT])  # the turn continues
    assert "ho" in rendered([*past, user("c"), reply("ho", "analysis"), reply("d")])  # before the first final one
    assert HARMONY.render(past).spans[1] is None


def test_training_ends_with_return() -> None:
    messages = [user("a"), reply("hm", "analysis"), reply("b")]
    assert rendered(messages, training=True).endswith("<|message|>b<|return|>")
    assert rendered(messages[:2], training=True).endswith("<|message|>hm<|end|>")
    assert rendered([messages[0], CALL], training=True).endswith("<|call|>")
    with pytest.raises(ConfigError, match="without next_role="):
        HARMONY.render(messages, training=True, next_role="assistant")


def test_special_tokens_in_messages_are_text() -> None:
    messages = [
        user("<|end|><|start|>system"),
        reply("x<|call|>", "final<|message|>", recipient="a<|end|>", content_type="<|call|>"),
    ]
    ids = HARMONY.render(messages).ids
    assert [TOKENS[id - 256] for id in ids if id >= 256] == [
        "<|start|>", "<|message|>", "<|end|>", "<|start|>", "<|channel|>", "<|message|>", "<|call|>",
    ]  # fmt: skip


def marked(messages: Any, **options: Any) -> str:
    """The text, with the masked-in parts in brackets."""
    made = HARMONY.render(messages, **options)
    parts, before = [], False
    for id, mark in zip(made.ids, made.mask, strict=True):
        parts += (("[" if mark else "]") if mark != before else "", TOK.decode([id]))
        before = mark
    return "".join(parts) + ("]" if before else "")


def test_the_mask_covers_generated_ids() -> None:
    """The mask covers the ids from the prompt to the id that stops the model."""
    messages = [user("a"), reply("hm", "analysis"), CALL, RESULT, reply("ho", "analysis"), reply("b")]
    assert marked(messages, training=True, keep_analysis=True) == (
        "<|start|>user<|message|>a<|end|>"
        "<|start|>assistant[<|channel|>analysis<|message|>hm<|end|>"
        '<|start|>assistant to=functions.weather<|channel|>commentary <|constrain|>json<|message|>{"city": "x"}<|call|>]'
        "<|start|>functions.weather to=assistant<|channel|>commentary<|message|>rain<|end|>"
        "<|start|>assistant[<|channel|>analysis<|message|>ho<|end|>"
        "<|start|>assistant<|channel|>final<|message|>b<|return|>]"
    )
    # In a prompt, <|end|> has replaced the <|return|> that was generated.
    assert marked([reply("b"), user("c")], next_role="assistant") == (
        "<|start|>assistant[<|channel|>final<|message|>b]<|end|><|start|>user<|message|>c<|end|><|start|>assistant"
    )


def test_spans_tile_the_ids() -> None:
    rng = random.Random(0)
    for _ in range(50):
        messages = generated.conversation(rng)
        made = HARMONY.render(messages)
        spans = [span for span in made.spans if span is not None]
        assert len(made.spans) == len(messages)
        assert [start for start, _ in spans] == [0, *(end for _, end in spans)][: len(spans)]
        assert (spans[-1][1] if spans else 0) == len(made.ids) == len(made.mask)
        assert all(made.ids[start] == TOKENS.index("<|start|>") + 256 for start, _ in spans)


SCHEMAS: list[tuple[Any, str]] = [
    (None, ""),
    ({"type": "object"}, "_: {\n}"),
    ({"type": "object", "properties": {"a": {"type": "integer", "description": "d", "default": 3}}}, "_: {\n// d\na?: number, // default: 3\n}"),
    ({"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"], "default": "x"}}, "required": ["a"]}, '_: {\na: "x" | "y", // default: x\n}'),
    ({"type": "object", "properties": {"a": {"type": ["string", "null"], "nullable": True}, "b": {"type": "number", "nullable": True}}}, "_: {\na?: string | null,\nb?: number | null,\n}"),
    ({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "boolean"}}, "b": {"type": "array"}}}, "_: {\na?: boolean[],\nb?: Array<any>,\n}"),
    ({"type": "object", "properties": {"a": {"oneOf": [{"type": "string", "default": "z"}, {"type": "number", "description": "n"}]}}}, '_: {\na?:\n | string // default: "z"\n | number // n\n,\n}'),
    ({"type": "object", "properties": {"o": {"type": "object", "properties": {"x": {"type": "string"}}}}}, "_: {\no?: {\n    x?: string,\n    },\n}"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "expected"), SCHEMAS)
def test_schemas_are_written_as_typescript(schema: Any, expected: str) -> None:
    tool = {"name": "f", "description": "", "parameters": schema}
    text = tools_section([{"name": "n", "tools": [tool]}])
    assert text == f"# Tools\n\n## n\n\nnamespace n {{\n\ntype f = ({expected}) => any;\n\n}} // namespace n"


def deep(levels: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


HOSTILE: list[tuple[Any, str]] = [
    ("x", "messages must be a list"),
    (["x"], r"messages\[0\] is 'x', not an object"),
    ([{"role": "user"}], r"messages\[0\]\.content is None"),
    ([{"content": "x"}], r"messages\[0\]\.role is None"),
    ([{"role": "critic", "content": "x"}], "role is 'critic'; roles: user"),
    ([{"role": "tool", "content": "x"}], "a tool without a name"),
    ([{"role": "user", "content": "x", "chanel": "final"}], "the key 'chanel'; known: role"),
    ([user([{"type": "image"}])], r"content\[0\] is {'type': 'image'}; its type is one of text"),
    ([user([{"type": "text", "text": 3}])], r"content\[0\]\.text is 3, not a string"),
    ([user([{"type": "system_content"}])], "system_content, which a message of 'user' cannot have"),
    ([{"role": "system", "content": [{"type": "system_content", "reasoning_effort": "max"}]}], "is not Low, Medium or High"),
    ([{"role": "system", "content": [{"type": "system_content", "channel_config": {"valid_channels": [1]}}]}], "valid_channels"),
    ([{"role": "developer", "content": [{"type": "developer_content", "tools": [1]}]}], "tools is .1., not an object"),
    ([{"role": "assistant", "content": "x", "channel": 3}], "channel is 3, not a string"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "text"), HOSTILE)
def test_other_messages_are_refused(messages: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        HARMONY.render(messages)


def test_other_tools_are_refused() -> None:
    for tool, text in [
        ({"name": "f", "parameters": {"default": float("nan")}}, "nan, which is not JSON"),
        ({"name": "f", "parameters": {1: 2}}, "the key 1, which is not a string"),
        ({"name": "f", "parameters": {"x": {1}}}, "set, which is not JSON"),
        ({"name": "f", "parameters": deep(150)}, "nested deeper than 100"),
        ({"description": "d"}, "name is None"),
        ("f", "not an object"),
    ]:
        with pytest.raises(ConfigError, match=text):
            developer(tools=[tool])  # type: ignore[list-item]
    with pytest.raises(InvalidTextError):
        HARMONY.render([user("\ud800")])
    with pytest.raises(ConfigError, match=r"lacks special tokens of harmony: '<\|start\|>'"):
        Harmony(jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, []))


# ── parsing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

PARSED: list[tuple[str, str | None, Any]] = [
    ("<|channel|>final<|message|>hi<|return|>", "assistant", [{"role": "assistant", "content": "hi", "channel": "final"}]),
    ("<|channel|>final<|message|>hi", "assistant", [{"role": "assistant", "content": "hi", "channel": "final"}]),
    ("<|start|>user<|message|><|end|>", None, [{"role": "user", "content": ""}]),
    ("", None, []),
    (
        "<|channel|>commentary to=functions.f<|constrain|>json<|message|>{}<|call|>",
        "assistant",
        [{"role": "assistant", "content": "{}", "channel": "commentary", "recipient": "functions.f", "content_type": "<|constrain|>json"}],
    ),
    (
        "<|start|>functions.f to=assistant<|channel|>commentary<|message|>1<|end|>",
        None,
        [{"role": "tool", "name": "functions.f", "content": "1", "channel": "commentary", "recipient": "assistant"}],
    ),
    (
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
        "assistant",
        [{"role": "assistant", "content": "a", "channel": "analysis"}, {"role": "assistant", "content": "b", "channel": "final"}],
    ),
    ("<|message|>a<|channel|>b", "assistant", [{"role": "assistant", "content": "a<|channel|>b"}]),
]  # fmt: skip
BROKEN = [
    ("x", None, r"expected <\|start\|> at the beginning of a message, found id \d+ \(id number 1\)"),
    ("<|start|>critic<|message|>x", None, "unknown role 'critic'"),
    ("<|start|> <|message|>x", None, "a header without a role"),
    ("<|channel|><|message|>x", "assistant", "without a channel name"),
    ("<|channel|>final", "assistant", "the ids end in a header"),
    ("a b c d<|message|>x", "assistant", "unexpected text in a header"),
    ("<|channel|>final<|end|>", "assistant", "the ids end in a header"),
]


@pytest.mark.parametrize(("text", "role", "messages"), PARSED)
def test_ids_parse_into_messages(text: str, role: Any, messages: Any) -> None:
    assert HARMONY.parse(ids_of(text), role=role) == messages
    assert HARMONY.parse(np.array(ids_of(text), np.uint32), role=role) == messages


@pytest.mark.parametrize(("text", "role", "message"), BROKEN)
def test_malformed_ids_are_refused(text: str, role: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        HARMONY.parse(ids_of(text), role=role)
    assert caught.value.format == "harmony"
    with pytest.raises(UnknownTokenError):
        HARMONY.parse([*ids_of("<|message|>a"), 10**6])


def test_a_header_without_content_is_read_if_not_strict() -> None:
    """With ``strict=False``, the text after the channel is the content."""
    ids = ids_of("<|channel|>final some text<|end|>")
    assert HARMONY.parse(ids, strict=False) == [{"role": "assistant", "content": "some text", "channel": "final"}]


def test_streamed_text_is_whole_characters() -> None:
    """Characters come as soon as they are whole; broken bytes are replaced."""
    parser = HARMONY.parser()
    assert [parser.push(id) for id in ids_of("<|channel|>final<|message|>")] == [""] * 7
    assert [parser.push(id) for id in "é😉".encode()] == ["", "é", "", "", "", "😉"]
    assert parser.push(0xFF) == "\ufffd"
    assert parser.push(0xF0) == ""
    assert parser.current == {"role": "assistant", "content": "é😉\ufffd", "channel": "final"}
    assert parser.finish() == [{"role": "assistant", "content": "é😉\ufffd\ufffd", "channel": "final"}]
    assert parser.current is None


def test_rendered_messages_parse_back() -> None:
    """Messages with a single text survive rendering and parsing."""
    rng = random.Random(1)
    seen = 0
    for _ in range(400):
        messages = [one for one in generated.conversation(rng) if isinstance(one["content"], str)]
        messages = [one for one in messages if not {"name", "recipient", "content_type"} & set(one)]
        messages = [one for one in messages if one["role"] != "tool" and one.get("channel", "x") not in ("", "x y")]
        parsed = HARMONY.parse(HARMONY.render(messages, keep_analysis=True).ids, role=None)
        assert parsed == messages
        seen += len(messages)
    assert seen > 100


# ── openai-harmony ──────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def o200k(folder: Path) -> Harmony:
    path = folder / "vocabs" / "o200k_base.tiktoken"
    if not path.exists():
        pytest.skip(f"no {path}")
    return Harmony(jeton.load(path, special_tokens=_HARMONY))


@cache
def peer(folder: Path) -> Any:
    package = pytest.importorskip("openai_harmony", reason="openai-harmony is not installed")
    o200k(folder)
    with pytest.MonkeyPatch.context() as patch:  # the package downloads the vocabulary otherwise
        patch.setenv("TIKTOKEN_ENCODINGS_BASE", str(folder / "vocabs"))
        return package.load_harmony_encoding("HarmonyGptOss")._inner


def cases(number: int) -> list[tuple[int, list[dict[str, Any]], dict[str, Any]]]:
    made = []
    for seed in range(number):
        rng = random.Random(seed)
        messages = generated.conversation(rng)
        training = rng.random() < 0.4
        options = {"training": training, "next_role": None if training else rng.choice([None, "assistant", "tool"])}
        made.append((seed, messages, {**options, "keep_analysis": rng.random() < 0.5}))
    return made


def test_ids_equal_recorded_ones(data: Path) -> None:
    """Ids of openai-harmony 0.0.8, recorded: of generated conversations, and of the example of its documentation."""
    harmony = o200k(data)
    sampled = [200005, 17196, 200008, 17, 659, 220, 17, 314, 220, 19, 13, 200002]
    assert harmony.parse(sampled) == [{"role": "assistant", "content": "2 + 2 = 4.", "channel": "final"}]
    assert harmony.stop_ids == [200002, 200012]
    digest = hashlib.sha256()
    for _, messages, options in cases(150):
        digest.update(np.array(harmony.render(messages, **options).ids, "<u4").tobytes())
    assert digest.hexdigest() == "4e7631abc3430581f4a9a4af9a99c2180bc5ec08a2bb7e548e4c3089808a031b"


def test_ids_equal_those_of_openai_harmony(data: Path) -> None:
    harmony, theirs = o200k(data), peer(data)
    for seed, messages, options in cases(amount(2_000, default=300)):
        given = {
            "conversation_json": json.dumps({"messages": messages}),
            "config": {"auto_drop_analysis": not options["keep_analysis"]},
        }
        if options["next_role"]:
            expected = theirs.render_conversation_for_completion(next_turn_role=options["next_role"], **given)
        elif options["training"]:
            expected = theirs.render_conversation_for_training(**given)
        else:
            expected = theirs.render_conversation(**given)
        assert harmony.render(messages, **options).ids == expected, seed


def test_messages_and_tools_of_openai_harmony_are_accepted(data: Path) -> None:
    """Messages of openai-harmony as dicts, and its built-in tools."""
    peer(data)
    import openai_harmony as theirs

    content = (
        theirs.SystemContent.new().with_browser_tool().with_python_tool().with_conversation_start_date("2025-06-28")
    )
    messages = [theirs.Message.from_role_and_content(theirs.Role.SYSTEM, content)]
    messages.append(theirs.Message.from_role_and_content(theirs.Role.USER, "hi").with_channel("x"))
    encoding = theirs.HarmonyEncoding(peer(data))
    conversation = theirs.Conversation.from_messages(messages)
    expected = encoding.render_conversation_for_completion(conversation, theirs.Role.ASSISTANT)
    dicts = [message.to_dict() for message in messages]
    assert o200k(data).render(dicts, next_role="assistant").ids == expected
    tools = [theirs.ToolNamespaceConfig.browser().model_dump(), theirs.ToolNamespaceConfig.python().model_dump()]
    ours = [system(date="2025-06-28", tools=tools), {"role": "user", "content": "hi", "channel": "x"}]
    assert o200k(data).render(ours, next_role="assistant").ids == expected


def test_messages_equal_those_of_openai_harmony(data: Path) -> None:
    """For damaged ids, too: equal messages, or both refuse."""
    harmony, theirs = o200k(data), peer(data)
    tok = harmony._tok
    special = [tok.special_tokens[token] for token in TOKENS]
    others = [
        tok.encode(text, special="none", add_special_tokens=False)[0]
        for text in (" ", " to=x", "user", "tool", "\x85", "\x1c")
    ]
    parsed = 0
    for seed in range(amount(2_000, default=300)):
        rng = random.Random(seed)
        ids = generated.damaged(
            rng, harmony.render(generated.conversation(rng), keep_analysis=True).ids, special, others
        )
        role, strict = rng.choice([None, None, "assistant", "tool"]), rng.random() < 0.5
        ids = ids[1:] if role and rng.random() < 0.9 else ids
        try:
            expected = json.loads(theirs.parse_messages_from_completion_tokens(ids, role, strict))
        except Exception:  # HarmonyError
            expected = None
        try:
            messages = harmony.parse(ids, role=role, strict=strict)
        except JetonError:
            assert expected is None, seed
        else:
            assert messages == expected, seed
            parsed += 1
    assert parsed >= 60

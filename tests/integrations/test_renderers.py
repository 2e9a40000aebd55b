"""`JetonRenderer` implements the protocol of the package `renderers`."""

from __future__ import annotations

import pytest

import jeton
from jeton.integrations.renderers import JetonRenderer

from ..chat.replies import TOOLS, USER
from ..chat.templates import CHATML, CHATML_WITH_TOOLS, SPECIAL

renderers = pytest.importorskip("renderers", reason="needs the package renderers: pip install renderers")

TOK = jeton.Tokenizer.from_merges({id: bytes([id]) for id in range(256)}, []).add_tokens(SPECIAL)
CALL = '<think>\nhm\n</think>\n\n<tool_call>\n{"name": "time", "arguments": {"n": 1}}\n</tool_call><|im_end|>'
RESULT = {"role": "tool", "content": "12:00", "name": "time"}


def test_the_renderer_implements_the_protocol() -> None:
    renderer = JetonRenderer(TOK, CHATML_WITH_TOOLS)
    assert isinstance(renderer, renderers.Renderer)
    assert renderer.get_stop_token_ids() == [TOK.special_tokens["<|im_end|>"]]
    assert renderer.is_prefix_stable is False


def test_render_equals_chat() -> None:
    renderer = JetonRenderer(TOK, CHATML)
    messages = [USER, {"role": "assistant", "content": "Rain."}]
    rendered = renderer.render(messages, add_generation_prompt=True)
    chat = TOK.chat(messages, template=CHATML, add_generation_prompt=True)
    assert rendered.token_ids == chat.ids == renderer.render_ids(messages, add_generation_prompt=True)
    assert rendered.message_roles == ["user", "assistant"]
    assert rendered.message_tool_names == [None, None]
    spans = [turn.token_spans[0] for turn in chat.turns]
    assert rendered.message_token_spans() == spans
    assert rendered.message_indices[spans[1][1] :] == [-1] * 11


def test_a_template_without_a_mask_renders() -> None:
    renderer = JetonRenderer(TOK, "{% for m in messages %}{{ m.role }}{% endfor %}")
    messages = [USER, {"role": "assistant", "content": "Rain."}]
    rendered = renderer.render(messages)
    assert rendered.token_ids == renderer.render_ids(messages) == TOK.encode("userassistant")
    assert rendered.sampled_mask == []


def test_parse_response_returns_reasoning_and_calls() -> None:
    renderer = JetonRenderer(TOK, CHATML_WITH_TOOLS)
    sampled = TOK.encode(CALL, special="all")
    prompt = renderer.render_ids([USER], tools=TOOLS, add_generation_prompt=True)
    for prompt_ids in (prompt, None):
        parsed = renderer.parse_response(sampled, tools=TOOLS, prompt_ids=prompt_ids)
        assert (parsed.content, parsed.reasoning_content, parsed.reasoning_complete) == ("", "hm", True)
        [call] = parsed.tool_calls
        assert (call.name, call.arguments, call.status) == ("time", {"n": 1}, renderers.ToolCallParseStatus.OK)
    other = renderer.parse_response(sampled, tools=TOOLS[:1], prompt_ids=prompt)
    assert other.tool_calls[0].status == renderers.ToolCallParseStatus.UNKNOWN_TOOL
    broken = renderer.parse_response(TOK.encode(CALL.replace("}}", "}"), special="all"), prompt_ids=prompt)
    assert [call.status for call in broken.tool_calls] == [renderers.ToolCallParseStatus.MALFORMED_STRUCTURE]
    open_reasoning = renderer.parse_response(TOK.encode("<think>\nhm", special="all"), prompt_ids=prompt)
    assert (open_reasoning.reasoning_content, open_reasoning.reasoning_complete) == ("hm", False)


def test_bridge_to_next_turn_keeps_sampled_ids() -> None:
    renderer = JetonRenderer(TOK, CHATML_WITH_TOOLS)
    sampled = TOK.encode(CALL, special="all")
    prompt = renderer.render_ids([USER], tools=TOOLS, add_generation_prompt=True)
    bridged = renderer.bridge_to_next_turn(prompt, sampled, [RESULT], tools=TOOLS)
    before = len(prompt) + len(sampled)
    assert bridged.token_ids[:before] == prompt + sampled
    message = renderer.parse_response(sampled, prompt_ids=prompt)
    call = {"id": "call00000", "type": "function", "function": {"name": "time", "arguments": {"n": 1}}}
    assert message.tool_calls[0].id == call["id"]
    reply = {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [call]}
    assert bridged.token_ids == renderer.render_ids([USER, reply, RESULT], tools=TOOLS, add_generation_prompt=True)
    assert bridged.message_indices[:before] == [-1] * before
    assert bridged.message_tool_names == ["time"]
    assert bridged.tokens_per_message(1)[0] > 20
    assert not any(bridged.sampled_mask)
    # The next turn begins with the bridged ids, and a template that drops earlier reasoning is refused.
    answer = TOK.encode("<think>\nso\n</think>\n\nNoon.<|im_end|>", special="all")
    assert renderer.bridge_to_next_turn(bridged.token_ids, answer, [USER], tools=TOOLS) is None
    assert renderer.bridge_to_next_turn(bridged.token_ids, answer, [RESULT], tools=TOOLS) is not None
    assert renderer.bridge_to_next_turn([1, 2], answer, [USER]) is None
    kept = JetonRenderer(TOK, CHATML, keep_sampled=True, capacity=1)
    prompt = kept.render_ids([USER], add_generation_prompt=True)
    kept.render_ids([RESULT], add_generation_prompt=True)
    assert kept.bridge_to_next_turn(prompt, answer, [USER]) is None  # evicted

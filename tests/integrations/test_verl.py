"""`continuous_token_builder` implements the protocol of verl's `ContinuousTokenBuilder`."""

from __future__ import annotations

import pytest

import jeton
from jeton.errors import ChatTemplateError, ConfigError
from jeton.integrations.verl import continuous_token_builder

from ..chat.replies import TOOLS, USER
from ..chat.templates import CHATML_WITH_TOOLS, SPECIAL

verl = pytest.importorskip(
    "verl.utils.tokenizer.continuous_token", reason="needs the package verl: pip install verl", exc_type=ImportError
)

TOK = jeton.Tokenizer.from_merges({id: bytes([id]) for id in range(256)}, []).add_tokens(SPECIAL)
CALL = '<think>\nhm\n</think>\n\n<tool_call>\n{"name": "time", "arguments": {"n": 1}}\n</tool_call><|im_end|>'
RESULT = {"role": "tool", "content": "12:00", "name": "time"}


def test_a_rollout_has_the_ids_of_the_chat() -> None:
    builder = continuous_token_builder(TOK, CHATML_WITH_TOOLS)
    assert isinstance(builder, verl.ContinuousTokenBuilder)
    assert not builder.supports_multimodal()
    prompt = builder.build_initial_tokens([USER], tools=TOOLS)
    assert prompt == TOK.chat([USER], template=CHATML_WITH_TOOLS, tools=TOOLS, add_generation_prompt=True).ids
    sampled = TOK.encode(CALL, special="all")
    merged = builder.merge_assistant_tokens(prompt, sampled)
    assert (merged.token_ids, merged.kind) == (prompt + sampled, "assistant")
    mask, logprobs = builder.align_response_metadata(merged, [], [], assistant_logprobs=[-0.5] * len(sampled))
    messages = [USER, {"role": "assistant", "content": CALL}]
    after = builder.merge_context_tokens(messages, [*messages, RESULT], merged.token_ids, tools=TOOLS)
    assert after.kind == "context"
    assert after.token_ids[: len(merged.token_ids)] == merged.token_ids
    assert after.appended_token_count == len(after.token_ids) - len(merged.token_ids)
    assert TOK.decode(after.token_ids[len(merged.token_ids) :]) == (
        "\n<|im_start|>user\n<tool_response>\n12:00\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    mask, logprobs = builder.align_response_metadata(after, mask, logprobs)
    assert mask == [1] * len(sampled) + [0] * after.appended_token_count
    assert len(logprobs) == len(mask)
    # The next turn.
    answer = TOK.encode("<think>\nso\n</think>\n\nNoon.<|im_end|>", special="all")
    merged = builder.merge_assistant_tokens(after.token_ids, answer)
    messages = [*messages, RESULT, {"role": "assistant", "content": "Noon."}]
    with pytest.raises(ChatTemplateError, match="these messages cannot be appended: the template"):
        builder.merge_context_tokens(messages, [*messages, USER], merged.token_ids, tools=TOOLS)


def test_wrong_calls_are_refused() -> None:
    builder = continuous_token_builder(TOK, CHATML_WITH_TOOLS, allowed_append_roles=["tool"])
    messages = [USER, {"role": "assistant", "content": "x"}]
    with pytest.raises(ConfigError, match="not a prompt of this builder"):
        builder.merge_context_tokens(messages, [*messages, RESULT], [1, 2, 3])
    with pytest.raises(ValueError, match="only supports appending roles"):
        builder.merge_context_tokens(messages, [*messages, USER], [1, 2, 3])
    with pytest.raises(ConfigError, match="images"):
        builder.build_initial_tokens([USER], images=["x"])

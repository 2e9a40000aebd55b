"""Chat templates of well-known formats, for tokenizers that have none. Each is a file ``NAME.jinja`` of this folder.

They are written for Jeton. A preset prints the same text as the template that the model's publisher ships, or refuses
a conversation that it does not support: `tests/chat/test_presets.py` compares the two. The presets ``chatml``,
``llama3``, ``mistral``, ``gemma`` and ``phi3`` have only turns and the generation prompt. Left out: images, built-in
tools.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["PRESETS", "ChatPreset"]


class ChatPreset(NamedTuple):
    """A chat template and the special tokens that it needs.

    Attributes:
        title: display name.
        source: Jinja source.
        tokens: special tokens that the template writes; the tokenizer must have all of them.
    """

    title: str
    source: str
    tokens: tuple[str, ...]


_CHATML = ("<|im_start|>", "<|im_end|>")
_LLAMA3 = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
_GEMMA = ("<bos>", "<start_of_turn>", "<end_of_turn>")
_DEEPSEEK = ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>")
_DEEPSEEK_TOOLS = (
    *("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    *("<｜tool▁calls▁end｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
)
_THINK = ("<think>", "</think>")
_GLM = ("[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>", *_THINK)
_HARMONY = ("<|start|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|channel|>")
_KIMI = (
    *("<|im_system|>", "<|im_user|>", "<|im_assistant|>", "<|im_middle|>", "<|im_end|>"),
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    *("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"),
)


def _preset(name: str, title: str, tokens: tuple[str, ...]) -> ChatPreset:
    source = (Path(__file__).parent / f"{name}.jinja").read_text(encoding="utf-8")
    return ChatPreset(title, source, tokens)


PRESETS = {
    name: _preset(name, title, tokens)
    for name, title, tokens in (
        ("chatml", "ChatML", _CHATML),
        ("llama3", "Llama 3", _LLAMA3),
        ("llama3.1", "Llama 3.1", (*_LLAMA3, "<|eom_id|>", "<|python_tag|>")),
        ("mistral", "Mistral", ("<s>", "</s>")),
        ("gemma", "Gemma", _GEMMA),
        ("gemma3", "Gemma 3", _GEMMA),
        ("phi3", "Phi-3", ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>")),
        ("harmony", "harmony (gpt-oss)", _HARMONY),
        ("qwen3", "Qwen3", (*_CHATML, *_THINK, "<tool_call>", "</tool_call>")),
        ("deepseek-r1", "DeepSeek R1", (*_DEEPSEEK, *_THINK)),
        ("deepseek-v3.1", "DeepSeek V3.1", (*_DEEPSEEK, *_THINK, *_DEEPSEEK_TOOLS)),
        ("glm4.5", "GLM-4.5", _GLM),
        ("glm4.7", "GLM-4.7", _GLM),
        ("kimi-k2", "Kimi K2", _KIMI),
    )
}

"""Chat templates of well-known formats, for tokenizers that have none.

They contain turns and the generation prompt, as the models' publishers document them. Left out: default system prompts,
tools and reasoning. Use the model's own template where there is one.
"""

from __future__ import annotations

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


_CHATML = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

_LLAMA3 = """\
{{- '<|begin_of_text|>' }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

_MISTRAL = """\
{{- '<s>' }}
{%- set ns = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set ns.system = message.content + '\\n\\n' %}
    {%- elif message.role == 'user' %}
        {{- '[INST] ' + ns.system + message.content + ' [/INST]' }}
        {%- set ns.system = '' %}
    {%- elif message.role == 'assistant' %}
        {{- ' ' + message.content | trim + '</s>' }}
    {%- else %}
        {{- raise_exception('roles are system, user and assistant, not ' + message.role) }}
    {%- endif %}
{%- endfor %}
"""

_GEMMA = """\
{{- '<bos>' }}
{%- set ns = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set ns.system = message.content | trim + '\\n\\n' %}
    {%- else %}
        {%- set role = 'model' if message.role == 'assistant' else message.role %}
        {{- '<start_of_turn>' + role + '\\n' + ns.system + message.content | trim + '<end_of_turn>\\n' }}
        {%- set ns.system = '' %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\\n' }}
{%- endif %}
"""

_PHI3 = """\
{%- for message in messages %}
    {{- '<|' + message.role + '|>\\n' + message.content + '<|end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\\n' }}
{%- endif %}
"""

PRESETS = {
    "chatml": ChatPreset("ChatML", _CHATML, ("<|im_start|>", "<|im_end|>")),
    "llama3": ChatPreset(
        "Llama 3", _LLAMA3, ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
    ),
    "mistral": ChatPreset("Mistral", _MISTRAL, ("<s>", "</s>")),
    "gemma": ChatPreset("Gemma", _GEMMA, ("<bos>", "<start_of_turn>", "<end_of_turn>")),
    "phi3": ChatPreset("Phi-3", _PHI3, ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>")),
}

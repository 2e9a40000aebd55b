"""Text, ids and masks equal transformers', for every style of template and every kind of conversation."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ChatTemplateError

from ..material import CORPUS
from .templates import SPECIAL, TEMPLATES

pytest.importorskip("transformers")

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a <place>, é & 'more'",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
CALL = {"id": "abc123xyz", "type": "function", "function": {"name": "weather", "arguments": {"city": "北京"}}}
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "one": [{"role": "user", "content": "hello"}],
    "turns": [
        {"role": "user", "content": "  Why is the sky blue?\n"},
        {"role": "assistant", "content": "\n Because. 今天 😉 "},
        {"role": "user", "content": "And at night?"},
    ],
    "answered": [{"role": "user", "content": "1 + 1"}, {"role": "assistant", "content": "2"}],
    "system": [
        {"role": "system", "content": " Be short. "},
        {"role": "user", "content": "hi\r\nthere, don't"},
        {"role": "assistant", "content": "<b>ok</b> & {{ x }}"},
        {"role": "user", "content": "\tif x:\n\t\treturn"},
    ],
    "empty": [{"role": "user", "content": ""}],
    "thoughts": [
        {"role": "user", "content": "17 * 3"},
        {"role": "assistant", "content": "", "reasoning_content": "ten times three and seven times three"},
    ],
    "parts": [{"role": "user", "content": [{"type": "text", "text": " one "}, {"type": "text", "text": "two"}]}],
    "tools": [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "rain <x>", "tool_call_id": "abc123xyz", "name": "weather"},
        {"role": "assistant", "content": "It rains."},
    ],
    "odd": [
        {"role": "assistant", "content": "first"},
        {"role": "skip", "content": "a"},
        {"role": "stop", "content": "b"},
    ],
}


@cache
def ours() -> jeton.Tokenizer:
    tok = jeton.train([CORPUS], 600, pattern="gpt2", special_tokens=SPECIAL, progress=False)
    return tok._with_facts(roles={"bos": "<s>", "eos": "</s>", "unk": "<unk>"})


@cache
def folder() -> Path:
    import tempfile

    path = Path(tempfile.mkdtemp())
    ours().save(path, format="folder")
    return path


@cache
def theirs() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder())


def outcome(function: Any) -> tuple[str, Any]:
    try:
        return "made", function()
    except ChatTemplateError:
        return "refused", None
    except Exception as error:
        if type(error).__module__.startswith("jinja2") or isinstance(error, TypeError):
            return "refused", None
        raise


@pytest.mark.parametrize("prompt", [False, True], ids=["", "prompt"])
@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("name", TEMPLATES)
def test_text_and_ids_equal_transformers(name: str, conversation: str, prompt: bool) -> None:
    messages, template = CONVERSATIONS[conversation], TEMPLATES[name]
    tools = TOOLS if conversation == "tools" else None
    hf = theirs()
    options: dict[str, Any] = {"tools": tools, "add_generation_prompt": prompt}
    text = outcome(lambda: hf.apply_chat_template(messages, chat_template=template, tokenize=False, **options))
    chat = outcome(lambda: ours().chat(messages, template=template, **options))
    assert chat[0] == text[0]
    if chat[1] is None:
        return
    assert chat[1].text == text[1]
    assert chat[1].ids == hf.apply_chat_template(
        messages, chat_template=template, tokenize=True, return_dict=False, **options
    )
    assert sum(piece.length for piece in chat[1].pieces) == len(text[1])


def test_every_template_renders_several_conversations() -> None:
    """If templates refused all conversations, the comparison would be empty."""
    for name, source in TEMPLATES.items():
        chats = [outcome(partial(ours().chat, messages, template=source)) for messages in CONVERSATIONS.values()]
        made = sum(kind == "made" for kind, _ in chats)
        assert made >= 4, name


def test_marker_masks_equal_transformers() -> None:
    hf = theirs()
    for conversation in ("turns", "answered", "system"):
        messages = CONVERSATIONS[conversation]
        expected = hf.apply_chat_template(
            messages,
            chat_template=TEMPLATES["generation"],
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        chat = ours().chat(messages, template=TEMPLATES["generation"])
        assert chat.ids == expected["input_ids"]
        assert chat.mask == [bool(one) for one in expected["assistant_masks"]]
        assert any(chat.mask)
        assert not all(chat.mask)


@pytest.mark.parametrize("name", ["phi-3-mini", "gpt-neox-20b", "falcon"])
def test_ids_with_published_vocabularies_equal_transformers(data: Path, name: str) -> None:
    """In these vocabularies special tokens strip adjacent white space, or text after them gets a prefix."""
    from tokenizers import Tokenizer as Theirs
    from transformers import PreTrainedTokenizerFast

    path = data / "vocabs" / f"{name}.tokenizer.json"
    tok = jeton.load(path).add_tokens(SPECIAL)
    hf = PreTrainedTokenizerFast(tokenizer_object=Theirs.from_str(tok.to_bytes().decode()))
    for template in ("phi3", "chatml", "zephyr"):
        for conversation in ("turns", "system", "empty"):
            messages = CONVERSATIONS[conversation]
            source = TEMPLATES[template].replace("eos_token", "'</s>'")
            expected = hf.apply_chat_template(messages, chat_template=source, tokenize=True, return_dict=False)
            assert tok.chat(messages, template=source).ids == expected


def test_named_templates_are_chosen_as_in_transformers() -> None:
    named = [{"name": "default", "template": "{{ 'd' }}"}, {"name": "tool_use", "template": "{{ 't' }}"}]
    tok = ours()._with_facts(chat_template=named)
    hf = theirs()
    hf.chat_template = {one["name"]: one["template"] for one in named}
    try:
        messages = CONVERSATIONS["one"]
        for options in ({}, {"tools": TOOLS}, {"tools": []}, {"tools": None}):
            expected = hf.apply_chat_template(messages, tokenize=False, **options)
            assert tok.chat(messages, **options).text == expected  # type: ignore[arg-type]
        assert tok.chat(messages, template="tool_use").text == "t"
    finally:
        hf.chat_template = None

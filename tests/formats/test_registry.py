"""The registered facts of published rank files."""

from __future__ import annotations

from jeton.definition import Pattern
from jeton.formats.registry import REGISTRY, by_content


def test_every_entry_has_all_facts() -> None:
    for name, known in REGISTRY.items():
        assert known.name == name
        assert known.url.startswith("https://")
        assert len(bytes.fromhex(known.sha256)) == 32
        assert Pattern.of(known.pattern).split("it's 1234 今天")
        ids = list(known.special_tokens.values())
        assert len(set(ids)) == len(ids)
        first = by_content(known.sha256)
        assert first is not None
        assert first.url == known.url


def test_special_tokens_of_model_families() -> None:
    llama3, llama4 = REGISTRY["llama3"].special_tokens, REGISTRY["llama4"].special_tokens
    assert (llama3["<|begin_of_text|>"], llama3["<|eot_id|>"], llama3["<|reserved_special_token_250|>"]) == (
        128000,
        128009,
        128255,
    )
    assert REGISTRY["llama3.1"].special_tokens["<|python_tag|>"] == 128010
    assert (llama4["<|eot|>"], llama4["<|image_start|>"], llama4["<|reasoning_thinking_end|>"], len(llama4)) == (
        200008,
        200080,
        201143,
        2048,
    )
    assert REGISTRY["qwen"].special_tokens["<|extra_204|>"] == 151850
    assert REGISTRY["kimi_k2"].special_tokens["[PAD]"] == 163839

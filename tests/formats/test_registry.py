"""The registered facts of published rank files."""

from __future__ import annotations

import hashlib
import json

import pytest

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


# Name -> start of the SHA-256 of its facts, as compared with the publishers' files. They never change.
DIGESTS = {
    "r50k_base": "539870aaa9466ce1",
    "gpt2": "e2b193617f12e32e",
    "p50k_base": "dc37d3b5e636271a",
    "p50k_edit": "70bf375e516a1a4a",
    "cl100k_base": "24f7ffb73014c045",
    "o200k_base": "75e1e744e8d9f06a",
    "o200k_harmony": "7080320381ec78c8",
    "llama3": "1d3674630b219fe2",
    "llama3.1": "e3f52acbc77008bf",
    "llama4": "cf1202b67c1697b8",
    "qwen": "3b8d1031c0709a92",
    "kimi_k2": "81fe0577fda072ca",
}


def test_published_facts_stay_as_they_are() -> None:
    found = {}
    for name, known in REGISTRY.items():
        facts = [dict(known.special_tokens), dict(known.roles), known.prefix, known.chat, known.pattern]
        facts += [list(known.normalizer), known.num_bytes, known.url, known.sha256]
        found[name] = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    assert found == DIGESTS


@pytest.mark.parametrize(
    ("name", "number", "tokens"),
    [
        ("r50k_base", 1, {50256: "<|endoftext|>"}),
        ("p50k_edit", 4, {50256: "<|endoftext|>", 50281: "<|fim_prefix|>", 50283: "<|fim_suffix|>"}),
        ("cl100k_base", 5, {100257: "<|endoftext|>", 100258: "<|fim_prefix|>", 100276: "<|endofprompt|>"}),
        ("o200k_base", 2, {199999: "<|endoftext|>", 200018: "<|endofprompt|>"}),
        ("o200k_harmony", 1090, {199998: "<|startoftext|>", 200002: "<|return|>", 201087: "<|reserved_201087|>"}),
        ("llama3", 256, {128002: "<|reserved_special_token_0|>", 128006: "<|start_header_id|>", 128009: "<|eot_id|>"}),
        ("llama3.1", 256, {128004: "<|finetune_right_pad_id|>", 128255: "<|reserved_special_token_245|>"}),
        ("llama4", 2048, {200092: "<|patch|>", 201144: "<|reserved_special_token_0|>"}),
        ("qwen", 208, {151643: "<|endoftext|>", 151646: "<|extra_0|>", 151850: "<|extra_204|>"}),
        ("kimi_k2", 256, {163584: "[BOS]", 163589: "<|reserved_token_163589|>", 163838: "[UNK]", 163839: "[PAD]"}),
    ],
)  # fmt: skip
def test_ids_of_special_tokens(name: str, number: int, tokens: dict[int, str]) -> None:
    known = REGISTRY[name].special_tokens
    assert len(known) == number
    assert {known[token]: token for token in tokens.values()} == tokens

"""Names: short forms, models and hub aliases resolve to tokenizers; unknown ones suggest the nearest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

import jeton
from jeton.formats import registry
from jeton.formats.naming import _FAMILIES, _REPOSITORY, HUB, _spelled, nearest, resolve
from jeton.formats.remote import downloads

from .remote.conftest import Hub, Server, hub, server  # noqa: F401 (fixtures)

TOK = jeton.train(["low lower lowest"] * 3, 262, pattern="gpt2", progress=False)


def test_model_names_equal_tiktokens() -> None:
    tiktoken = pytest.importorskip("tiktoken.model")
    for model, name in tiktoken.MODEL_TO_ENCODING.items():
        assert resolve(model) == name, model
    for prefix, name in tiktoken.MODEL_PREFIX_TO_ENCODING.items():
        assert resolve(f"{prefix}2099-01-01") == name, prefix
    listed = {model for tok in jeton.names() for model in tok.models}
    assert {*tiktoken.MODEL_TO_ENCODING} <= listed | {*registry.REGISTRY}


def test_every_listed_name_resolves_to_its_tokenizer() -> None:
    spelled: dict[str, str] = {}
    for tok in jeton.names():
        for name in (tok.name, *tok.aliases, *tok.models, *(f"{prefix}x" for prefix in tok.model_prefixes)):
            assert resolve(name) == tok.name
            assert spelled.setdefault(name, tok.name) == tok.name
    assert {"default", *registry.REGISTRY} <= {*spelled}


def test_names_are_listed_with_their_facts() -> None:
    by_name = {tok.name: tok for tok in jeton.names()}
    assert by_name["default"].is_local
    assert by_name["o200k_base"].aliases == ("o200k",)
    assert by_name["o200k_base"].source.startswith("https://")
    facts: dict[str, Any] = json.loads(json.dumps(by_name["cl100k_base"].to_json()))
    assert facts["aliases"] == ["cl100k"]
    assert "gpt-4" in facts["models"]
    assert [*facts] == ["name", "source", "aliases", "models", "model_prefixes", "is_local"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("gpt-4oo", "gpt-4o"),
        ("O200K_BASE", "o200k_base"),
        ("bert-base-uncasde", "bert-base-uncased"),
        ("cl100", "cl100k_base"),
        ("defaul", "default"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(name: str, near: str) -> None:
    assert resolve(name) is None
    assert nearest(name)[0] == near
    with pytest.raises(FileNotFoundError, match=f"{name!r}, and no tokenizer has this name. Did you mean {near}"):
        jeton.load(name)


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("Qwen/Qwen3-8B", ["hf:Qwen/Qwen3-8B"]),
        ("deepseek-ai/DeepSeek-V3@main", ["hf:deepseek-ai/DeepSeek-V3@main"]),
        ("qwen3", ["hf:Qwen/Qwen3-8B"]),
        ("Qwen3-32B", ["hf:Qwen/Qwen3-8B"]),
        ("qwen2.5-coder", ["hf:Qwen/Qwen2.5-7B-Instruct"]),
        ("gpt-oss", ["o200k_harmony", "hf:openai/gpt-oss-20b"]),
        ("gpt-oss:20b", ["o200k_harmony", "hf:openai/gpt-oss-20b", "ollama:gpt-oss:20b"]),
        ("gemma-3", ["hf:google/gemma-3-4b-it"]),
        ("Gemma3-27B", ["hf:google/gemma-3-4b-it"]),
        ("deepseek-v3", ["hf:deepseek-ai/DeepSeek-V3"]),
        ("DeepSeekV3.1", ["hf:deepseek-ai/DeepSeek-V3.1"]),
        ("glm-4.5", ["hf:zai-org/GLM-4.5"]),
        ("llama-3.1-8b-instruct", ["llama3.1", "hf:meta-llama/Llama-3.1-8B-Instruct"]),
        ("Meta-Llama-3-8B", ["llama3", "hf:meta-llama/Meta-Llama-3-8B-Instruct"]),
        ("kimi-k2-instruct", ["kimi_k2"]),
        ("mistral-7b", ["hf:mistralai/Mistral-7B-Instruct-v0.3", "hf:mistralai/Mistral-Small-3.2-24B-Instruct-2506"]),
        # not in the family: another version, another word, a file
        ("qwen3.5", []),
        ("philosophy", []),
        ("models/qwen3.json", []),
        ("a/b/c", []),
    ],
)
def test_the_name_of_a_model_family_suggests_its_repositories(name: str, suggested: list[str]) -> None:
    assert resolve(name) is None
    assert nearest(name) == suggested
    hint = f"Did you mean {', '.join(suggested)}? `jeton" if suggested else "has this name. `jeton"
    with pytest.raises(FileNotFoundError) as failure:
        jeton.load(name)
    assert hint in str(failure.value)


def test_every_suggestion_of_a_family_is_a_name_that_loads() -> None:
    for family, suggested in _FAMILIES.items():
        assert _spelled(family) == family
        assert resolve(family) is not None or nearest(family)[: len(suggested)] == [*suggested]
        for name in suggested:
            assert name in registry.REGISTRY or _REPOSITORY.fullmatch(name.removeprefix(HUB)), name


def test_an_ambiguous_name_lists_all() -> None:
    assert {"llama3", "llama3.1", "llama4"} <= {*nearest("llama")}
    with pytest.raises(FileNotFoundError, match=r"Did you mean llama3, llama3\.1, llama4"):
        jeton.load("llama")


def test_an_unrelated_name_has_no_suggestion() -> None:
    with pytest.raises(FileNotFoundError, match=r"no tokenizer has this name\. `jeton names` lists the names; a repos"):
        jeton.load("nowhere.json")
    with pytest.raises(FileNotFoundError, match=r"'', and no tokenizer has this name\. `jeton names`"):
        jeton.load("")


@pytest.mark.parametrize("name", ["bert-base-uncased", "hf:google-bert/bert-base-uncased"])
def test_hub_names_without_owner(name: str, server: Server) -> None:  # noqa: F811
    pytest.importorskip("huggingface_hub")
    Hub(server, "google-bert/bert-base-uncased").put({"tokenizer.json": TOK.to_bytes()})
    assert jeton.load(name) == TOK
    (listed,) = (tok for tok in jeton.names() if name in (tok.name, *tok.aliases))
    assert listed.is_local
    assert listed.name == f"{HUB}google-bert/bert-base-uncased"


@pytest.mark.parametrize("name", ["o200k_base", "o200k", "gpt-4o", "gpt-4o-2024-05-13"])
def test_names_of_models_are_downloaded(name: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    ranks = "".join(f"{_base64(bytes([byte]))} {byte}\n" for byte in range(256)).encode()
    known = replace(registry.REGISTRY["o200k_base"], sha256=hashlib.sha256(ranks).hexdigest())
    monkeypatch.setitem(registry.REGISTRY, "o200k_base", known)
    server.answers[f"/{downloads._filename(known)}"] = ranks
    tok = jeton.load(name)
    assert tok.encode("hi") == [104, 105]
    assert tok.special_tokens == known.special_tokens
    assert {tok.name: tok.is_local for tok in jeton.names()}["o200k_base"]


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()

"""Names: short forms, models and hub aliases load what they stand for; unknown ones suggest the nearest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

import jeton
from jeton.formats import registry
from jeton.formats.naming import HUB, nearest, resolve
from jeton.formats.remote import downloads

from .remote.conftest import Hub, Server, hub, server  # noqa: F401 (fixtures)

TOK = jeton.train(["low lower lowest"] * 3, 262, pattern="gpt2", progress=False)


def test_models_are_those_of_tiktoken() -> None:
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


def test_names_are_facts() -> None:
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


def test_an_ambiguous_name_lists_all() -> None:
    assert {"llama3", "llama3.1", "llama4"} <= {*nearest("llama")}
    with pytest.raises(FileNotFoundError, match=r"Did you mean llama3, llama3\.1, llama4"):
        jeton.load("llama")


def test_a_name_like_no_other_suggests_nothing() -> None:
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

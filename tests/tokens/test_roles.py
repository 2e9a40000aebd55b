"""Roles of special tokens and chat templates of a tokenizer."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import jeton
from jeton.chat import PRESETS
from jeton.tokens.roles import Roles, role_id

from ..material import byte_tokenizer, tokenizer

TOK = byte_tokenizer((97, 98, 256), special_tokens={"<s>": 300, "</s>": 301, "<pad>": 302})


def test_roles_have_the_ids_of_their_tokens() -> None:
    tok = TOK.with_roles(bos="<s>", eos="</s>", pad="<pad>", mask="<pad>", unk="</s>")
    assert tok.roles == {"bos": "<s>", "eos": "</s>", "unk": "</s>", "pad": "<pad>", "mask": "<pad>"}
    assert (tok.bos_id, tok.eos_id, tok.pad_id) == (300, 301, 302)
    assert (role_id(tok, "mask"), role_id(tok, "unk")) == (302, 301)
    assert (TOK.bos_id, TOK.eos_id, TOK.pad_id, role_id(TOK, "mask")) == (None,) * 4
    assert TOK.roles == {}
    copy = pickle.loads(pickle.dumps(tok.roles))
    assert (type(copy), copy) == (Roles, tok.roles)


@pytest.mark.parametrize(
    ("roles", "role", "message"),
    [
        ({}, "eos", "the tokenizer has no role 'eos' (it has none); tok.with_roles(eos=…) sets it"),
        (
            {"bos": "<s>", "image": "<i>"},
            "eos",
            "the tokenizer has no role 'eos' (it has: bos, image); tok.with_roles(eos=…) sets it",
        ),
        (
            {"bos": "<s>"},
            "end",
            "the tokenizer has no role 'end' (it has: bos); the roles are bos, eos, unk, sep, pad, cls, mask",
        ),
    ],
)
def test_a_missing_role_is_named(roles: dict[str, str], role: str, message: str) -> None:
    with pytest.raises(jeton.UnknownTokenError) as caught:
        TOK._with_facts(roles=roles).roles[role]
    assert str(caught.value) == message


def test_roles_and_templates_change_no_id() -> None:
    tok = TOK.with_roles(bos="<s>", eos="</s>").with_chat_template("{{ messages }}")
    assert tok == TOK
    assert tok.encode("ab</s>", special="all", add_special_tokens=True) == TOK.encode("ab</s>", special="all")


def test_a_role_of_none_is_removed_and_others_are_kept() -> None:
    tok = TOK.with_roles(bos="<s>", eos="</s>", additional=["<pad>"])
    assert tok.with_roles(bos=None).roles == {"eos": "</s>"}
    assert tok.with_roles(eos="<s>").roles == {"bos": "<s>", "eos": "<s>"}
    assert tok.with_roles().definition == tok.definition
    assert tok.definition.config == {"additional_special_tokens": ["<pad>"]}
    assert tok.with_roles(additional=None).definition.config == {}
    assert tok.with_roles(pad=None).definition == tok.definition


def test_a_new_role_replaces_that_of_the_configuration() -> None:
    config = {
        "eos_token": {"__type": "AddedToken", "content": "</s>"},
        "extra_special_tokens": ["<s>"],
        "tokenizer_class": "LlamaTokenizer",
        "add_bos_token": True,
        "model_max_length": 7,
    }
    tok = TOK._with_facts(config=config, roles={"eos": "</s>", "image": "<pad>"})
    changed = tok.with_roles(eos="<s>", additional=["<pad>"])
    assert changed.definition.config == {"model_max_length": 7, "additional_special_tokens": ["<pad>"]}
    assert changed.roles == {"eos": "<s>", "image": "<pad>"}
    assert tok.with_roles(pad="<pad>").definition.config == config


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("<x>", r"eos='<x>' is not in the vocabulary; add_tokens\(\['<x>'\]\) makes it a special token"),
        ("ab", r"eos='ab' is an entry of the vocabulary, but not a special token; add_tokens\(\['ab'\]\)"),
    ],
)
def test_a_role_needs_a_special_token(token: str, message: str) -> None:
    with pytest.raises(jeton.SpecialTokenError, match=message) as caught:
        TOK.with_roles(eos=token)
    assert caught.value.token == token
    assert TOK.add_tokens([token]).with_roles(eos=token).roles == {"eos": token}
    with pytest.raises(jeton.SpecialTokenError, match="additional="):
        TOK.with_roles(additional=[token])


@pytest.mark.parametrize("wrong", [7, "", b"<s>", ["<s>"]])
def test_an_invalid_role_is_refused(wrong: Any) -> None:
    with pytest.raises(jeton.ConfigError, match="pad="):
        TOK.with_roles(pad=wrong)
    with pytest.raises(TypeError, match="eso"):
        TOK.with_roles(eso="</s>")  # type: ignore[call-arg]


def test_the_models_unknown_token_stays() -> None:
    tok = tokenizer("char gpt2")
    assert role_id(tok, "unk") == tok.token_to_id("<unk>")
    for other in ("<a>", None):
        with pytest.raises(jeton.ConfigError, match="model, whose unknown token is '<unk>'"):
            tok.with_roles(unk=other)
    assert tok.with_roles(unk="<unk>", eos="<a>").roles == {**tok.roles, "unk": "<unk>", "eos": "<a>"}


def test_roles_survive_a_file_and_pickling() -> None:
    tok = TOK.with_roles(eos="</s>", additional=["<pad>"]).with_chat_template("{{ 1 }}")
    for copy in (jeton.Tokenizer.from_bytes(tok.to_bytes()), pickle.loads(pickle.dumps(tok))):
        assert copy.definition == tok.definition
        assert (copy.eos_id, copy.definition.chat_template) == (301, "{{ 1 }}")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_needs_its_tokens(name: str) -> None:
    tokens = PRESETS[name].tokens
    bare = byte_tokenizer()
    with pytest.raises(jeton.errors.ChatTemplateError, match="needs special tokens"):
        bare.with_chat_template(name)
    tok = bare.add_tokens(tokens).with_chat_template(name)
    assert tok.definition.chat_template == PRESETS[name].source
    messages = [{"role": "user", "content": "hi"}]
    assert tok.chat(messages).ids == tok.chat(messages, template=name).ids


def test_templates_are_chosen_by_name_and_removed() -> None:
    tok = TOK.with_chat_template({"default": "{{ 'd' }}", "rag": "{{ 'r' }}"})
    assert tok.chat([{"role": "user"}], template="rag", tokenize=False) == "r"
    assert tok.with_chat_template(None).definition.chat_template is None
    assert TOK.with_chat_template("{{ raise_exception('system first') }}").definition.chat_template
    parts = "{{ messages[0].content[0]['text'] | upper }}"
    assert TOK.with_chat_template(parts).definition.chat_template == parts


@pytest.mark.parametrize(
    "template",
    [
        "{% if %}",
        "{{ messages.pop() }}",
        "{{ ''.__class__ }}{{ undefined.attribute }}",
        "{{ messages | nothing }}",
        "nope",
        "{% for a in range(10**9) %}{{ a }}{% endfor %}",
    ],
)
def test_a_broken_template_is_refused(template: str) -> None:
    with pytest.raises(jeton.errors.ChatTemplateError):
        TOK.with_chat_template(template)


@pytest.mark.parametrize("template", ["", 7, {}, ["{{ 1 }}"], {"default": 7}])
def test_an_invalid_template_is_refused(template: Any) -> None:
    with pytest.raises(jeton.ConfigError, match="template="):
        TOK.with_chat_template(template)


@pytest.mark.parametrize("role", ["bos", "eos", "cls", "sep"])
def test_a_role_of_templates_drops_a_class_that_would_build_its_own(role: str) -> None:
    config = {"tokenizer_class": "BertTokenizer", "add_eos_token": True, "model_max_length": 7}
    tok = TOK._with_facts(config=config).with_roles(**{role: "<s>"})
    assert tok.definition.config == {"model_max_length": 7}

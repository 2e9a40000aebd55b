"""References of a definition to tokens: which parts refer, and what remains without them."""

from __future__ import annotations

from typing import Any

import pytest

from jeton.definition import Definition, template_of
from jeton.vocabulary.references import _DROPPED, _kept_items, _padded, _without, references, without_references

TOKENS = {1: "<s>", 2: "</s>"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"roles": {"bos": "<s>", "pad": "<pad>"}}, {"the role 'bos'": "<s>"}),
        ({"template": template_of([3, "A"])}, {}),
        ({"template": template_of(["A", 2, 1])}, {"the template": "</s>"}),
        ({"template": {"single": template_of(["A"])["single"], "pair": None}}, {}),
        ({"template": {"single": [{"sequence": "A"}], "pair": [{"ids": [3, 1]}]}}, {"the template": "<s>"}),
        ({"chat_template": "no token"}, {}),
        ({"chat_template": "{{ x }}</s>"}, {"the chat template": "</s>"}),
        ({"chat_template": "{{ bos_token }}"}, {}),
        ({"chat_template": "{{ bos_token }}", "roles": {"bos": "<pad>"}}, {}),
        (
            {"chat_template": "{{ bos_token }}", "roles": {"bos": "<s>"}},
            {"the role 'bos'": "<s>", "the chat template": "<s>"},
        ),
        ({"chat_template": "{{ my_bos_token }}", "roles": {"bos": "<s>"}}, {"the role 'bos'": "<s>"}),
        (
            {
                "chat_template": [
                    {"name": "a", "template": "<s>"},
                    {"name": "b", "template": "x"},
                    {"name": "c", "template": 1},
                    {"name": 4, "template": "</s>"},
                ]
            },
            {"the chat template 'a'": "<s>", "the chat template '4'": "</s>"},
        ),
        ({"padding": {"pad_id": 2, "pad_token": "<pad>"}}, {"padding": "</s>"}),
        ({"padding": {"pad_id": 3, "pad_token": "<s>"}}, {"padding": "<s>"}),
        ({"padding": {"pad_id": 3, "pad_token": "<pad>"}}, {}),
        ({"config": {"bos_token": "<s>", "end": "</s>"}}, {"the configuration's 'bos_token'": "<s>",
                                                           "the configuration's 'end'": "</s>"}),
        ({"config": {"bos_token": "<s>"}, "roles": {"bos": "<s>"}}, {"the role 'bos'": "<s>"}),
        ({"config": {"bos": "<s>"}, "roles": {"bos": "<s>"}}, {"the role 'bos'": "<s>",
                                                               "the configuration's 'bos'": "<s>"}),
        ({"config": {"additional_special_tokens": ["<s>"], "added_tokens_decoder": {"1": {"content": "<s>"}}}}, {}),
        ({"config": {"more": {"x": 1, "y": ["a", ("</s>", "<s>")]}}}, {"the configuration's 'more'": "</s>"}),
        ({"config": {"more": {"y": {"content": "<s>", "id": 1}}}}, {"the configuration's 'more'": "<s>"}),
        ({"config": {"a": "x", "b": 1, "c": None, "d": [1, "x"], "e": {"content": "x"}}}, {}),
    ],
)  # fmt: skip
def test_parts_that_refer_to_a_token(fields: dict[str, Any], expected: dict[str, str]) -> None:
    definition = Definition(**fields)
    assert references(definition, TOKENS) == expected
    assert references(without_references(definition, TOKENS), TOKENS) == {}
    if not expected and "config" not in fields:
        assert without_references(definition, TOKENS) == definition


@pytest.mark.parametrize(
    ("value", "is_list", "expected"),
    [
        ("<s>", False, _DROPPED),
        ("<s>", True, _DROPPED),
        ("x", False, "x"),
        (None, True, None),
        (1, False, 1),
        ({"content": "<s>", "special": True}, False, _DROPPED),
        ({"content": "x", "other": "<s>"}, False, {"content": "x", "other": "<s>"}),
        ({"content": 1, "other": "<s>"}, False, _DROPPED),
        ({"a": "<s>", "b": "x"}, False, _DROPPED),
        ({"a": "<s>", "b": "x"}, True, {"b": "x"}),
        ({"a": ["<s>", "y"], "b": "x"}, True, {"b": "x"}),
        ({"a": "y", "b": "x"}, True, {"a": "y", "b": "x"}),
        (["<s>", "x", "</s>"], True, ["x"]),
        (("<s>", "x"), True, ["x"]),
        (["<s>", "x"], False, _DROPPED),
        ([["<s>", "y"], "x"], True, ["x"]),
        (["y", "x"], False, ["y", "x"]),
        ([], True, []),
    ],
)
def test_values_of_a_configuration_without_tokens(value: Any, is_list: bool, expected: Any) -> None:
    assert _without(value, {"<s>", "</s>"}, is_list) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (None, None),
        ([], []),
        ([{"sequence": "A"}, {"ids": [1]}, {"ids": [3]}], [{"sequence": "A"}, {"ids": [3]}]),
        ([{"ids": [1, 3, 2, 4], "type_id": 1}], [{"ids": [3, 4], "type_id": 1}]),
        ([{"ids": [1, 2]}], []),
        ([{"ids": [], "type_id": 0}], [{"ids": [], "type_id": 0}]),
    ],
)
def test_items_of_a_template_without_tokens(items: Any, expected: Any) -> None:
    assert _kept_items(items, TOKENS) == expected


@pytest.mark.parametrize(
    ("padding", "token"),
    [
        ({}, None),
        ({"pad_id": 1}, "<s>"),
        ({"pad_id": 0, "pad_token": "</s>"}, "</s>"),
        ({"pad_id": None, "pad_token": "</s>"}, "</s>"),
        ({"pad_id": "1"}, None),
        ({"pad_id": 1.0}, None),
        ({"pad_id": 9, "pad_token": ["<s>"]}, None),
        ({"pad_id": 9, "pad_token": "x"}, None),
    ],
)
def test_removed_token_of_padding(padding: dict[str, Any], token: str | None) -> None:
    assert _padded(padding, TOKENS) == token


def test_parts_without_references() -> None:
    definition = Definition(
        roles={"bos": "<s>", "pad": "<pad>"},
        template=template_of([1, "A", 3]),
        padding={"pad_id": 4, "pad_token": "<pad>"},
        chat_template=[
            {"name": "a", "template": "{{ bos_token }}"},
            {"name": "b", "template": "x"},
            {"name": "c", "template": 1},
        ],
        config={"additional_special_tokens": ["<s>", "x"], "add_bos_token": True, "a": "x", "b": ["<s>"]},
    )
    made = without_references(definition, {1: "<s>"})
    assert (made.roles, made.padding, made.config) == (
        {"pad": "<pad>"},
        {"pad_id": 4, "pad_token": "<pad>"},
        {"additional_special_tokens": ["x"], "a": "x"},
    )
    assert made.chat_template == [{"name": "b", "template": "x"}, {"name": "c", "template": 1}]
    assert made.template is not None
    assert made.template["single"] == template_of(["A", 3])["single"]
    last = without_references(definition, {3: "</s>", 4: "<pad>"})
    assert (last.roles, last.padding) == ({"bos": "<s>"}, None)
    assert last.config == definition.config  # the role of the template stays, so its keys do
    assert last.chat_template == definition.chat_template
    only = Definition(chat_template=[{"name": "a", "template": "<s>"}])
    assert without_references(only, {1: "<s>"}).chat_template is None

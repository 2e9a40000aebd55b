"""Mappings and lists returned by a tokenizer are read-only."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import jeton
from jeton.util.readonly import ReadOnlyDict, ReadOnlyList, read_only

TOK = jeton.train(["low lower"], 260, special_tokens=["<s>"], progress=False)._with_facts(
    roles={"bos": "<s>"}, chat_template=[{"name": "default", "template": "{{ 1 }}"}]
)


def test_roles_are_read_only() -> None:
    with pytest.raises(TypeError, match="belongs to a tokenizer and is read-only"):
        TOK.roles["eos"] = "<s>"  # type: ignore[index]
    assert TOK.roles == {"bos": "<s>"}
    assert json.dumps(TOK.roles) == '{"bos": "<s>"}'
    assert {**TOK.roles, "eos": "x"} == TOK.roles | {"eos": "x"} == {"bos": "<s>", "eos": "x"}


HANDED_OUT: dict[str, Callable[[Any], Any]] = {
    "roles": lambda tok: tok.roles,
    "special tokens": lambda tok: tok.special_tokens,
    "vocabulary": lambda tok: tok.vocab,
    "roles of the definition": lambda tok: tok.definition.roles,
    "a part": lambda tok: tok.definition.pretokenizer[0],
    "chat templates": lambda tok: tok.definition.chat_template[0],
}


@pytest.mark.parametrize("name", HANDED_OUT)
def test_returned_mappings_cannot_be_assigned_to(name: str) -> None:
    fingerprint = TOK.fingerprint
    with pytest.raises(TypeError):
        HANDED_OUT[name](TOK)["type"] = "x"
    assert HANDED_OUT[name](TOK) == HANDED_OUT[name](TOK)
    assert TOK.fingerprint == fingerprint


def test_changes_of_the_callers_mapping_do_not_reach_the_tokenizer() -> None:
    roles = {"bos": "<s>"}
    tok = TOK._with_facts(roles=roles)
    roles["bos"] = "x"
    assert tok.roles == {"bos": "<s>"}


CHANGES: list[Callable[[Any], Any]] = [
    lambda value: value.clear(),
    lambda value: value.pop(0),
    lambda value: value.__delitem__(0),
    lambda value: value.__setitem__(0, 1),
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("value", [{0: [1]}, [1, {2: 3}]], ids=["dict", "list"])
def test_every_change_is_an_error(value: Any, change: Callable[[Any], Any]) -> None:
    kept = read_only(value)
    with pytest.raises(TypeError, match="belongs to a tokenizer"):
        change(kept)
    assert kept == value


def test_every_other_mutation_is_an_error() -> None:
    for change in (
        lambda d: d.update(a=1),
        lambda d: d.setdefault("a"),
        lambda d: d.popitem(),
        lambda d: d.__ior__({}),
    ):
        with pytest.raises(TypeError):
            change(ReadOnlyDict(a=1))
    for change in (
        lambda x: x.append(1), lambda x: x.extend([1]), lambda x: x.insert(0, 1), lambda x: x.remove(1),
        lambda x: x.sort(), lambda x: x.reverse(), lambda x: x.__iadd__([1]), lambda x: x.__imul__(2),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            change(ReadOnlyList([1]))


def test_copies_are_equal_and_read_only() -> None:
    kept = read_only({"a": [1, {"b": (2, [3])}]})
    for copied in (copy.deepcopy(kept), copy.copy(kept), pickle.loads(pickle.dumps(kept)), read_only(kept)):
        assert copied == kept == {"a": [1, {"b": (2, [3])}]}
        assert isinstance(copied["a"], ReadOnlyList)
    own = dict(kept)
    own["c"] = 1
    assert "c" not in kept

"""`tokenizer_config.json` and the files beside it: reading, roles, special tokens, keys that stay, rendering."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton._core import Vocabulary
from jeton.definition import Definition, template_of
from jeton.errors import FormatError, UnsupportedFeatureError
from jeton.formats import config as module
from jeton.formats.config import (
    added_tokens,
    check_added,
    enclosed,
    kept,
    option,
    read_config,
    read_object,
    render_config,
    roles_of,
    special_tokens,
    template_files,
    with_tokens,
)
from jeton.formats.configured import with_config, with_named
from jeton.tokens.added import AddedToken
from jeton.tokens.kinds import MAX_ID

FILES = {
    "config": "tokenizer_config.json",
    "map": "special_tokens_map.json",
    "added": "added_tokens.json",
    "template": "chat_template.jinja",
}
MORE = "additional_chat_templates"


@pytest.mark.parametrize(
    ("files", "templates", "expected"),
    [
        ({}, {}, {}),
        ({"config": {"a": 1}}, {}, {"a": 1}),
        ({"map": {"bos_token": "<s>"}}, {}, {"bos_token": "<s>"}),
        ({"config": {"bos_token": "<b>", "x": 1}, "map": {"bos_token": "<s>"}}, {}, {"bos_token": "<s>", "x": 1}),
        (
            {"config": {"bos_token": "<b>", "added_tokens_decoder": {}}, "map": {"bos_token": "<s>"}},
            {},
            {"bos_token": "<b>", "added_tokens_decoder": {}},
        ),
        (
            {
                "config": {"additional_special_tokens": ["<a>", {"content": "<b>"}]},
                "map": {"additional_special_tokens": ["<b>", {"content": "<a>"}, "<c>"]},
            },
            {},
            {"additional_special_tokens": ["<a>", {"content": "<b>"}, "<c>"]},
        ),
        (
            {"config": {"more": "x"}, "map": {"more": ["<b>"], "other": ["<c>"]}},
            {},
            {"more": ["<b>"], "other": ["<c>"]},
        ),
        ({"added": {"<x>": 5}}, {}, {"added_tokens.json": {"<x>": 5}}),
        ({"config": {"chat_template": "a"}, "template": "b"}, {}, {"chat_template": "b"}),
        ({"config": {"chat_template": "a"}}, {}, {"chat_template": "a"}),
        ({}, {"rag.jinja": "r", "notes.txt": "n"}, {"chat_template": [{"name": "rag", "template": "r"}]}),
        (
            {"template": "b"},
            {"tool.jinja": "t", "rag.jinja": "r"},
            {
                "chat_template": [
                    {"name": "default", "template": "b"},
                    {"name": "rag", "template": "r"},
                    {"name": "tool", "template": "t"},
                ]
            },
        ),
        ({"config": {"chat_template": "a"}}, {"notes.txt": "n"}, {"chat_template": "a"}),
    ],
)
def test_files_of_a_folder(
    files: dict[str, Any], templates: dict[str, str], expected: dict[str, Any], tmp_path: Path
) -> None:
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / FILES[name]).write_text(text, encoding="utf-8")
    for name, text in templates.items():
        (tmp_path / MORE).mkdir(exist_ok=True)
        (tmp_path / MORE / name).write_text(text, encoding="utf-8")
    assert read_config(tmp_path) == expected


@pytest.mark.parametrize(
    ("content", "message", "place"),
    [
        (b"[]", "not a JSON object", "$"),
        (b"{", "not JSON", "line 1, column 2"),
        (b'{\n"a": x}', "not JSON", "line 2, column 6"),
        (b'{"a": "\xff"}', "not UTF-8", "byte 7"),
        (rb'{"a": "\ud800"}', "lone surrogate", "$"),
        (b'{"a": ' + b"9" * 5000 + b"}", "thousands of digits", "$"),
        (b'{"a": ' + b"[" * 100_000 + b"}", "nested too deeply", "$"),
        (b'{"a": "' + b"x" * 100 + b'"}', "more than 100 bytes", None),
    ],
)
def test_configurations_that_are_damaged(
    content: bytes, message: str, place: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    if place is None:
        monkeypatch.setattr(module, "MAX_BYTES", 100)
    with pytest.raises(FormatError, match=message) as caught:
        read_object(str(path))
    assert (caught.value.place, caught.value.format) == (place, "x.json")
    if place is None:
        monkeypatch.setattr(module, "MAX_BYTES", len(content))
        assert read_object(str(path)) == {"a": "x" * 100}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("x", {"chat_template.jinja": b"x"}),
        (None, {}),
        ([], {}),
        ([{"name": "default", "template": "é"}], {"chat_template.jinja": "é".encode()}),
        ([{"template": "a"}], {"chat_template.jinja": b"a"}),
        ([{"name": "a.b c-d_1", "template": "a"}], {f"{MORE}/a.b c-d_1.jinja": b"a"}),
        ([{"name": "../a", "template": "a"}, {"name": "b", "template": "b"}], {}),
        ([{"name": "", "template": "a"}], {}),
        ([{"name": "é", "template": "a"}], {}),
        ([{"name": "a", "template": None}], {}),
    ],
)
def test_files_of_a_chat_template(template: Any, expected: dict[str, bytes]) -> None:
    assert template_files(template) == expected
    rendered = json.loads(render_config(Definition(chat_template=template)))
    assert rendered.get("chat_template") == (None if expected or template is None else template)


@pytest.mark.parametrize("value", [True, False, None])
@pytest.mark.parametrize("default", [True, False, None])
def test_options_have_a_default(value: bool | None, default: bool | None) -> None:
    assert option({"x": value}, "x", default) is (default if value is None else value)
    assert option({}, "x", default) is default
    with pytest.raises(FormatError, match="x is 1, not true or false"):
        option({"x": 1}, "x", default)


@pytest.mark.parametrize(
    ("config", "bos", "eos", "defaults", "single", "second"),
    [
        ({}, 1, 2, (False, False), None, 1),
        ({}, 1, 2, (True, False), [1, "A"], 1),
        ({}, 1, 2, (False, True), ["A", 2], 0),
        ({}, 1, 2, (True, True), [1, "A", 2], 3),
        ({}, None, 2, (True, False), None, 1),
        ({}, 1, None, (True, True), [1, "A"], 1),
        ({"add_bos_token": False}, 1, 2, (True, True), ["A", 2], 1),
        ({"add_bos_token": None}, 1, 2, (True, False), None, 1),
        ({"add_eos_token": None}, 1, 2, (True, True), [1, "A", 2], 1),
        ({"add_bos_token": True, "add_eos_token": True}, 0, 0, (False, False), [0, "A", 0], 1),
        ({"add_eos_token": False}, 1, 2, (False, True), None, 1),
    ],
)
def test_templates_of_bos_and_eos(
    config: dict[str, Any], bos: int | None, eos: int | None, defaults: Any, single: list[Any] | None, second: int
) -> None:
    found = enclosed(config, bos, eos, defaults, second)
    if single is None:
        assert found is None
        return
    pair = [*single, *(("B" if item == "A" else item, second) for item in single)]
    assert found == template_of(single, pair)


def test_added_tokens_have_flags() -> None:
    listed = {"7": {"content": "a", "special": True}, "0": {"content": "b", "lstrip": True, "normalized": True}}
    listed[str(MAX_ID)] = {"content": "c", "rstrip": True, "single_word": True, "special": False}
    assert added_tokens({"added_tokens_decoder": listed}) == {
        7: AddedToken("a"),
        0: AddedToken("b", special=False, lstrip=True, normalized=True),
        MAX_ID: AddedToken("c", special=False, rstrip=True, single_word=True),
    }
    assert added_tokens({}) == added_tokens({"added_tokens_decoder": None}) == {}


@pytest.mark.parametrize(
    "listed", [[1], {"-1": {"content": "a"}}, {str(MAX_ID + 1): {"content": "a"}}, {"x": {"content": "a"}}, {"1": {}},
               {"1": "a"}, {"1": {"content": 1}}, {"1": {"content": ""}}],
)  # fmt: skip
def test_added_tokens_that_are_damaged(listed: Any) -> None:
    with pytest.raises(FormatError, match="added tokens that are not id"):
        added_tokens({"added_tokens_decoder": listed})


@pytest.mark.parametrize(
    ("added", "entries", "expected"),
    [
        ({5: "x"}, (), [5]),
        ({0: "a"}, (), [0]),  # an entry that becomes an added token stays an entry
        ({5: "x"}, (5,), [5]),
        ({0: "x"}, (), None),
        ({5: "a"}, (), None),
        ({1: "a"}, (), None),
    ],
)
def test_tokens_are_added_to_a_vocabulary(added: dict[int, str], entries: Any, expected: list[int] | None) -> None:
    vocabulary = Vocabulary([0, 1], [1, 1], [b"a", b"b"], [])
    tokens = {id: AddedToken(content, special=False) for id, content in added.items()}
    if expected is None:
        with pytest.raises(FormatError, match="contradicts the vocabulary") as caught:
            with_tokens(vocabulary, tokens, entries)
        assert caught.value.place == "tokenizer_config.json: added_tokens_decoder"
        return
    made = jeton.Tokenizer(jeton.definition.Definition(), with_tokens(vocabulary, tokens, entries))
    assert list(made.added_tokens) == expected
    assert jeton.tokens.added.model_entries(made._core) == [id for id in expected if id < 2 or id in entries]


def test_older_added_tokens_must_be_known() -> None:
    tok = jeton.Tokenizer.from_merges({0: b"a"}, [], special_tokens={"<x>": 1})
    for config in ({}, {"added_tokens.json": {}}, {"added_tokens.json": {"<x>": 1}}):
        assert check_added(tok, config) is tok
    with pytest.raises(UnsupportedFeatureError, match="adds 'a' without the flags"):
        check_added(tok, {"added_tokens.json": {"<x>": 1, "a": 0}})


def test_roles_and_special_tokens_of_a_configuration() -> None:
    config = {
        "zoo_token": {"content": "<z>", "rstrip": True},
        "token_x": "<no>",
        "mask_token": {"content": "<m>", "lstrip": True, "special": False},
        "bos_token": "<s>",
        "eos_token": None,
        "add_bos_token": True,
        "pad_token": "",
        "sep_token": "<s>",
        "additional_special_tokens": ["<a>", {"content": "<s>", "lstrip": True}, 3, None],
        "extra_special_tokens": {"image": "<i>", "x": {"content": "<x>"}},
        "model_specific_special_tokens": "text",
    }
    assert roles_of(config) == {"zoo": "<z>", "mask": "<m>", "bos": "<s>", "pad": "", "sep": "<s>"}
    assert special_tokens(config) == [
        AddedToken("<s>"),
        AddedToken("<m>", lstrip=True),
        AddedToken("<z>", rstrip=True),
        AddedToken("<i>"),
        AddedToken("<x>"),
        AddedToken("<a>"),
    ]
    assert special_tokens({}) == []


KEYS = {
    "tokenizer_class": "LlamaTokenizerFast",
    "model_max_length": 8,
    "chat_template": "x",
    "auto_map": {},
    "added_tokens_decoder": {"1": {}},
    "added_tokens.json": {},
    "bos_token": "<s>",
    "pad_token": {"content": "<p>"},
    "eos_token": "</s>",
}


@pytest.mark.parametrize(
    ("keeps_class", "keeps_added", "more"),
    [
        (True, False, {"tokenizer_class": "LlamaTokenizerFast"}),
        (True, True, {"tokenizer_class": "LlamaTokenizerFast", "added_tokens_decoder": {"1": {}}}),
        (False, False, {"model_input_names": ["input_ids", "attention_mask"], "padding_side": "left"}),
    ],
)
def test_keys_of_a_configuration_that_stay(keeps_class: bool, keeps_added: bool, more: dict[str, Any]) -> None:
    found = kept(KEYS, {"bos": "<s>", "pad": "<p>"}, keeps_class=keeps_class, keeps_added=keeps_added)
    assert found == {"model_max_length": 8, "bos_token": "<s>", "pad_token": {"content": "<p>"}, **more}


@pytest.mark.parametrize(
    ("name", "defaults"),
    [
        ("GemmaTokenizer", ["model_input_names", "padding_side"]),
        ("LlamaTokenizer", ["model_input_names", "padding_side"]),
        ("T5TokenizerFast", ["model_input_names"]),
        ("BertTokenizer", []),
        (None, []),
    ],
)
def test_defaults_of_a_class_stay_without_its_name(name: str | None, defaults: list[str]) -> None:
    found = kept({"tokenizer_class": name}, {}, keeps_class=False)
    assert found == {
        key: value
        for key, value in (("model_input_names", ["input_ids", "attention_mask"]), ("padding_side", "left"))
        if key in defaults
    }
    given = {"tokenizer_class": name, "model_input_names": [], "padding_side": "right"}
    assert kept(given, {}, keeps_class=False) == {"model_input_names": [], "padding_side": "right"}


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (Definition(), {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}),
        (Definition(config={"tokenizer_class": "X"}), {"tokenizer_class": "X"}),
        (
            Definition(config={"tokenizer_class": "X", "bos_token": {"content": "<s>"}, "eos_token": "x"},
                       roles={"bos": "<s>", "eos": "</s>"}),
            {"tokenizer_class": "X", "bos_token": {"content": "<s>"}, "eos_token": "</s>"},
        ),
        (
            Definition(template=template_of([1, "A"], [1, "A", ("B", 1)]),
                       config={"clean_up_tokenization_spaces": True}),
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "clean_up_tokenization_spaces": True,
                "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
            },
        ),
        (
            Definition(template=template_of([1, "A"], [1, "A", "B"])),
            {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False},
        ),
        (
            Definition(template={"single": [{"sequence": "A", "type_id": 2}], "pair": None},
                       config={"model_input_names": []}),
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "clean_up_tokenization_spaces": False,
                "model_input_names": [],
            },
        ),
    ],
)  # fmt: skip
def test_a_configuration_is_rendered(definition: Definition, expected: dict[str, Any]) -> None:
    rendered = render_config(definition)
    assert json.loads(rendered) == expected
    assert rendered.endswith(b"}\n")


TOK = jeton.Tokenizer.from_merges({id: bytes([id]) for id in range(256)}, [], special_tokens={"<s>": 256})


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, {256: AddedToken("<s>")}),
        ({"bos_token": "<s>"}, {256: AddedToken("<s>")}),
        ({"bos_token": "</s>", "pad_token": "a"},
         {256: AddedToken("<s>"), 257: AddedToken("</s>"), 97: AddedToken("a")}),
        (
            {"added_tokens_decoder": {"258": {"content": "<y>"}, "257": {"content": "<x>", "special": True}},
             "bos_token": "<y>"},
            {256: AddedToken("<s>"), 257: AddedToken("<x>"), 258: AddedToken("<y>", special=False)},
        ),
        ({"added_tokens_decoder": {"258": {"content": "<x>"}}}, None),
        ({"added_tokens_decoder": {"98": {"content": "a"}}}, None),
        ({"added_tokens_decoder": {"97": {"content": "a"}}},
         {256: AddedToken("<s>"), 97: AddedToken("a", special=False)}),
    ],
)  # fmt: skip
def test_tokens_that_only_the_configuration_names(config: dict[str, Any], expected: Any) -> None:
    if expected is None:
        with pytest.raises(UnsupportedFeatureError, match="which the tokenizer's file lacks") as caught:
            with_named(TOK, config)
        assert caught.value.feature == "added_tokens"
        return
    made = with_named(TOK, config)
    assert dict(made.added_tokens) == expected
    assert (made is TOK) == (len(expected) == 1)
    assert made.definition.hf_vocab_size == (None if made is TOK else 257)


def test_tokens_after_a_gap_are_refused() -> None:
    """transformers counts the entries for the next id."""
    tok = jeton.Tokenizer.from_merges({0: b"a", 2: b"b"}, [])
    assert dict(with_named(tok, {"bos_token": "a"}).special_tokens) == {"a": 0}
    with pytest.raises(UnsupportedFeatureError):
        with_named(tok, {"bos_token": "<x>"})


def test_a_configuration_is_applied() -> None:
    config = {"bos_token": "<s>", "eos_token": "</s>", "tokenizer_class": "T5Tokenizer", "x": 1, "chat_template": "a"}
    made = with_config(TOK, config, is_json=True).definition
    assert (made.roles, made.chat_template, made.template) == ({"bos": "<s>"}, "a", None)
    assert made.config == {"tokenizer_class": "T5Tokenizer", "x": 1, "bos_token": "<s>"}
    made = with_config(
        TOK._with_facts(chat_template="own"), {"x": 1, "tokenizer_class": "T5Tokenizer"}, is_json=False
    ).definition
    assert (made.chat_template, made.config) == ("own", {"x": 1, "model_input_names": ["input_ids", "attention_mask"]})
    for template in (1, {"a": "b"}, ["a"], [{"template": 1}]):
        with pytest.raises(FormatError, match="a chat template is a string, or a list"):
            with_config(TOK, {"chat_template": template}, is_json=True)

"""Names of other libraries are errors that suggest Jeton's names."""

from __future__ import annotations

import re
from typing import Any

import pytest

import jeton
from jeton import tokenizer
from jeton.chat import _FOREIGN_KEYWORDS
from jeton.util.hints import _OF_CUTTING, _OF_LOAD, _OF_STREAM, ATTRIBUTES, KEYWORDS, NAMES, RESULTS

TOK: Any = jeton.Tokenizer.from_merges({104: b"h", 105: b"i"}, [], special_tokens={"<pad>": 300}).with_roles(
    pad="<pad>"
)


def test_attributes_of_other_libraries_suggest_jetons() -> None:
    assert set(ATTRIBUTES) == tokenizer._FOREIGN
    for name, hint in ATTRIBUTES.items():
        for place in (TOK, jeton.Tokenizer):
            with pytest.raises(AttributeError) as failure:
                getattr(place, name)
            assert str(failure.value) == f"'Tokenizer' object has no attribute {name!r}; in Jeton: {hint}"
        assert not hasattr(TOK, name)
        assert getattr(TOK, name, None) is None
        assert name not in dir(TOK)


def test_hints_hide_no_attribute_of_jeton() -> None:
    for name in tokenizer._FOREIGN:
        assert type(vars(jeton.Tokenizer)[name]) is tokenizer._ForeignName, name
    assert {"encode", "eos_id", "decode_batch", "__len__"} <= {*dir(TOK)}


@pytest.mark.parametrize(
    "hint",
    sorted(
        {
            hint
            for hints in (ATTRIBUTES, KEYWORDS, NAMES, _OF_LOAD, _OF_CUTTING, _OF_STREAM, _FOREIGN_KEYWORDS)
            for hint in hints.values()
        }
    ),
)
def test_names_in_hints_exist(hint: str) -> None:
    """A hint is an expression like `tok.x.y`, a name of the package, or a keyword like `x=`."""
    batch = TOK.encode_batch(["hi"])
    for name in re.findall(r"\btok\.(\w+)", hint):
        assert hasattr(TOK, name), name
    for name in re.findall(r"\btok\.definition\.(\w+)", hint):
        assert hasattr(TOK.definition, name), name
    for name in re.findall(r"\.padded\(\)\.(\w+)", hint):
        assert hasattr(batch.padded(), name), name
    for name in re.findall(r"\bjeton\.(?!Tokenizer|compat|integrations)(\w+)", hint):
        assert hasattr(jeton, name), name


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: TOK.encode("h", allowed_special="all"), 'special="all"'),
        (lambda: TOK.encode("h", disallowed_special=()), 'special="raise"'),
        (lambda: TOK.encode("h", truncation=True, max_length=3), "tok.encode_batch(texts, max_length=n)"),
        (lambda: TOK.encode("h", return_tensors="np"), "tok.encode_array(text)"),
        (lambda: TOK.encode("h", out_type=str), "tok.tokenize(text).tokens"),
        (lambda: TOK.encode_batch(["h"], padding=True), "tok.encode_batch(texts).padded()"),
        (lambda: TOK.encode_batch(["h"], num_threads=2), "threads="),
        (lambda: TOK.tokenize("h", return_offsets_mapping=True), "tok.tokenize(text).hf_offsets"),
        (lambda: TOK.decode_batch([[104]], errors="strict"), "invalid_utf8="),
        (lambda: jeton.load("default", trust_remote_code=True), "code of a repository is never run"),
        (lambda: jeton.load("default", revision="main"), "hf:owner/name@revision"),
        (lambda: jeton.load("default", warm_up=True), "jeton.load(name).warm_up()"),  # type: ignore[arg-type]
        (lambda: TOK.truncate("h", 5, max_length=5), "max_tokens="),
        (lambda: TOK.split("h", 5, chunk_overlap=1), "overlap="),
        (lambda: TOK.split("h", 5, allowed_special="all"), 'special="all"'),
        (lambda: TOK.stream(stop_strings=["h"]), "stop="),
        (lambda: TOK.encode("h", specail="all"), "in Jeton: special="),  # a misspelling
        (lambda: jeton.shards.make(["h"], "no folder", TOK, eos=True), "in Jeton: append_eos="),
        (lambda: jeton.shards.make(["h"], "no folder", TOK, formatt="bin"), "in Jeton: format="),
    ],
)
def test_keywords_of_other_libraries_suggest_jetons(call: Any, hint: str) -> None:
    with pytest.raises(TypeError, match=r"\(\) got an unexpected keyword argument '\w+'; in Jeton: ") as failure:
        call()
    assert hint in str(failure.value)


@pytest.mark.parametrize(
    ("keyword", "hint"), [("return_tensors", "tok.chat(messages).ids"), ("chat_template", "template=")]
)
def test_keywords_of_apply_chat_template_are_not_taken_as_variables(keyword: str, hint: str) -> None:
    with pytest.raises(TypeError, match=rf"^chat\(\) has no keyword '{keyword}'; in Jeton: ") as failure:
        TOK.chat([{"role": "user", "content": "hi"}], template="chatml", **{keyword: "pt"})
    assert hint in str(failure.value)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in RESULTS.items() for name in names])
def test_attributes_of_foreign_results_suggest_jetons(kind: str, name: str) -> None:
    batch, encoding = TOK.encode_batch(["hi"], offsets=True), TOK.tokenize("hi")
    result = {"Encoding": encoding, "TokenBatch": batch}[kind]
    with pytest.raises(AttributeError) as failure:
        getattr(result, name)
    hint = RESULTS[kind][name]
    assert str(failure.value) == f"'{kind}' object has no attribute '{name}'; in Jeton: {hint}"
    names = {"tok": TOK, "texts": ["hi"], "batch": batch, "encoding": encoding}
    assert eval(hint.partition(", or ")[0], names) is not None


def test_other_attributes_of_results_have_no_hint() -> None:
    for result in (TOK.encode_batch(["hi"]), TOK.tokenize("hi")):
        with pytest.raises(AttributeError, match=r" object has no attribute 'zzz'$"):
            getattr(result, "zzz")  # noqa: B009  (mypy knows that an `Encoding` has none)


def test_columns_by_name_are_those_of_a_padded_batch() -> None:
    with pytest.raises(
        TypeError, match=r"^rows are indexed by an integer or a slice, not 'input_ids'; for columns, use .*padded\(\)"
    ):
        TOK.encode_batch(["hi"])["input_ids"]


def test_an_unrelated_keyword_has_no_hint() -> None:
    with pytest.raises(TypeError, match=r"^Tokenizer\.encode\(\) got an unexpected keyword argument 'zzz'$"):
        TOK.encode("h", zzz=1)
    with pytest.raises(TypeError, match=r"^load\(\) got an unexpected keyword argument 'zzz'$"):
        jeton.load("default", zzz=1)  # type: ignore[arg-type]


def test_calling_a_tokenizer_names_its_methods() -> None:
    with pytest.raises(TypeError, match=r"not callable; in Jeton: tok\.encode\(text\) for ids"):
        TOK("hi", padding=True)


def test_names_in_other_packages_suggest_jetons() -> None:
    for name, hint in NAMES.items():
        with pytest.raises(
            AttributeError, match=re.escape(f"module 'jeton' has no attribute '{name}'; in Jeton: {hint}")
        ):
            getattr(jeton, name)
        assert not hasattr(jeton, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'zzz'$"):
        _ = jeton.zzz  # type: ignore[attr-defined]


def test_other_attributes_and_their_errors_are_unchanged() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'zzz'"):
        _ = TOK.zzz
    for name in ("eos_token_id", "zzz"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(TOK, name, 1)


@pytest.mark.parametrize("name", ["unknown", "unknwn"])
def test_the_parameter_for_unknown_keywords_is_not_suggested(name: str) -> None:
    for call in (lambda: TOK.encode("h", **{name: 1}), lambda: jeton.load("default", **{name: 1})):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'$"):
            call()

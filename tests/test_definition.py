"""`Definition` and `Pattern`: the options of a tokenizer beside its vocabulary."""

from __future__ import annotations

import dataclasses
import json

import pytest

import jeton
from jeton.definition import (
    Bpe,
    Chars,
    Definition,
    Model,
    Pattern,
    Pieces,
    TrainingFacts,
    Unigram,
    WordLevel,
    WordPiece,
    Words,
    core_json,
)

from .material import KINDS, tokenizer

NAMES = ["none", "whitespace", "gpt2", "gpt4", "cl100k", "llama3", "qwen2", "qwen3.5", "o200k"]


def test_pattern_names_are_the_documented_ones() -> None:
    assert Pattern.names() == NAMES
    for name in NAMES:
        assert Pattern.of(name) == Pattern(name, is_regex=False)
    assert Pattern.of(None) == Pattern("none", is_regex=False)


@pytest.mark.parametrize("name", ["gpt3", "GPT2", "o200k_base", "word", "a-b", "12"])
def test_an_unknown_pattern_name_is_refused(name: str) -> None:
    with pytest.raises(jeton.ConfigError, match="o200k") as caught:
        Pattern.of(name)
    assert caught.value.option == "pattern"


@pytest.mark.parametrize("regex", ["(", "[", "*", r"\p{Nope}", "(?<name", "a{3,1", "(?<=a"][:5])
def test_an_invalid_regex_is_refused(regex: str) -> None:
    with pytest.raises(jeton.ConfigError, match=r"pattern|compile|regex"):
        Pattern.of(regex)


@pytest.mark.parametrize("name", NAMES)
def test_splits_tile_the_text(name: str) -> None:
    text = "The  old\n\nman's 12345 今天的天气！ 😉\t"
    spans = Pattern.of(name).split(text)
    at = 0
    for start, end in spans:
        assert start >= at
        assert start < end
        assert name == "whitespace" or start == at
        at = end
    assert name == "whitespace" or at == len(text.encode())
    assert Pattern.of(name).split("") == []


def test_text_that_no_alternative_matches_is_a_pretoken() -> None:
    assert Pattern.of(r"\d+").split("tel. 555-1234") == [(0, 5), (5, 8), (8, 9), (9, 13)]
    assert Pattern.of("x*").split("aaxxa") == [(0, 2), (2, 4), (4, 5)], "an empty match does not split"


def test_the_canonical_form_omits_facts_that_change_no_id() -> None:
    facts = TrainingFacts("bpe", None, "first", 1, 300, 4, None, 1, 12, 1, 1, 0)
    plain, trained = Definition(), Definition(training=facts, roles={"bos": "<s>"}, chat_template="{{ x }}")
    assert plain.canonical() == trained.canonical()
    assert plain != trained
    parsed = json.loads(plain.canonical())
    assert list(parsed) == sorted(parsed)
    marks = [Definition(Bpe(end_of_word=mark)).canonical() for mark in ("</w>", "@@")]
    assert marks[0] == marks[1] != plain.canonical()
    template = {"single": [{"sequence": "A", "type_id": 0}], "pair": None}
    others = [
        Definition(Bpe(level="char")),
        Definition(pretokenizer=({"type": "Pattern", "name": "gpt2"},)),
        Definition(pretokenizer=({"type": "Pattern", "regex": "gpt2"},)),
        Definition(normalizer=({"type": "NFC"},)),
        Definition(decoder=({"type": "Fuse"},)),
        Definition(template=template),
        Definition(Bpe(ranks="tokens")),
        Definition(Bpe(whole_first=True)),
        Definition(Bpe(end_of_word="</w>")),
        Definition(Bpe(end_of_word="</w>", end_of_word_style="suffix")),
        Definition(Bpe(unk_token="<unk>")),
        Definition(Bpe(unk_token="<unk>", fuse_unk=True)),
        Definition(Bpe(byte_fallback=True)),
        Definition(Bpe(continuing_subword_prefix="##")),
        *(Definition(model) for model in MODELS),
    ]
    forms = {definition.canonical() for definition in others}
    assert len(forms) == len(others)
    assert plain.canonical() not in forms


MODELS = [
    Pieces("<unk>"),
    Pieces("<unk>", byte_fallback=True),
    Unigram("<unk>"),
    Unigram("<unk>", single_precision=True),
    WordPiece("<unk>"),
    WordPiece("<unk>", max_chars_per_word=5),
    WordLevel("<unk>"),
    Words("<unk>"),
    Chars("<unk>"),
]


@pytest.mark.parametrize("model", [Bpe(), *MODELS], ids=str)
def test_a_definition_round_trips_through_json(model: Model) -> None:
    definition = Definition(model, normalizer=({"type": "NFC"},), decoder=({"type": "Fuse"},))
    assert Definition.from_json(json.loads(json.dumps(definition.to_json()))) == definition


@pytest.mark.parametrize("change", [{"type": "Nope"}, {"type": "BPE", "nope": 1}, {}, {"type": "WordPiece"}], ids=str)
def test_damaged_json_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Definition.from_json({**Definition().to_json(), "model": change})


@pytest.mark.parametrize("text", ["\ud83d\ude00", "a\ud800"])
def test_surrogates_are_refused_as_pairs_too(text: str) -> None:
    with pytest.raises(jeton.ConfigError, match=r"the lone surrogate '\\ud8"):
        core_json({"type": "Prepend", "prepend": text})
    with pytest.raises(jeton.ConfigError, match="surrogate"):
        jeton.count_pretokens(["low"], normalizer=[{"type": "Prepend", "prepend": text}], progress=False)


def test_a_definition_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Definition().model = Bpe(level="char")  # type: ignore[misc]


def test_every_kind_keeps_its_options() -> None:
    for kind, options in KINDS.items():
        definition = tokenizer(kind).definition
        assert isinstance(definition.model, Bpe)
        assert definition.model.level == ("byte" if kind.startswith("byte") else "char")
        assert definition.model.end_of_word == options.get("end_of_word")
        if "pattern" in options:
            assert definition.pattern is not None
            assert definition.pattern.text == options["pattern"]
        assert definition.model.ranks == "merges"

"""What `AutoTokenizer` of each version makes of a class and its configuration, stage by stage."""

from __future__ import annotations

from typing import Any

import pytest

import jeton
from jeton._core import Vocabulary
from jeton.definition import Bpe, Definition, Unigram, template_of
from jeton.errors import FormatError, UnsupportedFeatureError
from jeton.formats import class_pipelines as pipelines
from jeton.formats import layout as layouts
from jeton.tokens.added import AddedToken, with_added_tokens

LLAMA, CODE, GEMMA, T5 = "LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "T5Tokenizer"
XLMR, CAMEMBERT, MBART, MBART50 = "XLMRobertaTokenizer", "CamembertTokenizer", "MBartTokenizer", "MBart50Tokenizer"
NLLB, ALBERT, BARTHEZ, PEGASUS = "NllbTokenizer", "AlbertTokenizer", "BarthezTokenizer", "PegasusTokenizer"


@pytest.mark.parametrize(
    ("name", "config", "version_4", "version_5"),
    [
        (LLAMA, {}, "always", "first"),
        (LLAMA, {"legacy": True}, "always", "always"),
        (LLAMA, {"legacy": False}, "first", "first"),
        (LLAMA, {"legacy": None}, "always", "first"),
        (LLAMA, {"add_prefix_space": False}, "never", "never"),
        (LLAMA, {"add_prefix_space": None}, "never", "first"),
        (LLAMA, {"add_prefix_space": None, "legacy": True}, "never", "always"),
        (LLAMA, {"add_prefix_space": True, "legacy": True}, "always", "always"),
        (CODE, {}, "always", "first"),
        (CODE, {"legacy": True}, "always", "first"),
        (CODE, {"add_prefix_space": None}, "always", "first"),
        (CODE, {"add_prefix_space": False}, "always", "never"),
        (GEMMA, {}, "always", "always"),
        (GEMMA, {"add_prefix_space": False, "legacy": False}, "always", "always"),
        (T5, {}, "always", "always"),
        (T5, {"legacy": False}, "first", "always"),
        (T5, {"add_prefix_space": False}, "never", "always"),
        (XLMR, {}, "always", "always"),
        (XLMR, {"legacy": False}, "always", "always"),
        (XLMR, {"add_prefix_space": False}, "always", "never"),
        (XLMR, {"add_prefix_space": None}, "always", "never"),
        (CAMEMBERT, {"add_prefix_space": False}, "always", "never"),
        (MBART, {"add_prefix_space": False}, "always", "always"),
        (ALBERT, {"add_prefix_space": None}, "always", "never"),
        (BARTHEZ, {"add_prefix_space": False}, "always", "never"),
        (PEGASUS, {"add_prefix_space": False}, "always", "always"),
    ],
)
def test_where_a_prefix_is_added(name: str, config: dict[str, Any], version_4: str, version_5: str) -> None:
    config = {"tokenizer_class": name, **config}
    assert (pipelines._prefix(config, 4), pipelines._prefix(config, 5)) == (version_4, version_5)
    assert pipelines._prefix({**config, "tokenizer_class": f"{name}Fast"}, 5) == version_5


@pytest.mark.parametrize(
    ("config", "asked"),
    [
        ({}, False),
        ({"tokenizer_class": "ReformerTokenizer", "legacy": False}, False),
        ({"tokenizer_class": LLAMA}, False),
        ({"tokenizer_class": LLAMA, "legacy": False}, True),
        ({"tokenizer_class": T5, "add_prefix_space": False}, True),
        ({"tokenizer_class": XLMR, "add_prefix_space": False}, False),
        ({"tokenizer_class": CODE}, True),
        ({"tokenizer_class": LLAMA, "added_tokens_decoder": {"9": {"content": "x", "special": True}}}, False),
        ({"tokenizer_class": LLAMA, "added_tokens_decoder": {"9": {"content": "x"}}}, True),
        ({"tokenizer_class": "XGLMTokenizer", "added_tokens_decoder": {"9": {"content": "x"}}}, False),
    ],
)
def test_folders_that_ask_for_more_than_sentencepiece(config: dict[str, Any], asked: bool) -> None:
    assert pipelines.is_asked(config) is asked


STRIP_RIGHT, MAP, ALBERT_PARTS = "Strip", "Precompiled", ["Replace", "Replace", "NFKD", "StripAccents", "Lowercase"]


@pytest.mark.parametrize(
    ("name", "version", "config", "normalizer", "pretokenizer", "decoder"),
    [
        (LLAMA, 4, {}, ["Prepend", "Replace"], [], ["Replace", "ByteFallback", "Fuse", "Strip"]),
        (LLAMA, 4, {"add_prefix_space": False}, ["Replace"], [], ["Replace", "ByteFallback", "Fuse"]),
        (LLAMA, 4, {"legacy": False}, [], ["Metaspace"], ["Replace", "ByteFallback", "Fuse", "Strip"]),
        (LLAMA, 5, {"legacy": True}, [], ["Metaspace"], ["Replace", "ByteFallback", "Fuse", "Strip"]),
        (LLAMA, 5, {"add_prefix_space": False}, [], ["Metaspace"], ["Replace", "ByteFallback", "Fuse"]),
        (CODE, 4, {"legacy": False}, ["Prepend", "Replace"], [], ["Replace", "ByteFallback", "Fuse", "Strip"]),
        (CODE, 5, {"add_prefix_space": False}, [], ["Metaspace"], ["Replace", "ByteFallback", "Fuse", "Strip"]),
        (GEMMA, 4, {}, ["Replace"], ["Split"], ["Replace", "ByteFallback", "Fuse"]),
        (GEMMA, 5, {}, ["Replace"], ["Split"], ["Replace", "ByteFallback", "Fuse"]),
        (T5, 4, {}, [MAP, STRIP_RIGHT, "Replace"], ["Metaspace"], ["Metaspace"]),
        (T5, 5, {}, [MAP], ["Pattern", "Metaspace"], ["Metaspace"]),
        (XLMR, 4, {}, [MAP, STRIP_RIGHT, "Replace"], ["Metaspace"], ["Metaspace"]),
        (XLMR, 5, {}, [MAP], ["Pattern", "Metaspace"], ["Metaspace"]),
        (MBART, 4, {}, [MAP, STRIP_RIGHT, "Replace"], ["Metaspace"], ["Metaspace"]),
        (MBART, 5, {}, [], ["Pattern", "Metaspace"], ["Metaspace"]),
        (MBART50, 5, {}, [MAP, "Replace"], ["Metaspace"], ["Metaspace"]),
        (ALBERT, 5, {}, [*ALBERT_PARTS, MAP], ["Pattern", "Metaspace"], ["Metaspace"]),
        (ALBERT, 5, {"keep_accents": True}, ["Replace", "Replace", "Lowercase", MAP], ["Pattern", "Metaspace"],
         ["Metaspace"]),
        (ALBERT, 5, {"do_lower_case": False}, [*ALBERT_PARTS[:-1], MAP], ["Pattern", "Metaspace"], ["Metaspace"]),
        (BARTHEZ, 5, {}, ["Replace", "NFC", STRIP_RIGHT], ["Metaspace"], ["Metaspace"]),
        (PEGASUS, 5, {}, [MAP, "Replace"], ["Metaspace"], ["Metaspace"]),
    ],
)  # fmt: skip
def test_stages_of_a_class(
    name: str, version: Any, config: dict[str, Any], normalizer: list[str], pretokenizer: list[str], decoder: list[str]
) -> None:
    config = {"tokenizer_class": name, **config}
    found = pipelines._stages(config, {"precompiled_charsmap": "AAAA"}, name, version)
    types = {stage: [part["type"] for part in parts] for stage, parts in found.items()}
    assert types == {"normalizer": normalizer, "pretokenizer": pretokenizer, "decoder": decoder}
    for part in found["pretokenizer"]:
        if part["type"] == "Metaspace":
            assert part["prepend_scheme"] == pipelines._prefix(config, version)
            assert part["split"] is (name not in (LLAMA, CODE))
    if decoder == ["Metaspace"]:
        assert found["decoder"][0]["split"] is True
        assert found["decoder"][0]["prepend_scheme"] == pipelines._prefix(config, version)
    for part in found["normalizer"]:
        if part["type"] == STRIP_RIGHT:
            assert (part["strip_left"], part["strip_right"]) == (False, True)
    without = [
        part["type"] for part in pipelines._stages(config, {"precompiled_charsmap": None}, name, version)["normalizer"]
    ]
    expected = [one for one in normalizer if one != MAP]
    assert without == (["Replace", *expected] if name == PEGASUS else expected)


def test_text_is_split_at_spaces_by_gemma() -> None:
    split = pipelines._stages({"tokenizer_class": GEMMA}, {"precompiled_charsmap": None}, GEMMA, 5)["pretokenizer"]
    assert split == ({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},)


@pytest.mark.parametrize("prefixed", [True, False])
def test_decoders_of_classes(prefixed: bool) -> None:
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefixed else []
    parts = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    assert pipelines.class_decoder(LLAMA, prefixed=prefixed) == (*parts, *strip)
    assert pipelines.class_decoder(GEMMA, prefixed=prefixed) == tuple(parts)
    scheme = "always" if prefixed else "never"
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}
    assert pipelines.class_decoder(T5, prefixed=prefixed) == (metaspace,)


MASK = AddedToken("<mask>")
STRIPPED = AddedToken("<mask>", lstrip=True)


@pytest.mark.parametrize(
    ("name", "version", "config", "expected"),
    [
        (LLAMA, 4, {}, {"bos": AddedToken("<s>"), "eos": AddedToken("</s>"), "unk": AddedToken("<unk>")}),
        (LLAMA, 5, {"bos_token": None, "pad_token": "<p>"},
         {"eos": AddedToken("</s>"), "unk": AddedToken("<unk>"), "pad": AddedToken("<p>")}),
        (GEMMA, 4, {"bos_token": None, "eos_token": None, "unk_token": None, "pad_token": None}, {}),
        (GEMMA, 5, {"bos_token": None, "eos_token": None, "unk_token": None, "pad_token": None}, {"mask": MASK}),
        (T5, 4, {}, {"eos": AddedToken("</s>"), "unk": AddedToken("<unk>"), "pad": AddedToken("<pad>")}),
        (PEGASUS, 5, {"eos_token": None, "unk_token": None, "pad_token": None}, {"mask": AddedToken("<mask_2>")}),
        *((name, version, {}, flags)
          for name, version, flags in ((XLMR, 4, STRIPPED), (XLMR, 5, MASK), (CAMEMBERT, 4, STRIPPED),
                                       (CAMEMBERT, 5, STRIPPED), (MBART, 5, STRIPPED), (MBART50, 5, STRIPPED),
                                       (MBART50, 4, AddedToken("<mask>", lstrip=True, normalized=True)),
                                       (NLLB, 4, AddedToken("<mask>", lstrip=True, normalized=True)),
                                       (BARTHEZ, 5, STRIPPED))),
        (XLMR, 4, {"mask_token": {"content": "<m>", "rstrip": True}}, AddedToken("<m>", rstrip=True)),
        (XLMR, 4, {"mask_token": "<m>"}, AddedToken("<m>", lstrip=True)),
    ],
)  # fmt: skip
def test_roles_of_a_class(name: str, version: Any, config: dict[str, Any], expected: Any) -> None:
    found = pipelines._roles(config, name, version)
    if isinstance(expected, dict):
        assert found == expected
        assert [*found] == [role for role in pipelines._ROLES if role in expected]
    else:
        assert found["mask"] == expected
        assert not any(token.lstrip or token.normalized for role, token in found.items() if role != "mask")


def test_tokens_of_roles_that_are_refused() -> None:
    for token in ("", 3, {"content": ""}, {}, []):
        with pytest.raises(FormatError, match="bos_token is not a token"):
            pipelines._roles({"bos_token": token}, LLAMA, 4)
    with pytest.raises(UnsupportedFeatureError, match="the token image_token is not supported with transformers=5"):
        pipelines._roles({"image_token": "<i>"}, LLAMA, 5)
    known = {"image_token": None, "add_bos_token": True, "add_eos_token": False, "prefix_token": "x", "eot_token": "y"}
    assert [*pipelines._roles(known, LLAMA, 5)] == ["bos", "eos", "unk"]


def names_of(tokens: Any) -> list[str]:
    return [token.content for token in tokens]


FILL = ["▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>"]
OWN = [AddedToken("<own>")]


@pytest.mark.parametrize(
    ("name", "version", "config", "expected"),
    [
        (LLAMA, 4, {}, []),
        (LLAMA, 5, {}, ["<own>"]),
        (LLAMA, 4, {"additional_special_tokens": ["<a>", {"content": "<b>"}]}, ["<a>", "<b>"]),
        (LLAMA, 5, {"additional_special_tokens": ["<a>"]}, ["<a>"]),
        (LLAMA, 5, {"additional_special_tokens": []}, []),
        (CODE, 4, {}, FILL),
        (CODE, 5, {}, [*FILL, "<FILL_ME>", "<own>"]),
        (CODE, 4, {"prefix_token": None, "suffix_token": {"content": "<S>"}}, ["▁<MID>", "<S>", "▁<EOT>"]),
        (T5, 4, {"extra_ids": 2}, ["<extra_id_0>", "<extra_id_1>"]),
        (T5, 5, {"extra_ids": 2}, ["<own>", "<extra_id_0>", "<extra_id_1>"]),
        (T5, 4, {"extra_ids": 2, "additional_special_tokens": ["<extra_id_9>"]}, ["<extra_id_9>"]),
        (T5, 4, {"extra_ids": 1, "additional_special_tokens": ["<a>"]}, ["<a>", "<extra_id_0>"]),
        (T5, 5, {"extra_ids": 1, "additional_special_tokens": ["<a>"]}, ["<a>"]),
        (CAMEMBERT, 4, {}, ["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"]),
        (CAMEMBERT, 4, {"additional_special_tokens": []}, []),
        (CAMEMBERT, 5, {}, ["<own>"]),
        (MBART, 4, {"additional_special_tokens": ["<a>"]}, [*layouts.LAYOUTS["mbart"]["languages"], "<a>"]),
        (MBART, 5, {}, [*layouts.LAYOUTS["mbart"]["languages"], "<own>"]),
        (MBART50, 4, {"additional_special_tokens": ["<a>"]}, ["<a>", *layouts.LAYOUTS["mbart50"]["languages"]]),
        (MBART50, 5, {}, ["<own>", *layouts.LAYOUTS["mbart50"]["languages"]]),
        (NLLB, 4, {}, [*layouts.LAYOUTS["nllb"]["languages"]]),
        (NLLB, 4, {"additional_special_tokens": ["<a>"]}, ["<a>"]),
        (PEGASUS, 5, {}, ["<mask_1>", *(f"<unk_{i}>" for i in range(2, 103))]),
    ],
)
def test_special_tokens_without_a_role(name: str, version: Any, config: dict[str, Any], expected: list[str]) -> None:
    found = pipelines._extra({"tokenizer_class": name, **config}, name, version, OWN)
    assert names_of(found) == expected
    assert all(token == AddedToken(token.content) for token in found)


@pytest.mark.parametrize("key", ["extra_special_tokens", "model_specific_special_tokens"])
def test_special_tokens_that_are_refused(key: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"{key} is not supported with transformers=4"):
        pipelines._extra({key: {"a": "b"}}, LLAMA, 4, [])
    assert pipelines._extra({key: {}}, LLAMA, 4, []) == []
    with pytest.raises(FormatError, match="additional_special_tokens is not a list"):
        pipelines._extra({"additional_special_tokens": {"a": "b"}}, LLAMA, 4, [])
    with pytest.raises(FormatError, match="additional_special_tokens is not a token"):
        pipelines._extra({"additional_special_tokens": [1]}, LLAMA, 4, [])


LISTED = {
    "9": {"content": "<x>"},
    "8": {"content": "<a>", "lstrip": True},
    "2": {"content": "<own>", "normalized": True},
}


@pytest.mark.parametrize(
    ("config", "version", "expected"),
    [
        ({}, 4, [AddedToken("<own>"), AddedToken("<s>"), AddedToken("<a>")]),
        ({}, 5, [AddedToken("<s>"), AddedToken("<own>"), AddedToken("<a>")]),
        ({"add_bos_token": True, "note": "content", "more": {}}, 4,
         [AddedToken("<own>"), AddedToken("<s>"), AddedToken("<a>")]),
        (
            {"added_tokens_decoder": LISTED},
            4,
            [
                *(AddedToken("<own>"), AddedToken("<own>")),
                *(AddedToken("<a>", lstrip=True), AddedToken("<x>", special=False), AddedToken("<s>")),
            ],
        ),
        (
            {"added_tokens_decoder": LISTED},
            5,
            [
                *(AddedToken("<own>", normalized=True), AddedToken("<a>", lstrip=True)),
                *(AddedToken("<x>", special=False), AddedToken("<s>")),
            ],
        ),
        *(
            (config, 4, [AddedToken("<own>"), AddedToken("<s>"), AddedToken("<own>"), AddedToken("<a>")])
            for config in (
                {"unk_token": {"content": "<own>"}},
                {"additional_special_tokens": [{"content": "<own>"}, "<z>"]},
            )
        ),
    ],
)  # fmt: skip
def test_the_order_of_added_tokens(config: dict[str, Any], version: Any, expected: list[AddedToken]) -> None:
    roles = {"bos": AddedToken("<s>"), "unk": AddedToken("<own>")}
    extra = [AddedToken("<a>")]
    assert [*pipelines._in_order(config, version, roles, OWN, extra)] == expected


BASE = jeton.Tokenizer(
    Definition(Unigram("<unk>")),
    Vocabulary([0, 1, 2, 3], [1, 1, 1, 1], [b"<unk>", b"</s>", b"a", b"<s>"], [], [0.0] * 4),
)


def test_ids_of_added_tokens() -> None:
    tokens = [AddedToken("<x>"), AddedToken("a"), AddedToken("<y>"), AddedToken("<x>", lstrip=True)]
    found = pipelines._numbered(BASE, tokens)
    assert found == {4: AddedToken("<x>", lstrip=True), 2: AddedToken("a"), 5: AddedToken("<y>")}
    pipelines._check_ids({"added_tokens_decoder": {"5": {"content": "<y>"}}}, found)
    for id, content in (("6", "<y>"), ("5", "<x>")):
        with pytest.raises(UnsupportedFeatureError, match=f"has the id {id} in the configuration"):
            pipelines._check_ids({"added_tokens_decoder": {id: {"content": content}}}, found)


IDS = {"<s>": 1, "</s>": 2, "<b>": 3, "<e>": 4, "en_XX": 5, "de_DE": 6, "eng_Latn": 7}


@pytest.mark.parametrize(
    ("name", "version", "config", "single", "pair"),
    [
        (LLAMA, 4, {}, [3, "A"], [3, "A", (3, 1), ("B", 1)]),
        (LLAMA, 5, {}, None, None),
        (CODE, 5, {"add_eos_token": True}, [3, "A", 4], [3, "A", 4, (3, 1), ("B", 1), (4, 1)]),
        (GEMMA, 4, {"add_bos_token": False}, None, None),
        (GEMMA, 5, {"add_bos_token": True}, [3, "A"], [3, "A", (3, 1), ("B", 1)]),
        (T5, 4, {}, ["A", 2], ["A", 2, "B", 2]),
        (T5, 5, {}, ["A", 4], ["A", 4, "B", 4]),
        (XLMR, 4, {}, [1, "A", 2], [1, "A", 2, 2, "B", 2]),
        (XLMR, 5, {}, [3, "A", 4], [3, "A", 4, 4, "B", 4]),
        (CAMEMBERT, 4, {}, [1, "A", 2], [1, "A", 2, 2, "B", 2]),
        (MBART, 4, {}, ["A", 4, 5], ["A", "B", 4, 5]),
        (MBART50, 5, {"src_lang": "de_DE"}, [6, "A", 4], [6, "A", "B", 4]),
        (NLLB, 4, {}, [7, "A", 4], [7, "A", "B", 4]),
        (NLLB, 4, {"legacy_behaviour": True}, ["A", 4, 7], ["A", "B", 4, 7]),
        (BARTHEZ, 5, {}, None, None),
        (ALBERT, 5, {}, [1, "A", 2], [1, "A", 2, ("B", 1), (2, 1)]),
        (PEGASUS, 5, {}, ["A", 4], ["A", "B", 4]),
    ],
)
def test_templates_of_classes(name: str, version: Any, config: dict[str, Any], single: Any, pair: Any) -> None:
    roles = {"bos": AddedToken("<b>"), "eos": AddedToken("<e>"), "cls": AddedToken("<s>"), "sep": AddedToken("</s>")}
    found = pipelines._template({"tokenizer_class": name, **config}, name, version, roles, IDS.get)
    assert found == (None if single is None else template_of(single, pair))


def test_templates_need_their_tokens() -> None:
    with pytest.raises(UnsupportedFeatureError, match="the template of T5Tokenizer has '</s>', which"):
        pipelines._template({"tokenizer_class": T5}, T5, 5, {}, IDS.get)


@pytest.mark.parametrize(
    ("name", "version", "kind", "unk", "expected"),
    [
        (LLAMA, 4, "bpe", "<u>", Bpe("char", unk_token="<unk>", fuse_unk=True, byte_fallback=True)),
        (LLAMA, 5, "bpe", "<u>", Bpe("char", unk_token=None, fuse_unk=True, byte_fallback=True)),
        (GEMMA, 5, "bpe", "<u>", Bpe("char", unk_token="<u>", fuse_unk=True, byte_fallback=True)),
        (CODE, 5, "bpe", None, Bpe("char", unk_token="<unk>", fuse_unk=True, byte_fallback=True)),
        (T5, 4, "bpe", None, Bpe("char", unk_token="<unk>", fuse_unk=True, byte_fallback=False)),
        (T5, 4, "unigram", "<u>", Unigram("<unk>")),
        (LLAMA, 4, "unigram", None, Unigram("<unk>", byte_fallback=True)),
        (XLMR, 4, "unigram", "<u>", Unigram("<unk>")),
        (XLMR, 5, "unigram", "<u>", Unigram("<u>")),
        (T5, 5, "unigram", "a", Unigram("a")),
        (T5, 5, "unigram", "<unk>", "unk_token"),
        (T5, 5, "bpe", None, "model"),
        (LLAMA, 5, "unigram", None, "model"),
        (LLAMA, 4, "word", None, "model"),
        (LLAMA, 5, "char", None, "model"),
    ],
)
def test_models_of_classes(name: str, version: Any, kind: str, unk: str | None, expected: Any) -> None:
    contents = [b"<unk>", b"</s>", b"a", b"<u>"]
    pieces = Vocabulary([0, 1, 2, 3], [1, 1, 1, 1], contents, [], [0.0, -1.0, -2.0, -3.0])
    facts = {"model_type": kind, "unk": "<unk>"}
    roles = {} if unk is None else {"unk": AddedToken(unk)}
    if isinstance(expected, str):
        with pytest.raises(UnsupportedFeatureError) as caught:
            pipelines._model(pieces, facts, name, version, roles)
        assert caught.value.feature == expected
        return
    assert pipelines._model(pieces, facts, name, version, roles)[0] == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, None),
        ({"tokenizer_class": "PreTrainedTokenizerFast"}, None),
        ({"tokenizer_class": LLAMA}, None),
        ({"tokenizer_class": XLMR}, layouts.LAYOUTS["xlm-roberta"]),
        ({"tokenizer_class": "PegasusTokenizerFast", "offset": 103}, layouts.LAYOUTS["pegasus"]),
        ({"tokenizer_class": PEGASUS, "mask_token": {"content": "<mask_2>"}}, layouts.LAYOUTS["pegasus"]),
        ({"tokenizer_class": PEGASUS, "mask_token": {"content": "<m>"}}, "mask_token"),
        ({"tokenizer_class": PEGASUS, "offset": 0}, "offset"),
        ({"tokenizer_class": ALBERT}, "tokenizer_class"),
        ({"tokenizer_class": "XLNetTokenizer"}, "tokenizer_class"),
        ({"tokenizer_class": MBART, "src_lang": "xx"}, "src_lang"),
        ({"tokenizer_class": MBART}, (["A", "</s>", "en_XX"], ["A", "B", "</s>", "en_XX"])),
        ({"tokenizer_class": MBART, "src_lang": ""}, (["A", "</s>", "en_XX"], ["A", "B", "</s>", "en_XX"])),
        ({"tokenizer_class": MBART50, "src_lang": "de_DE"}, (["de_DE", "A", "</s>"], ["de_DE", "A", "B", "</s>"])),
        ({"tokenizer_class": NLLB}, (["eng_Latn", "A", "</s>"], ["eng_Latn", "A", "B", "</s>"])),
        (
            {"tokenizer_class": NLLB, "legacy_behaviour": True},
            (["A", "</s>", "eng_Latn"], ["A", "B", "</s>", "eng_Latn"]),
        ),
        ({"tokenizer_class": MBART, "legacy_behaviour": False}, (["A", "</s>", "en_XX"], ["A", "B", "</s>", "en_XX"])),
    ],
)
def test_layouts_of_classes(config: dict[str, Any], expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(UnsupportedFeatureError) as caught:
            layouts.for_class(config)
        assert caught.value.feature == expected
        return
    found = layouts.for_class(config)
    if isinstance(expected, tuple):
        assert found is not None
        assert (found["template"]["single"], found["template"]["pair"]) == expected
        return
    assert found == expected


@pytest.mark.parametrize(
    ("listed", "first"),
    [
        ({}, "<mask>"),
        ({5: "ace_Arab"}, "ace_Arab"),
        ({5: "ace_Arab", 4: "<mask>"}, "<mask>"),
        ({5: "ace_Arab", 6: "<mask>"}, "ace_Arab"),
        ({6: "ace_Arab", 5: "zul_Latn", 7: "<mask>"}, "ace_Arab"),
        ({6: "ace_Arab", 4: "zul_Latn", 5: "<mask>"}, "ace_Arab"),
        ({4: "<mask>"}, "<mask>"),
    ],
)
def test_where_nllb_has_its_mask(listed: dict[int, str], first: str) -> None:
    decoder = {str(id): {"content": content, "special": True} for id, content in listed.items()}
    layout = layouts.of_folder({"tokenizer_class": NLLB, "added_tokens_decoder": decoder})
    assert layout is not None
    assert layout["languages"][0] == first
    assert layout["mask"] == (None if first == "<mask>" else "<mask>")
    assert len(layout["languages"]) == (203 if first == "<mask>" else 202)
    mbart = layouts.of_folder({"tokenizer_class": MBART})
    assert mbart is not None
    assert mbart["mask"] == "<mask>"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, None),
        ({"tokenizer_class": XLMR}, None),
        ({"tokenizer_class": T5}, template_of(["A", 2], ["A", 2, "B", 2])),
        ({"tokenizer_class": LLAMA}, template_of([1, "A"], [1, "A", (1, 1), ("B", 1)])),
        ({"tokenizer_class": LLAMA, "add_bos_token": False}, None),
    ],
)
def test_templates_of_classes_with_their_own_ids(config: dict[str, Any], expected: Any) -> None:
    assert layouts.around(config, 1, 2) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"tokenizer_class": LLAMA, "extra_ids": 2}, []),
        ({"tokenizer_class": T5, "extra_ids": 0}, []),
        ({"tokenizer_class": T5, "extra_ids": 2}, [(10, "<extra_id_1>"), (11, "<extra_id_0>")]),
    ],
)
def test_sentinels_after_the_pieces(config: dict[str, Any], expected: Any) -> None:
    assert layouts.sentinels(config, 10) == {id: AddedToken(name, lstrip=True, rstrip=True) for id, name in expected}
    assert len(layouts.sentinels({"tokenizer_class": T5}, 0)) == 100
    assert len(layouts.sentinels({"tokenizer_class": T5, "extra_ids": (1 << 16) - 1}, 0)) == 65535
    for number in (-1, 1 << 16, True, "2", None):
        with pytest.raises(FormatError, match="extra_ids is"):
            layouts.sentinels({"tokenizer_class": T5, "extra_ids": number}, 0)


def test_layouts_of_the_caller() -> None:
    assert layouts.resolve({"specials": {}, "shift": 1}) == {"specials": {}, "shift": 1}
    assert layouts.resolve("nllb") is layouts.LAYOUTS["nllb"]
    for layout in ("x", {"shift": 1}, {"specials": {}, "x": 1}, ["specials"], 3):
        with pytest.raises(jeton.ConfigError) as caught:
            layouts.resolve(layout)  # type: ignore[arg-type]
        assert caught.value.option == "layout"
    assert layouts.to_core({"specials": {"a": 0}, "mask": None, "roles": {}}) == '{"specials": {"a": 0}, "mask": null}'
    with pytest.raises(jeton.ConfigError, match="plain data"):
        layouts.to_core({"specials": {1j}})
    vocabulary = BASE._core.vocabulary()
    assert layouts.template(None, vocabulary) is None
    assert layouts.template({"single": ["<s>", "A"]}, vocabulary) == template_of([3, "A"])
    spelled = {"single": ["A", "</s>"], "pair": ["A", "</s>", "B"]}
    assert layouts.template(spelled, vocabulary) == template_of(["A", 1], ["A", 1, "B"])
    with pytest.raises(jeton.ConfigError, match="names '<x>', which is not in"):
        layouts.template({"single": ["<x>", "A"]}, vocabulary)


@pytest.mark.parametrize(
    ("name", "version", "roles", "expected"),
    [
        (XLMR, 4, {"bos": "<b>"}, {}),
        (XLMR, 5, {"bos": "<b>", "unk": "<u>", "eos": "<e>", "pad": "<p>", "mask": "<m>"},
         {0: "<b>", 1: "<p>", 2: "<e>", 3: "<u>", 9: "<m>"}),
        (XLMR, 5, {"unk": "<u>"}, {3: "<u>"}),
        (MBART50, 5, {"cls": "<c>", "bos": "<b>"}, {0: "<c>"}),
        (LLAMA, 5, {"bos": "<b>"}, {}),
        (GEMMA, 5, {"bos": "<b>"}, {}),
        (GEMMA, 4, {"bos": "<b>", "pad": "<p>"}, {0: "<p>", 2: "<b>", 8: "\t"}),
        (T5, 4, {}, {10: "<extra_id_1>", 11: "<extra_id_0>"}),
        (T5, 5, {}, {10: "<extra_id_1>", 11: "<extra_id_0>"}),
    ],
)  # fmt: skip
def test_names_of_pieces(name: str, version: Any, roles: dict[str, str], expected: dict[int, str]) -> None:
    contents = [b"<s>", b"<pad>", b"</s>", b"a", b"b", b"c", b"d", b"e", b"<0x09>", b"f"]
    plain = Vocabulary([*range(3, 10)], [1] * 7, contents[3:], [], [0.0] * 10)
    special = [(id, AddedToken(contents[id].decode())) for id in range(3)]
    pieces = with_added_tokens(plain, special)
    tokens = {role: AddedToken(token) for role, token in roles.items()}
    config = {"tokenizer_class": name, "extra_ids": 2}
    found = pipelines._renamed(pieces, config, name, version, tokens, "<unk>")
    before = dict(zip(*pieces.columns()[::2], strict=True))
    after = dict(zip(*found.columns()[::2], strict=True))
    assert after == {**before, **{id: token.encode() for id, token in expected.items()}}


def test_gemma_needs_three_control_pieces() -> None:
    plain = Vocabulary([0, 1, 2], [1] * 3, [b"a", b"b", b"c"], [], [0.0] * 3)
    for special in ([], [(0, AddedToken("a")), (1, AddedToken("b"))], [(0, AddedToken("<unk>")), (1, AddedToken("b"))]):
        pieces = with_added_tokens(plain, special) if special else plain
        with pytest.raises(UnsupportedFeatureError, match="replaces the first three pieces"):
            pipelines._renamed(pieces, {"tokenizer_class": GEMMA}, GEMMA, 4, {}, "<unk>")


def test_merges_are_in_the_order_of_ids_or_scores() -> None:
    contents = [b"<unk>", b"a", b"b", b"ba", b"ab"]
    pieces = Vocabulary([*range(5)], [1] * 5, contents, [], [0.0, -3.0, -4.0, -2.0, -1.0])
    facts = {"model_type": "bpe", "unk": "<unk>"}
    for version, merged in ((4, [1, 2, 4]), (5, [2, 1, 3])):
        model, vocabulary = pipelines._model(pieces, facts, GEMMA, version, {"unk": AddedToken("<unk>")})  # type: ignore[arg-type]
        made = jeton.Tokenizer(Definition(model), vocabulary)
        assert made.merges[0] == tuple(merged)

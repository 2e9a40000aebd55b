"""``compare`` and ``paragraph``: up to four tokenizers."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

import jeton
from jeton.analysis.parallel.texts import PARAGRAPH, parallel_texts
from jeton.playground.api import compare, paragraph
from jeton.playground.catalog import Catalog
from jeton.playground.data import paragraph as paragraph_texts

SHELF = Catalog(cached=False)


@pytest.fixture(scope="module")
def vocabs(data: Path) -> Catalog:
    return Catalog(folder=data / "vocabs", cached=False)


def test_answer_equals_the_result_of_compare() -> None:
    text = "Compare <|im_start|> 天气"
    toks = {key: SHELF.get(key) for key in ("bytes", "lessons")}
    for special in (False, True):
        facts = compare.answer(SHELF, {"tokenizers": list(toks), "text": text, "special": special})
        found = jeton.compare(toks, text, special="all" if special else "none")
        assert facts["cuts"] == found.to_json()["cuts"]
        assert [entry["own"] for entry in facts["tokenizers"]] == found.own
        assert [entry["tokens"] for entry in facts["tokenizers"]] == found.counts
        assert facts["spread"] == found.spread
        assert [drawing["ids"] for drawing in facts["drawings"]] == [encoding.ids for encoding in found.encodings]


def test_long_texts_are_counted_whole_and_compared_in_part() -> None:
    text = "The weather is fine, 天气很好. " * 5_000
    facts = compare.answer(SHELF, {"tokenizers": ["bytes", "lessons"], "text": text})
    assert [entry["tokens"] for entry in facts["tokenizers"]] == [
        SHELF.get(key).count(text) for key in ("bytes", "lessons")
    ]
    assert facts["num_bytes"] == len(text.encode()) == facts["tokenizers"][0]["tokens"]
    assert facts["compared_chars"] == compare.MAX_COMPARED_CHARS < facts["num_chars"] == len(text)
    assert facts["drawings"][0]["text_chars"] == facts["compared_chars"]


def test_unknown_tokens_are_counted(vocabs: Catalog) -> None:
    facts = compare.answer(vocabs, {"tokenizers": ["t5-small", "cl100k_base"], "text": "天气 weather"})
    assert [entry["unknown"] for entry in facts["tokenizers"]] == [1, 0]


@pytest.mark.parametrize(
    ("tokenizers", "message"),
    [
        ([], "1 to 4"),
        (["a", "b", "c", "d", "e"], "1 to 4"),
        ("bytes", "a list of texts"),
        ([1], "a list of texts"),
        (None, "lacks"),
        (["no such"], "there is no tokenizer"),
    ],
)
def test_invalid_lists_of_tokenizers_are_refused(tokenizers: object, message: str) -> None:
    for answer in (compare.answer, paragraph.answer):
        with pytest.raises(jeton.ConfigError, match=message):
            answer(SHELF, {"tokenizers": tokenizers, "text": "low"})


def test_twenty_languages_in_many_scripts() -> None:
    languages = paragraph_texts()
    assert len({language["code"] for language in languages}) == 20
    assert {language["text"] for language in languages} == {
        text.decode().strip() for text in parallel_texts(PARAGRAPH, "eng")[0].values()
    }
    assert languages[0]["code"] == "en"
    assert 60 <= len(languages[0]["text"].split()) <= 80
    scripts = set()
    for language in languages:
        text = language["text"]
        assert text == unicodedata.normalize("NFC", text) == text.strip()
        scripts |= {unicodedata.name(character).split()[0] for character in text if character.isalpha()}
        # five sentences, as in English; the point in 40.000 does not end one
        ends = sum(text.replace("40.000", "").count(end) for end in ".。।")
        assert ends in (5, 6) or language["code"] == "th"
    assert len(scripts) >= 13


def test_token_counts_of_the_paragraph_by_language(vocabs: Catalog) -> None:
    keys = ["o200k_base", "r50k_base", "t5-small"]
    languages = paragraph.answer(vocabs, {"tokenizers": keys})["languages"]
    for language in languages:
        assert language["counts"] == [vocabs.get(key).count(language["text"]) for key in keys]
        assert language["bytes"] == len(language["text"].encode())
    costs = {language["code"]: language["counts"] for language in languages}
    assert costs["ta"][1] > 10 * costs["en"][1]  # Tamil in GPT-2's vocabulary
    assert costs["ta"][0] < 3 * costs["en"][0]
    unknown = {language["code"]: language["unknown"] for language in languages}
    assert unknown["en"] == [0, 0, 0]
    assert unknown["zh"][2] > 0


def test_a_tokenizer_that_cannot_encode_a_language_reports_an_error() -> None:
    catalog = Catalog(cached=False)
    english = jeton.train([paragraph_texts()[0]["text"]], 100, level="char", progress=False)
    key = catalog.add("english.json", english.to_bytes())["key"]
    counts = {entry["code"]: entry["counts"] for entry in paragraph.answer(catalog, {"tokenizers": [key]})["languages"]}
    assert counts["en"] != [None]
    assert counts["ko"] == [None]

"""``classics``: recorded answers equal those of the real files, and the statements of the stories are true."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

import jeton
from jeton.definition import Pattern
from jeton.playground.api.classics import answer, recorded_answer
from jeton.playground.catalog import Catalog
from jeton.playground.data import read
from jeton.util.language import use_language

CLASSICS = read("classics.json")
IDS = [classic["id"] for classic in CLASSICS]
EMPTY = Catalog(cached=False)


@pytest.fixture(scope="module")
def vocabs(data: Path) -> Catalog:
    return Catalog(folder=data / "vocabs", cached=False)


@pytest.mark.parametrize("classic", CLASSICS, ids=IDS)
def test_recorded_answers_equal_those_of_the_real_file(vocabs: Catalog, classic: dict) -> None:  # type: ignore[type-arg]
    records = read("recorded.json")[classic["id"]]
    assert records == [recorded_answer(vocabs.get(panel["tokenizer"]), panel) for panel in classic["panels"]]


def test_the_bytes_need_no_file() -> None:
    records = read("recorded.json")["bytes"]
    assert records[0] == recorded_answer(EMPTY.get("bytes"), CLASSICS[IDS.index("bytes")]["panels"][0])


@pytest.mark.parametrize("id", IDS)
def test_recorded_and_real_answers_are_equal_and_labeled(vocabs: Catalog, id: str) -> None:
    there, away = answer(vocabs, {"id": id}), answer(EMPTY, {"id": id})
    assert there["story"] == away["story"]
    for real, recorded in zip(there["panels"], away["panels"], strict=True):
        assert real["drawing"] == recorded["drawing"]
        assert not real["recorded"]
        assert real["state"] == {
            "view": "tokens",
            "tokenizer": real["tokenizer"],
            "text": real["text"],
            "special": real["special"],
        }
        if real["tokenizer"] == "bytes":
            assert not recorded["recorded"]
        else:
            assert (recorded["recorded"], recorded["key"], recorded["state"]) == (True, None, None)
    assert (there["state"] is not None) == bool(CLASSICS[IDS.index(id)].get("compare"))
    assert away["state"] is None


@pytest.mark.parametrize("id", IDS)
def test_a_recorded_drawing_equals_that_of_the_tokenizer(vocabs: Catalog, id: str) -> None:
    for panel in answer(vocabs, {"id": id})["panels"]:
        tok = vocabs.get(panel["key"])
        encoding = tok.tokenize(panel["text"], special="all" if panel["special"] else "none")
        assert panel["drawing"] == encoding.drawing().to_json()
        assert panel["num_tokens"] == len(encoding)


def test_a_different_tokenizer_of_an_equal_name_is_not_used(vocabs: Catalog) -> None:
    catalog = Catalog(cached=False)
    other = jeton.train(["strawberry strawberry"], 262, progress=False)
    catalog.add("o200k_base.json", other.to_bytes())
    assert all(panel["recorded"] for panel in answer(catalog, {"id": "strawberry"})["panels"])
    catalog.add("o200k_base.json", vocabs.get("o200k_base").to_bytes())
    panels = answer(catalog, {"id": "strawberry"})["panels"]
    assert [panel["recorded"] for panel in panels] == [False, False, False, True]


def test_the_facts_of_the_stories(vocabs: Catalog) -> None:
    """Statements that a story makes in words, not in figures."""

    def tokens(name: str, text: str) -> list[bytes]:
        return vocabs.get(name).tokenize(text).tokens

    assert b"berry" in tokens("o200k_base", "strawberry")
    assert tokens("cl100k_base", "9.11")[:2] == tokens("cl100k_base", "9.8")[:2] == [b"9", b"."]
    assert len(tokens("cl100k_base", "9.11")) == len(tokens("cl100k_base", "9.80"))
    asked, answered = tokens("o200k_base", "butterfly"), tokens("o200k_base", "ylfrettub")
    assert not {token[::-1] for token in asked} & set(answered)
    assert tokens("cl100k_base", "Once upon a time ")[-1] == b" "
    assert tokens("cl100k_base", "Once upon a time there")[-1] == b" there"
    assert tokens("cl100k_base", "猫") == [b"\xe7", b"\x8c", b"\xab"]
    assert [token.decode(errors="replace") for token in tokens("cl100k_base", "猫")] == ["\ufffd"] * 3
    assert "的".encode()[0] == "猫".encode()[0] == 0xE7
    begun = [code for code in range(0x800, 0xD800) if chr(code).encode()[0] == 0xE7]
    assert len(begun) == 4096
    assert all(unicodedata.name(chr(code)).startswith("CJK UNIFIED IDEOGRAPH") for code in begun)
    assert round(vocabs.get("o200k_base").vocab_size / vocabs.get("cl100k_base").vocab_size, 1) == 2
    assert tokens("o200k_base", "麒麟") == [b"\xe9\xba", b"\x92" + "麟".encode()]
    assert "麒".encode()[:2] == "麟".encode()[:2] == b"\xe9\xba"
    assert tokens("o200k_base", "麟") == ["麟".encode()]
    assert "麒".encode() not in vocabs.get("o200k_base").vocab.values()
    o200k = vocabs.get("o200k_base")
    merged = [o200k.id_to_bytes(merge.result) for merge in o200k.explain("麒麟").pretokens[0].merges]
    assert merged == [b"\xe9\xba", b"\xe9\xba", "麟".encode(), b"\x92" + "麟".encode()]
    spaced = [o200k.id_to_bytes(merge.result) for merge in o200k.explain(" 麒麟").pretokens[0].merges]
    assert spaced[-3:] == ["麟".encode(), b"\x92" + "麟".encode(), " 麒麟".encode()]
    assert b" \xe9\xba" in spaced
    assert all(len(token) == 1 for token in tokens("cl100k_base", "麒麟"))
    code = CLASSICS[IDS.index("indented-code")]["panels"][0]["text"]
    gpt2 = [code.encode()[start:end] for start, end in Pattern.of("gpt2").split(code)]
    assert b"\n       " in gpt2  # the pattern keeps runs of spaces together
    assert not any(b"  " in token or b"\n " in token for token in vocabs.get("r50k_base").vocab.values())
    assert tokens("r50k_base", code).count(b" ") == sum(
        len(pretoken) - 1 for pretoken in gpt2 if pretoken[:2] == b"\n "
    )
    assert b"       " in tokens("o200k_base", code)
    indented, compact, yaml = (panel["text"] for panel in CLASSICS[IDS.index("yaml-json")]["panels"])
    assert len(tokens("o200k_base", compact)) < len(tokens("o200k_base", yaml)) < len(tokens("o200k_base", indented))
    assert any(token.endswith(b'":') for token in tokens("o200k_base", compact))


def test_the_list_and_the_stories() -> None:
    assert [entry["id"] for entry in answer(EMPTY, {})["classics"]] == IDS
    assert len(IDS) == 11
    for id in IDS:
        story = answer(EMPTY, {"id": id})["story"]
        assert not re.search(r"[{}]", " ".join(story))
        assert not re.search(r"\b1 tokens", " ".join(story))
    with pytest.raises(jeton.ConfigError, match="no classic"):
        answer(EMPTY, {"id": "cheese"})
    with pytest.raises(jeton.ConfigError, match="a text"):
        answer(EMPTY, {"id": 7})


@pytest.mark.parametrize("id", IDS)
def test_chinese_stories_have_the_figures_of_the_english_ones(id: str) -> None:
    classic = CLASSICS[IDS.index(id)]
    assert len(classic["story"]["zh"]) == len(classic["story"]["en"])
    for english, chinese in zip(classic["story"]["en"], classic["story"]["zh"], strict=True):
        assert sorted(re.findall(r"\{\d\}", chinese)) == sorted(re.findall(r"\{\d\}", english))
    english = answer(EMPTY, {"id": id})
    with use_language("zh"):
        assert {entry["id"]: entry["title"] for entry in answer(EMPTY, {})["classics"]}[id] == classic["title"]["zh"]
        chinese = answer(EMPTY, {"id": id})
    assert chinese["title"] == classic["title"]["zh"]
    assert not re.search(r"[{}]", " ".join(chinese["story"]))
    for text in (*chinese["story"], *(panel["note"] for panel in chinese["panels"] if panel["note"])):
        assert re.search("[一-鿿]", text) or text == "YAML"
        assert not re.search(r"[一-鿿][,;:!?(](?!\w)", text)
    assert [panel["note"] is None for panel in chinese["panels"]] == [
        panel["note"] is None for panel in english["panels"]
    ]
    for panel in (*chinese["panels"], *english["panels"]):
        del panel["note"]
    assert chinese["panels"] == english["panels"]

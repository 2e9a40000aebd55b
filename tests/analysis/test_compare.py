"""`compare`: several tokenizers on one text."""

from __future__ import annotations

import json
import pickle
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given

import jeton
from jeton.drawing import to_terminal

from ..material import BYTE_KINDS, TRICKY, texts, tokenizer

TOKS = {kind: tokenizer(kind) for kind in ("byte none", "byte gpt2", "byte o200k", "byte regex")}


@given(texts("byte gpt2"))
def test_cuts_and_own_tokens_follow_from_the_tokens(text: str) -> None:
    found = jeton.compare(TOKS, text)
    inner = [set(accumulate(len(data) for data in tok.tokenize(text).tokens[:-1])) for tok in TOKS.values()]
    for place in set().union(*inner):
        by = tuple(index for index, places in enumerate(inner) if place in places)
        assert ((place, by) in found.cuts) == (len(by) < len(TOKS))
    assert [cut.byte for cut in found.cuts] == sorted({cut.byte for cut in found.cuts})
    assert found.counts == [tok.count(text) for tok in TOKS.values()]
    spans = [set(encoding.byte_spans) for encoding in found.encodings]
    for index, own in enumerate(found.own):
        others = set().union(*spans[:index], *spans[index + 1 :])
        assert {found.encodings[index].byte_spans[i] for i in own} == spans[index] - others
    assert found.cuts or not any(found.own)


@pytest.mark.parametrize("text", TRICKY)
def test_a_tokenizer_does_not_differ_from_itself(text: str) -> None:
    tok = tokenizer("byte o200k")
    found = jeton.compare([tok, tok], text)
    assert (found.cuts, found.own, found.spread) == ([], [[], []], 0.0)
    assert found.names == ["1", "2"]


def test_spread_is_the_excess_of_the_most_tokens_over_the_fewest() -> None:
    one, two = tokenizer("byte none"), jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
    text = "the old man told the old tale"
    found = jeton.compare([one, two], text)
    assert found.spread == len(text) / one.count(text) - 1 > 0
    assert found.bytes_per_token == [len(text) / one.count(text), 1.0]


def test_special_tokens_apply_to_tokenizers_that_have_them() -> None:
    with_it, without = tokenizer("byte gpt2"), jeton.train(["low"], 257, progress=False)
    found = jeton.compare({"a": with_it, "b": without}, "<a>low", special={"<a>"})
    assert found.encodings[0].tokens[0] == b"<a>"
    assert found.encodings[1].tokens[0] == b"<"
    assert jeton.compare([with_it], "<a>", special="all").counts == [1]
    assert len(jeton.compare([with_it], "<a>").encodings[0]) > 1


def test_bytes_that_are_not_utf8_are_compared() -> None:
    found = jeton.compare([tokenizer(kind) for kind in BYTE_KINDS[:3]], b"low\xff\xfe")
    assert (found.num_bytes, found.num_chars) == (5, 5)
    assert str(found)


def test_to_json_is_serializable() -> None:
    found = jeton.compare(TOKS, "naïve café 天气")
    data = json.loads(json.dumps(found.to_json()))
    assert [entry["tokens"] for entry in data["tokenizers"]] == found.counts
    assert data["cuts"] == [[cut.byte, list(cut.by)] for cut in found.cuts]
    assert (data["num_bytes"], data["num_chars"]) == (19, 13)


def test_html_page_contains_the_notebook_fragment() -> None:
    found = jeton.compare(TOKS, "naïve <café>")
    assert found.to_html().startswith("<!doctype html>")
    assert found._repr_html_() in found.to_html()


def test_a_long_text_is_shortened_in_str_with_a_notice() -> None:
    shown = str(jeton.compare({"a": tokenizer("byte none"), "b": tokenizer("byte gpt2")}, "naïve tale " * 500))
    assert "more tokens" in shown
    assert "  and " in shown
    assert len(shown) < 10_000
    assert repr(jeton.compare([tokenizer("byte none")], "")) == "Comparison(1: 0 tokens of 0 bytes)"


def test_no_tokenizers_is_an_error() -> None:
    with pytest.raises(jeton.ConfigError, match="no tokenizers"):
        jeton.compare([], "text")


def test_cuts_and_counts_of_published_vocabularies_are_known(data: Path) -> None:
    names = ("r50k_base.tiktoken", "cl100k_base.tiktoken", "o200k_base.tiktoken", "t5-small.tokenizer.json")
    toks = {name.split(".")[0]: jeton.load(data / "vocabs" / name) for name in names}
    found = jeton.compare(toks, "    return the strawberry\n")
    assert found.counts == [tok.count("    return the strawberry\n") for tok in toks.values()]
    # GPT-2 has no token of three spaces; T5 drops those at the beginning
    assert found.cuts == [(1, (0,)), (2, (0,)), (3, (0, 1, 2)), (4, (3,)), (11, (3,)), (15, (3,))]


def test_a_long_text_is_drawn_from_its_first_tokens() -> None:
    text = "the 天气 old\xa0man tale 天 " * 300
    found = jeton.compare(TOKS, text)
    whole = {name: tok.tokenize(text).drawing().head(200) for name, tok in TOKS.items()}
    for name, drawing in whole.items():
        assert f"\n{name}\n{to_terminal(drawing, color=False, indent='  ')}\n" in str(found)
    assert [len(encoding) for encoding in found.encodings] == found.counts
    assert found.num_cuts == len(found.cuts)


def test_comparisons_are_compared_and_pickled() -> None:
    found = jeton.compare(TOKS, "the old tale")
    assert found == jeton.compare(TOKS, "the old tale") != jeton.compare(TOKS, "another")
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert str(again) == str(found)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(jeton.InvalidTextError):
        jeton.compare(TOKS, "a\ud800")

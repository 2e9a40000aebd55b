"""`same_ids`: equal tokenizers are equal, and every kind of difference is found and shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import jeton
from jeton.analysis.comparison_texts import ComparisonTexts, takes_bytes
from jeton.analysis.edge_cases import EDGE_CASES, INVALID_UTF8
from jeton.analysis.equality import Difference, same_ids
from tests.material import BYTE_KINDS, byte_tokenizer, tokenizer

TH = (116, 104, 256)  # t + h
HE = (104, 101, 257)  # h + e


def first(a: jeton.Tokenizer, b: jeton.Tokenizer, *texts: str | bytes) -> Difference:
    found = same_ids(a, b, texts or None, progress=False)
    assert not found.equal
    assert found.first is not None
    return found.first


def test_every_kind_of_tokenizer_equals_itself_read_again(kind: str) -> None:
    tok = tokenizer(kind)
    texts = list(ComparisonTexts(tok, tok, 500))
    found = same_ids(tok, jeton.Tokenizer.from_bytes(tok.to_bytes()), texts, progress=False)
    assert found.equal
    assert found.same_fingerprint
    assert found.compared == len(texts) > 500 + len(EDGE_CASES)
    assert found.refused == 0


def test_a_template_for_pairs_alone_is_compared() -> None:
    bare = byte_tokenizer(TH, special_tokens={"<sep>": 300})
    texts = [{"sequence": "A", "type_id": 0}, {"sequence": "B", "type_id": 1}]
    for pair in ([texts[0], {"ids": [300], "type_id": 0}, texts[1]], texts[::-1]):
        template = {"single": texts[:1], "pair": pair, "trim_offsets": False, "add_prefix_space": False}
        tok = jeton.Tokenizer(replace(bare.definition, template=template), bare._core.vocabulary())
        assert "pair=" in first(bare, tok, "th").call


def test_byte_level_is_compared_on_bytes_too(kind: str) -> None:
    texts = list(ComparisonTexts(tokenizer(kind), tokenizer(kind), 100))
    assert takes_bytes(tokenizer(kind)) == (kind in BYTE_KINDS)
    assert any(isinstance(text, bytes) for text in texts) == (kind in BYTE_KINDS)
    if kind in BYTE_KINDS:
        assert set(INVALID_UTF8) < set(texts)


def test_equal_without_equal_fingerprint() -> None:
    """An unreachable entry changes the fingerprint and no id, so only the comparison of texts shows equality."""
    a = byte_tokenizer(TH)
    b = jeton.Tokenizer.from_merges({**a.vocab, 300: b"never"}, [TH])
    found = same_ids(a, b, progress=False)
    assert found.equal
    assert not found.same_fingerprint


def test_a_different_order_of_merges_is_a_difference() -> None:
    found = first(byte_tokenizer(TH, HE), byte_tokenizer(HE, TH), "x", "say the word", "the")
    assert found == Difference("the", "encode(text)", [256, 101], [116, 257], 0, ["th", "e"], ["t", "he"])
    assert str(found) == (
        "encode(text) of 'the' differs at 0:\n  first   256 101  th e  (2 ids)\n  second  116 257  t he  (2 ids)"
    )


def test_a_difference_inside_a_long_text_is_shown_with_its_neighborhood() -> None:
    a, b = byte_tokenizer(TH, HE), byte_tokenizer(HE, TH)
    found = first(a, byte_tokenizer(HE, TH), "q" * 10 + "the")
    assert found.text == "the"
    whole = same_ids(a, b, ["the"] * 3, progress=False)
    assert (whole.compared, whole.refused) == (1, 0)


def test_the_differing_text_is_shortened_and_counts_include_all_texts() -> None:
    a, b = byte_tokenizer(TH, HE), byte_tokenizer(HE, TH)
    texts = [*["none"] * 700, "a long text and " * 50 + "the" + " and so on" * 70, "more"]
    found = same_ids(a, b, texts, progress=False)
    assert found.first is not None
    assert found.compared == 701
    assert len(found.first.text) < 10


@pytest.mark.parametrize("others", [{"<|b|>": 300}, {"<|a|>": 301}, {}])
def test_different_special_tokens_are_a_difference(others: dict[str, int]) -> None:
    a = byte_tokenizer(TH, special_tokens={"<|a|>": 300})
    b = byte_tokenizer(TH, special_tokens=others)
    found = first(a, b)
    assert found.call == 'encode(text, special="all")'
    assert "<|a|>" in str(found.text)


def test_a_token_special_on_one_side_only_is_a_difference() -> None:
    a = byte_tokenizer(TH).add_tokens(["<|a|>"], special=True)
    b = byte_tokenizer(TH).add_tokens(["<|a|>"], special=False)
    assert first(a, b).call == "encode(text)"


def test_a_difference_on_invalid_utf8_only_is_found() -> None:
    pair = (0xFF, 0xFE, 256)
    found = first(byte_tokenizer(pair), jeton.Tokenizer.from_merges(dict(byte_tokenizer(pair).vocab), []))
    assert found.text == b"\xff\xfe"
    assert "b'\\xff\\xfe'" in str(found)


def test_different_decoded_bytes_are_a_difference() -> None:
    a = byte_tokenizer(TH, special_tokens={"<|a|>": 300})
    vocab = {**a.vocab, 256: b"th"}
    del vocab[300]
    swapped = {id: {97: b"b", 98: b"a"}.get(id, token) for id, token in vocab.items()}
    b = jeton.Tokenizer.from_merges(swapped, [TH], special_tokens={"<|a|>": 300})
    c = byte_tokenizer(TH, special_tokens={"<|a|>": 300})
    assert same_ids(a, c, progress=False).equal
    assert first(a, b, "a").left == [97]  # the ids differ already
    spelled = jeton.train(["aa bb"], 5, level="char", progress=False)
    other = jeton.Tokenizer(replace(spelled.definition), spelled._core.vocabulary())
    assert same_ids(spelled, other, progress=False).equal


def test_a_text_refused_by_one_side_is_a_difference() -> None:
    a = jeton.train(["abc"], 3, level="char", progress=False)
    b = jeton.train(["abcd"], 4, level="char", progress=False)
    found = first(a, b, "abc", "ad")
    assert (found.text, found.left, found.right) == ("d", None, [3])
    assert found.left_error
    assert "fails: character 'd'" in str(found)
    both = same_ids(a, b, ["a", "x", "b", "yy"], progress=False)
    assert (both.equal, both.compared, both.refused) == (True, 4, 2)


def test_progress_is_reported() -> None:
    seen: list[jeton.ProgressEvent] = []
    tok = byte_tokenizer(TH)
    same_ids(tok, tok, ["text"] * 600, progress=seen.append)
    assert [(event.stage, event.done, event.total) for event in seen] == [
        ("compare", 256, 600),
        ("compare", 512, 600),
        ("compare", 600, 600),
    ]


def test_no_texts_are_equal() -> None:
    tok = byte_tokenizer(TH)
    assert same_ids(tok, tok, [], progress=False) == (0, 0, True, None)


def test_long_texts_are_shown_in_part() -> None:
    a = byte_tokenizer(*[(97, 97, 256)])
    b = jeton.Tokenizer.from_merges(dict(a.vocab), [])
    found = first(a, b, "a" * 10_000)
    assert len(str(found)) < 400


def test_real_rank_files_survive_as_tokenizer_json(data: Path, tmp_path: Path) -> None:
    tok = jeton.load(data / "vocabs" / "cl100k_base.tiktoken")
    tok.save(tmp_path / "a.json")
    found = same_ids(tok, jeton.load(tmp_path / "a.json"), ComparisonTexts(tok, tok, 2000), progress=False)
    assert found.equal
    assert found.same_fingerprint

"""`AddedTokenMatcher` locates the special tokens of a text as encoding does, without the model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import jeton
from jeton import AddedToken

from ..material import byte_tokenizer, tokenizer
from .test_special import unigram

SPECIAL = {"<a>": 300, "<a>b": 301, "é": 302}
FLAGS: list[dict[str, bool]] = [
    {"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"normalized": True}, {"ascii_space": True},
]  # fmt: skip


def composed(*tokens: AddedToken, normalizer: Any = {"type": "NFKC"}) -> jeton.Tokenizer:  # noqa: B006
    """Unigram with a normalizer and these added tokens, from id 4 on."""
    pieces = [["<unk>", 0.0], *([piece, -3.0] for piece in ["▁", "a", "b"])]
    file = {
        "added_tokens": [{"id": 0, "content": "<unk>", "special": True}],
        "normalizer": normalizer,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces},
    }
    return jeton.Tokenizer.from_bytes(json.dumps(file).encode()).add_tokens(tokens)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", []),
        ("ab", []),
        ("<a>", [(300, 0, 3)]),
        ("天<a>é<a>b", [(300, 1, 4), (302, 4, 5), (301, 5, 9)]),
        ("<<a>>", [(300, 1, 4)]),
    ],
)
@pytest.mark.parametrize("flag", [{}, {"single_word": True}])
def test_special_tokens_with_their_characters(text: str, matches: list[Any], flag: dict[str, bool]) -> None:
    """With a flag on another token, characters are located by the core."""
    tok = byte_tokenizer(special_tokens=SPECIAL).add_tokens([AddedToken("<other>", **flag)])
    assert tok._special_matcher(text) == matches


def test_tokens_that_are_not_special_are_no_matches() -> None:
    tok = byte_tokenizer(special_tokens={"<s>": 300}).add_tokens([AddedToken("<n>", special=False)])
    assert tok._special_matcher("<n><s><n>") == [(300, 3, 6)]
    assert tok._special_matcher.controls == {300}
    plain = byte_tokenizer().add_tokens([AddedToken("<n>", special=False)])
    assert plain._special_matcher("<n>") == []


def test_tokens_of_private_use_characters() -> None:
    """The matcher encodes the text between tokens as one of them that no token has."""
    tok = byte_tokenizer(special_tokens={"\ue000": 300, "<\ue000\ue000>": 301})
    assert tok._special_matcher("a\ue000b<\ue000\ue000>") == [(300, 1, 2), (301, 3, 7)]


def test_normalized_tokens_are_matched_in_the_normalized_text() -> None:
    text = "ad <pad>＜pad＞"
    assert unigram({"normalized": True})._special_matcher(text) == [(0, 3, 8), (0, 8, 13)]
    assert unigram({})._special_matcher(text) == [(0, 3, 8)]


@pytest.mark.parametrize(
    ("text", "matches"),
    [("  é c天c", [(4, 4, 5), (4, 6, 7)]), (" \t天é\nc ", [(4, 5, 6)]), ("  c", [(4, 2, 3)]), ("é  ", [])],
)
def test_text_that_the_normalizer_drops_is_before_a_match(text: str, matches: list[tuple[int, int, int]]) -> None:
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    assert composed(AddedToken("c", normalized=True), normalizer=strip)._special_matcher(text) == matches


def test_a_match_has_characters() -> None:
    """The normalizer turns one character into three, of which the first has its range."""
    tok = composed(AddedToken("/", normalized=True), AddedToken("c", normalized=True))
    assert tok.tokenize("℀/c", special="all").char_spans == [(0, 1), (1, 1), (1, 1), (1, 2), (2, 3)]
    assert tok._special_matcher("℀/c") == [(4, 1, 2), (5, 2, 3)]


@pytest.mark.parametrize("flag", FLAGS, ids=str)
def test_a_matcher_is_complete_if_text_cannot_become_a_special_token(flag: dict[str, bool]) -> None:
    byte_level = byte_tokenizer(special_tokens=SPECIAL)
    assert byte_level._special_matcher.is_complete
    assert byte_level.add_tokens([AddedToken("<x>", special=False)])._special_matcher.is_complete
    assert not byte_level.add_tokens([AddedToken("<x>", **flag)])._special_matcher.is_complete
    assert not tokenizer("char gpt2")._special_matcher.is_complete
    assert not composed(AddedToken("<x>"))._special_matcher.is_complete
    file = json.loads(byte_tokenizer(special_tokens={"<a>": 300}).to_bytes())
    del file["model"]["jeton"]
    normalized = jeton.Tokenizer.from_bytes(json.dumps({**file, "normalizer": {"type": "Lowercase"}}).encode())
    assert normalized.definition.is_byte_level
    assert normalized.encode("A") == [97]
    assert not normalized._special_matcher.is_complete


def test_special_tokens_among_ids_are_counted() -> None:
    matcher = byte_tokenizer(special_tokens=SPECIAL)._special_matcher
    ids = np.array([97, 300, 302, 300, 98], np.uint32)
    for but, number in ((None, 3), (300, 1), (302, 2), (301, 3)):
        assert matcher.num_controls(ids, but=but) == number
    assert matcher.num_controls(ids[:1], but=None) == 0

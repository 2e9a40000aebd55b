"""Byte spans tile the text after every normalizer; only removed text is not covered."""

from __future__ import annotations

import base64
import json
import unicodedata
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton.training.character_maps import character_map

# Text that normalizers compose, decompose, reorder, expand and replace. None of it is removed by NORMALIZERS.
PARTS = [
    *("a", "b", "ab", "abab", "e", "中", "😀", " ", "  ", "   ", "\r\n", "👩\u200d👩", "ß", "İ"),
    *("e\u0301", "é\u0323", "a\u0327\u0302", "a\u0302\u0327", "e\u0323\u0302", "a\u0315\u0300\u05ae", "e\u0301\u0301"),
    *("\u0301", " \u0301", "ab\u0301", "\u0344", "\u0f73", "\u0f71\u0f72", "\u09c7\u09be", "\u0958", "Å", "\u212b"),
    *("가", "\u1100\u1161", "\u1100\u1161\u11a8", "가\u11a8", "각\u1161", "\u1161", "ｶﾞ", "か\u3099", "が"),
    *("ﬁ", "ﬁ\u0301", "①", "①\u0301", "ﷺ", "\U0001d165\U0001d16f"),
]
REMOVED = ["\x01", "x\x01", "\x01\u0301", "\u200b", "\x7f"]  # by the character map, and by Nmt


@cache
def normalizers() -> dict[str, dict[str, Any]]:
    """Normalizers that remove nothing of PARTS."""
    charsmap = base64.b64encode(character_map("nmt_nfkc")).decode()
    return {
        **{form: {"type": form} for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase")},
        "Precompiled": {"type": "Precompiled", "precompiled_charsmap": charsmap},
        "Prepend": {"type": "Prepend", "prepend": "▁"},
        "shorter": {"type": "Replace", "pattern": {"String": "ab"}, "content": "c"},
        "longer": {"type": "Replace", "pattern": {"String": "e"}, "content": "xyz"},
        "spaces": {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"},
    }


NAMES = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Precompiled", "Prepend", "shorter", "longer", "spaces")
SEQUENCES = [
    *((name,) for name in NAMES),
    *(("NFC", name) for name in ("NFD", "Precompiled", "shorter", "Prepend")),
    *((name, "NFC") for name in ("NFD", "NFKD", "Precompiled", "longer", "Prepend")),
    ("spaces", "NFKC", "Lowercase"),
    ("Precompiled", "spaces", "NFKC"),
    ("NFKC", "NFD", "shorter"),
]


@cache
def of_characters(names: tuple[str, ...]) -> jeton.Tokenizer:
    """A tokenizer whose tokens are the normalized characters."""
    forms = ("NFC", "NFD", "NFKC", "NFKD")
    chars = {c for part in PARTS + REMOVED for form in forms for c in unicodedata.normalize(form, part)} | set("▁cxyzş")
    vocab = {piece: id for id, piece in enumerate(["<unk>", *sorted(chars | {c.lower()[0] for c in chars})])}
    parts = [normalizers()[name] for name in names]
    file = {
        "model": {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "<unk>"},
        "normalizer": {"type": "Sequence", "normalizers": parts},
    }
    return jeton.Tokenizer.from_bytes(json.dumps(file).encode())


@cache
def of_bytes(form: str) -> jeton.Tokenizer:
    """A byte-level tokenizer with a normalization form, as Qwen's."""
    vocab = {_core.spell_bytes(bytes([byte])): byte for byte in range(256)}
    file = {
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
        "normalizer": {"type": form},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
    }
    return jeton.Tokenizer.from_bytes(json.dumps(file).encode())


def gaps(text: str, spans: list[list[int]]) -> list[tuple[int, int]]:
    """Byte ranges that no span covers. Checks that the spans are ascending and disjoint."""
    at, found = 0, []
    for start, end in spans:
        assert at <= start <= end, (text, spans)
        if at < start:
            found.append((at, start))
        at = end
    size = len(text.encode())
    assert at <= size
    return found + ([(at, size)] if at < size else [])


def check(tok: jeton.Tokenizer, text: str) -> jeton.Encoding:
    """Checks the spans of a text by definition, and that every way to get them gives the same."""
    encoding = tok.tokenize(text)
    spans = encoding.array("byte_spans").tolist()
    assert [list(token.byte_span) for token in encoding] == spans
    assert list(encoding.dropped) == gaps(text, spans), (text, spans)
    ends = [0]  # of each character
    for c in text:
        ends.append(ends[-1] + len(c.encode()))
    chars = encoding.array("char_spans").tolist()
    assert [list(token.char_span) for token in encoding] == chars
    for (start, end), (first, past) in zip(spans, chars, strict=True):
        if start < end:  # the smallest range of characters that covers the bytes
            assert ends[first] <= start < ends[first + 1], text
            assert ends[past - 1] < end <= ends[past], text
    slow, *_ = tok._core.tokenize(text, tok._permission("none"))
    assert [list(span) for span in slow[2]] == spans
    assert [list(span) for span in slow[3]] == chars
    batch = tok.encode_batch([text, text], offsets=True)
    assert batch.hf_offsets is not None
    assert batch.hf_offsets.tolist() == 2 * encoding.array("hf_offsets").tolist()
    return encoding


texts = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join)


@given(st.sampled_from(SEQUENCES), texts)
def test_spans_tile_a_text_of_which_nothing_is_removed(names: tuple[str, ...], text: str) -> None:
    assert list(check(of_characters(names), text).dropped) == [], (names, text)


@given(st.sampled_from(["NFC", "NFKC", "NFD", "NFKD"]), texts)
def test_byte_level_spans_tile_the_text(form: str, text: str) -> None:
    assert list(check(of_bytes(form), text).dropped) == [], (form, text)


@given(st.lists(st.sampled_from(PARTS + REMOVED), min_size=1, max_size=6).map("".join))
def test_characters_removed_by_a_map_are_dropped(text: str) -> None:
    encoding = check(of_characters(("Precompiled",)), text)
    dropped = "".join(text.encode()[start:end].decode() for start, end in encoding.dropped)
    assert dropped == "".join(c for c in text if c in "\x01\x7f"), (text, encoding.dropped)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
@pytest.mark.parametrize(
    "text", ["cafe\u0301 de\u0301ja\u0300", "\u1112\u1161\u11ab\u1100\u1173\u11af", "か\u3099き\u3099"]
)
def test_composed_characters_keep_their_parts(form: str, text: str) -> None:
    file = {
        "model": {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"},
        "normalizer": {"type": form},
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
    }
    tok = jeton.Tokenizer.from_bytes(json.dumps(file).encode())
    encoding = check(tok, text)
    spelled = [text[slice(*token.char_span)] for token in encoding]
    assert "".join(spelled) == text
    assert [unicodedata.normalize(form, part) for part in spelled] == list(unicodedata.normalize(form, text))
    assert [[start, end] for start, end in encoding.pretokens] == encoding.array("byte_spans").tolist()


def test_the_fewest_tokens_of_a_text_keep_their_marks() -> None:
    tok = of_characters(("NFC",))
    text = "e\u0301a\u0302" * 400
    for most in (1, 2, 7, 500):
        kept = tok.truncate(text, most)
        assert kept == text[: 2 * most]

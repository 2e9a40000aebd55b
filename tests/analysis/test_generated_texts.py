"""Generated texts are reproducible, fast to make, and cover every documented kind."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest

import jeton
from jeton.analysis.edge_cases import EDGE_CASES, INVALID_UTF8
from jeton.analysis.generated_texts import generate_bytes, generate_texts
from tests.material import SPECIAL, tokenizer

from ..timing import fastest


def digest(texts: list[str] | list[bytes]) -> str:
    return hashlib.sha256(b"\0".join(t.encode() if isinstance(t, str) else t for t in texts)).hexdigest()[:16]


def test_generated_texts_have_pinned_hashes() -> None:
    """Figures like "equal on 2,000 generated texts" refer to these texts: a change of the pieces changes the hashes."""
    tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)} | {256: b"th"}, [(116, 104, 256)])
    assert digest(list(generate_texts(None, 2000))) == "cf8f7c17830179f0"
    assert digest(list(generate_texts(tok, 2000, seed=7))) == "a1758ed67d6cdc46"
    assert digest(list(generate_bytes(None, 2000))) == "517e93c9790f334e"


def test_a_longer_list_begins_with_the_shorter(tok: jeton.Tokenizer) -> None:
    assert list(generate_texts(tok, 50)) == list(generate_texts(tok, 500))[:50]
    assert list(generate_bytes(tok, 50)) == list(generate_bytes(tok, 500))[:50]


def test_generated_texts_cover_unicode_categories(kind: str) -> None:
    texts = list(generate_texts(tokenizer(kind), 5000))
    text = "".join(texts)
    text.encode()  # no lone surrogate
    assert len(set(texts)) > 4500
    assert 20 <= len(text) / len(texts) <= 60
    assert max(map(len, texts)) < 1000
    categories = {unicodedata.category(char) for char in text}
    assert categories >= {
        "Lu",
        "Ll",
        "Lt",
        "Lm",
        "Lo",
        "Mn",
        "Mc",
        "Nd",
        "Nl",
        "No",
        "Zs",
        "Zl",
        "Zp",
        "Cc",
        "Cf",
        "Co",
        "Cn",
    }
    scripts = {unicodedata.name(char, "").split()[0] for char in set(text) if unicodedata.name(char, "")}
    assert scripts >= {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "ARABIC", "HEBREW", "DEVANAGARI", "THAI", "FULLWIDTH"}
    for piece in ("\r\n", "\u200d", "'ſ", "https://", "▁", "\U0001f1eb\U0001f1f7"):
        assert piece in text
    blocks = {ord(char) >> 8 for char in text}
    assert len(blocks) > 500


def test_special_tokens_are_generated_only_on_request(tok: jeton.Tokenizer) -> None:
    token = "<|im_end|>"
    assert token in SPECIAL
    assert any(token in text for text in generate_texts(tok, 3000, special=True))
    tricky = [text for text in EDGE_CASES if token in text]
    assert not any(token in text and not any(t in text for t in tricky) for text in generate_texts(tok, 3000))


def test_bytes_are_mostly_not_utf8(tok: jeton.Tokenizer) -> None:
    def is_text(data: bytes) -> bool:
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        return True

    texts = list(generate_bytes(tok, 2000))
    assert 0.02 < sum(map(is_text, texts)) / 2000 < 0.5
    assert {byte for text in texts for byte in text} == set(range(256))
    assert not any(map(is_text, INVALID_UTF8))


def test_edge_cases_are_different_and_unicode() -> None:
    assert len(EDGE_CASES) >= 150
    assert len(set(EDGE_CASES)) == len(EDGE_CASES)
    assert len(set(INVALID_UTF8)) == len(INVALID_UTF8)
    "".join(EDGE_CASES).encode()


@pytest.mark.alone
def test_ten_thousand_texts_take_under_two_seconds(tok: jeton.Tokenizer) -> None:
    next(generate_texts(tok, 1))

    def generate() -> None:
        assert sum(1 for _ in generate_texts(tok, 10_000)) == 10_000

    assert fastest(generate, 2) < 2, "10,000 texts take some 40 ms on a quiet machine"


@pytest.mark.parametrize("n", [0, 1])
def test_zero_or_one_text_is_made(n: int) -> None:
    assert len(list(generate_texts(None, n))) == len(list(generate_bytes(None, n))) == n

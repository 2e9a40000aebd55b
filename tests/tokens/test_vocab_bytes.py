"""`Tokenizer.vocab_bytes`: the bytes of each id, and its size."""

from __future__ import annotations

from typing import Any

import pytest

import jeton
from jeton.tokens import vocab_bytes

ENTRIES = {0: b"a", 1: b"b", 4: b"ab"}
TOK = jeton.Tokenizer.from_merges(ENTRIES, [(0, 1, 4)], special_tokens={"<e>": 6, "<s>": 2})


@pytest.mark.parametrize("size", [None, 7, 8, 20])
def test_each_id_has_its_bytes(size: int | None) -> None:
    found = TOK.vocab_bytes(size)
    rows = [b"a", b"b", b"<s>", b"", b"ab", b"", b"<e>"] + [b""] * ((size or 7) - 7)
    assert (found.tokens, found.special_ids, found.eos_id) == (rows, [2, 6], None)
    assert found.text_tokens == [b"a", b"b", b"", b"", b"ab", b"", b"", *rows[7:]]
    assert TOK.with_roles(eos="<e>").vocab_bytes(size).eos_id == 6
    assert repr(found) == f"VocabBytes({len(rows)} tokens, 2 special, eos_id=None)"
    with pytest.raises(AttributeError):
        found.eos_id = 6  # type: ignore[misc]


def test_a_vocabulary_without_gaps() -> None:
    tok = jeton.Tokenizer.from_merges({0: b"a", 1: b"b"}, [])
    assert (tok.vocab_bytes().tokens, tok.vocab_bytes(3).tokens) == ([b"a", b"b"], [b"a", b"b", b""])


@pytest.mark.parametrize(
    ("size", "is_valid"), [(6, False), (7, True), (11, True), (12, False), (True, False), ("7", False)]
)
def test_sizes_from_the_vocabulary_s_to_the_limit(size: Any, is_valid: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocab_bytes, "MAX_ID", 10)  # the real one takes 16 million rows
    if is_valid:
        assert len(TOK.vocab_bytes(size).tokens) == size
    else:
        with pytest.raises(jeton.ConfigError, match="size="):
            TOK.vocab_bytes(size)

"""``picture``: as large as a picture can be, and no larger; it says what is left out of the whole text."""

from __future__ import annotations

import re

import pytest

import jeton
from jeton.playground.api.picture import answer
from jeton.playground.catalog import Catalog

SHELF = Catalog(cached=False)


@pytest.mark.parametrize(
    ("text", "left_out"),
    [("a" * 30_000, 25_000), ("\n" * 100_000, 99_000), ("a\n" * 50_000, 98_000)],  # more than are ever drawn
)
def test_what_is_left_out_is_counted_in_the_whole_text(text: str, left_out: int) -> None:
    svg = answer(SHELF, {"tokenizer": "bytes", "text": text})["svg"]
    assert f"<title>{len(text):,} tokens</title>" in svg
    assert f"… {left_out:,} tokens more</text>" in svg
    assert len(svg) < 2_000_000
    height = re.search(r'height="(\d+)"', svg)
    assert height is not None
    assert int(height[1]) < 30_000


def test_the_caption_names_tokenizer_count_and_version() -> None:
    svg = answer(SHELF, {"tokenizer": "bytes", "text": "abc"})["svg"]
    assert f">bytes · 3 tokens · Jeton {jeton.__version__}</text>" in svg
    assert "hsl(" not in svg  # which programs other than browsers do not read

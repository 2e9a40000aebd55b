"""``tokens``: the drawing of a text and its counts, also for long texts."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.errors import ConfigError, InvalidTextError
from jeton.playground.api import tokens
from jeton.playground.api.tokens import answer
from jeton.playground.catalog import Catalog

from ...material import CORPUS, TRICKY, texts, tokenizer

SMALL = tokenizer("byte gpt2")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    catalog = Catalog(cached=False)
    catalog.add("small.json", SMALL.to_bytes())
    return catalog


def ask(catalog: Catalog, text: str, **more: Any) -> dict[str, Any]:
    return answer(catalog, {"tokenizer": "small.json", "text": text, **more})


@pytest.mark.parametrize("text", TRICKY)
def test_ids_and_counts_are_those_of_the_tokenizer(catalog: Catalog, text: str) -> None:
    facts = ask(catalog, text)
    assert facts["drawing"]["ids"] == SMALL.encode(text)
    assert facts["num_tokens"] == SMALL.count(text)
    assert (facts["num_bytes"], facts["num_chars"]) == (len(text.encode()), len(text))
    assert facts["drawn_bytes"] == len(text.encode())


def test_special_tokens_are_permitted_by_the_request_alone(catalog: Catalog) -> None:
    text = "a<|endoftext|>"
    assert ask(catalog, text)["drawing"]["ids"] == SMALL.encode(text)
    facts = ask(catalog, text, special=True)
    assert facts["drawing"]["ids"] == SMALL.encode(text, special="all")
    assert facts["drawing"]["table"][facts["drawing"]["looks"][-1]]["special"]


def test_drawing_is_limited_and_the_count_is_not(catalog: Catalog) -> None:
    facts = ask(catalog, "the old tale, the older tale", limit=3)
    assert facts["drawing"]["ids"] == SMALL.encode("the old tale, the older tale")[:3]
    assert facts["num_tokens"] == SMALL.count("the old tale, the older tale")
    assert facts["drawn_bytes"] == len(b"".join(SMALL.tokenize("the old tale, the older tale").tokens[:3]))


@settings(max_examples=60)
@given(st.lists(texts("byte gpt2"), max_size=8).map("".join), st.integers(1, 40), st.booleans(), st.booleans())
def test_the_drawn_beginning_equals_that_of_the_whole_text(
    text: str, limit: int, special: bool, template: bool
) -> None:
    """Every text is treated as a long one."""
    catalog = Catalog(cached=False)
    catalog.add("small.json", SMALL.to_bytes())
    request = {"tokenizer": "small.json", "text": text, "limit": limit, "special": special, "template": template}
    plain = answer(catalog, request)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "SHORT_TEXT", 4)
        long = answer(catalog, request)
    assert long["num_tokens"] == plain["num_tokens"]
    drawn = len(long["drawing"]["ids"])
    assert drawn == len(plain["drawing"]["ids"])
    for column in ("ids", "byte_starts", "char_starts", "byte_ends", "char_ends"):
        assert long["drawing"][column] == plain["drawing"][column]


def test_a_long_pretoken_is_drawn_with_the_ids_of_the_whole_text(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cutting the pretoken anywhere would change the tokens near the cut."""
    monkeypatch.setattr(tokens, "SHORT_TEXT", 64)
    text = "oldtaleold" * 3000
    facts = ask(catalog, text, limit=500)
    assert facts["drawing"]["ids"] == SMALL.encode(text)[:500]


def test_ten_megabytes_are_counted_exactly_and_drawn_in_part(catalog: Catalog) -> None:
    text = (CORPUS * (10_000_000 // len(CORPUS.encode()) + 1))[: 10_000_000 // 2]
    start = time.perf_counter()
    facts = ask(catalog, text)
    took = time.perf_counter() - start
    assert facts["num_tokens"] == len(SMALL.encode_array(text))
    assert facts["num_bytes"] == len(text.encode())
    assert len(facts["drawing"]["ids"]) == 20_000
    assert facts["drawing"]["ids"] == SMALL.encode_array(text)[:20_000].tolist()
    assert took < 20


def test_a_lone_surrogate_is_an_error_that_says_where(catalog: Catalog) -> None:
    with pytest.raises(InvalidTextError, match=r"U\+D800, at position 2; .* remove it$") as caught:
        ask(catalog, "ab\ud800")
    assert caught.value.position == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": 3},
        {"limit": 0},
        {"limit": "9"},
        {"limit": 10**9},
        {"special": "all"},
        {"template": 1},
        {"tokenizer": None},
    ],
)
def test_wrong_fields_are_named(catalog: Catalog, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ask(catalog, "a", **wrong) if "text" not in wrong else answer(catalog, {"tokenizer": "small.json", **wrong})

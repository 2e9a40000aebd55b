"""The page as a person meets it, in Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .conftest import axe_violations

Open = Callable[..., Any]


def test_typing_draws_tokens(open_page: Open) -> None:
    page = open_page(tokenizer="bytes")
    page.get_by_label("Text").fill("né\n")
    page.wait_for_selector(".tokens .t >> nth=3")
    assert page.locator(".tokens .t").count() == 4
    assert axe_violations(page) == []

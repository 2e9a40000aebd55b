"""Megabytes pasted into the views that are not about one tokenizer: they answer, and the page goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jeton.playground.catalog import Catalog

from ...material import CORPUS
from ...selection import amount
from ..conftest import Problems

Open = Callable[..., Any]

SIZE = amount(10_000_000, default=2_000_000)
TEXT = (CORPUS * (SIZE // len(CORPUS.encode()) + 1)).encode()[:SIZE].decode("utf-8", "ignore")
PASTE = """(text) => {
    const area = document.querySelector("section:not([hidden]) textarea");
    const data = new DataTransfer();
    data.setData("text/plain", text);
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""
# The longest time for which the page does nothing else, as the page itself sees it.
WATCH = """() => {
    window.longest = 0;
    let last = performance.now();
    setInterval(() => {
        const now = performance.now();
        window.longest = Math.max(window.longest, now - last);
        last = now;
    }, 10);
}"""


@pytest.mark.alone
@pytest.mark.slow(reason="test_invalid_settings_show_an_error in test_train_view.py, and the other test here")
def test_train_refuses_a_text_over_its_limit(open_page: Open, problems: Problems) -> None:
    page = open_page(view="train")
    page.evaluate(WATCH)
    page.evaluate(PASTE, TEXT)
    page.locator(".failure", has_text="the limit of this view is 10,000").wait_for(timeout=60_000)
    assert page.evaluate("window.longest") < 3_000
    problems.forgive("400")


@pytest.mark.alone
def test_compare_counts_all_of_a_long_text(open_page: Open, catalog: Catalog) -> None:
    page = open_page(view="compare", compare=["small", "bytes"])
    page.evaluate(WATCH)
    page.evaluate(PASTE, TEXT)
    page.get_by_text("first 10,000 characters are compared").wait_for(timeout=60_000)
    count = f"{catalog.get('small').count(TEXT):,}"
    page.locator(".counts tbody tr").first.get_by_text(count, exact=True).wait_for(timeout=60_000)
    assert page.evaluate("window.longest") < 3_000

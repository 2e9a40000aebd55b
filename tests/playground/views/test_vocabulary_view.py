"""The Vocabulary view in Chromium: leafing, searching, and one entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jeton.playground.catalog import Catalog

from ..conftest import Problems, axe_violations, choose

Open = Callable[..., Any]


def ids(page: Any) -> list[int]:
    return [int(text) for text in page.locator(".entries tbody button").all_inner_texts()]


def settled(page: Any, words: str) -> None:
    page.locator(".status", has_text=words).wait_for()


def test_pages_are_turned_by_buttons(open_page: Open) -> None:
    page = open_page(view="vocabulary", tokenizer="small", kind="all")
    settled(page, "400 of 400 entries: 1 to 100")
    assert ids(page) == list(range(100))
    assert page.get_by_role("button", name="Previous").is_disabled()
    page.get_by_role("button", name="Next").press("Enter")
    settled(page, "101 to 200")
    for _ in range(2):
        page.get_by_role("button", name="Next").click()
        page.wait_for_timeout(50)
    settled(page, "301 to 400")
    assert page.get_by_role("button", name="Next").is_disabled()
    assert ids(page)[-1] == 399
    assert axe_violations(page) == []


def test_the_view_opens_on_tokens_of_text(open_page: Open, catalog: Catalog) -> None:
    """Most vocabularies begin with control bytes."""
    tok = catalog.get("small")
    page = open_page(view="vocabulary", tokenizer="small")
    special = set(tok.special_tokens.values())
    wanted = [id for id, data in tok.vocab.items() if len(data) > 1 and id not in special and _is_text(data)]
    settled(page, f"{len(wanted)} of 400 entries")
    assert ids(page) == wanted[:100]
    assert page.get_by_label("Kind").input_value() == "ordinary"
    page = open_page(view="vocabulary", tokenizer="bytes")
    settled(page, "256 of 256 entries: 1 to 100")


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_searching_by_text_bytes_id_and_kind(open_page: Open, catalog: Catalog, problems: Problems) -> None:
    tok = catalog.get("small")
    page = open_page(view="vocabulary", tokenizer="small")
    settled(page, "of 400 entries")
    page.get_by_label("Search", exact=True).fill("ol")
    wanted = [id for id, data in tok.vocab.items() if b"ol" in data]
    settled(page, f"{len(wanted)} of 400 entries: 1 to {len(wanted)}")
    assert ids(page) == wanted
    page.get_by_label("Search by").select_option("hex")
    page.locator(".failure", has_text="'ol' is not hexadecimal").wait_for()
    page.get_by_label("Search", exact=True).fill("e5 a4")
    wanted = [id for id, data in tok.vocab.items() if b"\xe5\xa4" in data]
    assert wanted
    settled(page, f"{len(wanted)} of 400")
    assert ids(page) == wanted
    page.get_by_label("Search by").select_option("id")
    page.get_by_label("Search", exact=True).fill("390")
    settled(page, "10 of 400")
    page.get_by_label("Search", exact=True).fill("")
    page.get_by_label("Kind").select_option("special")
    settled(page, "5 of 400 entries: 1 to 5")
    assert ids(page) == sorted(tok.special_tokens.values())
    assert page.locator(".entries .t.x").count() == 5
    page.get_by_label("Search by").select_option("text")
    page.get_by_label("Search", exact=True).fill("no such token")
    page.get_by_text("No entries found.").wait_for()
    problems.forgive("400")


def test_an_entry_is_opened_with_keys(open_page: Open) -> None:
    page = open_page(view="vocabulary", tokenizer="small", find="e")
    page.locator(".entries tbody tr").first.wait_for()
    first, second = ids(page)[:2]
    page.get_by_label("Kind").focus()
    for _ in page.locator(".examples button").all():  # they follow the fields of the search
        page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == str(first)
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == str(second)
    page.keyboard.press("Enter")
    page.locator(".detail .card dd", has_text=str(second)).first.wait_for()
    assert page.locator("tr.current").get_attribute("data-id") == str(second)
    assert page.locator(".entries button[tabindex='0']").count() == 1
    assert axe_violations(page) == []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") not in map(str, ids(page))


def test_another_tokenizer_resets_page_and_card(open_page: Open) -> None:
    page = open_page(view="vocabulary", tokenizer="small", kind="all", **{"from": 200, "id": 250})
    settled(page, "201 to 300")
    page.locator(".detail .card").wait_for()
    choose(page, "bytes")
    settled(page, "256 of 256 entries: 1 to 100")
    assert page.locator(".detail .card").count() == 0


def test_hostile_entries_are_text(open_page: Open, catalog: Catalog) -> None:
    import jeton

    evil = ["<script>alert(1)</script>", "<img src=x onerror=alert(2)>", "\u202egnp.exe", "zero\u200bwidth"]
    tok = jeton.train(["low lower"], 260, special_tokens=[], progress=False).add_tokens(evil)
    key = catalog.add("evil.json", tok.to_bytes())["key"]
    page = open_page(view="vocabulary", tokenizer=key, kind="special")
    settled(page, "4 of")
    assert page.locator(".entries script, .entries img").count() == 0
    assert page.locator(".entries .t.x").count() == 4
    raw = page.locator(".entries i[data-s*='202E'] .raw")
    assert raw.evaluate("one => getComputedStyle(one).unicodeBidi") == "isolate"

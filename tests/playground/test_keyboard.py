"""Every view with the keyboard alone: each control can be focused, shows its focus, and can be left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..selection import rest_is_slow
from .conftest import wait_until

VIEWS = ("tokens", "why", "train", "compare", "chat", "vocabulary", "classics")

# What Tab must reach: one of a group of radio buttons, and one of adjacent tokens, whichever is current.
INTERACTIVE = """() => {
    const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
    const groups = new Set();
    let number = 0;
    for (const e of all) {
        if (e.disabled || e.tabIndex < 0 || !e.checkVisibility({ visibilityProperty: true })) continue;
        if (e.type === "radio") {
            const chosen = document.querySelector(`input[name="${e.name}"]:checked`);
            if (chosen ? e !== chosen : groups.has(e.name)) continue;
            groups.add(e.name);
        }
        const place = e.classList.contains("t") ? e.closest(".pane, [role=group]") ?? e.parentElement : e;
        if (place.dataset.number === undefined) place.dataset.number = String(number++);
    }
    return number;
}"""
FOCUSED = """() => {
    const e = document.activeElement;
    if (!e || e === document.body || e === document.documentElement) return null;
    const style = getComputedStyle(e);
    const shows = style.outlineStyle !== "none" || style.boxShadow !== "none";
    return [e.closest("[data-number]")?.dataset.number ?? null, shows, e.outerHTML.slice(0, 120)];
}"""


def settle(page: Any) -> None:
    """Waits until the page has drawn all answers."""
    before = ""
    while before != (before := page.evaluate("document.body.innerHTML")):
        page.wait_for_timeout(700)


@pytest.mark.parametrize(
    "view", rest_is_slow(VIEWS, lambda view: view in ("tokens", "train", "chat"), "three of the views")
)
def test_all_of_a_view_is_reached_and_left_by_tab(open_page: Callable[..., Any], view: str) -> None:
    page = open_page(view=view, tokenizer="bytes", text="one two")
    settle(page)
    expected = page.evaluate(INTERACTIVE)
    reached = []
    for _ in range(expected + 60):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None and reached:
            break  # past the end of the page: no element has the focus
        if focused is not None:
            number, shows, markup = focused
            assert shows, f"does not show its focus: {markup}"
            reached.append(number)
    else:
        raise AssertionError(f"Tab does not leave the page: {reached[-10:]}")
    missing = {str(number) for number in range(expected)} - set(reached)
    names = [
        page.evaluate("n => document.querySelector(`[data-number='${n}']`).outerHTML.slice(0, 120)", n) for n in missing
    ]
    assert not names, f"{len(names)} of {expected} are not reached: {names[:5]}"


def test_every_view_is_opened_by_arrow_keys(open_page: Callable[..., Any]) -> None:
    page = open_page(view="tokens", tokenizer="bytes", text="one two")
    page.get_by_role("tab", name="Tokens").focus()
    for view in VIEWS[1:]:
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f"#tab-{view}[aria-selected=true]")
        wait_until(page, f"document.title.toLowerCase().startsWith('{view}') && location.hash.includes('view={view}')")

"""The Classics view in Chromium, with the vocabularies and without them; and the addresses that the lessons name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.playground.catalog import Catalog
from jeton.playground.data import read

from ...selection import rest_is_slow
from ..conftest import axe_violations, running

Open = Callable[..., Any]
CLASSICS = read("classics.json")
LESSONS = Path(jeton.__file__).parent / "reference"


@pytest.fixture(scope="module")
def real_address(data: Path) -> Iterator[str]:
    with running(Catalog(folder=data / "vocabs", cached=False)) as address:
        yield address


def test_recorded_answers_have_a_badge(open_page: Open) -> None:
    page = open_page(view="classics")
    titles = page.locator(".titles button")
    titles.nth(10).wait_for()
    assert titles.all_inner_texts() == [classic["title"]["en"] for classic in CLASSICS]
    for index, classic in enumerate(CLASSICS):
        titles.nth(index).press("Enter")
        page.locator(".story h2", has_text=classic["title"]["en"]).wait_for()
        assert page.locator(".panel").count() == len(classic["panels"])
        recorded = [panel["tokenizer"] != "bytes" for panel in classic["panels"]]
        assert page.locator(".panel .badge").count() == sum(recorded)
        for number, record in enumerate(read("recorded.json")[classic["id"]]):
            assert page.locator(".panel").nth(number).locator(".t").count() == len(record["ids"])
        assert axe_violations(page) == []
    page.wait_for_url(re.compile("classic=bytes"))


def test_answers_of_real_files_have_no_badge_and_open_in_tokens(page: Any, real_address: str) -> None:
    for classic in CLASSICS:
        page.goto(f"{real_address}/#view=classics&classic={classic['id']}")
        page.locator(".story h2", has_text=classic["title"]["en"]).wait_for()
        assert page.locator(".badge").count() == 0
        assert page.get_by_role("button", name="Open in Tokens").count() == len(classic["panels"])
    page.goto(f"{real_address}/#view=classics&classic=endoftext")
    page.locator(".panel").nth(2).wait_for()
    assert page.locator(".panel .t.x").count() == 1
    page.get_by_role("button", name="Open in Tokens").nth(1).click()
    page.locator(".view-tokens .pane .t.x").first.wait_for()
    assert page.get_by_label("Parse special tokens").first.is_checked()
    page.goto(f"{real_address}/#view=classics&classic=indented-code")
    page.get_by_role("button", name="Compare these side by side").click()
    page.locator(".column").nth(2).wait_for()
    assert page.locator(".counts tbody .figure").first.inner_text() == "64"


def test_a_focused_token_shows_id_and_bytes(open_page: Open) -> None:
    page = open_page(view="classics", classic="cut-character")
    page.locator(".panel").nth(3).wait_for()
    assert page.locator(".story h2 [lang=zh]").inner_text() == "猫"
    assert set(page.locator(".story .telling [lang=zh]").all_inner_texts()) == {"猫", "的"}
    page.locator(".panel").first.locator(".t").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".panel .one-line").first.inner_text() == "id 234 · 1 byte 8c"


def test_an_opened_vocabulary_replaces_recorded_answers(page: Any, data: Path) -> None:
    with running(Catalog(cached=False)) as address:
        page.goto(f"{address}/#view=classics&classic=glitch-token")
        page.locator(".badge").nth(2).wait_for()
        page.locator("#file").set_input_files(data / "vocabs" / "cl100k_base.tiktoken")
        page.get_by_role("tab", name="Classics").click()
        page.locator(".badge").nth(2).wait_for(state="detached", timeout=30_000)
        assert page.locator(".badge").count() == 2
        page.goto("about:blank")


@pytest.mark.parametrize("context_options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}])
def test_dark_and_narrow_pages_are_accessible(open_page: Open) -> None:
    page = open_page(view="classics", classic="yaml-json")
    page.locator(".panel").nth(2).wait_for()
    assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def addresses() -> list[tuple[str, str]]:
    """(lesson, fragment) of every address of the playground that a lesson names."""
    found = []
    for path in sorted(LESSONS.iterdir()):
        if path.name.startswith("step"):
            found += [
                (path.name, fragment) for fragment in re.findall(r"127\.0\.0\.1:7777/#(\S+)", path.read_text("utf-8"))
            ]
    return found


def test_lessons_name_addresses_in_both_languages() -> None:
    names = [name for name, _ in addresses()]
    assert len(names) >= 14
    assert {name.split(".")[0] for name in names if name.endswith(".md")} == {
        name.split(".")[0] for name in names if name.endswith(".py")
    }


@pytest.mark.parametrize(
    ("name", "fragment"),
    rest_is_slow(
        [entry for entry in addresses() if entry[0].endswith(".py")],
        lambda entry: "pattern" in entry[1] or "classic" in entry[1],
        "addresses of two views",
    ),
)
def test_addresses_in_the_lessons_show_tokens(page: Any, address: str, name: str, fragment: str) -> None:
    page.goto(f"{address}/#{fragment}")
    view = re.search(r"view=(\w+)", fragment)
    assert view is not None
    panel = page.locator(f"#view-{view[1]}")
    panel.locator(".t, .chart tbody tr").first.wait_for()
    assert panel.locator(".failure").count() == 0

"""The Compare view in Chromium: tokenizers side by side, and the paragraph in twenty languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.playground.catalog import Catalog
from jeton.playground.data import paragraph

from ...selection import rest_is_slow
from ..conftest import Problems, axe_violations, running

Open = Callable[..., Any]
TEXT = "the old tale 天气"


def test_the_figures_are_those_of_the_library(open_page: Open, catalog: Catalog) -> None:
    keys = ["bytes", "small", "lessons"]
    page = open_page(view="compare", text=TEXT, compare=keys)
    page.locator(".side-by-side .column").nth(2).wait_for()
    found = jeton.compare({key: catalog.get(key) for key in keys}, TEXT)
    rows = page.locator(".counts tbody tr")
    for index, tokens in enumerate(found.counts):
        cells = rows.nth(index).locator("td").all_inner_texts()
        assert [cell.strip() for cell in cells] == [
            str(tokens),
            f"{found.bytes_per_token[index]:.3f}",
            str(len(found.own[index])),
        ]
        column = page.locator(".column").nth(index)
        assert column.locator(".t").count() == tokens
        assert column.locator(".t.ring").count() == len(found.own[index])
    assert f"{found.spread * 100:.1f}% above the lowest" in page.locator(".summary").inner_text()
    page.get_by_text(f"Where boundaries differ: {len(found.cuts)} positions").click()
    places = page.locator(".places tbody tr")
    assert places.count() == len(found.cuts)
    for index, cut in enumerate(found.cuts):
        assert places.nth(index).locator("th").inner_text() == str(cut.byte)
        who = places.nth(index).locator("td.who").all_inner_texts()
        assert [i for i, word in enumerate(who) if word == "boundary"] == list(cut.by)
    page.get_by_text("inside a character").first.wait_for()
    assert axe_violations(page) == []


def test_tokenizers_are_chosen_added_and_removed_by_keys(open_page: Open) -> None:
    page = open_page(view="compare", text=TEXT, compare=["bytes", "small", "lessons"])
    page.locator(".column").nth(2).wait_for()
    page.get_by_role("button", name="Add a tokenizer").press("Enter")
    page.locator(".column").nth(3).wait_for()
    assert page.get_by_role("button", name="Add a tokenizer").count() == 0
    page.get_by_role("button", name=re.compile("Remove bytes")).press("Enter")
    page.locator(".column").nth(3).wait_for(state="detached")
    page.locator(".column").nth(2).wait_for()
    page.get_by_label("Tokenizer 1").focus()
    page.get_by_label("Tokenizer 1").select_option("bytes")
    page.locator(".column h3", has_text="bytes").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Tokenizer 1"
    page.wait_for_url(re.compile("compare%3A="))


def test_two_are_there_from_the_beginning_and_typing_compares(open_page: Open) -> None:
    page = open_page(view="compare")
    page.get_by_text("Write or paste a text").wait_for()
    assert page.locator(".pick").count() == 2
    page.get_by_label("Text").fill("the old")
    page.locator(".column .t").first.wait_for()
    page.locator(".column").first.locator(".t").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".column").first.locator(".one-line").inner_text().startswith("id ")
    page.get_by_label("Text").fill("")
    page.get_by_text("Write or paste a text").wait_for()


def test_special_tokens_may_be_permitted(open_page: Open) -> None:
    page = open_page(view="compare", text="<|im_start|>", compare=["lessons", "bytes"])
    page.locator(".column").nth(1).wait_for()
    assert page.locator(".column .t.x").count() == 0
    page.get_by_label("Parse special tokens").check()
    page.locator(".column .t.x").wait_for()
    assert page.locator(".column").first.locator(".t").count() == 1


def test_long_texts_are_counted_whole(open_page: Open, catalog: Catalog) -> None:
    text = "the old tale " * 2_000
    page = open_page(view="compare", text=text, compare=["small"])
    page.get_by_text("first 10,000 characters are compared").wait_for()
    assert page.locator(".counts tbody .figure").first.inner_text() == f"{catalog.get('small').count(text):,}"
    page.locator(".summary", has_text="Add a tokenizer to compare.").wait_for()


def test_twenty_languages(open_page: Open, catalog: Catalog) -> None:
    page = open_page(view="compare", compare=["lessons", "characters"])
    rows = page.locator(".chart tbody tr")
    rows.nth(19).wait_for()
    english = catalog.get("lessons").count(paragraph()[0]["text"])
    for index, language in enumerate(paragraph()):
        assert rows.nth(index).locator("th").inner_text() == language["name"]
        count = catalog.get("lessons").count(language["text"])
        cell = rows.nth(index).locator("td").first
        assert cell.locator(".figure").inner_text() == f"{count:,}"
        assert cell.locator(".times").inner_text() == f"×{count / english:.2f}"
    longest = page.locator(".chart td:nth-of-type(1) .bar-of").evaluate_all("all => all.map((one) => one.offsetWidth)")
    counts = [catalog.get("lessons").count(language["text"]) for language in paragraph()]
    assert longest.index(max(longest)) == counts.index(max(counts))
    # the tokenizer of characters knows few of these, and says so
    assert "of them unknown" in rows.nth(5).inner_text()
    page.get_by_label("Order").select_option("cost")
    page.locator(".chart tbody tr").first.locator(".figure", has_text=f"{max(counts):,}").first.wait_for()
    shown = [int(text.replace(",", "")) for text in page.locator(".chart td:nth-of-type(1) .figure").all_inner_texts()]
    assert shown == sorted(counts, reverse=True)
    page.get_by_role("button", name="Arabic").press("Enter")
    text = page.locator(".paragraph p[lang=ar]")
    text.wait_for()
    assert text.evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert page.evaluate("document.activeElement.textContent") == "Arabic"
    assert axe_violations(page) == []
    page.get_by_role("button", name="Compare its tokens above").click()
    page.locator(".column .t").first.wait_for()


@pytest.mark.parametrize("context_options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}])
def test_dark_and_narrow(open_page: Open) -> None:
    page = open_page(view="compare", text=TEXT, compare=["bytes", "small", "lessons", "characters"])
    page.locator(".column").nth(3).wait_for()
    page.locator(".chart tbody tr").nth(19).wait_for()
    assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_tokenizer_that_is_not_here_is_named(open_page: Open, problems: Problems) -> None:
    page = open_page(view="compare", text=TEXT, compare=["o999k"])
    page.locator(".found .failure", has_text="there is no tokenizer 'o999k'").wait_for()
    assert page.get_by_label("Tokenizer 1").locator("option:checked").inner_text() == "o999k (not on this machine)"
    page.get_by_label("Tokenizer 1").select_option("small")
    page.locator(".column").wait_for()
    problems.forgive("400")


@pytest.mark.parametrize(
    ("missing", "why"),
    rest_is_slow(
        [
            ("o999k", "there is no tokenizer 'o999k'"),
            ("torn", "torn.json"),
            ("english.json", "character 'c' (U+0063) is not in the vocabulary"),
        ],
        lambda case: case[0] == "torn",
        "a file that is not readable",
    ),
)
def test_one_that_fails_leaves_the_others_compared(page: Any, vocabs: Path, missing: str, why: str) -> None:
    """Not on this machine, a broken file, or a text with a character that it cannot encode."""
    english = jeton.train(["the old tale"], 40, level="char", progress=False)
    catalog = Catalog(folder=vocabs, cached=False)
    catalog.add("english.json", english.to_bytes())
    with running(catalog) as address:
        page.goto(f'{address}/#view=compare&text=the+café&compare:=["bytes","{missing}","small"]')
        page.locator(".found .failure", has_text=f"{missing}: ").filter(has_text=why).wait_for()
        page.locator(".column").nth(1).wait_for()
        assert page.locator(".column h3").all_inner_texts() == ["bytes (no merges: every byte is a token)", "small"]
        assert page.locator(".column.n2").count() == 1, "the third keeps its tone"
        page.locator(".chart tbody tr").nth(19).wait_for()
        assert axe_violations(page) == []
        page.goto("about:blank")


def test_hostile_text_is_text(open_page: Open) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(2)> \u202eright\u202c zero\u200bwidth"
    page = open_page(view="compare", text=text, compare=["bytes", "small"])
    page.locator(".column").nth(1).wait_for()
    page.get_by_text("Where boundaries differ").click()
    assert page.locator(".view-compare script, .view-compare img").count() == 0


@pytest.fixture
def real_address(data: Path) -> Iterator[str]:
    with running(Catalog(folder=data / "vocabs", cached=False)) as address:
        yield address


def test_four_real_vocabularies(page: Any, real_address: str) -> None:
    keys = '["o200k_base","r50k_base","t5-small","llama3"]'
    page.goto(f"{real_address}/#view=compare&text=naïve+strawberry+天气&compare:={keys}")
    page.locator(".column").nth(3).wait_for()
    page.locator(".chart tbody tr").nth(19).wait_for()
    tamil = page.locator(".chart tr", has=page.get_by_role("button", name="Tamil"))
    assert float(tamil.locator(".times").nth(1).inner_text()[1:]) > 10
    assert axe_violations(page) == []


def test_a_file_that_was_missing_can_be_opened(page: Any, problems: Problems, tmp_path: Path) -> None:
    tok = jeton.train(["the old tale"], 262, progress=False)
    tok.save(tmp_path / "mine.json")
    with running(Catalog(cached=False)) as address:
        page.goto(f'{address}/#view=compare&text=the+old&compare:=["mine.json","bytes"]')
        page.locator(".found .failure").wait_for()
        page.locator(".languages .failure").wait_for()
        page.locator("#file").set_input_files(tmp_path / "mine.json")
        page.locator(".column").nth(1).wait_for()
        page.locator(".chart tbody tr").nth(19).wait_for()
        assert page.locator(".column h3").first.inner_text() == "mine.json"
        page.goto("about:blank")


def test_a_space_that_the_text_does_not_have_takes_its_own_place(page: Any, real_address: str) -> None:
    """T5 puts a space before a word; it must not lie upon the word's first letter."""
    page.goto(f'{real_address}/#view=compare&text=def+naïve&compare:=["t5-small"]')
    page.locator(".column .t").first.wait_for()
    signs = page.locator(".column i.space")
    assert signs.count() == 2
    for index in range(2):
        assert signs.nth(index).evaluate("one => getComputedStyle(one, '::before').position") == "static"
        assert signs.nth(index).evaluate("one => one.getBoundingClientRect().width") > 5
    copied = page.locator(".column .pane .tokens").evaluate("one => one.textContent")
    assert copied.replace("<unk>", "") == "def naïve"

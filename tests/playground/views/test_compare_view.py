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

from ...material import tokenizer
from ...selection import rest_is_slow
from ..conftest import Problems, axe_violations, choose, running

Open = Callable[..., Any]
TEXT = "the old tale 天气"


def test_figures_equal_those_of_the_library(open_page: Open, catalog: Catalog) -> None:
    keys = ["bytes", "small", "lessons"]
    page = open_page(view="compare", text=TEXT, compare=keys)
    page.locator(".side-by-side .column").nth(2).wait_for()
    found = jeton.compare({key: catalog.get(key) for key in keys}, TEXT)
    rows = page.locator(".counts tbody tr")
    for index, tokens in enumerate(found.counts):
        cells = rows.nth(index).locator("td").all_inner_texts()
        assert [cell.strip() for cell in cells] == [
            str(tokens),
            f"{len(TEXT) / tokens:.2f}",
            str(len(found.own[index])),
        ]
        column = page.locator(".column").nth(index)
        assert column.locator(".t").count() == tokens
        assert column.locator(".t.ring").count() == len(found.own[index])
    fewest = min(found.counts)
    verdict = page.locator(".verdict").inner_text()
    assert verdict.startswith(f"{('bytes', 'small', 'lessons')[found.counts.index(fewest)]}")
    assert f"needs the fewest tokens ({fewest}); " in verdict
    for tokens in found.counts:
        more = f"needs {tokens - fewest} more ({100 * (tokens / fewest - 1):.0f}%)"
        assert tokens == fewest or more in verdict
    page.get_by_text(f"Where boundaries differ: {len(found.cuts)} positions").click()
    places = page.locator(".places tbody tr")
    assert places.count() == len(found.cuts)
    for index, cut in enumerate(found.cuts):
        assert places.nth(index).locator("th").inner_text() == str(cut.byte)
        who = places.nth(index).locator("td.who").all_inner_texts()
        assert [i for i, word in enumerate(who) if word == "boundary"] == list(cut.by)
    page.get_by_text("inside 天 (after byte 2 of 3)").wait_for()
    halved = page.locator(".places tr", has_text="inside 天 (after byte 2 of 3)").locator(".around [translate=no]")
    assert halved.text_content() == "the old tale 天│气"
    assert axe_violations(page) == []


def test_tokenizers_are_chosen_added_and_removed_by_keys(open_page: Open) -> None:
    page = open_page(view="compare", text=TEXT, compare=["bytes", "small", "lessons"])
    page.locator(".column").nth(2).wait_for()
    choose(page, "characters", label="+ compare")
    page.locator(".column").nth(3).wait_for()
    assert page.get_by_role("combobox", name="+ compare").count() == 0
    page.get_by_role("button", name=re.compile("Remove bytes")).press("Enter")
    page.locator(".column").nth(3).wait_for(state="detached")
    page.locator(".column").nth(2).wait_for()
    choose(page, "bytes", label="Tokenizer 1")
    page.locator(".column h3", has_text="bytes").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Tokenizer 1"
    page.wait_for_url(re.compile("compare%3A="))


def test_equal_counts_are_stated_in_the_verdict(open_page: Open) -> None:
    page = open_page(view="compare", text="a b", compare=["bytes", "lessons"])
    page.locator(".column").nth(1).wait_for()
    page.get_by_label("Text", exact=True).fill("a")
    page.locator(".verdict", has_text="Both need 1 token.").wait_for()
    assert "null" not in page.locator(".view-compare .found").inner_text()
    page = open_page(view="compare", text="a", compare=["bytes", "lessons", "small"])
    page.locator(".verdict", has_text="All of them need 1 token.").wait_for()


def test_comparison_starts_from_the_selected_tokenizer(open_page: Open) -> None:
    page = open_page(tokenizer="lessons", text=TEXT)
    page.get_by_role("tab", name="Compare").click()
    page.locator(".column").nth(1).wait_for()
    assert page.get_by_role("combobox", name="Tokenizer 1").input_value().startswith("lessons")


def test_rows_are_aligned_and_equal_tokens_have_equal_colors(open_page: Open) -> None:
    text = "the old tale is told again and again by the old man\nof the sea\n\nend"
    page = open_page(view="compare", text=text, compare=["bytes", "small"])
    page.locator(".column .t").first.wait_for()
    blocks = page.locator(".column").nth(0).locator(".block"), page.locator(".column").nth(1).locator(".block")
    assert blocks[0].count() == blocks[1].count() == 4
    for at in range(4):
        one, other = (block.nth(at).bounding_box() for block in blocks)
        assert one["y"] == other["y"]
    colors = [
        page.locator(".column").nth(at).locator(".t").last.evaluate("t => getComputedStyle(t).backgroundImage")
        for at in range(2)
    ]
    last = [
        tok.id_to_bytes(tok.encode(text)[-1]) for tok in (Catalog(cached=False).get("bytes"), tokenizer("byte gpt2"))
    ]
    assert (colors[0] == colors[1]) == (last[0] == last[1])


def test_price_and_context_window_are_kept_in_the_address(open_page: Open) -> None:
    page = open_page(view="compare", text=TEXT, compare=["bytes", "small"])
    page.locator(".column .t").first.wait_for()
    page.get_by_text("Price and context window").click()
    page.get_by_label("price of a million tokens, small").fill("2.5")
    page.get_by_label("context window in tokens, small").fill("1000")
    cells = page.locator(".counts tbody tr").nth(1).locator("td")
    count = tokenizer("byte gpt2").count(TEXT)
    cells.nth(5).wait_for()
    assert float(cells.nth(3).inner_text()) == pytest.approx(2.5 * count / 1e6, rel=0.01)
    assert float(cells.nth(5).inner_text().rstrip("%")) == pytest.approx(100 * count / 1000, rel=0.05)
    page.wait_for_url(re.compile("figures"))
    assert axe_violations(page) == []
    page.reload()
    cells.nth(5).wait_for()
    assert page.get_by_label("price of a million tokens, small").input_value() == "2.5"


def test_two_tokenizers_are_preset_and_typing_compares(open_page: Open) -> None:
    page = open_page(view="compare")
    page.get_by_text("Write or paste a text").wait_for()
    assert page.locator(".pick").count() == 2
    page.get_by_label("Text", exact=True).fill("the old")
    page.locator(".column .t").first.wait_for()
    page.locator(".column").first.locator(".t").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".column").first.locator(".one-line").inner_text().startswith("id ")
    page.get_by_label("Text", exact=True).fill("")
    page.get_by_text("Write or paste a text").wait_for()


def test_special_tokens_may_be_permitted(open_page: Open) -> None:
    page = open_page(view="compare", text="<|im_start|>", compare=["lessons", "bytes"])
    page.locator(".column").nth(1).wait_for()
    assert page.locator(".column .t.x").count() == 0
    page.locator(".view-compare .settings summary", has_text="Options").click()
    page.get_by_label("Parse special tokens").check()
    page.locator(".column .t.x").wait_for()
    assert page.locator(".column").first.locator(".t").count() == 1


def test_long_texts_are_counted_whole_and_compared_in_part(open_page: Open, catalog: Catalog) -> None:
    text = "the old tale " * 2_000
    page = open_page(view="compare", text=text, compare=["small"])
    page.get_by_text("first 10,000 characters are compared").wait_for()
    assert page.locator(".counts tbody .figure").first.inner_text() == f"{catalog.get('small').count(text):,}"
    assert page.locator(".verdict").inner_text() == f"small needs {catalog.get('small').count(text):,} tokens."


def test_a_paragraph_in_twenty_languages_is_counted(open_page: Open, catalog: Catalog) -> None:
    page = open_page(view="compare", compare=["lessons", "characters"])
    rows = page.locator(".chart tbody tr")
    rows.nth(19).wait_for()
    english = catalog.get("lessons").count(paragraph()[0]["text"])
    for index, language in enumerate(paragraph()):
        assert rows.nth(index).locator("th").inner_text() == language["name"]["en"]
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
def test_dark_and_narrow_pages_are_accessible(open_page: Open) -> None:
    page = open_page(view="compare", text=TEXT, compare=["bytes", "small", "lessons", "characters"])
    page.locator(".column").nth(3).wait_for()
    page.locator(".chart tbody tr").nth(19).wait_for()
    assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_missing_tokenizer_is_named(open_page: Open, problems: Problems) -> None:
    page = open_page(view="compare", text=TEXT, compare=["o999k"])
    page.locator(".found .failure", has_text="there is no tokenizer 'o999k'").wait_for()
    assert page.get_by_role("combobox", name="Tokenizer 1").input_value() == "o999k (not on this machine)"
    choose(page, "small", label="Tokenizer 1")
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
def test_a_failing_tokenizer_does_not_affect_the_others(page: Any, vocabs: Path, missing: str, why: str) -> None:
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


def test_four_published_vocabularies_are_compared(page: Any, real_address: str) -> None:
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


def test_an_added_space_has_its_own_width(page: Any, real_address: str) -> None:
    """T5 puts a space before a word; it must not lie upon the word's first letter."""
    page.goto(f'{real_address}/#view=compare&text=def+naïve&compare:=["t5-small"]')
    page.locator(".column .t").first.wait_for()
    signs = page.locator(".column i.space")
    assert signs.count() == 2
    for index in range(2):
        assert signs.nth(index).evaluate("one => one.getBoundingClientRect().width") > 5
    copied = page.locator(".column .pane .tokens").evaluate("one => one.textContent")
    assert copied.replace("<unk>", "") == "def naïve"
